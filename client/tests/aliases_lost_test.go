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

// unheard appends a node and does not hear whether that took place.
func unheard(t *testing.T, l *link, thread *client.Thread, said client.Node) {
	t.Helper()
	l.lost[putNode], l.refused[putNode] = 1, 0
	l.meanwhile(func() { l.refused[putNode] = 3 })
	_, err := thread.AppendNode(t.Context(), said)
	if status.Code(err) != codes.Unavailable || !client.MayHaveHappened(err) || l.refused[putNode] != 0 {
		t.Fatalf("got %v, want UNAVAILABLE", err)
	}
}

// follows has another writer go on at the end of a thread's chain.
func follows(t *testing.T, l *link, thread *client.Thread) {
	t.Helper()
	ok(t, must(l.client().Open(t.Context(), thread.Alias()))(t).Append(t.Context(), client.User("And then?")))
}

// An append of unknown outcome that is made again is known, and set its alias, whether or not another writer went on meanwhile.
func TestAnAppendMadeAgainSetItsAlias(t *testing.T) {
	for name, overtaken := range map[string]bool{"at the head": false, "below which another went on": true} {
		for of, condition := range map[string]client.Condition{"any": {}, "must not exist": client.MustNotExist()} {
			t.Run(name+", "+of, func(t *testing.T) {
				ctx, l := t.Context(), newLink(t)
				c := l.client()
				thread := begun(t, c)
				unheard(t, l, thread, marked(answer, "latest", condition))
				if overtaken {
					follows(t, l, thread)
				}
				res := must(thread.AppendNode(ctx, marked(answer, "latest", condition)))(t)
				points(t, c, "latest", thread.Head())
				if res.NodeId != thread.Head() || len(res.Aliases) != 2 || !res.Retried {
					t.Errorf("got %v", res)
				}
				shows(t, thread, system, hello, answer)
			})
		}
	}
}

// With another alias, or other metadata, it is another append: the first may be what moved the alias, and is there still to be repeated.
func TestAnAppendWithAnotherAliasIsAnother(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	c := l.client()
	thread := begun(t, c)
	plain := client.Node{Messages: messages{answer}}
	unheard(t, l, thread, plain)
	_, err := thread.AppendNode(ctx, marked(answer, "latest", client.MustNotExist()))
	if e := fails(t, err, client.ErrAliasMoved); client.MayHaveHappened(e) {
		t.Error("what was refused may have happened")
	}
	fails(t, thread.Finish(ctx, client.Replied, answer), client.ErrAliasMoved)
	_, err = c.Resolve(ctx, "latest")
	fails(t, err, client.ErrAliasNotFound)
	must(thread.AppendNode(ctx, plain))(t)
	shows(t, thread, system, hello, answer)
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
