package verify

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"slices"

	"google.golang.org/grpc"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/chainstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/progress"
	"github.com/transcriptd/transcriptd/server/internal/transport/reply"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

const (
	// maxProblems is how many problems a message lists, maxProblemsInAll how many all messages together do.
	maxProblems      = 100
	maxProblemsInAll = 10_000
)

// Stream is where a Verify's messages go to, and what their cursors are bound to.
type Stream struct {
	Out    grpc.ServerStreamingServer[transcriptv1.VerifyResponse]
	Tokens *wire.Tokens
	Page   wire.Page
	// found is how many problems were found before the cursor that the check begins with; cursor is that of the last message.
	found  int
	cursor string
}

// Begin reads the cursor of a request, which is the store's with the number of problems before it. It must be called before Run.
func (s *Stream) Begin(cursor string) (stored []byte, err error) {
	b, err := s.Tokens.Cursor(s.Out.Context(), s.Page, cursor)
	if errors.Is(err, wire.ErrPageToken) {
		return nil, badCursor()
	}
	if err != nil {
		return nil, err
	}
	if b == nil {
		return nil, nil
	}
	found, n := binary.Uvarint(b)
	if n <= 0 || found > math.MaxInt64 || n == len(b) {
		return nil, badCursor()
	}
	s.found, s.cursor = int(found), cursor
	return b[n:], nil
}

// badCursor refuses a cursor.
func badCursor() error {
	return &canonical.FieldError{
		Field: "cursor", Kind: wire.ErrPageToken,
		Rule: "must be the cursor of a report of Verify with the same scope and namespace, of this store and this version of the server: leave it out to begin anew",
	}
}

// Run runs check and sends what it reports. check holds a read of the store, so its reports never wait for the client: those that are
// not sent yet become one, with the newest state and the problems of all. Error: why check failed, or why nothing can be sent; then check
// is ended.
func (s *Stream) Run(check func(ctx context.Context, report func(chainstore.VerifyReport) error) error) error {
	counted := state{found: s.found}
	err := progress.Run(s.Out.Context(), func(ctx context.Context, report func(unsent) error) error {
		listed := 0
		return check(ctx, func(r chainstore.VerifyReport) error {
			problems := r.Problems[:min(len(r.Problems), maxProblemsInAll-listed)]
			listed += len(problems)
			counted.found, counted.newest = counted.found+len(r.Problems), r
			counted.newest.Problems = nil
			return report(unsent{counted, problems})
		})
	}, unsent.merge, s.sendAll)
	if errors.Is(err, chainstore.ErrBadCursor) {
		return badCursor()
	}
	if err != nil {
		return err
	}
	last := counted.message(nil)
	last.Done = true
	return s.send(last)
}

// state is how far a check has come: the newest report, without its problems, and how many all reports had, with those before the cursor
// that it began with.
type state struct {
	newest chainstore.VerifyReport
	found  int
}

// unsent is what was reported and not sent: the newest state, and the problems of all reports.
type unsent struct {
	state
	problems []chainstore.Problem
}

func (u unsent) merge(newer unsent) unsent {
	newer.problems = slices.Concat(u.problems, newer.problems)
	return newer
}

// sendAll sends it, as several messages where there are many problems. Only the last has the new cursor: a check that
// goes on there does not find those again.
func (s *Stream) sendAll(u unsent) error {
	now, problems := u.state, u.problems
	for more := true; more; more = len(problems) > 0 {
		n := min(len(problems), maxProblems)
		m := now.message(problems[:n])
		if problems = problems[n:]; len(problems) == 0 {
			s.cursor = s.token(&now)
		}
		m.Cursor = s.cursor
		if err := s.send(m); err != nil {
			return err
		}
	}
	return nil
}

// token is the cursor of a state: empty at the begin, and at the end. A store that has failed may have no keys to make one with, and is
// checked all the same: then it is the one before.
func (s *Stream) token(now *state) string {
	if now.newest.Cursor == nil {
		return ""
	}
	token, err := s.Tokens.Token(s.Out.Context(), s.Page, append(binary.AppendUvarint(nil, uint64(now.found)), now.newest.Cursor...))
	if err != nil {
		return s.cursor
	}
	return token
}

// message tells of it, and lists problems.
func (s *state) message(problems []chainstore.Problem) *transcriptv1.VerifyResponse {
	m := &transcriptv1.VerifyResponse{
		Namespace: s.newest.Namespace, NamespacesChecked: s.newest.Namespaces, FilesChecked: s.newest.Files,
		NodesChecked: s.newest.Nodes, EntriesChecked: s.newest.Entries, ProblemsFound: int64(s.found),
	}
	for _, p := range problems {
		problem := &transcriptv1.VerifyProblem{Problem: p.What, Namespace: p.Namespace, Kind: transcriptv1.ProblemKind(p.Kind)}
		if p.HasNode {
			problem.NodeId = p.Node.String()
		}
		m.Problems = append(m.Problems, problem)
	}
	return m
}

func (s *Stream) send(m *transcriptv1.VerifyResponse) error {
	return reply.SendError(s.Out.Context(), s.Out.Send(m))
}
