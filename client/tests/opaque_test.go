package client_test

import (
	"bytes"
	"testing"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// TestOpaque: a framework's state that a thread puts between a call and its result is given back in the full view alone, and the
// thread goes on as without it, though it verifies all that it reads.
func TestOpaque(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	c := l.client(client.WithVerification())
	thread := begun(t, c)
	state := client.Opaque("adk.state", bytes.Repeat([]byte{0, 255}, 1000))
	if !client.IsOpaque(state) || client.IsOpaque(system) {
		t.Error("what is opaque")
	}
	ok(t, thread.Append(ctx, state))
	shows(t, thread, system, hello)
	ok(t, thread.Append(ctx, asks, state))
	shows(t, thread, system, hello, asks)
	if open := must(thread.OpenCalls(ctx))(t); len(open) != 1 {
		t.Errorf("%d open calls", len(open))
	}
	ok(t, thread.Append(ctx, state, result))
	shows(t, thread, system, hello, asks, result)
	ok(t, thread.Append(ctx, answer, state))
	if thread.Depth() != 3 {
		t.Errorf("depth %d", thread.Depth())
	}
	again := must(l.client(client.WithVerification()).Resume(ctx, "m1"))(t)
	shows(t, again, system, hello, asks, result, answer)
	whole := must(c.Assemble(ctx, client.ByID(thread.Head()), client.Query{View: full}))(t)
	same(t, must(whole.Messages())(t), system, hello, state, asks, state, state, result, answer, state)
	talk := must(c.Assemble(ctx, client.ByID(thread.Head()), client.Query{View: transcriptv1.View_VIEW_CONVERSATION, CondenseLast: true}))(t)
	same(t, must(talk.Messages())(t), system, hello, answer)
}

// TestSentPastOpaque: what was sent in a run moves along with the framework's state, and no further once the run has ended.
func TestSentPastOpaque(t *testing.T) {
	ctx, c := t.Context(), newLink(t).client()
	thread := begun(t, c)
	state := client.Opaque("adk.state", []byte("1"))
	at := func(id string) string { return must(c.Resolve(ctx, client.MessageAlias(id)))(t).Alias.NodeId }
	ok(t, thread.Append(ctx, asks))
	ok(t, thread.Sent(ctx, "o1"))
	ok(t, thread.Append(ctx, state))
	if at("o1") != thread.Head() {
		t.Error("what was sent stays behind the state")
	}
	ok(t, thread.Append(ctx, result))
	ok(t, thread.Append(ctx, answer))
	ended := thread.Head()
	ok(t, thread.Append(ctx, &transcriptv1.Message{Role: transcriptv1.Role_ROLE_USER, Parts: state.Parts}))
	if at("o1") != ended {
		t.Errorf("what was sent is at %s, want %s, where the run ended", at("o1"), ended)
	}
}
