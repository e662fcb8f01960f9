package client_test

import (
	"context"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/transcriptd/transcriptd/client"
)

// refusal is what the service says of a call that it did not carry out.
func refusal(t *testing.T, reason string) error {
	t.Helper()
	st, err := status.New(codes.ResourceExhausted, reason).WithDetails(&errdetails.ErrorInfo{Domain: "transcript.v1", Reason: reason})
	ok(t, err)
	return st.Err()
}

// scripted answers calls of a method in place of the server, one after the other; pass asks the server.
type scripted struct {
	*link
	answers map[string][]func(pass func() error) error
}

func newScripted(t *testing.T) *scripted {
	return &scripted{link: newLink(t), answers: map[string][]func(func() error) error{}}
}

func (s *scripted) Invoke(ctx context.Context, method string, req, reply any, opts ...grpc.CallOption) error {
	pass := func() error { return s.link.Invoke(ctx, method, req, reply, opts...) }
	list := s.answers[method]
	if len(list) == 0 {
		return pass()
	}
	s.answers[method] = list[1:]
	return list[0](pass)
}

// client makes a client that repeats quickly, so often at most.
func (s *scripted) client(attempts int) *client.Client {
	return client.New(s, client.WithRetry(client.Retry{Attempts: attempts, First: time.Microsecond, Max: time.Microsecond}))
}

// refuses does something else, and then refuses the call before it is done.
func refuses(t *testing.T, reason string, meanwhile func()) func(func() error) error {
	return func(func() error) error {
		meanwhile()
		return refusal(t, reason)
	}
}

// lost carries a call out and loses its reply.
func lost(pass func() error) error {
	if err := pass(); err != nil {
		return err
	}
	return errGone
}

// What was refused as OVERLOADED did not take place: who puts the same meanwhile is another.
func TestRefusedAttemptsArePutByNobody(t *testing.T) {
	ctx, s := t.Context(), newScripted(t)
	begun(t, s.link.client())
	a := must(s.link.client().Resume(ctx, "m1"))(t)
	b := must(s.client(4).Resume(ctx, "m1"))(t)
	s.answers[putNode] = []func(func() error) error{refuses(t, "OVERLOADED", func() { ok(t, a.Append(ctx, asks)) })}
	if e := fails(t, b.Append(ctx, asks), client.ErrAliasMoved); e.Retried {
		t.Error("an attempt that was refused counts as one that may have taken place")
	}

	one := client.Turn{MessageID: "m9", Messages: messages{hello}}
	var first *client.Thread
	s.answers[putNode] = []func(func() error) error{refuses(t, "OVERLOADED", func() { first = must(s.link.client().Start(ctx, one))(t) })}
	if second := must(s.client(4).Start(ctx, one))(t); !first.New() || second.New() {
		t.Errorf("the first is new: %v, the second: %v", first.New(), second.New())
	}
}

// A put whose reply was lost stays one that may have taken place, whatever its repeats are refused for.
func TestALostAppendWhoseRepeatIsRefused(t *testing.T) {
	for _, reason := range []string{"OVERLOADED", "DISK_FULL"} {
		t.Run(reason, func(t *testing.T) {
			ctx, s := t.Context(), newScripted(t)
			thread := begun(t, s.client(3))
			no := refuses(t, reason, func() {})
			s.answers[putNode] = []func(func() error) error{lost, no, no}
			if err := thread.Append(ctx, answer); err == nil {
				t.Fatal("no error")
			}
			s.answers[putNode] = nil
			ok(t, thread.Append(ctx, answer))
			shows(t, thread, system, hello, answer)
		})
	}
}

// A reply that is lost keeps a call that could undo what others did from being repeated.
func TestNoRepeatUndoesWhatOthersDid(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	c, other := l.client(), l.client()
	root := must(c.Put(ctx, client.Node{Messages: messages{hello}}))(t).NodeId
	var next string
	meanwhile := func(do func()) {
		l.between = func() {
			l.between = nil
			do()
		}
	}
	unavailable := func(err error) {
		t.Helper()
		if status.Code(err) != codes.Unavailable {
			t.Errorf("got %v, want UNAVAILABLE", err)
		}
	}

	l.lost[setAlias] = 1
	meanwhile(func() {
		next = must(other.Put(ctx, client.Node{
			Parent: client.ByID(root), Messages: messages{answer}, Aliases: []client.AliasUpdate{{Name: "job", If: client.HeadIs(root)}},
		}))(t).NodeId
	})
	_, err := c.SetAliases(ctx, client.AliasMove{Name: "job", Target: client.ByID(root)})
	unavailable(err)
	points(t, c, "job", next)

	l.lost[delAlias] = 1
	meanwhile(func() {
		must(other.SetAliases(ctx, client.AliasMove{Name: "job", Target: client.ByID(root), If: client.MustNotExist()}))(t)
	})
	_, err = c.DeleteAlias(ctx, "job", client.Condition{})
	unavailable(err)
	points(t, c, "job", root)

	l.lost[putNode] = 1
	meanwhile(func() { must(other.SetAliases(ctx, client.AliasMove{Name: "job", Target: client.ByID(next)}))(t) })
	_, err = c.Put(ctx, client.Node{Messages: messages{system}, Aliases: []client.AliasUpdate{{Name: "job"}}})
	unavailable(err)
	points(t, c, "job", next)
}

// The repeat of a thread's append leaves the chat's alias where another thread of the chat has moved it since.
func TestARepeatedAppendLeavesTheChat(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	c := l.client()
	one := must(c.Start(ctx, client.Turn{MessageID: "m1", Chat: "x", Messages: messages{hello}}))(t)
	two := must(c.Start(ctx, client.Turn{MessageID: "m2", Chat: "x", Messages: messages{client.User("Another?")}}))(t)
	l.lost[putNode] = 1
	l.between = func() {
		l.between = nil
		ok(t, two.Append(ctx, answer))
	}
	ok(t, one.Append(ctx, answer))
	points(t, c, "chat/x", two.Head())
	points(t, c, "msg/m1", one.Head())
}
