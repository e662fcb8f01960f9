package agents

import (
	"fmt"
	"testing"

	"github.com/transcriptd/transcriptd/client"
)

// TestStopsFailsAndGoesOn: an agent that may take three steps a turn. One turn reaches the limit, in the next its model fails, a third
// is found dead after a crash; each ends with its outcome and is condensed to what the user said. The turn that follows begins anew, and
// can recall what was done.
func TestStopsFailsAndGoesOn(t *testing.T) {
	s := start(t)
	c := s.agent("steps")
	chat := must[*client.Thread](s)(c.Chat(s.ctx(), "repair", client.System("Take at most three steps.")))
	step := func(thread *client.Thread, id string) {
		call := client.Call(id, "look", fmt.Sprintf(`{"at":%q}`, id))
		s.ok(thread.Append(s.ctx(), client.Assistant("", call)))
		s.ok(thread.AppendResults(s.ctx(), client.Result(call, "found "+id)))
	}

	// The limit is reached between a call and its result.
	s.ok(chat.Append(s.ctx(), client.User("Why is the light off?")))
	step(chat, "bulb")
	step(chat, "fuse")
	s.ok(chat.Append(s.ctx(), client.Assistant("", client.Call("wire", "look", "{}"))))
	s.ok(chat.Finish(s.ctx(), client.Stopped))
	equal(s, "the turn that reached the limit", s.loop(c, chat), "CLOSED STOPPED")
	equal(s, "what is open then", len(openCalls(s, chat)), 0)

	// The next turn sees none of it; its model fails before it says anything.
	s.ok(chat.Append(s.ctx(), client.User("Try once more.")))
	equal(s, "what the second turn is sent", s.sends(chat, &policy{}), lines(
		"system: Take at most three steps.", "user: Why is the light off?", "user: Try once more."))
	s.ok(chat.Finish(s.ctx(), client.Failed))
	equal(s, "the turn whose model failed", s.loop(c, chat), "CLOSED FAILED")

	// The third is left by a crash in the middle of a call.
	s.ok(chat.Append(s.ctx(), client.User("And now?")))
	step(chat, "switch")
	s.ok(chat.Append(s.ctx(), client.Assistant("", client.Call("again", "look", "{}"))))
	found := must[*client.Thread](s)(s.agent("steps").Chat(s.ctx(), "repair"))
	equal(s, "what a crash leaves", s.loop(c, found), "OPEN")
	equal(s, "the call that may have run", openCalls(s, found)[0], "again")
	s.ok(found.Finish(s.ctx(), client.Failed, client.Assistant("I was interrupted.")))
	equal(s, "what was found dead", s.loop(c, found), "CLOSED FAILED")

	// The fourth answers, and knows by the view only what people said; the switch it can recall.
	s.ok(found.Append(s.ctx(), client.User("What did you find?")))
	equal(s, "what the fourth turn is sent", s.sends(found, &policy{}), lines(
		"system: Take at most three steps.", "user: Why is the light off?", "user: Try once more.",
		"user: And now?", "assistant: I was interrupted.", "user: What did you find?"))
	got := must[*client.Recalled](s)(c.Recall(s.ctx(), client.ByID(found.Head()), client.Recall{ID: "switch", HasID: true}))
	equal(s, "what the switch gave", got.Parts[0].GetText(), "found switch")
	s.ok(found.Append(s.ctx(), client.Assistant("The switch.")))
	equal(s, "the turn that was answered", s.loop(c, found), "CLOSED")

	var ends []string
	for loop, err := range c.RunLoops(s.ctx(), client.ByAlias(chat.Alias()), nil) {
		s.ok(err)
		ends = append(ends, standing(loop.State, loop.Outcome))
	}
	equal(s, "the turns, newest first", lines(ends...), lines("CLOSED", "CLOSED FAILED", "CLOSED FAILED", "CLOSED STOPPED"))
}

func openCalls(s *service, thread *client.Thread) (ids []string) {
	s.Helper()
	calls, err := thread.OpenCalls(s.ctx())
	s.ok(err)
	for _, call := range calls {
		ids = append(ids, call.GetId())
	}
	return ids
}
