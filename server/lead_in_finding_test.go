package server_test

import "testing"

// TestNoLeadInBehindACompaction: an agent that goes on behind a compaction which kept nothing works in the loop that the full view tells of:
// no report tells of a lead-in, nor of one in copies.
func TestNoLeadInBehindACompaction(t *testing.T) {
	for name, c := range map[string]struct{ before, behind []*Message }{
		"nothing kept": {[]*Message{user("one"), assistant("1")}, []*Message{assistant("more")}},
		"copies":       {[]*Message{assistant("one"), user("one"), assistant("1"), user("two")}, []*Message{assistant("2")}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.steps("chat", step{messages: c.before})
			made := r.compact(&Compact{Head: byAlias("chat"), SummaryOnly: true, Policy: &Policy{OmitLeftOutLine: true}})
			equal(r, "that it is written", made.Written, true)
			r.goOn("chat", []step{{messages: c.behind}})
			equal(r, "the findings of the effective view", len(r.assemble(&Assemble{Head: byAlias("chat"), View: effective}).Report.Findings), 0)
			var leadIns int
			for _, l := range r.loops(&ListLoops{Head: byAlias("chat")}).RunLoops {
				if l.LeadIn {
					leadIns++
				}
			}
			equal(r, "the findings of the full view", len(r.assemble(&Assemble{Head: byAlias("chat"), View: full}).Report.Findings), leadIns)
		})
	}
}
