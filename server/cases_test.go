package server_test

import (
	"testing"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

const conversation = transcriptv1.View_VIEW_CONVERSATION

// stubFor is the stand-in for the result of a call.
func stubFor(id, name string) *Message {
	m := stub(id, name)
	m.ToolCallId, m.Name = &id, &name
	return m
}

// TestCleanConversation holds, for six courses of a conversation, what people said (the conversation) against what was
// done (the trace): each is put message by message, ends in a question that is open, and is read in every view.
func TestCleanConversation(t *testing.T) {
	sys, next := system("you are an agent"), user("and now?")
	ask, done := user("do it"), assistant("it is done")
	for _, c := range []struct {
		name string
		// loop is the run loop before the last; repaired is it with what repair adds.
		loop, repaired []*Message
		// clean is what people said in it.
		clean []*Message
	}{
		{
			name:  "one tool call",
			loop:  []*Message{ask, calling("read", "1"), result("1", "text"), done},
			clean: []*Message{ask, done},
		}, {
			name: "several tool calls",
			loop: []*Message{ask, calling("read", "1", "2"), result("2", "b"), result("1", "a"), assistant("half done"),
				calling("write", "3"), result("3", "ok"), done},
			clean: []*Message{ask, done},
		}, {
			name:  "no tool call",
			loop:  []*Message{ask, done},
			clean: []*Message{ask, done},
		}, {
			name:     "a stop in the middle",
			loop:     []*Message{ask, calling("read", "1"), result("1", "a"), calling("write", "2")},
			repaired: []*Message{ask, calling("read", "1"), result("1", "a"), calling("write", "2"), stubFor("2", "write")},
			clean:    []*Message{ask},
		}, {
			name: "an error and a new turn",
			loop: []*Message{ask, calling("read", "1"), {Role: transcriptv1.Role_ROLE_TOOL, ToolCallId: ptr("1"), IsError: true, Parts: text("no such file")},
				assistant("I cannot: there is no such file"), user("try the other"), calling("read", "2"), result("2", "b"), done},
			clean: []*Message{ask, assistant("I cannot: there is no such file"), user("try the other"), done},
		}, {
			name:  "a subagent",
			loop:  []*Message{ask, calling("delegate", "1"), result("1", "the subagent says: found"), done},
			clean: []*Message{ask, done},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			if c.repaired == nil {
				c.repaired = c.loop
			}
			all := concat([]*Message{sys}, c.loop, []*Message{next})
			ids := r.chain("chat", all...)
			if c.name == "a subagent" {
				r.subagent(ids[2])
			}
			view := func(head string, q *Assemble) []*Message {
				q.Head = byID(head)
				return r.assemble(q).Messages
			}
			head, before := ids[len(ids)-1], ids[len(ids)-2]
			r.sameMessages("full", view(head, &Assemble{View: full}), all...)
			r.sameMessages("effective", view(head, &Assemble{}), concat([]*Message{sys}, c.repaired, []*Message{next})...)
			r.sameMessages("conversation", view(head, &Assemble{View: conversation}), concat([]*Message{sys}, c.clean, []*Message{next})...)
			r.sameMessages("conversation, condensed: the last loop is open",
				view(head, &Assemble{View: conversation, CondenseLast: true}), concat([]*Message{sys}, c.clean, []*Message{next})...)
			// Before the last question the loop itself is the last: whole, or condensed if it is closed.
			last := concat([]*Message{sys}, c.loop)
			condensed := concat([]*Message{sys}, c.clean)
			switch c.name {
			case "a stop in the middle": // it is open
				condensed = last
			case "an error and a new turn": // two loops
				last = concat([]*Message{sys}, c.clean[:2], c.loop[4:])
			}
			r.sameMessages("the loop as the last one", view(before, &Assemble{View: conversation}), last...)
			r.sameMessages("and condensed", view(before, &Assemble{View: conversation, CondenseLast: true}), condensed...)
		})
	}
}

// subagent puts a subagent's chain, started by call 1 of a node: nothing of it is in the views of its parent.
func (r *rig) subagent(spawner string) {
	r.Helper()
	own := must[*transcriptv1.PutNodeResponse](r)(r.PutNode(r.ctx(), &PutNode{
		Messages:    []*Message{system("you look things up"), user("find it")},
		SpawnedFrom: &transcriptv1.SpawnedFromRef{NodeId: spawner, ToolCallId: ptr("1")},
	})).NodeId
	head := r.put(own, calling("grep", "1"), result("1", "line 7"), assistant("found"))
	r.sameMessages("the subagent's own view", r.assemble(&Assemble{Head: byID(head)}).Messages,
		system("you look things up"), user("find it"), calling("grep", "1"), result("1", "line 7"), assistant("found"))
	d := must[*transcriptv1.DescribeResponse](r)(r.Describe(r.ctx(), &transcriptv1.DescribeRequest{Head: byID(head)}))
	equal(r, "what started it", d.Lineage.SpawnedFrom.GetNodeId(), spawner)
}
