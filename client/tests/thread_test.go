package client_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

var (
	system = client.System("You are helpful.")
	hello  = client.User("Hello?")
	answer = client.Assistant("Hello.")
	call   = client.Call("call-1", "read", `{"path":"a"}`)
	asks   = client.Assistant("", call)
	result = client.Result(call, "contents")
)

type messages = []*transcriptv1.Message

// turn is a message that begins a conversation, or goes on with one.
func turn(id, replyTo string, said *transcriptv1.Message) client.Turn {
	return client.Turn{MessageID: id, ReplyTo: replyTo, System: messages{system}, Messages: messages{said}}
}

// begun is a new thread of a system and a user message, with alias msg/m1.
func begun(t *testing.T, c *client.Client) *client.Thread {
	t.Helper()
	return must(c.Start(t.Context(), turn("m1", "", hello)))(t)
}

func TestATurn(t *testing.T) {
	ctx, c := t.Context(), newLink(t).client(client.WithVerification())
	thread := begun(t, c)
	if !thread.New() || thread.Alias() != "msg/m1" || thread.Depth() != 1 {
		t.Errorf("new %v, alias %s, depth %d", thread.New(), thread.Alias(), thread.Depth())
	}
	shows(t, thread, system, hello)
	ok(t, thread.Append(ctx, asks))
	shows(t, thread, system, hello, asks)
	ok(t, thread.AppendResults(ctx, result))
	shows(t, thread, system, hello, asks, result)
	ok(t, thread.Reply(ctx, "o1", answer))
	shows(t, thread, system, hello, asks, result, answer)
	if got := thread.ReplyText(answer); got != "[depth:3] Hello." {
		t.Errorf("the reply reads %q", got)
	}
	for _, alias := range []string{"msg/m1", "msg/o1"} {
		if got := must(c.Resolve(ctx, alias))(t).Alias.NodeId; got != thread.Head() {
			t.Errorf("%s points to %s, want %s", alias, got, thread.Head())
		}
	}
	more := client.User("More?")
	next := must(c.Start(ctx, turn("m2", "o1", more)))(t)
	shows(t, next, system, hello, asks, result, answer, more)
	shows(t, thread, system, hello, asks, result, answer)
}

func TestMessagesAreTheCallers(t *testing.T) {
	thread := begun(t, newLink(t).client())
	must(thread.Messages(t.Context(), nil))(t)[0].Role = transcriptv1.Role_ROLE_TOOL
	shows(t, thread, system, hello)
}

func TestStartAgain(t *testing.T) {
	ctx, c := t.Context(), newLink(t).client()
	thread := begun(t, c)
	again := begun(t, c)
	if again.New() || again.Head() != thread.Head() {
		t.Errorf("new %v, head %s, want %s", again.New(), again.Head(), thread.Head())
	}
	ok(t, thread.Append(ctx, answer))
	_, err := c.Start(ctx, turn("m1", "", hello))
	if e := fails(t, err, client.ErrAliasExists); e.Head() != thread.Head() {
		t.Errorf("the error names %s, want %s", e.Head(), thread.Head())
	}
	_, err = c.Start(ctx, client.Turn{Messages: messages{hello}})
	fails(t, err, client.ErrNoName)
}

func TestAnUnknownReplyToBeginsAConversation(t *testing.T) {
	ctx, c := t.Context(), newLink(t).client()
	one := must(c.Start(ctx, turn("m1", "unheard", hello)))(t)
	two := must(c.Start(ctx, turn("m2", "unheard", client.User("Another"))))(t)
	bare := must(c.Start(ctx, client.Turn{MessageID: "m3", Messages: messages{hello}}))(t)
	shows(t, one, system, hello)
	shows(t, two, system, client.User("Another"))
	shows(t, bare, hello)
	if stats := must(c.Stats(ctx))(t); stats.Roots != 2 || stats.Nodes != 4 {
		t.Errorf("equal prompts share no root: %d roots, %d nodes", stats.Roots, stats.Nodes)
	}
}

func TestTwoRepliesAreTwoBranches(t *testing.T) {
	ctx, c := t.Context(), newLink(t).client()
	thread := begun(t, c)
	ok(t, thread.Reply(ctx, "o1", answer))
	left, right := client.User("left"), client.User("right")
	a := must(c.Start(ctx, turn("a", "o1", left)))(t)
	b := must(c.Start(ctx, turn("b", "o1", right)))(t)
	ok(t, a.Append(ctx, client.Assistant("to the left")))
	ok(t, b.Append(ctx, client.Assistant("to the right")))
	shows(t, a, system, hello, answer, left, client.Assistant("to the left"))
	shows(t, b, system, hello, answer, right, client.Assistant("to the right"))
	if children := collect(t, c.Children(ctx, client.ByAlias("msg/o1"))); len(children) != 2 {
		t.Errorf("%d children, want 2", len(children))
	}
}

func TestSentNamesTheReplyAfterwards(t *testing.T) {
	ctx, c := t.Context(), newLink(t).client()
	thread := begun(t, c)
	ok(t, thread.Append(ctx, answer))
	ok(t, thread.Sent(ctx, "o1"))
	ok(t, thread.Sent(ctx, "o1"))
	ok(t, thread.Append(ctx, client.User("again")))
	e := fails(t, thread.Sent(ctx, "o1"), client.ErrAliasExists)
	if e.Head() != must(c.Resolve(ctx, "msg/o1"))(t).Alias.NodeId {
		t.Errorf("the error names %q", e.Head())
	}
	head := thread.Head()
	fails(t, thread.Reply(ctx, "o1", client.Assistant("x")), client.ErrAliasExists)
	if thread.Head() != head || must(c.Resolve(ctx, "msg/m1"))(t).Alias.NodeId != head {
		t.Error("a Reply that failed moved the thread")
	}
	fails(t, thread.Reply(ctx, ""), client.ErrNoName)
	fails(t, thread.Sent(ctx, ""), client.ErrNoName)
}

func TestOfTwoWritersOneIsFirst(t *testing.T) {
	ctx, c := t.Context(), newLink(t).client()
	winner := begun(t, c)
	loser := must(c.Resume(ctx, "m1"))(t)
	ok(t, winner.Append(ctx, answer))
	head := loser.Head()
	e := fails(t, loser.Append(ctx, client.Assistant("Mine.")), client.ErrAliasMoved)
	if e.Head() != winner.Head() || loser.Head() != head || e.Code != codes.Aborted {
		t.Errorf("the error names %s, want %s; the loser is at %s, want %s", e.Head(), winner.Head(), loser.Head(), head)
	}
	shows(t, loser, system, hello)

	beside := must(loser.Fork(ctx, "branch/mine"))(t)
	ok(t, beside.Append(ctx, client.Assistant("Mine.")))
	shows(t, beside, system, hello, client.Assistant("Mine."))

	ok(t, loser.Refresh(ctx))
	ok(t, loser.Append(ctx, client.User("And then?")))
	shows(t, loser, system, hello, answer, client.User("And then?"))
	_, err := winner.Fork(ctx, "branch/mine")
	fails(t, err, client.ErrAliasExists)
}

func TestOfTwoWritersOfTheSameOneIsFirst(t *testing.T) {
	ctx, c := t.Context(), newLink(t).client()
	winner := begun(t, c)
	loser := must(c.Resume(ctx, "m1"))(t)
	ok(t, winner.Append(ctx, asks))
	e := fails(t, loser.Append(ctx, asks), client.ErrAliasMoved)
	if e.Head() != winner.Head() {
		t.Errorf("the error names %s, want %s", e.Head(), winner.Head())
	}
	fails(t, loser.Append(ctx, asks), client.ErrAliasMoved)
}

func TestManyWritersNeverInterleave(t *testing.T) {
	const writers, each = 8, 5
	ctx, c := t.Context(), newLink(t).client()
	begun(t, c)
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() {
			thread, err := c.Resume(ctx, "m1")
			for i := 0; i < each && err == nil; {
				// Two messages a node: another writer's must not come between.
				one := client.Assistant(fmt.Sprint(w, " ", i))
				switch err = thread.Append(ctx, one, client.User("ok")); {
				case err == nil:
					i++
				case errors.Is(err, client.ErrAliasMoved):
					err = thread.Refresh(ctx)
				}
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	all := must(must(c.Resume(ctx, "m1"))(t).Messages(ctx, nil))(t)[2:]
	if len(all) != 2*writers*each {
		t.Fatalf("%d messages, want %d", len(all), 2*writers*each)
	}
	next := make([]int, writers)
	for pair := range slices.Chunk(all, 2) {
		var w, i int
		if _, err := fmt.Sscan(client.Text(pair[0]), &w, &i); err != nil || i != next[w] || client.Text(pair[1]) != "ok" {
			t.Fatalf("%v in place of writer %d's message %d", pair, w, next[w])
		}
		next[w]++
	}
}

func TestTwoAppendsAtOnceOnOneThread(t *testing.T) {
	ctx, c := t.Context(), newLink(t).client()
	thread := begun(t, c)
	errs := make(chan error, 2)
	for i := range 2 {
		go func() { errs <- thread.Append(ctx, client.Assistant(fmt.Sprint(i))) }()
	}
	succeeded := 0
	for range 2 {
		if err := <-errs; err == nil {
			succeeded++
		} else {
			fails(t, err, client.ErrAliasMoved)
		}
	}
	// Both succeed where one began after the other had ended.
	if n := len(must(thread.Messages(ctx, nil))(t)); succeeded == 0 || n != 2+succeeded {
		t.Errorf("%d succeeded, %d messages", succeeded, n)
	}
}

func TestResumeAfterACrash(t *testing.T) {
	other := client.Call("call-2", "write", "{}")
	both := client.Assistant("Let me see.", call, other)
	steps := []*transcriptv1.Message{both, result, client.Result(other, "done"), answer}
	open := [][]*transcriptv1.ToolCall{{}, {call, other}, {other}, {}, {}}
	for crash := range len(steps) + 1 {
		t.Run(fmt.Sprint("after ", crash), func(t *testing.T) {
			ctx, l := t.Context(), newLink(t)
			thread := begun(t, l.client())
			want := messages{system, hello}
			for _, m := range steps[:crash] {
				ok(t, thread.Append(ctx, m))
				want = append(want, m)
			}
			l.reset()
			resumed := must(l.client().Resume(ctx, "m1"))(t) // another process: nothing is held
			if l.sent[putNode]+l.sent[putNodes]+l.sent[setAlias] != 0 {
				t.Errorf("Resume wrote: %v", l.sent)
			}
			if resumed.Head() != thread.Head() || resumed.Depth() != thread.Depth() || resumed.New() {
				t.Errorf("head %s, depth %d, want %s, %d", resumed.Head(), resumed.Depth(), thread.Head(), thread.Depth())
			}
			shows(t, resumed, want...)
			calls := must(resumed.OpenCalls(ctx))(t)
			if len(calls) != len(open[crash]) {
				t.Fatalf("open: %v, want %v", calls, open[crash])
			}
			for i, c := range calls {
				if c.GetId() != open[crash][i].GetId() || c.GetArguments() != open[crash][i].GetArguments() {
					t.Errorf("open: %v, want %v", c, open[crash][i])
				}
			}
			ok(t, resumed.AnswerUnknown(ctx))
			for _, c := range open[crash] {
				want = append(want, client.UnknownResult(c))
			}
			shows(t, resumed, want...)
			if left := must(resumed.OpenCalls(ctx))(t); len(left) != 0 {
				t.Errorf("still open: %v", left)
			}
		})
	}
}

func TestResumeOfWhatIsNotThere(t *testing.T) {
	ctx, c := t.Context(), newLink(t).client()
	_, err := c.Resume(ctx, "m1")
	fails(t, err, client.ErrAliasNotFound)
	_, err = c.Resume(ctx, "")
	fails(t, err, client.ErrNoName)
	_, err = c.Chat(ctx, "1")
	fails(t, err, client.ErrAliasNotFound)
	_, err = c.Chat(ctx, "", system)
	fails(t, err, client.ErrNoName)
}

func TestChat(t *testing.T) {
	ctx, c := t.Context(), newLink(t).client()
	chat := must(c.Chat(ctx, "42", system))(t)
	if !chat.New() || chat.Alias() != "chat/42" {
		t.Errorf("new %v, alias %s", chat.New(), chat.Alias())
	}
	ok(t, chat.Append(ctx, hello))
	again := must(c.Chat(ctx, "42", client.System("not used")))(t)
	ok(t, again.Append(ctx, answer))
	shows(t, again, system, hello, answer)
	fails(t, chat.Append(ctx, client.Assistant("x")), client.ErrAliasMoved)
}

func TestATurnPointsItsChatAlong(t *testing.T) {
	ctx, c := t.Context(), newLink(t).client()
	first := turn("m1", "", hello)
	first.Chat = "42"
	thread := must(c.Start(ctx, first))(t)
	at := func() string { return must(c.Resolve(ctx, client.ChatAlias("42")))(t).Alias.NodeId }
	if at() != thread.Head() {
		t.Error("Start did not set the chat's alias")
	}
	ok(t, thread.Reply(ctx, "o1", answer))
	if at() != thread.Head() {
		t.Error("Reply did not move the chat's alias")
	}
}

func TestAppendNode(t *testing.T) {
	ctx, c := t.Context(), newLink(t).client(client.WithVerification())
	thread := begun(t, c)
	tokens := int32(7)
	res := must(thread.AppendNode(ctx, client.Node{
		Messages: messages{answer}, Notes: []*transcriptv1.MessageNote{{TokenCount: &tokens, Model: "m", OutputTokens: proto.Int32(9), Attributes: map[string]string{"k": "v"}}},
		Metadata: map[string]string{"z": "1", "a": "2"}, Salt: []byte("0123456789abcdef"),
		Aliases: []client.AliasUpdate{{Name: "mark", If: client.MustNotExist(), Labels: map[string]string{"k": "v"}}},
	}))(t)
	if res.NodeId != thread.Head() || len(res.Aliases) != 2 || res.Aliases[1].Name != "mark" {
		t.Errorf("got %v", res)
	}
	node := must(c.Node(ctx, client.ByAlias("mark")))(t)
	if len(node.Metadata.Entries) != 2 || node.Info.Notes[0].GetTokenCount() != 7 || node.Info.Notes[0].Model != "m" ||
		node.Info.Notes[0].GetOutputTokens() != 9 || node.Info.Notes[0].Attributes["k"] != "v" {
		t.Errorf("got %v", node)
	}
	_, err := thread.AppendNode(ctx, client.Node{Parent: client.ByID(res.NodeId)})
	fails(t, err, client.ErrParentGiven)
	_, err = thread.AppendNode(ctx, client.Node{Previous: true})
	fails(t, err, client.ErrParentGiven)
	fails(t, thread.AppendResults(ctx, result, answer), client.ErrNotAResult)
}

func TestAppendAgainAfterAnUnknownOutcome(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	c := l.client(client.WithRetry(client.Retry{Attempts: 1}))
	thread := begun(t, c)
	l.lost[putNode] = 1
	if err := thread.Append(ctx, asks); status.Code(err) != codes.Unavailable {
		t.Fatalf("got %v", err)
	}
	ok(t, thread.Append(ctx, asks))
	shows(t, thread, system, hello, asks)
	ended, cancel := context.WithCancel(ctx)
	cancel()
	fails(t, thread.Append(ended, result), context.Canceled)
	ok(t, thread.Append(ctx, result))
}
