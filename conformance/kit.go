package conformance

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// A Check is one promise of the contract, and what shows whether a server keeps it.
type Check struct {
	// ID names it for ever: what it is about, a slash, and the promise in short.
	ID string
	// Promise is a sentence.
	Promise string
	// Large says that it moves several MiB.
	Large bool

	// last says that it looks at what the others left: it runs after them, and alone.
	last bool
	run  func(*probe)
}

// Checks are all checks, in the order in which they are reported.
func Checks() []Check {
	return slices.Concat(
		identityChecks(), refusedChecks(), putNodeChecks(), putNodesChecks(), archivedChecks(), aliasChecks(), deleteAliasesChecks(), revisionChecks(), listAliasesChecks(),
		historyChecks(), nodeChecks(), viewChecks(), promiseChecks(), assembleChecks(), endOfViewChecks(), streamChecks(),
		compactChecks(), loopChecks(), recallChecks(), searchChecks(), replayChecks(), describeChecks(), limitChecks(), tokenChecks(),
		namespaceChecks(), errorChecks(), protocolChecks(), adminChecks(), settingsChecks(), retentionChecks(),
	)
}

// Status is how a check ended.
type Status string

// How checks end.
const (
	Passed  Status = "pass"
	Failed  Status = "FAIL"
	Skipped Status = "skip"
)

// Result tells of one check.
type Result struct {
	ID      string `json:"id"`
	Promise string `json:"promise"`
	Status  Status `json:"status"`
	// Reason is what was expected and what came, or why the check was skipped; empty where it passed.
	Reason string `json:"reason,omitempty"`
	// Methods are the rpcs that it called, in the order of their names.
	Methods []string `json:"methods"`
	// Seconds is how long it took.
	Seconds float64 `json:"seconds"`
}

// String is the result on a line, and on a second one why.
func (r Result) String() string {
	line := fmt.Sprintf("%s  %s: %s", r.Status, r.ID, r.Promise)
	if r.Reason != "" {
		line += "\n      " + r.Reason
	}
	return line
}

// Options say what to run.
type Options struct {
	// Select is which checks to run, by their ids; nil: all.
	Select *regexp.Regexp
	// WithoutLarge leaves out checks that move several MiB.
	WithoutLarge bool
	// Parallel is how many run at once; 0: 8.
	Parallel int
	// Deadline is how long each may take; 0: 20 s.
	Deadline time.Duration
	// Report is told of each check, in the order of Checks, one at a time; nil: nobody.
	Report func(Result)
}

// Summary counts checks by how they ended.
type Summary struct {
	Passed  int `json:"passed"`
	Failed  int `json:"failed"`
	Skipped int `json:"skipped"`
	// Namespaces are those that the kit made. Its nodes stay in them.
	Namespaces []string `json:"namespaces"`
}

// Run holds the server behind conn to the checks. A server that fails some is no error: see the summary. An error says that the
// server could not be asked, or that ctx is over.
func Run(ctx context.Context, conn grpc.ClientConnInterface, o Options) (Summary, error) {
	k, err := newKit(conn, o)
	if err != nil {
		return Summary{}, err
	}
	if err := k.reach(ctx); err != nil {
		return Summary{}, fmt.Errorf("ask the server: %w", err)
	}
	first, last := k.chosen()
	sum := Summary{Namespaces: []string{k.namespace, k.other}}
	k.all(ctx, first, k.options.Parallel, &sum)
	k.all(ctx, last, 1, &sum)
	k.cleanUp(ctx)
	return sum, ctx.Err()
}

// kit is one run.
type kit struct {
	conn             grpc.ClientConnInterface
	options          Options
	namespace, other string
	vectors          []vector
	refusals         []refusal
	requests         []badRequest
	// info is what the server tells of itself; nil where it has no ServerInfo.
	info *transcriptv1.ServerInfoResponse
	// mark stands in every text and name that the kit puts, and so in no error.
	mark string
}

func newKit(conn grpc.ClientConnInterface, o Options) (*kit, error) {
	var random [8]byte
	if _, err := rand.Read(random[:]); err != nil {
		return nil, err
	}
	if o.Parallel <= 0 {
		o.Parallel = 8
	}
	if o.Deadline <= 0 {
		o.Deadline = 20 * time.Second
	}
	name := hex.EncodeToString(random[:])
	k := &kit{
		conn: conn, options: o, namespace: "conformance-" + name, other: "conformance-" + name + "-wall", mark: "marked" + name[:6],
	}
	var err error
	if k.vectors, err = readVectors(); err != nil {
		return nil, err
	}
	if k.refusals, err = readRefusals(); err != nil {
		return nil, err
	}
	k.requests, err = readRequests()
	return k, err
}

// chosen are the checks to run, those that look at what others left apart.
func (k *kit) chosen() (first, last []Check) {
	for _, c := range Checks() {
		switch {
		case k.options.Select != nil && !k.options.Select.MatchString(c.ID), k.options.WithoutLarge && c.Large:
		case c.last:
			last = append(last, c)
		default:
			first = append(first, c)
		}
	}
	return first, last
}

// all runs so many checks at once and reports them in their order.
func (k *kit) all(ctx context.Context, checks []Check, parallel int, sum *Summary) {
	results := make([]chan Result, len(checks))
	for i := range results {
		results[i] = make(chan Result, 1)
	}
	places := make(chan struct{}, parallel)
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() {
		for i, c := range checks {
			places <- struct{}{}
			running.Go(func() {
				defer func() { <-places }()
				results[i] <- k.one(ctx, c)
			})
		}
	})
	for _, r := range results {
		sum.count(<-r, k.options.Report)
	}
}

func (s *Summary) count(r Result, report func(Result)) {
	switch r.Status {
	case Passed:
		s.Passed++
	case Failed:
		s.Failed++
	case Skipped:
		s.Skipped++
	}
	if report != nil {
		report(r)
	}
}

// one runs a check in a goroutine of its own, which the check may end at any place.
func (k *kit) one(ctx context.Context, c Check) Result {
	ctx, cancel := context.WithTimeout(ctx, k.options.Deadline)
	defer cancel()
	began := time.Now()
	p := newProbe(ctx, k, c)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer p.unreadable()
		p.able(c.ID)
		c.run(p)
	}()
	<-done
	return Result{
		ID: c.ID, Promise: c.Promise, Status: p.status, Reason: p.reason, Methods: p.calls.names(), Seconds: time.Since(began).Seconds(),
	}
}
