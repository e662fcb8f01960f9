package client_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

const compactRPC = transcriptv1.TranscriptService_Compact_FullMethodName

// keepAll is the compaction that only condenses.
var keepAll = client.Compaction{Policy: client.Unbounded()}

// worked is a new thread with n loops of work, and with the chat "42".
func worked(t *testing.T, c *client.Client, n int) *client.Thread {
	t.Helper()
	first := turn("m1", "", hello)
	first.Chat = "42"
	thread := must(c.Start(t.Context(), first))(t)
	ok(t, thread.Append(t.Context(), answer))
	for i := range n {
		works(t, thread, i)
	}
	return thread
}

// works appends the nth loop of work.
func works(t *testing.T, thread *client.Thread, n int) {
	t.Helper()
	for _, m := range work(n) {
		ok(t, thread.Append(t.Context(), m))
	}
}

// short is what is left of worked.
func short(n int) messages {
	all := messages{system, hello, answer}
	for i := range n {
		all = append(all, condensed(i)...)
	}
	return all
}

func points(t *testing.T, c *client.Client, alias, to string) {
	t.Helper()
	if at := must(c.Resolve(t.Context(), alias))(t).Alias.NodeId; at != to {
		t.Errorf("%s points to %s, want %s", alias, at, to)
	}
}

func TestCompactAThread(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	c := l.client(client.WithVerification())
	thread := worked(t, c, 3)
	other := must(c.Resume(ctx, "m1"))(t)
	before, depth := must(thread.Messages(ctx, nil))(t), thread.Depth()

	dry := keepAll
	dry.DryRun = true
	res := must(thread.Compact(ctx, dry))(t)
	if res.Written || res.Report.BytesAfter >= res.Report.BytesBefore || res.HeadId != thread.Head() {
		t.Errorf("dry run: %v", res)
	}
	shows(t, thread, before...)

	marked := keepAll
	marked.Aliases = []client.AliasUpdate{{Name: "mark", If: client.MustNotExist()}}
	res = must(thread.Compact(ctx, marked))(t)
	if !res.Written || res.NodeId != thread.Head() || thread.Depth() != depth {
		t.Errorf("head %s, depth %d: %v", thread.Head(), thread.Depth(), res)
	}
	for _, alias := range []string{"msg/m1", "chat/42", "mark"} {
		points(t, c, alias, thread.Head())
	}
	shows(t, thread, short(3)...)
	shows(t, other, before...) // which has not heard of it
	ok(t, other.Refresh(ctx))
	shows(t, other, short(3)...)
	shows(t, must(l.client().Chat(ctx, "42"))(t), short(3)...) // of another process
	ok(t, thread.Append(ctx, asks))
	shows(t, thread, append(short(3), asks)...)

	res = must(thread.Compact(ctx, keepAll))(t)
	if res.Written || res.NotWrittenReason != transcriptv1.NotWrittenReason_NOT_WRITTEN_REASON_NOTHING_SHRINKS {
		t.Errorf("again: %v", res)
	}
	_, err := thread.Compact(ctx, client.Compaction{Through: other.Head()[:10]})
	fails(t, err, client.ErrInvalidField)
	_, err = thread.Compact(ctx, marked)
	ok(t, err) // nothing shrinks, so no alias is looked at
}

// Behind a compaction only the tail is asked for, and what is kept stays bounded.
func TestTheCacheWithCompactions(t *testing.T) {
	const limit = 60_000
	ctx, l := t.Context(), newLink(t)
	c := l.client(client.WithCacheBytes(limit), client.WithVerification())
	thread := worked(t, c, 0)
	for i := range 60 {
		works(t, thread, i)
		if i%10 == 9 {
			must(thread.Compact(ctx, keepAll))(t)
			l.reset()
		}
		shows(t, thread, whole(t, l, thread)...)
	}
	thread = must(c.Resume(ctx, "m1"))(t)
	must(thread.Messages(ctx, nil))(t)
	seen := thread.Head()
	ok(t, thread.Append(ctx, hello))
	l.reset()
	must(thread.Messages(ctx, nil))(t)
	if len(l.asked) != 1 || l.asked[0].AfterId != seen || l.bytes > 500 {
		t.Errorf("asked %v, %d bytes", l.asked, l.bytes)
	}
}

func TestAThreadGoesOnPastCompactions(t *testing.T) {
	ctx, c := t.Context(), newLink(t).client(client.WithVerification())
	thread := worked(t, c, 2)
	other := must(c.Resume(ctx, "m1"))(t)
	must(other.Compact(ctx, keepAll))(t)
	must(other.Compact(ctx, client.Compaction{Summary: "They worked.", SummaryOnly: true}))(t)
	res := must(thread.AppendNode(ctx, client.Node{Messages: messages{client.User("More?")}}))(t)
	if res.NodeId != thread.Head() || thread.Depth() != 2+2*3+1 {
		t.Errorf("head %s, depth %d: %v", thread.Head(), thread.Depth(), res)
	}
	points(t, c, "msg/m1", thread.Head())
	got := must(thread.Messages(ctx, nil))(t)
	if len(got) != 3 || client.Text(got[1]) != "They worked." || client.Text(got[2]) != "More?" {
		t.Errorf("got %v", got)
	}
	// Who appended and compacted has said something.
	ok(t, other.Refresh(ctx))
	ok(t, other.Append(ctx, client.Assistant("No."), client.User(bulk), answer))
	must(other.Compact(ctx, keepAll))(t)
	fails(t, thread.Append(ctx, answer), client.ErrAliasMoved)
}

// A compaction in between hides no other condition that fails.
func TestFurtherConditionsStayErrors(t *testing.T) {
	ctx, c := t.Context(), newLink(t).client()
	thread := worked(t, c, 2)
	ok(t, must(c.Start(ctx, turn("taken", "", hello)))(t).Append(ctx, answer))
	head := thread.Head()
	must(must(c.Resume(ctx, "m1"))(t).Compact(ctx, keepAll))(t)
	e := fails(t, thread.Reply(ctx, "taken", answer), client.ErrAliasMoved)
	if len(e.Conflicts) != 2 || !e.Conflicts[0].OnlyCompacted || thread.Head() != head {
		t.Errorf("conflicts %v, head %s", e.Conflicts, thread.Head())
	}
	ok(t, thread.Reply(ctx, "free", answer))
	points(t, c, "msg/free", thread.Head())
}

func TestRefreshAndForkBehindACompaction(t *testing.T) {
	ctx, c := t.Context(), newLink(t).client(client.WithVerification())
	thread := worked(t, c, 2)
	before := must(thread.Fork(ctx, "before"))(t)
	must(thread.Compact(ctx, keepAll))(t)
	behind := must(thread.Fork(ctx, "behind"))(t)
	ok(t, before.Append(ctx, hello))
	ok(t, behind.Append(ctx, hello))
	shows(t, behind, append(short(2), hello)...)
	shows(t, before, slices.Concat(messages{system, hello, answer}, work(0), work(1), messages{hello})...)
	ok(t, behind.Refresh(ctx))
	shows(t, behind, append(short(2), hello)...)
}

// watched calls after with each unary call that has ended, before its caller knows.
type watched struct {
	*link
	after func(method string)
}

func (w *watched) Invoke(ctx context.Context, method string, req, reply any, opts ...grpc.CallOption) error {
	defer func() { w.after(method) }()
	return w.link.Invoke(ctx, method, req, reply, opts...)
}

// Of two appends at once on one thread one succeeds, also where both meet a compaction.
func TestTwoAppendsThatMeetACompaction(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	puts := 0
	w := &watched{link: l}
	c := client.New(w)
	var thread *client.Thread
	w.after = func(method string) {
		if method != putNode || thread == nil {
			return
		}
		if puts++; puts == 1 { // which was refused for the compaction
			ok(t, thread.Append(ctx, client.Assistant("first")))
		}
	}
	thread = worked(t, c, 2)
	must(must(l.client().Resume(ctx, "m1"))(t).Compact(ctx, keepAll))(t)
	fails(t, thread.Append(ctx, client.Assistant("second")), client.ErrAliasMoved)
	shows(t, thread, append(short(2), client.Assistant("first"))...)
}

// A put of which every trace was lost, and which another compacted since, is found: it is not put twice.
func TestALostAppendThatWasCompacted(t *testing.T) {
	for name, attempts := range map[string]int{"in one call": 4, "in the next call": 1} {
		t.Run(name, func(t *testing.T) {
			ctx, l := t.Context(), newLink(t)
			retry := client.WithRetry(client.Retry{Attempts: attempts})
			c := l.client(retry)
			thread := worked(t, c, 2)
			more := client.User("More?")
			l.lost[putNode] = 1
			l.between = func() {
				l.between = nil
				must(must(l.client().Resume(ctx, "m1"))(t).Compact(ctx, keepAll))(t)
			}
			err := thread.Reply(ctx, "o1", more)
			if attempts == 1 {
				if err == nil {
					t.Fatal("nothing was lost")
				}
				err = thread.Reply(ctx, "o1", more)
			}
			ok(t, err)
			ok(t, thread.Append(ctx, answer)) // past the compaction
			shows(t, thread, append(short(2), more, answer)...)
			stats := must(c.Stats(ctx))(t)
			if want := int64(2 + 1 + 8 + 1 + 1 + 1); stats.Nodes != want {
				t.Errorf("%d nodes, want %d", stats.Nodes, want)
			}
		})
	}
}

// A put that never took place goes on below the compaction that came meanwhile, once.
func TestARefusedAppendThatACompactionOvertook(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	c := l.client(client.WithRetry(client.Retry{Attempts: 1}))
	thread := worked(t, c, 2)
	l.refused[putNode] = 1
	if err := thread.Append(ctx, hello); err == nil {
		t.Fatal("it was not refused")
	}
	must(must(l.client().Resume(ctx, "m1"))(t).Compact(ctx, keepAll))(t)
	l.lost[putNode] = 1 // below the compaction; the next attempt finds it
	if err := thread.Append(ctx, hello); err != nil {
		ok(t, thread.Append(ctx, hello))
	}
	shows(t, thread, append(short(2), hello)...)
}

func TestALostReplyOfACompaction(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	c := l.client()
	thread := worked(t, c, 3)
	l.lost[compactRPC] = 1
	res := must(thread.Compact(ctx, keepAll))(t)
	if !res.Written || res.NodeId != thread.Head() || res.Report.BytesAfter >= res.Report.BytesBefore {
		t.Errorf("got %v", res)
	}
	shows(t, thread, short(3)...)
	ok(t, thread.Append(ctx, hello))
	if stats := must(c.Stats(ctx))(t); stats.Forks != 0 {
		t.Errorf("%d forks", stats.Forks)
	}
}

// Two writers and two compactors at once lose nothing and put nothing twice.
func TestWritersAndCompactorsAtOnce(t *testing.T) {
	const writers, each = 2, 25
	ctx, l := t.Context(), newLink(t)
	c := l.client(client.WithVerification())
	worked(t, c, 1)
	var writing, compacting sync.WaitGroup
	for w := range writers {
		writing.Go(func() {
			thread, err := c.Resume(ctx, "m1")
			for i := 0; i < each && err == nil; {
				one := client.User(fmt.Sprint(w, " ", i))
				switch err = thread.Append(ctx, one, client.Assistant(bulk), client.Assistant("ok")); {
				case err == nil:
					i++
					_, err = thread.Messages(ctx, nil)
				case errors.Is(err, client.ErrAliasMoved):
					err = thread.Refresh(ctx)
				}
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	done := make(chan struct{})
	for range 2 {
		compacting.Go(func() {
			thread, err := c.Resume(ctx, "m1")
			for err == nil {
				select {
				case <-done:
					return
				default:
				}
				if _, err = thread.Compact(ctx, keepAll); errors.Is(err, client.ErrAliasMoved) {
					err = nil
				}
				if err == nil {
					_, err = thread.Messages(ctx, nil)
				}
			}
			t.Error(err)
		})
	}
	writing.Wait()
	close(done)
	compacting.Wait()

	thread := must(c.Resume(ctx, "m1"))(t)
	must(thread.Compact(ctx, keepAll))(t)
	a := must(c.Assemble(ctx, client.ByID(thread.Head()), client.Query{View: full}))(t)
	next := make([]int, writers)
	for turn := range slices.Chunk(must(a.Messages())(t)[3+len(work(0)):], 3) {
		var w, i int
		if _, err := fmt.Sscan(client.Text(turn[0]), &w, &i); err != nil || i != next[w] {
			t.Fatalf("%v in place of writer %d's message %d", turn[0], w, next[w])
		}
		next[w]++
	}
	if got := must(thread.Messages(ctx, nil))(t); next[0]+next[1] != writers*each || len(got) != len(short(1))+2*writers*each {
		t.Errorf("%v were put, %d messages are shown", next, len(got))
	}
}

// trigger fires past so many bytes.
func trigger(bytes int64) client.Trigger { return client.Trigger{Bytes: bytes, Compaction: keepAll} }

// waits holds CompactWhen to do nothing, with so many calls of the server.
func waits(t *testing.T, l *link, thread *client.Thread, when client.Trigger, calls int) {
	t.Helper()
	l.reset()
	if res := must(thread.CompactWhen(t.Context(), when))(t); res != nil || l.sent[compactRPC] != calls {
		t.Fatalf("asked %d times, want %d: %v", l.sent[compactRPC], calls, res)
	}
}

// sized is the size of a thread's effective view.
func sized(t *testing.T, c *client.Client, thread *client.Thread) *transcriptv1.Counters {
	t.Helper()
	return must(c.Resolve(t.Context(), thread.Alias()))(t).Counters.Effective
}

func TestCompactWhenPastASize(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	c := l.client()
	thread := worked(t, c, 4)
	size := sized(t, c, thread)
	waits(t, l, thread, client.Trigger{}, 0)
	waits(t, l, thread, trigger(size.Bytes), 0)
	waits(t, l, thread, client.Trigger{Tokens: size.Tokens, Compaction: keepAll}, 0)

	l.reset()
	res := must(thread.CompactWhen(ctx, client.Trigger{Tokens: size.Tokens - 1, Compaction: keepAll}))(t)
	if res == nil || !res.Written || res.NodeId != thread.Head() || l.sent[compactRPC] != 2 {
		t.Fatalf("asked %d times: %v", l.sent[compactRPC], res)
	}
	shows(t, thread, short(4)...)
	waits(t, l, thread, trigger(size.Bytes-1), 0)
	works(t, thread, 4)
	waits(t, l, thread, trigger(size.Bytes-1), 0)

	// A thread that was opened knows its size too.
	opened := must(c.Resume(ctx, "m1"))(t)
	if res := must(opened.CompactWhen(ctx, trigger(sized(t, c, thread).Bytes-1)))(t); res == nil {
		t.Error("a thread that was opened does not compact")
	}
}

func TestCompactWhenAQuarterWouldGo(t *testing.T) {
	l := newLink(t)
	c := l.client()
	thread := worked(t, c, 1) // about 1,000 bytes would go
	for sized(t, c, thread).Bytes < 6000 {
		ok(t, thread.Append(t.Context(), client.User(strings.Repeat("x", 450)), client.Assistant(strings.Repeat("y", 450))))
	}
	when := trigger(1000)
	waits(t, l, thread, when, 1)
	waits(t, l, thread, when, 0)
	at := sized(t, c, thread).Bytes
	for sized(t, c, thread).Bytes < at+at/10-200 {
		ok(t, thread.Append(t.Context(), client.User("a little"), client.Assistant("more")))
		waits(t, l, thread, when, 0)
	}
	ok(t, thread.Append(t.Context(), client.User(strings.Repeat("x", 250)), answer))
	waits(t, l, thread, when, 1)
	waits(t, l, thread, when, 0)
	works(t, thread, 1)
	works(t, thread, 2)
	if res := must(thread.CompactWhen(t.Context(), when))(t); res == nil {
		t.Error("enough would go, and nothing happens")
	}
	saved := sized(t, c, thread).Bytes
	waits(t, l, thread, when, 1) // still past the size, and nothing is left to go
	waits(t, l, thread, when, 0)
	if saved < 6000 {
		t.Errorf("%d bytes are left", saved)
	}
}

func TestCompactWhenWithASummary(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	c := l.client()
	thread := worked(t, c, 4)
	seen := must(thread.Messages(ctx, nil))(t)
	called, text, failure := 0, "", error(nil)
	when := client.Trigger{
		Bytes: 1000, Compaction: client.Compaction{SummaryOnly: true},
		Summarize: func(_ context.Context, all []*transcriptv1.Message) (string, error) {
			called++
			same(t, all, seen...)
			return text, failure
		},
	}
	failure = errors.New("the model is ill")
	if _, err := thread.CompactWhen(ctx, when); !errors.Is(err, failure) || called != 1 {
		t.Fatalf("called %d times: %v", called, err)
	}
	failure = nil
	waits(t, l, thread, when, 1) // an empty summary
	waits(t, l, thread, when, 0)
	thread = must(c.Resume(ctx, "m1"))(t)
	text = strings.Repeat("x", 4000)
	waits(t, l, thread, when, 1) // too long a summary
	waits(t, l, thread, when, 0)
	thread = must(c.Resume(ctx, "m1"))(t)
	text, called = "They worked four times.", 0
	if res := must(thread.CompactWhen(ctx, when))(t); res == nil || called != 1 {
		t.Fatalf("called %d times: %v", called, res)
	}
	got := must(thread.Messages(ctx, nil))(t)
	if len(got) != 2 || got[1].Origin != transcriptv1.Origin_ORIGIN_SUMMARY || client.Text(got[1]) != text {
		t.Errorf("got %v", got)
	}
	called = 0
	waits(t, l, thread, when, 0)
	when.Bytes = 1
	waits(t, l, thread, when, 1)
	if called != 0 {
		t.Error("a summary was made for nothing")
	}
}

// What is said while a summary is made stays, and whoever compacts meanwhile is in nobody's way.
func TestCompactWhenMeanwhile(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	c := l.client(client.WithVerification())
	thread, other := worked(t, c, 4), must(l.client().Resume(ctx, "m1"))(t)
	meanwhile := client.User("And this?")
	when := client.Trigger{Bytes: 1000, Compaction: client.Compaction{SummaryOnly: true}}
	when.Summarize = func(context.Context, []*transcriptv1.Message) (string, error) {
		return "They worked.", other.Append(ctx, meanwhile, answer)
	}
	if res := must(thread.CompactWhen(ctx, when))(t); res == nil {
		t.Fatal("nothing was compacted")
	}
	ok(t, thread.Refresh(ctx))
	got := must(thread.Messages(ctx, nil))(t)
	if len(got) != 4 || client.Text(got[1]) != "They worked." {
		t.Fatalf("got %v", got)
	}
	same(t, got[2:], meanwhile, answer)

	works(t, thread, 5)
	works(t, thread, 6)
	when.Summarize = func(context.Context, []*transcriptv1.Message) (string, error) {
		ok(t, other.Refresh(ctx))
		works(t, other, 7)
		_, err := other.Compact(ctx, client.Compaction{Summary: "The other was first.", SummaryOnly: true})
		return "They worked.", err
	}
	if res := must(thread.CompactWhen(ctx, when))(t); res != nil {
		t.Errorf("it compacted what was compacted: %v", res)
	}
	ok(t, thread.Refresh(ctx))
	if got := must(thread.Messages(ctx, nil))(t); len(got) != 2 || client.Text(got[1]) != "The other was first." {
		t.Errorf("got %v", got)
	}
}

// A thread learns from its dry run that another compacted.
func TestCompactWhenAnotherCompacted(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	c := l.client()
	thread := worked(t, c, 4)
	must(must(c.Resume(ctx, "m1"))(t).Compact(ctx, keepAll))(t)
	waits(t, l, thread, trigger(1000), 1)
	waits(t, l, thread, trigger(1000), 0)
	shows(t, thread, short(4)...)
	works(t, thread, 5)
	works(t, thread, 6)
	if res := must(thread.CompactWhen(ctx, trigger(1000)))(t); res == nil {
		t.Error("what the size was before keeps it from compacting")
	}
}

// A compaction of what a thread has not seen is not followed.
func TestCompactWhenAnotherSpokeAndCompacted(t *testing.T) {
	ctx, c := t.Context(), newLink(t).client()
	thread := worked(t, c, 4)
	head, other := thread.Head(), must(c.Resume(ctx, "m1"))(t)
	works(t, other, 4)
	must(other.Compact(ctx, keepAll))(t)
	if res := must(thread.CompactWhen(ctx, trigger(1000)))(t); res != nil || thread.Head() != head {
		t.Errorf("the thread is at %s: %v", thread.Head(), res)
	}
	fails(t, thread.Append(ctx, answer), client.ErrAliasMoved)
}

func TestCompactWhenItCannot(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	c := l.client()
	open := must(c.Start(ctx, client.Turn{MessageID: "m1", Messages: messages{client.Assistant(bulk, call)}}))(t)
	waits(t, l, open, trigger(10), 1)
	waits(t, l, open, trigger(10), 0)
	ok(t, open.AppendResults(ctx, result))
	waits(t, l, open, trigger(10), 1)

	thread := must(c.Start(ctx, turn("m2", "", hello)))(t)
	wrong := trigger(10)
	wrong.Compaction.Policy = &transcriptv1.Policy{MaxRunLoops: proto.Int32(-1)}
	_, err := thread.CompactWhen(ctx, wrong)
	fails(t, err, client.ErrInvalidField)
	wrong = trigger(10)
	wrong.Compaction.Through = open.Head()
	_, err = thread.CompactWhen(ctx, wrong)
	fails(t, err, client.ErrNotAnAncestor)
	l.refused[compactRPC] = 4
	if _, err := thread.CompactWhen(ctx, trigger(10)); err == nil {
		t.Error("the server is away, and that is no error")
	}
}
