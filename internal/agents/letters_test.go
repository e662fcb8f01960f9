package agents

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/transcriptd/transcriptd/client"
)

// TestLettersAnsweredByATool: an agent whose model answers letters by the tool reply, which takes the pages of a letter. The post brings it
// every letter, its own too, and does so while the call is still open. Later letters reply to those.
func TestLettersAnsweredByATool(t *testing.T) {
	s := start(t)
	ann := &correspondent{service: s, c: s.agent("ann")}

	// One turn: the agent looks something up, then writes two letters. Each comes back by post before its call has a result; the agent
	// crashes when it has seen the second, and sees it once more.
	thread := ann.gets("letter-1", "", "When does the train leave?")
	ann.calls(thread, "look-1", "look", `{"table":"trains"}`)
	s.ok(thread.AppendResults(s.ctx(), client.Result(client.Call("look-1", "look", ""), "07:12, platform 4")))
	ann.calls(thread, "reply-1", "reply", pages("It leaves at 07:12.", "Do not be late."))
	s.ok(thread.Sent(s.ctx(), "own-1"))
	s.ok(thread.AppendResults(s.ctx(), client.Result(client.Call("reply-1", "reply", ""), "sent as own-1")))
	ann.calls(thread, "reply-2", "reply", pages("Platform 4."))
	s.ok(thread.Sent(s.ctx(), "own-2"))
	thread = must[*client.Thread](s)(s.agent("ann").Resume(s.ctx(), "letter-1"))
	equal(s, "the call that is open after the crash", strings.Join(openCalls(s, thread), " "), "reply-2")
	s.ok(thread.Sent(s.ctx(), "own-2"))
	s.ok(thread.Finish(s.ctx(), client.Replied, client.Result(client.Call("reply-2", "reply", ""), "sent as own-2")))
	equal(s, "the turn", s.loop(ann.c, thread), "CLOSED REPLIED")

	// Two letters reply to the first of these, one to the second: three branches of the finished turn.
	answered := lines("system: You write letters.", "user: When does the train leave?",
		"assistant: reply"+pages("It leaves at 07:12.", "Do not be late."), "tool: sent as own-1",
		"assistant: reply"+pages("Platform 4."), "tool: sent as own-2")
	for i, to := range []string{"own-1", "own-1", "own-2"} {
		id := fmt.Sprint("letter-", 2+i)
		branch := ann.gets(id, to, "Thank you, from "+id)
		equal(s, "what is sent of "+id, s.sends(branch, ann.window()), lines(answered, "user: Thank you, from "+id))
		ann.calls(branch, "reply-"+id, "reply", pages("You are welcome."))
		s.ok(branch.Finish(s.ctx(), client.Replied, client.Result(client.Call("reply-"+id, "reply", ""), "sent")))
	}

	// Ten turns later, and behind a compaction, the window still shows what was said, and of the other tools nothing.
	last := "letter-2"
	for i := range 10 {
		next := fmt.Sprint("more-", i)
		thread = ann.gets(next, last, fmt.Sprint("And train ", i, "?"))
		ann.calls(thread, "look-"+next, "look", "{}")
		s.ok(thread.AppendResults(s.ctx(), client.Result(client.Call("look-"+next, "look", ""), strings.Repeat("a long table ", 100))))
		ann.calls(thread, "reply-"+next, "reply", pages(fmt.Sprint("Train ", i, " is late.")))
		s.ok(thread.Finish(s.ctx(), client.Replied, client.Result(client.Call("reply-"+next, "reply", ""), "sent")))
		if i == 5 {
			made, err := thread.Compact(s.ctx(), client.Compaction{Policy: ann.window()})
			s.ok(err)
			equal(s, "that it was compacted", made.Written, true)
		}
		last = next
	}
	thread = ann.gets("the-end", last, "Good bye.")
	got := s.sends(thread, ann.window())
	for i := range 10 {
		if want := "assistant: reply" + pages(fmt.Sprint("Train ", i, " is late.")); !strings.Contains(got, want) {
			t.Errorf("not sent: %s, but\n%s", want, got)
		}
	}
	if strings.Contains(got, "look") {
		t.Errorf("a look is sent:\n%s", got)
	}

	// Another agent that got the same first letter knows nothing of all this.
	bob := &correspondent{service: s, c: s.agent("bob")}
	equal(s, "that bob's letter is new", bob.gets("letter-1", "", "When does the train leave?").New(), true)
}

// correspondent is an agent that answers letters.
type correspondent struct {
	*service
	c *client.Client
}

// gets begins the turn of a letter that came by post.
func (a *correspondent) gets(id, replyTo, text string) *client.Thread {
	a.Helper()
	return must[*client.Thread](a.service)(a.c.Start(a.ctx(), client.Turn{
		MessageID: id, ReplyTo: replyTo, System: []*message{client.System("You write letters.")}, Messages: []*message{client.User(text)},
	}))
}

// calls puts what the model said: a call, and nothing beside it.
func (a *correspondent) calls(thread *client.Thread, id, tool, arguments string) {
	a.Helper()
	a.ok(thread.Append(a.ctx(), client.Assistant("", client.Call(id, tool, arguments))))
}

// window is how past turns are shown: what was said to people, said by the tool reply, is part of them.
func (*correspondent) window() *policy {
	return &policy{ReplyTools: []string{"reply"}, MaxRunLoops: new(int32)}
}

func pages(texts ...string) string {
	b, err := json.Marshal(map[string][]string{"strings": texts})
	if err != nil {
		panic(err)
	}
	return string(b)
}
