package client_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/transcriptd/transcriptd/client"
)

// losing runs do twice on fresh servers: once losing nothing, once losing the first 3 replies of a method, and holds the
// namespaces to be the same size. It gives the second server.
func losing(t *testing.T, method string, do func(*link, *client.Client)) *link {
	t.Helper()
	clean := newLink(t)
	do(clean, clean.client(client.Deterministic()))
	l := newLink(t)
	l.lost[method] = 3
	do(l, l.client(client.Deterministic()))
	if l.lost[method] != 0 || l.sent[method] != clean.sent[method]+3 {
		t.Errorf("%s was sent %d times, want %d", method, l.sent[method], clean.sent[method]+3)
	}
	a, b := must(clean.client().Stats(t.Context()))(t), must(l.client().Stats(t.Context()))(t)
	if a.Nodes != b.Nodes || a.Messages != b.Messages || a.Aliases != b.Aliases || a.Forks != b.Forks {
		t.Errorf("with lost replies: %v\nwithout: %v", b, a)
	}
	return l
}

func TestLostRepliesOfAPut(t *testing.T) {
	ctx := t.Context()
	var ids []string
	losing(t, putNode, func(l *link, c *client.Client) {
		loses := l.lost[putNode] > 0
		res := must(c.Put(ctx, client.Node{
			Messages: messages{system}, Aliases: []client.AliasUpdate{{Name: "a", If: client.MustNotExist()}},
		}))(t)
		ids = append(ids, res.NodeId)
		// The last attempt finds what the first did; Retried says that this may be so.
		if res.Retried != loses || res.Created == loses || res.Aliases[0].Changed == loses {
			t.Errorf("loses %v: retried %v, created %v, changed %v", loses, res.Retried, res.Created, res.Aliases[0].Changed)
		}
	})
	if ids[0] != ids[1] {
		t.Errorf("nodes %v", ids)
	}
}

func TestLostRepliesBelowAnAlias(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	c := l.client()
	head := must(c.Chat(ctx, "1", system))(t).Head()
	node := client.Node{
		Parent: client.ByAlias("chat/1"), Messages: messages{hello},
		Aliases: []client.AliasUpdate{{Name: "chat/1", If: client.HeadIs(head)}},
	}
	l.lost[putNode] = 3
	res := must(c.Put(ctx, node))(t)
	if at := must(c.Resolve(ctx, "chat/1"))(t).Alias.NodeId; l.lost[putNode] != 0 || !res.Retried || at != res.NodeId {
		t.Errorf("retried %v, put %s, the alias points to %s", res.Retried, res.NodeId, at)
	}
	if stats := must(c.Stats(ctx))(t); stats.Nodes != 2 {
		t.Errorf("%d nodes, want 2", stats.Nodes)
	}
	l.reset()
	l.lost[putNode] = 1
	_, err := c.Put(ctx, client.Node{Parent: client.ByAlias("chat/1"), Messages: messages{hello}})
	if status.Code(err) != codes.Unavailable || l.sent[putNode] != 1 {
		t.Errorf("an unconditional append was sent %d times: %v", l.sent[putNode], err)
	}
}

func TestLostRepliesInAThread(t *testing.T) {
	ctx := t.Context()
	var heads []string
	for _, method := range []string{putNode, putNodes, setAlias, resolve} {
		losing(t, method, func(l *link, c *client.Client) {
			thread := begun(t, c)
			if !thread.New() {
				t.Error("the thread is not new")
			}
			ok(t, thread.Append(ctx, asks))
			ok(t, thread.AppendResults(ctx, result))
			ok(t, thread.Append(ctx, answer))
			ok(t, thread.Sent(ctx, "o1"))
			fork := must(thread.Fork(ctx, "branch"))(t)
			ok(t, fork.Append(ctx, hello))
			ok(t, thread.Refresh(ctx))
			shows(t, thread, system, hello, asks, result, answer)
			heads = append(heads, thread.Head())
		})
	}
	for _, head := range heads {
		if head != heads[0] {
			t.Errorf("heads %v", heads)
		}
	}
}

func TestLostReplyOfAReply(t *testing.T) {
	ctx := t.Context()
	for _, lost := range []int{1, 2} {
		l := newLink(t)
		c := l.client()
		ok(t, begun(t, c).Reply(ctx, "o1", answer))
		l.reset()
		l.lost[putNode] = lost
		reply := must(c.Start(ctx, turn("m2", "o1", client.User("More?"))))(t)
		if !reply.New() {
			t.Error("the thread is not new")
		}
		shows(t, reply, system, hello, answer, client.User("More?"))
		if stats := must(c.Stats(ctx))(t); stats.Nodes != 4 {
			t.Errorf("%d nodes, want 4", stats.Nodes)
		}
	}
}

func TestLostReplyOfAReplyToWhatMoved(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	c := l.client()
	thread := begun(t, c)
	ok(t, thread.Reply(ctx, "o1", answer))
	l.lost[putNode] = 1
	l.between = func() {
		l.between = nil
		if _, err := c.SetAliases(ctx, client.AliasMove{Name: "msg/o1", Target: client.ByAlias("msg/m2")}); err != nil {
			t.Error(err)
		}
	}
	// The first attempt put the message; what it replies to moved; the second must not put it again elsewhere.
	second := must(c.Start(ctx, turn("m2", "o1", client.User("More?"))))(t)
	if !second.New() {
		t.Error("not new to its only caller")
	}
	shows(t, second, system, hello, answer, client.User("More?"))
	if stats := must(c.Stats(ctx))(t); stats.Nodes != 4 {
		t.Errorf("%d nodes, want 4", stats.Nodes)
	}
}

func TestLostReplyOfAReplyToWhatWasDeleted(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	c := l.client()
	ok(t, begun(t, c).Reply(ctx, "o1", answer))
	l.refused[putNode] = 1
	gone := must(c.DeleteAlias(ctx, "msg/o1", client.MustExist()))(t)
	if gone == "" {
		t.Error("nothing was deleted")
	}
	shows(t, must(c.Start(ctx, turn("m2", "o1", client.User("More?"))))(t), system, client.User("More?"))
}

func TestLostReplyOfADelete(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	c := l.client()
	head := begun(t, c).Head()
	l.lost[delAlias] = 1
	if previous := must(c.DeleteAlias(ctx, "msg/m1", client.HeadIs(head)))(t); previous != "" {
		t.Errorf("the repeat found %s", previous)
	}
	begun(t, c)
	l.lost[delAlias] = 1
	_, err := c.DeleteAlias(ctx, "msg/m1", client.MustExist())
	if status.Code(err) != codes.Unavailable {
		t.Errorf("a delete of what must exist was repeated: %v", err)
	}
}

func TestRefusedCallsAreRepeated(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	c := l.client()
	l.refused = map[string]int{putNodes: 3, putNode: 3, resolve: 3, assemble: 3}
	thread := begun(t, c)
	ok(t, thread.Append(ctx, answer))
	ok(t, thread.Refresh(ctx))
	shows(t, thread, system, hello, answer)
	l.refused = map[string]int{putNode: 4}
	if err := thread.Append(ctx, hello); status.Code(err) != codes.Unavailable {
		t.Errorf("after 4 refused attempts: %v", err)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	fails(t, thread.Append(ended, hello), client.ErrCancelled)
}

// A put of which every trace was lost, and below which another writer went on, succeeds: its caller must not put it
// again. The next put learns that the alias moved.
func TestLostAppendBelowWhichAnotherWentOn(t *testing.T) {
	for name, attempts := range map[string]int{"in one call": 4, "in the next call": 1} {
		t.Run(name, func(t *testing.T) {
			ctx, l := t.Context(), newLink(t)
			retry := client.WithRetry(client.Retry{Attempts: attempts, First: time.Microsecond, Max: time.Microsecond})
			thread := must(l.client(retry).Chat(ctx, "1", system))(t)
			other := l.client()
			l.lost[putNode] = 1
			l.between = func() {
				l.between = nil
				ok(t, must(other.Open(ctx, thread.Alias()))(t).Append(ctx, client.Assistant("hi")))
			}
			err := thread.Append(ctx, hello)
			if attempts == 1 {
				if e, _ := errors.AsType[*client.Error](err); e == nil || e.Code != codes.Unavailable {
					t.Fatalf("got %v, want UNAVAILABLE", err)
				}
				err = thread.Append(ctx, hello)
			}
			ok(t, err)
			shows(t, thread, system, hello)
			fails(t, thread.Append(ctx, hello), client.ErrAliasMoved)
			ok(t, thread.Refresh(ctx))
			shows(t, thread, system, hello, client.Assistant("hi"))
		})
	}
}

// Another writer's win stays a loss where the own put, sent more than once, never took place.
func TestRefusedAppendThatAnotherOvertook(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	c := l.client()
	thread, other := must(c.Chat(ctx, "1", system))(t), must(l.client().Chat(ctx, "1"))(t)
	ok(t, other.Append(ctx, client.Assistant("first")))
	l.refused[putNode] = 1
	e := fails(t, thread.Append(ctx, hello), client.ErrAliasMoved)
	if client.MayHaveHappened(e) || e.Head() != other.Head() {
		t.Errorf("may have happened: %v, head %s; want %s", client.MayHaveHappened(e), e.Head(), other.Head())
	}
	shows(t, thread, system)
}

// A string that is no UTF-8 never leaves this machine.
func TestStringsThatAreNoUTF8(t *testing.T) {
	c := newLink(t).client()
	_, err := c.Put(t.Context(), client.Node{Messages: messages{client.User("\xff")}})
	if e := fails(t, err, client.ErrMalformedRequest); e.Code != codes.InvalidArgument {
		t.Errorf("code %v", e.Code)
	}
}

// A cache without room keeps nothing.
func TestNegativeCache(t *testing.T) {
	ctx := t.Context()
	thread := must(newLink(t).client(client.WithCacheBytes(-1)).Chat(ctx, "1", system))(t)
	shows(t, thread, system)
}

// A put whose outcome could not be told stays one that may have taken place, also where what failed is the look for its node, and
// whatever that was refused for.
func TestALostAppendThatCannotBeLookedFor(t *testing.T) {
	for _, overloaded := range []bool{false, true} {
		t.Run(fmt.Sprint("overloaded ", overloaded), func(t *testing.T) {
			ctx, s := t.Context(), newScripted(t)
			thread := must(s.client(4).Chat(ctx, "1", system))(t)
			no := func(func() error) error { return errGone }
			if overloaded {
				no = refuses(t, "OVERLOADED", func() {})
			}
			s.answers[getNode] = []func(func() error) error{no, no, no, no}
			s.answers[putNode] = []func(func() error) error{func(pass func() error) error {
				err := lost(pass)
				ok(t, must(s.link.client().Open(ctx, thread.Alias()))(t).Append(ctx, answer))
				return err
			}}
			if err := thread.Append(ctx, hello); !client.MayHaveHappened(err) || len(s.answers[getNode]) != 0 {
				t.Fatalf("got %v", err)
			}
			ok(t, thread.Append(ctx, hello))
			ok(t, thread.Refresh(ctx))
			shows(t, thread, system, hello, answer)
		})
	}
}

// Nor does a deadline that passes before the look make it another's.
func TestALostAppendWhoseDeadlinePasses(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	thread := must(l.client().Chat(ctx, "1", system))(t)
	call, cancel := context.WithCancel(ctx)
	w := &watched{link: l, after: func(string) {}}
	hasty := must(client.New(w, client.WithRetry(client.Retry{Attempts: 2, First: 1, Max: 1})).Open(ctx, thread.Alias()))(t)
	puts := 0
	w.after = func(method string) {
		if method == putNode {
			if puts++; puts == 2 { // which was told that the alias moved
				cancel()
			}
		}
	}
	l.lost[putNode] = 1
	l.meanwhile(func() { ok(t, must(l.client().Open(ctx, thread.Alias()))(t).Append(ctx, answer)) })
	fails(t, hasty.Append(call, hello), client.ErrCancelled)
	w.after = func(string) {}
	ok(t, hasty.Append(ctx, hello))
	ok(t, hasty.Refresh(ctx))
	shows(t, hasty, system, hello, answer)
}
