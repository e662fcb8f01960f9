package agents

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// TestStreamsIsCancelledAndReplays: an agent whose model streams. A reply is cancelled in the middle, a run falls asleep and is ended by a
// guard that looks at all chats in pages, another one works on and is left alone; and the next turn's model gets a digest of the tools of
// past turns, in which no secret stands.
func TestStreamsIsCancelledAndReplays(t *testing.T) {
	s := start(t)
	c := s.agent("streamer")
	chat := must[*client.Thread](s)(c.Chat(s.ctx(), "stream", client.System("You stream.")))

	// What was streamed before the user cancelled is kept, and is no reply.
	s.ok(chat.Append(s.ctx(), client.User("List the hosts.")))
	call := client.Call("list-1", "list", `{"token":"`+secret+`"}`)
	s.ok(chat.Append(s.ctx(), client.Assistant("", call)))
	s.ok(chat.AppendResults(s.ctx(), client.Result(call, "alpha, beta; password="+secret)))
	half := client.Assistant("The hosts are al")
	half.State = transcriptv1.MessageState_MESSAGE_STATE_ABORTED
	s.ok(chat.Finish(s.ctx(), client.Cancelled, half))
	equal(s, "the turn that was cancelled", s.loop(c, chat), "CLOSED CANCELLED")

	// The next turn does not see the half of a reply; it is left asleep with a call that is open.
	s.ok(chat.Append(s.ctx(), client.User("Only the first.")))
	equal(s, "what the next turn is sent", s.sends(chat, &policy{}), lines("system: You stream.", "user: List the hosts.", "user: Only the first."))
	s.ok(chat.Append(s.ctx(), client.Assistant("", client.Call("list-2", "list", `{"first":true}`))))
	busy := must[*client.Thread](s)(c.Chat(s.ctx(), "busy", client.System("You work.")))
	s.ok(busy.Append(s.ctx(), client.User("Take your time.")))
	done := must[*client.Thread](s)(c.Chat(s.ctx(), "done", client.System("You are done.")))
	s.ok(done.Append(s.ctx(), client.User("Hello.")))
	s.ok(done.Finish(s.ctx(), client.Replied, client.Assistant("Hello.")))

	// Two hours later the guard finds two runs asleep. One of them wakes up before it is ended, and wins.
	s.passes(2 * time.Hour)
	asleep := s.asleep(c)
	equal(s, "the runs asleep", lines(asleep...), lines("chat/busy", "chat/stream"))
	guarded := map[string]*client.Thread{}
	for _, name := range asleep {
		guarded[name] = must[*client.Thread](s)(c.Open(s.ctx(), name))
	}
	s.ok(busy.Append(s.ctx(), client.Assistant("", client.Call("work", "work", "{}"))))
	s.ok(guarded["chat/stream"].Finish(s.ctx(), client.Cancelled))
	if err := guarded["chat/busy"].Finish(s.ctx(), client.Cancelled); !errors.Is(err, client.ErrAliasMoved) {
		t.Fatalf("who works was ended: %v", err)
	}
	equal(s, "who slept", s.loop(c, chat), "CLOSED CANCELLED")
	equal(s, "who works", s.loop(c, busy), "OPEN")
	equal(s, "the runs asleep afterwards", lines(s.asleep(c)...), "")

	// The sleeper wakes: it has lost, goes on from there, and its next model gets what tools gave in past turns, and of the last turn nothing.
	late := chat.Append(s.ctx(), client.Result(client.Call("list-2", "list", ""), "alpha"))
	if !errors.Is(late, client.ErrAliasMoved) {
		t.Fatalf("the sleeper was not stopped: %v", late)
	}
	s.ok(chat.Refresh(s.ctx()))
	s.ok(chat.Append(s.ctx(), client.User("Once more, please.")))
	s.ok(chat.Append(s.ctx(), client.Assistant("", client.Call("list-3", "list", "{}"))))
	replay := must[*transcriptv1.ReplayToolsResponse](s)(c.Replay(s.ctx(), client.ByID(chat.Head()), &transcriptv1.ReplayToolsRequest{PastLoopsOnly: true}))
	var replayed []string
	for _, r := range replay.Calls {
		replayed = append(replayed, r.GetId()+" "+strings.TrimPrefix(r.State.String(), "TOOL_CALL_STATE_"))
	}
	equal(s, "the calls replayed", lines(replayed...), lines("list-1 OK", "list-2 UNANSWERED"))
	recalled := must[*client.Recalled](s)(c.Recall(s.ctx(), client.ByID(chat.Head()), client.Recall{ID: "list-1", HasID: true, Redact: true}))
	if all := replay.Text + recalled.Parts[0].GetText() + recalled.Call.Arguments; strings.Contains(all, secret) || !strings.Contains(all, "alpha") {
		t.Errorf("replayed and recalled: %s", all)
	}
}

// secret is a token that nobody has.
const secret = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"

// asleep are the aliases of runs that nobody has worked on for an hour, found in pages over all chats.
func (s *service) asleep(c *client.Client) (names []string) {
	s.Helper()
	for run, err := range c.AliasRuns(s.ctx(), client.AliasesWithPrefix("chat/"), true) {
		s.ok(err)
		if run.Idle() > time.Hour {
			names = append(names, run.Name)
		}
	}
	return names
}
