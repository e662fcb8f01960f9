package client_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// long is a thread of a system message and n user messages of about a kilobyte, each a node.
func long(t *testing.T, c *client.Client, n int) *client.Thread {
	t.Helper()
	thread := begun(t, c)
	for i := range n {
		ok(t, thread.Append(t.Context(), client.User(fmt.Sprint(i, strings.Repeat(" x", 500)))))
	}
	return thread
}

// whole is what the server gives for a thread's head to somebody who holds nothing.
func whole(t *testing.T, l *link, thread *client.Thread) []*transcriptv1.Message {
	t.Helper()
	a := must(l.client().Assemble(t.Context(), client.ByID(thread.Head()), client.Query{}))(t)
	return must(a.Messages())(t)
}

func TestOnlyTheTailIsAskedFor(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	c := l.client()
	thread := long(t, c, 50)
	shows(t, thread, whole(t, l, thread)...)
	seen := thread.Head()

	l.reset()
	must(thread.Messages(ctx, nil))(t)
	if len(l.asked) != 1 || l.asked[0].AfterId != seen || l.bytes > 300 {
		t.Errorf("at a head that is held: asked %v, %d bytes", l.asked, l.bytes)
	}

	l.reset()
	ok(t, thread.Append(ctx, asks))
	must(thread.Messages(ctx, nil))(t)
	if len(l.asked) != 1 || l.asked[0].AfterId != seen || l.bytes > 1000 {
		t.Errorf("after an append: asked %v, %d bytes", l.asked, l.bytes)
	}
	shows(t, thread, whole(t, l, thread)...)
}

func TestBranchesShareWhatIsHeld(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	c := l.client()
	thread := long(t, c, 50)
	must(thread.Messages(ctx, nil))(t)
	fork := must(thread.Fork(ctx, "branch"))(t)
	ok(t, thread.Reply(ctx, "o1", answer))
	ok(t, fork.Append(ctx, client.Assistant("Otherwise.")))

	l.reset()
	must(fork.Messages(ctx, nil))(t)
	must(thread.Messages(ctx, nil))(t)
	replies := []*client.Thread{
		must(c.Start(ctx, turn("a", "o1", client.User("a"))))(t),
		must(c.Start(ctx, turn("b", "o1", client.User("b"))))(t),
		must(c.Resume(ctx, "m1"))(t),
		must(c.Open(ctx, "branch"))(t),
	}
	for _, reply := range replies {
		must(reply.Messages(ctx, nil))(t)
	}
	for _, asked := range l.asked {
		if asked.AfterId == "" {
			t.Error("asked for a whole view although its beginning is held")
		}
	}
	if l.bytes > 6*500 {
		t.Errorf("%d bytes for a few tails", l.bytes)
	}
	for _, reply := range append(replies, fork, thread) {
		shows(t, reply, whole(t, l, reply)...)
	}
}

// A subagent that goes on from the thread's head asks for no more than what is its own.
func TestASpawnWithThePrefixSharesWhatIsHeld(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	c := l.client()
	thread := long(t, c, 50)
	must(thread.Messages(ctx, nil))(t)
	seen := thread.Head()
	ok(t, thread.Append(ctx, asks))
	spawn := client.Spawn{CallID: call.GetId(), Alias: "sub", Inherit: client.InheritPrefix, Messages: messages{client.User("Your part.")}}
	l.reset()
	child := must(thread.Spawn(ctx, spawn))(t)
	must(child.Messages(ctx, nil))(t)
	if len(l.asked) != 1 || l.asked[0].AfterId != seen || l.bytes > 1500 {
		t.Errorf("asked %v, %d bytes", l.asked, l.bytes)
	}
	shows(t, child, whole(t, l, child)...)
}

func TestAnAliasRemembersWhatIsHeld(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	c := l.client()
	thread := begun(t, c)
	must(thread.Messages(ctx, nil))(t)
	seen := thread.Head()
	ok(t, thread.Append(ctx, answer))
	l.reset()
	shows(t, must(c.Resume(ctx, "m1"))(t), system, hello, answer)
	if len(l.asked) != 1 || l.asked[0].AfterId != seen {
		t.Errorf("asked %v", l.asked)
	}
}

func TestAWrongGuessIsPutRight(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	c := l.client()
	thread := begun(t, c)
	ok(t, thread.Append(ctx, answer))
	must(thread.Messages(ctx, nil))(t)
	// Somebody else moves the alias to another branch, of which what is held is no beginning.
	other := must(c.Put(ctx, client.Node{Messages: messages{client.User("elsewhere")}}))(t)
	must(c.SetAliases(ctx, client.AliasMove{Name: thread.Alias(), Target: client.ByID(other.NodeId)}))(t)
	ok(t, thread.Refresh(ctx))
	shows(t, thread, client.User("elsewhere"))
}

func TestWithoutABaseTheViewReplaces(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	thread := begun(t, l.client())
	shows(t, thread, system, hello)
	l.ask = func(req *transcriptv1.StreamAssembleRequest) { req.AfterId = "" } // as if the server could not honour it
	for _, m := range []*transcriptv1.Message{asks, result, answer} {
		ok(t, thread.Append(ctx, m))
		must(thread.Messages(ctx, nil))(t)
	}
	shows(t, thread, system, hello, asks, result, answer)
}

func TestTheCacheIsBounded(t *testing.T) {
	for _, limit := range []int64{0, 30_000, 1 << 20} {
		ctx, l := t.Context(), newLink(t)
		c := l.client(client.WithCacheBytes(limit))
		var threads []*client.Thread
		for i := range 5 {
			thread := must(c.Start(ctx, turn(fmt.Sprint("c", i), "", hello)))(t)
			for range 20 {
				ok(t, thread.Append(ctx, client.User(strings.Repeat("x", 1000))))
				must(thread.Messages(ctx, nil))(t)
			}
			threads = append(threads, thread)
		}
		l.reset()
		for _, thread := range threads {
			shows(t, thread, whole(t, l, thread)...)
		}
		asked := -len(threads) // those of whole
		for _, one := range l.asked {
			if one.AfterId == "" {
				asked++
			}
		}
		switch {
		case limit == 0 && asked != len(threads), limit == 1<<20 && asked != 0, asked > len(threads):
			t.Errorf("limit %d: asked %d times for all of %d threads", limit, asked, len(threads))
		}
	}
}

func TestRepairedViewsGrowToo(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	thread := begun(t, l.client(client.WithVerification()))
	late := client.Result(call, "too late")
	for _, m := range []*transcriptv1.Message{asks, client.User("Never mind."), late, answer, asks, result, late, answer} {
		ok(t, thread.Append(ctx, m))
		shows(t, thread, whole(t, l, thread)...)
	}
	stub := must(thread.Messages(ctx, nil))(t)[3]
	if stub.Origin != transcriptv1.Origin_ORIGIN_STUB {
		t.Errorf("%v in place of a stub", stub)
	}
}

// A thread whose view outgrows the cache goes on from what is kept of it.
func TestAViewLargerThanTheCache(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	c := l.client(client.WithCacheBytes(20_000))
	other := must(c.Chat(ctx, "other", client.System(strings.Repeat("o", 5000))))(t)
	must(other.Messages(ctx, nil))(t)
	thread := must(c.Chat(ctx, "long", client.System(strings.Repeat("s", 10_000))))(t)
	must(thread.Messages(ctx, nil))(t)
	kept := thread.Head()
	for range 3 {
		ok(t, thread.Append(ctx, client.User(strings.Repeat("u", 15_000))))
		l.reset()
		shows(t, thread, whole(t, l, thread)...)
		if len(l.asked) != 2 || l.asked[1].AfterId != kept { // the first is of whole
			t.Errorf("asked %v", l.asked)
		}
	}
	l.reset()
	must(other.Messages(ctx, nil))(t)
	if len(l.asked) != 1 || l.asked[0].AfterId != other.Head() {
		t.Error("another thread's view is gone")
	}
}
