// Package agents has the agents that the service is for, as programs over the Go SDK: each does from beginning to end what its own
// design asks of a store of transcripts. Models are scripts; all else is as an agent does it.
//
//   - letters: an agent that answers letters by a tool, and reads its own letters
//   - steps: an agent that stops at a limit, fails, and does not want to see how
//   - recursion: an agent that calls itself, with variables too large for a prompt
//   - stream: an agent that streams, is cancelled, is found asleep, and replays its tools
//   - long: a chat of forty days in bounded windows
package agents

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/transcriptd/transcriptd/chainstore/memstore"
	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/testserver"
	"github.com/transcriptd/transcriptd/server"
)

type (
	message = transcriptv1.Message
	policy  = transcriptv1.Policy
)

// service is a running service, whose time the test moves.
type service struct {
	*testing.T
	conn *grpc.ClientConn
	now  atomic.Int64 // in seconds
}

func start(t *testing.T) *service {
	s := &service{T: t}
	s.now.Store(time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC).Unix())
	clock := func() time.Time { return time.Unix(s.now.Load(), 0) }
	s.conn = testserver.StartWith(t, memstore.New(memstore.Options{Now: clock}), server.Config{Version: "test", Now: clock}).Conn
	return s
}

func (s *service) passes(d time.Duration) { s.now.Add(int64(d / time.Second)) }

// agent is the client of one agent: its namespace is its own, so that two agents that get the same letter do not share its alias.
func (s *service) agent(name string) *client.Client {
	return client.New(s.conn, client.WithNamespace(name), client.WithVerification())
}

func (s *service) ctx() context.Context { return s.Context() }

func (s *service) ok(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// must gives what a call gave, which must not have failed.
func must[V any](s *service) func(V, error) V {
	return func(v V, err error) V {
		s.Helper()
		s.ok(err)
		return v
	}
}

func equal[V comparable](s *service, what string, got, want V) {
	s.Helper()
	if got != want {
		s.Fatalf("%s:\n%v\nwant\n%v", what, got, want)
	}
}

// told is what messages say, a line each: who, and the text or the calls.
func told(messages []*message) string {
	var out []string
	for _, m := range messages {
		line := strings.ToLower(strings.TrimPrefix(m.Role.String(), "ROLE_")) + ":"
		if text := client.Text(m); text != "" {
			line += " " + text
		}
		for _, call := range client.Calls(m) {
			line += " " + call.GetName() + call.Arguments
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

// sends are the lines that a model is sent under a policy.
func (s *service) sends(thread *client.Thread, p *policy) string {
	s.Helper()
	return told(must[[]*message](s)(thread.Messages(s.ctx(), p)))
}

// loop is the last run loop as Describe tells it: its state and outcome.
func (s *service) loop(c *client.Client, thread *client.Thread) string {
	s.Helper()
	d := must[*transcriptv1.DescribeResponse](s)(c.Describe(s.ctx(), client.ByAlias(thread.Alias()), nil))
	return standing(d.Loop.State, d.Loop.Outcome)
}

func standing(state transcriptv1.RunLoopState, outcome transcriptv1.RunOutcome) string {
	words := strings.TrimPrefix(state.String(), "RUN_LOOP_STATE_")
	if outcome != transcriptv1.RunOutcome_RUN_OUTCOME_UNSPECIFIED {
		words += " " + strings.TrimPrefix(outcome.String(), "RUN_OUTCOME_")
	}
	return words
}

func lines(all ...string) string { return strings.Join(all, "\n") }
