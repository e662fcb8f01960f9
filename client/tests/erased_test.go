package client_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// erases erases nodes.
func erases(t *testing.T, c *client.Client, e client.Erasure) {
	t.Helper()
	for _, err := range c.Erase(t.Context(), e) {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// What was erased verifies, by its digests, and shows nothing but markers; no cache has what it was.
func TestWhatWasErasedVerifies(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	c := l.client(client.WithVerification())
	head, ids := repaired(t, c)
	thread := must(c.Start(ctx, client.Turn{MessageID: "1", Messages: messages{client.User("my secret")}}))(t)
	must(thread.Messages(ctx, nil))(t)
	erases(t, c, client.Erasure{Nodes: append([]string{thread.Head()}, ids[1:]...)})
	erasures := must(c.Assemble(ctx, client.ByID(head), client.Query{}))(t).Erasures
	for _, view := range []transcriptv1.View{0, full, effective} {
		for _, after := range append([]string{""}, ids...) {
			a := must(c.Assemble(ctx, client.ByID(head), client.Query{View: view, After: after, AfterErasures: erasures}))(t)
			if a.BaseID != after || a.Erasures != erasures || erasures == 0 {
				t.Errorf("base %q, want %q; %d erasures", a.BaseID, after, a.Erasures)
			}
			for _, m := range must(a.Messages())(t) {
				if text := client.Text(m); strings.Contains(text, hello.Parts[0].GetText()) || strings.Contains(text, "Never mind.") {
					t.Errorf("it shows %q", text)
				}
			}
		}
		if a := must(c.Assemble(ctx, client.ByID(head), client.Query{View: view, After: ids[0]}))(t); a.BaseID != "" {
			t.Errorf("who read before gets what is behind %q alone", a.BaseID)
		}
	}
	for _, id := range ids {
		must(c.Node(ctx, client.ByID(id)))(t)
		must(c.NodeInfo(ctx, client.ByID(id)))(t)
	}
	if err := thread.Append(ctx, client.Assistant("so")); err != nil {
		t.Fatal(err)
	}
	for _, m := range must(thread.Messages(ctx, nil))(t) {
		if strings.Contains(client.Text(m), "secret") {
			t.Error("the cache of a thread has what was erased")
		}
	}
}

// A thread shows nothing of what somebody else erased, at the head whose view it holds, too.
func TestHeldViewsAreAskedAbout(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	thread := must(l.client().Start(ctx, client.Turn{MessageID: "1", Messages: messages{client.User("my secret")}}))(t)
	reads := func() string {
		said := must(thread.Messages(ctx, nil))(t)
		return client.Text(said[len(said)-1])
	}
	if got := reads(); got != "my secret" {
		t.Errorf("it shows %q", got)
	}
	erases(t, l.client(), client.Erasure{Nodes: []string{thread.Head()}})
	if got := reads(); got != "[erased]" {
		t.Errorf("a held view of before the erasure shows %q", got)
	}
}

// In a namespace that was deleted and begun again with the same nodes, no etag of before names what has another erasure, and a thread that holds a
// view of before shows, and keeps, what is there.
func TestErasuresOfANamespaceThatBeginsAgain(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	c, other := l.client(client.Deterministic()), l.client(client.Deterministic())
	begin := func() *client.Thread {
		thread := begun(t, c)
		ok(t, thread.Append(ctx, answer))
		return thread
	}
	erase := func(id string) {
		erases(t, other, client.Erasure{Nodes: []string{id}, SharedRoots: transcriptv1.SharedRoots_SHARED_ROOTS_ERASE})
	}
	thread := begin()
	head := client.ByID(thread.Head())
	var ids, etags []string
	for _, n := range must(c.Assemble(ctx, head, client.Query{Detail: transcriptv1.NodeDetail_NODE_DETAIL_IDS}))(t).Nodes {
		ids = append(ids, n.NodeId)
	}
	marked := func(m *transcriptv1.Message) *transcriptv1.Message {
		return &transcriptv1.Message{Role: m.Role, Parts: []*transcriptv1.Part{{Kind: &transcriptv1.Part_Text{Text: "[erased]"}}}}
	}
	for _, id := range ids[1:] {
		erase(id)
		etags = append(etags, must(c.Assemble(ctx, head, client.Query{}))(t).Etag)
	}
	shows(t, thread, system, marked(hello), marked(answer))
	must(other.DeleteNamespace(ctx, "default"))(t)
	if again := begin(); again.Head() != thread.Head() {
		t.Fatal("the same is put as another node")
	}
	shows(t, thread, system, hello, answer)
	for i, id := range ids {
		erase(id)
		for _, etag := range etags {
			if must(c.Assemble(ctx, head, client.Query{IfNoneMatch: etag}))(t).NotModified {
				t.Errorf("%d erasures: a view of the deleted namespace is not modified", i+1)
			}
		}
	}
	shows(t, thread, marked(system), marked(hello), marked(answer))
	l.reset()
	shows(t, thread, marked(system), marked(hello), marked(answer))
	if len(l.asked) != 1 || l.asked[0].AfterId != thread.Head() || l.asked[0].AfterErasures == 0 {
		t.Errorf("the view is not kept: asked %v", l.asked)
	}
}

// A prompt that was erased is put with a salt by those that begin with it, unless they want none. An append that was erased is not put again.
func TestErasedPrompts(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	c := l.client()
	begin := func(c *client.Client, id string) error {
		_, err := c.Start(ctx, client.Turn{MessageID: id, System: messages{system}, Messages: messages{hello}})
		return err
	}
	if err := begin(c, "1"); err != nil {
		t.Fatal(err)
	}
	erases(t, c, client.Erasure{AliasPrefix: "msg/1", SharedRoots: transcriptv1.SharedRoots_SHARED_ROOTS_ERASE})
	if err := begin(c, "2"); err != nil {
		t.Error(err)
	}
	must(c.Chat(ctx, "chat", system))(t)
	if err := begin(l.client(client.Deterministic()), "3"); !errors.Is(err, client.ErrPayloadErased) {
		t.Errorf("without salts: %v", err)
	}
	salted := client.Node{Messages: messages{hello}, Salt: []byte("sixteen bytes...")}
	put := must(c.Put(ctx, salted))(t)
	erases(t, c, client.Erasure{Nodes: []string{put.NodeId}})
	if _, err := c.Put(ctx, salted); !errors.Is(err, client.ErrPayloadErased) {
		t.Errorf("put again: %v", err)
	}
}
