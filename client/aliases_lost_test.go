package client_test

import (
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// marked is a node with an alias beside the thread's.
func marked(said *transcriptv1.Message, alias string, condition client.Condition) client.Node {
	return client.Node{Messages: messages{said}, Aliases: []client.AliasUpdate{{Name: alias, If: condition}}}
}

// unheard appends a message and does not hear whether that took place.
func unheard(t *testing.T, l *link, thread *client.Thread, said *transcriptv1.Message) {
	t.Helper()
	l.lost[putNode], l.refused[putNode] = 1, 0
	l.meanwhile(func() { l.refused[putNode] = 3 })
	if err := thread.Append(t.Context(), said); status.Code(err) != codes.Unavailable || l.refused[putNode] != 0 {
		t.Fatalf("got %v, want UNAVAILABLE", err)
	}
}

// follows has another writer go on at the end of a thread's chain.
func follows(t *testing.T, l *link, thread *client.Thread) {
	t.Helper()
	ok(t, must(l.client().Open(t.Context(), thread.Alias()))(t).Append(t.Context(), client.User("And then?")))
}

// An append of unknown outcome that is made again with an alias sets it, whether or not another writer went on meanwhile.
func TestAnAppendMadeAgainSetsItsAlias(t *testing.T) {
	for name, overtaken := range map[string]bool{"at the head": false, "below which another went on": true} {
		for of, condition := range map[string]client.Condition{"any": {}, "must not exist": client.MustNotExist()} {
			t.Run(name+", "+of, func(t *testing.T) {
				ctx, l := t.Context(), newLink(t)
				c := l.client()
				thread := begun(t, c)
				unheard(t, l, thread, answer)
				if overtaken {
					follows(t, l, thread)
				}
				res := must(thread.AppendNode(ctx, marked(answer, "latest", condition)))(t)
				points(t, c, "latest", thread.Head())
				if res.NodeId != thread.Head() || len(res.Aliases) != 2 || !res.Aliases[1].Changed {
					t.Errorf("got %v", res)
				}
				shows(t, thread, system, hello, answer)
			})
		}
	}
}

// Where the alias that comes with the repeat is another's, nothing is changed, and the error names its place.
func TestAnAppendMadeAgainWithATakenAlias(t *testing.T) {
	for name, overtaken := range map[string]bool{"at the head": false, "below which another went on": true} {
		t.Run(name, func(t *testing.T) {
			ctx, l := t.Context(), newLink(t)
			c := l.client()
			root := must(c.Put(ctx, client.Node{Messages: messages{hello}, Aliases: []client.AliasUpdate{{Name: "taken"}}}))(t).NodeId
			thread := begun(t, c)
			unheard(t, l, thread, answer)
			if overtaken {
				follows(t, l, thread)
			}
			node := marked(answer, "free", client.MustNotExist())
			node.Aliases = append(node.Aliases, client.AliasUpdate{Name: "taken", If: client.MustNotExist()})
			_, err := thread.AppendNode(ctx, node)
			e := fails(t, err, client.ErrAliasExists)
			if want := (client.Conflict{Field: "aliases[2]", NodeID: root}); len(e.Conflicts) != 1 || e.Conflicts[0] != want {
				t.Errorf("conflicts %v, want %v", e.Conflicts, want)
			}
			_, err = c.Resolve(ctx, "free")
			fails(t, err, client.ErrAliasNotFound)
			ok(t, thread.Append(ctx, answer))
			shows(t, thread, system, hello, answer)
		})
	}
}

// An alias that a lost attempt set, and another writer moved since, stays there, and the put is known to have taken place.
func TestARepeatLeavesItsAliasToOthers(t *testing.T) {
	for of, condition := range map[string]func(root string) client.Condition{
		"any":            func(string) client.Condition { return client.Condition{} },
		"must not exist": func(string) client.Condition { return client.MustNotExist() },
		"head":           client.HeadIs,
	} {
		for name, overtaken := range map[string]bool{"at the head": false, "below which another went on": true} {
			t.Run(name+", "+of, func(t *testing.T) {
				ctx, l := t.Context(), newLink(t)
				c := l.client()
				root := must(c.Put(ctx, client.Node{Messages: messages{client.System("elsewhere")}}))(t).NodeId
				if of == "head" {
					must(c.SetAliases(ctx, client.AliasMove{Name: "latest", Target: client.ByID(root)}))(t)
				}
				thread := begun(t, c)
				l.lost[putNode] = 1
				l.meanwhile(func() {
					must(l.client().SetAliases(ctx, client.AliasMove{Name: "latest", Target: client.ByID(thread.Head())}))(t)
					if overtaken {
						follows(t, l, thread)
					}
				})
				before := thread.Head()
				must(thread.AppendNode(ctx, marked(answer, "latest", condition(root))))(t)
				points(t, c, "latest", before)
				shows(t, thread, system, hello, answer)
			})
		}
	}
}

// So does one that an attempt set whose put an earlier call had made.
func TestARepeatOfASecondAppendLeavesItsAlias(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	c := l.client()
	thread := begun(t, c)
	before := thread.Head()
	unheard(t, l, thread, answer)
	l.lost[putNode] = 1
	l.meanwhile(func() {
		must(l.client().SetAliases(ctx, client.AliasMove{Name: "latest", Target: client.ByID(before)}))(t)
		follows(t, l, thread)
	})
	must(thread.AppendNode(ctx, marked(answer, "latest", client.Condition{})))(t)
	points(t, c, "latest", before)
}
