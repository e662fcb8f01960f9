package client_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// The pages of a view, laid one before the other, are the view, and no page begins with a result.
func TestBack(t *testing.T) {
	ctx := t.Context()
	for _, c := range []*client.Client{newLink(t).client(), newLink(t).client(client.WithVerification())} {
		thread := worked(t, c, 5)
		must(thread.Compact(ctx, keepAll))(t)
		works(t, thread, 6)
		for _, view := range []transcriptv1.View{transcriptv1.View_VIEW_FULL, transcriptv1.View_VIEW_EFFECTIVE} {
			whole := must(must(c.Assemble(ctx, client.ByAlias(thread.Alias()), client.Query{View: view}))(t).Encoded())(t)
			for n := range int32(6) {
				q := client.Query{View: view, LastMessages: n, LastBytes: 1 << 20}
				var all [][]byte
				pages := collect(t, c.Back(ctx, client.ByAlias(thread.Alias()), q))
				for i, page := range pages {
					messages := must(page.Messages())(t)
					if n > 0 && (len(messages) == 0 || messages[0].Role == transcriptv1.Role_ROLE_TOOL || len(messages) < int(n) && page.MoreBefore) {
						t.Errorf("page %d of %d messages: %v", i, n, messages)
					}
					if page.MoreBefore != (i < len(pages)-1) || page.BaseID != "" || page.HeadID != thread.Head() {
						t.Errorf("page %d of %d: more %v, base %q, head %s", i, len(pages), page.MoreBefore, page.BaseID, page.HeadID)
					}
					all = append(must(page.Encoded())(t), all...)
				}
				if !slices.EqualFunc(all, whole, bytes.Equal) {
					t.Errorf("%d messages a page: %d messages of %d", n, len(all), len(whole))
				}
			}
		}
	}
}

// A reader stays with the head that it began with, and a place that a later head does not show is refused.
func TestBackStaysWithItsHead(t *testing.T) {
	ctx, c := t.Context(), newLink(t).client()
	thread := worked(t, c, 5)
	head, alias := thread.Head(), client.ByAlias(thread.Alias())
	n := 0
	for page, err := range c.Back(ctx, alias, client.Query{LastMessages: 3}) {
		ok(t, err)
		if n++; n == 2 {
			must(thread.Compact(ctx, keepAll))(t)
			_, err := c.Assemble(ctx, alias, client.Query{LastMessages: 3, Before: page.Begin})
			fails(t, err, client.ErrNotInView)
		}
		if page.HeadID != head {
			t.Errorf("page %d is of another head", n)
		}
	}
	if n < 4 {
		t.Errorf("%d pages", n)
	}
	fails(t, ends(c.Back(ctx, client.ByAlias("nobody"), client.Query{})), client.ErrAliasNotFound)
	fails(t, ends(c.Back(ctx, alias, client.Query{View: transcriptv1.View_VIEW_CONVERSATION})), client.ErrInvalidField)
}

// The end of the full view is followed to the head: a node that is left out, changed, or cut where it is not the first, is found.
func TestAForgedEndOfAViewIsFound(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	c := l.client(client.WithVerification())
	thread := worked(t, c, 4)
	must(thread.Compact(ctx, keepAll))(t)
	wide := must(c.Put(ctx, client.Node{Parent: client.ByID(thread.Head()), Messages: []*transcriptv1.Message{client.User("a"), client.User("b")}}))(t).NodeId
	head := must(c.Put(ctx, client.Node{Parent: client.ByID(wide), Messages: []*transcriptv1.Message{client.User("c")}}))(t).NodeId
	query := client.Query{View: transcriptv1.View_VIEW_FULL, LastMessages: 8}
	told := honest(t, l, head, query)
	n := len(told.Nodes)
	half := func(m *response, i int) { // the node shows one message less
		first := 0
		for _, info := range m.Nodes[:i] {
			first += int(info.MessageCount)
		}
		p := &piece{info: m.Nodes[i], messages: slices.Clone(m.Messages[first : first+int(m.Nodes[i].MessageCount)])}
		deny(p)
		m.Messages = slices.Delete(m.Messages, first, first+1)
		m.Nodes[i].MessageCount--
	}
	for name, change := range map[string]func(*response){
		"the last node dropped":   func(m *response) { drop(m, n-1) },
		"an inner node dropped":   func(m *response) { drop(m, 2) },
		"the last node cut":       func(m *response) { half(m, n-2) },
		"a text changed":          func(m *response) { m.Messages[len(m.Messages)-1] = client.User("d") },
		"another's node appended": func(m *response) { m.Nodes[n-1].Envelope.ParentId = strings.Repeat("0", 64) },
	} {
		forged := proto.CloneOf(told)
		change(forged)
		forge(t, l, forged)
		_, err := c.Assemble(ctx, client.ByID(head), query)
		l.change = nil
		if !refused(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	forge(t, l, proto.CloneOf(told))
	must(c.Assemble(ctx, client.ByID(head), query))(t)
	l.change = nil
	for before := range int32(2) { // the node before which, or within which, it ends
		query.Before = &transcriptv1.MessagePlace{NodeId: wide, MessageIndex: before}
		must(c.Assemble(ctx, client.ByID(head), query))(t)
	}
}
