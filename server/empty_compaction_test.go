package server_test

import (
	"testing"

	"google.golang.org/protobuf/proto"
)

// TestAnEmptyCompactionThatIsLeftOutChangesNothing: a compaction node that keeps nothing, and that a later compaction passes over, has no
// part in the view: the run loop that goes on across it is one.
func TestAnEmptyCompactionThatIsLeftOutChangesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		behind []*Message
		view   string
		loops  int32
	}{
		"asked again": {[]*Message{user("and this?")}, "s u a u u", 2},
		"answered":    {[]*Message{assistant("that")}, "s u a u a", 2},
		"and after":   {[]*Message{assistant("that"), user("next")}, "s u a u a u", 3},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			said := r.steps("chat",
				step{messages: []*Message{system("be brief")}},
				step{messages: []*Message{user("one"), assistant("1")}},
				step{messages: []*Message{user("two"), calling("f", "1"), result("1", "found"), assistant("2")}},
				step{messages: []*Message{user("what?")}},
			)
			empty := r.compact(&Compact{Head: byAlias("chat"), ThroughId: said[1], SummaryOnly: true, Policy: &Policy{OmitLeftOutLine: true}})
			equal(r, "the messages of the first", empty.Report.MessagesAfter, int32(0))
			second := r.compact(&Compact{Head: byAlias("chat"), ThroughId: said[2]})
			equal(r, "that the second is written", second.Written, true)
			r.goOn("chat", []step{{messages: c.behind}})
			for _, policy := range []*Policy{{}, {MaxBytes: proto.Int64(1 << 20)}} {
				reply := r.assemble(&Assemble{Head: byAlias("chat"), View: conversation, Policy: policy})
				equal(r, "the view", inWords(reply.Messages), c.view)
				equal(r, "the loops shown", reply.Report.GetWindow().GetRunLoops(), c.loops)
				equal(r, "the loops left out", reply.Report.GetLeftOut().GetRunLoops(), int32(0))
			}
			kept := r.compact(&Compact{Head: byAlias("chat"), DryRun: true}).Report
			equal(r, "the messages that a third keeps", kept.MessagesAfter, kept.MessagesBefore)
		})
	}
}
