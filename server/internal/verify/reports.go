package verify

import (
	"cmp"
	"context"
	"sync"

	"google.golang.org/grpc"

	"github.com/transcriptd/transcriptd/chainstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/panics"
	"github.com/transcriptd/transcriptd/server/internal/transport/reply"
)

const (
	// maxProblems is how many problems a message lists, maxProblemsInAll how many all messages together do.
	maxProblems      = 100
	maxProblemsInAll = 10_000
)

// Stream is where a Verify's messages go to.
type Stream = grpc.ServerStreamingServer[transcriptv1.VerifyResponse]

// Run runs check and sends what it reports. check holds a read of the store, so its reports never wait for the client: those that are
// not sent yet become one, with the newest state and the problems of all. Error: why check failed, or why nothing can be sent; then check
// is ended.
func Run(out Stream, check func(ctx context.Context, report func(chainstore.VerifyReport) error) error) error {
	ctx, cancel := context.WithCancel(out.Context())
	defer cancel()
	u := &unsent{news: make(chan struct{}, 1)}
	var failed error
	go func() {
		defer close(u.news)
		failed = panics.Guard(func() error { return check(ctx, u.add) })
	}()
	var unsendable error
	for open := true; open; {
		_, open = <-u.news
		if unsendable == nil {
			unsendable = u.sendTo(out)
		}
		if unsendable != nil {
			cancel()
		}
	}
	if err := cmp.Or(unsendable, failed); err != nil {
		return err
	}
	last := u.message(nil)
	last.Done = true
	return send(out, last)
}

// state is how far a check has come: the newest report, without its problems, and how many all reports had.
type state struct {
	newest chainstore.VerifyReport
	found  int
}

// unsent is what was reported and not sent.
type unsent struct {
	mu sync.Mutex
	state
	// any says that there is something, problems are those of all reports that were not taken. listed counts those that were or will be.
	any      bool
	problems []chainstore.Problem
	listed   int
	// news has a token where something was added, and is closed at the end.
	news chan struct{}
}

// add takes a report, at once.
func (u *unsent) add(r chainstore.VerifyReport) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	listed := r.Problems[:min(len(r.Problems), maxProblemsInAll-u.listed)]
	u.found, u.listed = u.found+len(r.Problems), u.listed+len(listed)
	u.problems = append(u.problems, listed...)
	u.newest, u.any = r, true
	u.newest.Problems = nil
	select {
	case u.news <- struct{}{}:
	default: // there is a token
	}
	return nil
}

// take empties it; any is false where it was empty.
func (u *unsent) take() (now state, problems []chainstore.Problem, any bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	problems, any = u.problems, u.any
	u.problems, u.any = nil, false
	return u.state, problems, any
}

// sendTo sends what there is, if any, as several messages where there are many problems.
func (u *unsent) sendTo(out Stream) error {
	now, problems, more := u.take()
	for ; more; more = len(problems) > 0 {
		n := min(len(problems), maxProblems)
		if err := send(out, now.message(problems[:n])); err != nil {
			return err
		}
		problems = problems[n:]
	}
	return nil
}

// message tells of it, and lists problems.
func (s *state) message(problems []chainstore.Problem) *transcriptv1.VerifyResponse {
	m := &transcriptv1.VerifyResponse{
		Namespace: s.newest.Namespace, NamespacesChecked: s.newest.Namespaces, FilesChecked: s.newest.Files,
		NodesChecked: s.newest.Nodes, EntriesChecked: s.newest.Entries, ProblemsFound: int64(s.found),
	}
	for _, p := range problems {
		problem := &transcriptv1.VerifyProblem{Problem: p.What, Namespace: p.Namespace}
		if p.HasNode {
			problem.NodeId = p.Node.String()
		}
		m.Problems = append(m.Problems, problem)
	}
	return m
}

func send(out Stream, m *transcriptv1.VerifyResponse) error {
	return reply.SendError(out.Context(), out.Send(m))
}
