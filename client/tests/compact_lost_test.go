package client_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/transcriptd/transcriptd/client"
)

// spoken is what another says meanwhile.
var spoken = messages{client.User("The code of the door is 4711."), client.Assistant("I will remember that.")}

// speaks lets another writer of m1 say that.
func speaks(t *testing.T, l *link) {
	t.Helper()
	other := must(l.client().Resume(t.Context(), "m1"))(t)
	for _, m := range spoken {
		ok(t, other.Append(t.Context(), m))
	}
}

// meanwhile runs do once, between a lost call and the report of its loss.
func (l *link) meanwhile(do func()) {
	l.between = func() {
		l.between = nil
		do()
	}
}

// talked is a thread of m1 with a closed loop of some length.
func talked(t *testing.T, l *link) *client.Thread {
	t.Helper()
	thread := begun(t, l.client())
	ok(t, thread.Append(t.Context(), client.Assistant("An answer. "+strings.Repeat("long ", 500))))
	return thread
}

// rest holds what a new thread of m1 sees behind preamble and summary to messages.
func rest(t *testing.T, l *link, summary string, want ...messages) {
	t.Helper()
	got := must(must(l.client().Resume(t.Context(), "m1"))(t).Messages(t.Context(), nil))(t)
	if len(got) < 2 || client.Text(got[1]) != summary {
		t.Fatalf("got %v", got)
	}
	var all messages
	for _, m := range want {
		all = append(all, m...)
	}
	same(t, got[2:], all...)
}

var briefly = client.Compaction{Summary: "They said hello.", SummaryOnly: true}

// A summary stands for what its maker read, and for nothing that others said since.
func TestASummaryCoversWhatWasRead(t *testing.T) {
	ctx := t.Context()
	for name, c := range map[string]struct {
		read func(*testing.T, *client.Thread)
		want []messages
	}{
		"the view": {func(t *testing.T, thread *client.Thread) { must(thread.Messages(ctx, nil))(t) }, []messages{spoken}},
		"a conversation": {func(t *testing.T, thread *client.Thread) {
			must(thread.Messages(ctx, client.Unbounded()))(t)
		}, []messages{spoken}},
		"nothing: what the thread put": {func(*testing.T, *client.Thread) {}, []messages{spoken}},
		"before it went on": {func(t *testing.T, thread *client.Thread) {
			must(thread.Messages(ctx, nil))(t)
			ok(t, thread.Append(ctx, client.User("And?")))
			must(thread.OpenCalls(ctx))(t)
		}, []messages{{client.User("And?")}, spoken}},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLink(t)
			thread := talked(t, l)
			c.read(t, thread)
			speaks(t, l)
			if res := must(thread.Compact(ctx, briefly))(t); !res.Written {
				t.Fatalf("got %v", res)
			}
			rest(t, l, briefly.Summary, c.want...)
		})
	}
}

// What was read in the midst of calls is covered through the last node before them.
func TestASummaryOfOpenCalls(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	thread := talked(t, l)
	ok(t, thread.Append(ctx, client.User("Look.")))
	ok(t, thread.Append(ctx, asks))
	must(thread.Messages(ctx, nil))(t)
	ok(t, thread.AppendResults(ctx, result))
	if res := must(thread.Compact(ctx, briefly))(t); !res.Written {
		t.Fatalf("got %v", res)
	}
	rest(t, l, briefly.Summary, messages{client.User("Look."), asks, result})
}

// Without Through the service refuses: nobody knows what the summary tells of.
func TestASummaryWithoutThrough(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	thread, c := talked(t, l), l.client()
	for _, o := range []client.Compaction{briefly, {Summary: "s"}, {SummaryOnly: true}} {
		_, err := c.Compact(ctx, client.ByAlias(thread.Alias()), o)
		if e := fails(t, err, client.ErrInvalidField); len(e.Violations) != 1 || e.Violations[0].Field != "through_id" {
			t.Errorf("violations %v", e.Violations)
		}
		o.DryRun = true
		if dry := must(c.Compact(ctx, client.ByAlias(thread.Alias()), o))(t); dry.ThroughId != thread.Head() {
			t.Errorf("a dry run says %v", dry)
		}
	}
}

// A compaction whose reply was lost is found, and covers nothing that came behind it.
func TestALostCompactionCoversNothingMore(t *testing.T) {
	for name, o := range map[string]client.Compaction{"with a summary": briefly, "without": keepAll} {
		t.Run(name, func(t *testing.T) {
			ctx, l := t.Context(), newLink(t)
			thread := worked(t, l.client(), 3)
			l.lost[compactRPC] = 1
			l.meanwhile(func() { speaks(t, l) })
			res := must(thread.Compact(ctx, o))(t)
			if !res.Written || res.NodeId != thread.Head() {
				t.Errorf("got %v, the head is %s", res, thread.Head())
			}
			ok(t, thread.Refresh(ctx))
			got := must(thread.Messages(ctx, nil))(t)
			same(t, got[len(got)-2:], spoken...)
			if stats := must(l.client().Stats(ctx))(t); stats.Nodes != 2+1+12+1+2 {
				t.Errorf("%d nodes", stats.Nodes)
			}
		})
	}
}

// Of a compaction that names no node and was lost on its way nobody knows what it would cover the next time: it is not repeated.
func TestACompactionWithoutThroughIsSentOnce(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	thread := worked(t, l.client(), 3)
	for range 2 {
		l.reset()
		l.refused[compactRPC] = 1
		_, err := thread.Compact(ctx, keepAll)
		if status.Code(err) != codes.Unavailable || l.sent[compactRPC] != 1 {
			t.Errorf("sent %d times: %v", l.sent[compactRPC], err)
		}
	}
	l.reset()
	l.refused[compactRPC] = 2
	must(thread.Messages(ctx, nil))(t)
	if res := must(thread.Compact(ctx, briefly))(t); !res.Written || l.sent[compactRPC] != 3 {
		t.Errorf("sent %d times: %v", l.sent[compactRPC], res)
	}
}

// The repeat of a compaction replaces no summary that another made since of the same and more.
func TestARepeatedCompactionReplacesNoSummary(t *testing.T) {
	ctx := t.Context()
	for name, compact := range map[string]func(*link, *client.Thread, client.Compaction) error{
		"of a thread": func(_ *link, thread *client.Thread, o client.Compaction) error {
			_, err := thread.Compact(ctx, o)
			return err
		},
		"of a client": func(l *link, thread *client.Thread, o client.Compaction) error {
			o.Through = thread.Head()
			_, err := l.client().Compact(ctx, client.ByAlias(thread.Alias()), o)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLink(t)
			thread := talked(t, l)
			through := thread.Head()
			l.lost[compactRPC] = 1
			longer := client.Compaction{Through: through, Summary: "Hello.", SummaryOnly: true}
			l.meanwhile(func() { must(l.client().Compact(ctx, client.ByAlias("msg/m1"), longer))(t) })
			ok(t, compact(l, thread, briefly))
			rest(t, l, "Hello.", nil)
			l.lost[compactRPC] = 1
			again := client.Compaction{Summary: "Hi.", SummaryOnly: true}
			l.meanwhile(func() {
				speaks(t, l)
				other := must(l.client().Resume(ctx, "m1"))(t)
				must(other.Compact(ctx, client.Compaction{Summary: "The code is 4711.", SummaryOnly: true}))(t)
			})
			ok(t, compact(l, must(l.client().Resume(ctx, "m1"))(t), again))
			rest(t, l, "The code is 4711.", nil)
		})
	}
}

// CompactWhen says that it compacted, also where the reply was lost.
func TestCompactWhenTellsOfALostCompaction(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	thread := begun(t, l.client())
	grow := func() {
		for range 5 {
			ok(t, thread.Append(ctx, client.User("And?"), client.Assistant(strings.Repeat("long ", 500))))
		}
	}
	grow()
	when := client.Trigger{Bytes: 1000, Compaction: client.Compaction{SummaryOnly: true}}
	when.Summarize = func(context.Context, messages) (string, error) {
		l.lost[compactRPC] = 1 // the dry run is over
		return "They asked on.", nil
	}
	if res := must(thread.CompactWhen(ctx, when))(t); !res.GetWritten() || res.GetNodeId() != thread.Head() {
		t.Error("the thread was compacted; CompactWhen says:", res)
	}
	grow()
	without := trigger(1000)
	without.Compaction.SummaryOnly = true
	if res := must(thread.CompactWhen(ctx, without))(t); !res.GetWritten() {
		t.Error("nothing was compacted:", res)
	}
	failure := errors.New("the model is ill")
	grow()
	when.Summarize = func(context.Context, messages) (string, error) { return "", failure }
	if _, err := thread.CompactWhen(ctx, when); !errors.Is(err, failure) {
		t.Error(err)
	}
}

// Without a summary, too, CompactWhen hides nothing that was said since the thread was read.
func TestCompactWhenCoversWhatWasRead(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	thread := worked(t, l.client(), 4)
	must(thread.Messages(ctx, nil))(t)
	speaks(t, l)
	when := client.Trigger{Bytes: 1000, Compaction: client.Compaction{SummaryOnly: true}}
	if res := must(thread.CompactWhen(ctx, when))(t); !res.GetWritten() {
		t.Fatalf("got %v", res)
	}
	got := must(must(l.client().Resume(ctx, "m1"))(t).Messages(ctx, nil))(t)
	same(t, got[max(0, len(got)-len(spoken)):], spoken...)
}
