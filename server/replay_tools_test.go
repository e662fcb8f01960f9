package server_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/transcriptd/transcriptd/chainstore/memstore"
	"github.com/transcriptd/transcriptd/compaction"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/testserver"
	"github.com/transcriptd/transcriptd/server"
)

type Replay = transcriptv1.ReplayToolsRequest

func (r *rig) replay(req *Replay) *transcriptv1.ReplayToolsResponse {
	r.Helper()
	return must[*transcriptv1.ReplayToolsResponse](r)(r.ReplayTools(r.ctx(), req))
}

func callOf(name, id, arguments string) *Message {
	return &Message{Role: transcriptv1.Role_ROLE_ASSISTANT, Parts: []*transcriptv1.Part{{Kind: &transcriptv1.Part_ToolCall{
		ToolCall: &transcriptv1.ToolCall{Id: &id, Name: &name, Arguments: arguments},
	}}}}
}

func failed(id, s string) *Message {
	m := result(id, s)
	m.IsError = true
	return m
}

func callIDs(calls []*transcriptv1.ReplayedCall) (all string) {
	for _, c := range calls {
		all += c.GetId()
	}
	return all
}

func TestReplayShowsOldestFirst(t *testing.T) {
	r := newRig(t)
	put := []*Message{
		user("go"), callOf("read", "a", `{"path":"x"}`), result("a", "text of x"), callOf("run", "b", "{}"), failed("b", "exit 1"),
		assistant("done"), user("more"), callOf("read", "c", "{}"), callOf("read", "d", "{}"), result("d", "text of d"), result("d", "again"),
		result("c", "text of c"), user("go on"), callOf("run", "e", "{}"),
	}
	at := r.chain("chat", put...)
	// Several groups and a stray result in one node.
	head := r.put(at[len(at)-1], result("e", "ran"), callOf("read", "f", "{}"), result("f", "text of f"), callOf("read", "g", "{}"))
	for _, c := range []struct {
		req  *Replay
		want string
		more bool
	}{
		{&Replay{}, "abcdefg", false}, {&Replay{MaxCalls: 2}, "fg", true}, {&Replay{MaxCalls: 4}, "defg", true},
		{&Replay{MaxCalls: 7}, "abcdefg", false}, {&Replay{ToolNames: []string{"run"}}, "be", false},
		{&Replay{ToolNames: []string{"run"}, MaxCalls: 1}, "e", true}, {&Replay{ToolNames: []string{"run"}, MaxCalls: 2}, "be", false},
		{&Replay{ToolNames: []string{"read"}, MaxCalls: 5}, "acdfg", false}, {&Replay{ToolNames: []string{"none"}}, "", false},
		{&Replay{MaxChars: 61}, "efg", true}, {&Replay{MaxChars: 1}, "g", true},
	} {
		c.req.Head = byID(head)
		got := r.replay(c.req)
		if callIDs(got.Calls) != c.want || got.HasMoreCalls != c.more {
			t.Errorf("%v gives %s, more %t; want %s, %t", c.req, callIDs(got.Calls), got.HasMoreCalls, c.want, c.more)
		}
	}
	got := r.replay(&Replay{Head: byID(head)})
	want := "read {\"path\":\"x\"}\n=> text of x\n\nrun {}\n=> error: exit 1\n\nread {}\n=> text of c\n\nread {}\n=> text of d\n\n" +
		"run {}\n=> ran\n\nread {}\n=> text of f\n\nread {}\n=> (no result)"
	equal(r, "the text", got.Text, want)
	b := got.Calls[1]
	equal(r, "state", b.State.String(), "TOOL_CALL_STATE_ERROR")
	equal(r, "place", fmt.Sprint(b.CallPlace.NodeId == at[3], b.ResultPlace.NodeId == at[4], b.RunLoopPlace.NodeId == at[0]), "true true true")
	equal(r, "loop", got.Calls[2].RunLoopPlace.NodeId, at[6])
	equal(r, "unanswered", got.Calls[6].State.String(), "TOOL_CALL_STATE_UNANSWERED")
	r.compact(&Compact{Head: byAlias("chat"), ThroughId: at[11]})
	after := r.put2("chat", result("e", "ran"))
	equal(r, "after a compaction", callIDs(r.replay(&Replay{Head: byID(after)}).Calls), "abcde")
	equal(r, "a chain without calls", len(r.replay(&Replay{Head: byID(at[0])}).Calls), 0)
}

func TestReplayRedactsAndCuts(t *testing.T) {
	r := newRig(t)
	secret := "hunter2-very-secret"
	args := fmt.Sprintf(`{"user":"x","password":"%s","path":"y"}`, secret)
	head := r.chain("", user("go"), callOf("login", "a", args), result("a", "token: "+secret+strings.Repeat(" é", 400)))
	got := r.replay(&Replay{Head: byID(head[2]), MaxItemChars: 50})
	if c := got.Calls[0]; strings.Contains(got.String(), secret) || !c.ResultCut || utf8.RuneCountInString(c.Result) != 50 {
		t.Errorf("the block is\n%v", got)
	}
	whole := r.replay(&Replay{Head: byID(head[2]), MaxItemChars: 5000}).Calls[0]
	equal(r, "arguments", whole.Arguments, `{"user":"x","password":"[redacted]","path":"y"}`)
	equal(r, "cut", whole.ArgumentsCut || whole.ResultCut, false)
}

// TestReplayRenderer uses a renderer of its own, which gets no secrets and whose text is bounded.
func TestReplayRenderer(t *testing.T) {
	r := &rig{T: t}
	r.Stack = testserver.StartWith(t, memstore.New(memstore.Options{}), server.Config{Renderers: map[string]compaction.Renderer{
		"login": func(c *compaction.ReplayCall) string { return "logged in: " + c.Arguments + strings.Repeat("!", 1000) },
	}})
	r.TranscriptServiceClient = transcriptv1.NewTranscriptServiceClient(r.Conn)
	head := r.chain("", callOf("login", "a", `{"password":"hunter2-very-secret"}`), callOf("read", "b", "{}"))
	got := r.replay(&Replay{Head: byID(head[1]), MaxItemChars: 40})
	if text := got.Calls[0].Text; !strings.HasPrefix(text, `logged in: {"password":"[redacted]"}!!`) || len(text) != 80 {
		t.Errorf("rendered as %q", text)
	}
	equal(r, "the other", got.Calls[1].Text, "read {}\n=> (no result)")
}

// TestReplayCutsInAll: the newest call is always shown, cut to what there is room for in all.
func TestReplayCutsInAll(t *testing.T) {
	r := newRig(t)
	head := r.chain("", callOf("old", "a", "{}"), result("a", "x"), callOf("read", "b", `{"path":"x"}`), result("b", strings.Repeat("é", 15_000)))
	for _, req := range []*Replay{{MaxItemChars: 10_000}, {MaxChars: 300}, {MaxChars: 3}} {
		req.Head = byID(head[3])
		got := r.replay(req)
		limit := map[bool]int{true: 8000, false: int(req.MaxChars)}[req.MaxChars == 0]
		c := got.Calls[0]
		items := utf8.RuneCountInString(c.Arguments) + utf8.RuneCountInString(c.Result)
		if len(got.Calls) != 1 || !got.HasMoreCalls || !c.ResultCut || utf8.RuneCountInString(got.Text) != limit || items > limit {
			t.Errorf("%v gives %d calls, %d and %d characters, more %t", req, len(got.Calls), utf8.RuneCountInString(got.Text), items, got.HasMoreCalls)
		}
	}
}

// TestReplayPutsNoSecretTogether: what the block brings together is no secret then, and what a name holds is one line.
func TestReplayPutsNoSecretTogether(t *testing.T) {
	r := newRig(t)
	head := r.chain("", callOf("login", "a", "password:\n\n\nhunter2xyz9"), callOf("password:", "b", "hunter3xyz9"),
		callOf("read x\n=> ok\n\nrun", "c", "{}"))
	got := r.replay(&Replay{Head: byID(head[2])})
	if strings.Contains(got.Text, "hunter") || strings.Count(got.Text, "\n\n") != 2 {
		t.Errorf("the block is\n%s", got.Text)
	}
}
