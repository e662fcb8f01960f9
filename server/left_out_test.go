package server_test

import (
	"fmt"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/canonical"
)

// TestLeftOutLine: what windows and compactions drop is said in one line, which adds up until a summary is given.
func TestLeftOutLine(t *testing.T) {
	r := newRig(t)
	tight := &Policy{MaxRunLoops: proto.Int32(1)}
	talk := func(i int) []*Message {
		return []*Message{user(fmt.Sprint("question ", i)), assistant(fmt.Sprint("answer ", i))}
	}
	shows := func(what string, req *Assemble, want ...*Message) {
		t.Helper()
		req.Head = byAlias("chat")
		r.sameMessages(what, r.assemble(req).Messages, want...)
	}
	put := []*Message{system("s")}
	for i := range 4 {
		put = append(put, talk(i)...)
	}
	nodes := r.chain("chat", put...)
	view := func(p *Policy) *Assemble { return &Assemble{View: conversation, Policy: p, NodeDetail: ids} }

	reply := r.assemble(&Assemble{Head: byAlias("chat"), View: conversation, Policy: tight, NodeDetail: ids})
	r.sameMessages("a window", reply.Messages, put[0], canonical.LeftOut(2), put[5], put[6], put[7], put[8])
	first := reply.Nodes[1]
	equal(r, "the node that the line is told with", fmt.Sprint(first.NodeId == nodes[5], first.MessageCount, verbatim(first)), "true 2 false")
	equal(r, "what the others tell", fmt.Sprint(len(reply.Nodes), reply.Nodes[2].MessageCount, verbatim(reply.Nodes[2])), "5 1 true")
	equal(r, "the messages left out", reply.Report.LeftOut.Messages, 4)
	equal(r, "the bytes left out", reply.Report.LeftOut.Bytes, int64(len(canonical.EncodePayload(put[1:5]))))
	equal(r, "the loops of the window", reply.Report.Window.RunLoops, 2)
	shows("with condense_last", &Assemble{View: conversation, Policy: tight, CondenseLast: true}, put[0], canonical.LeftOut(2), put[5], put[6], put[7], put[8])
	shows("omitted", view(&Policy{MaxRunLoops: proto.Int32(1), OmitLeftOutLine: true}), put[0], put[5], put[6], put[7], put[8])

	done := r.compact(&Compact{Head: byAlias("chat"), Policy: tight})
	equal(r, "what a compaction dropped", done.Report.RunLoopsDropped, 3)
	equal(r, "the run loops of the effective view", done.Counters.Effective.RunLoops, 1)
	shows("the effective view", &Assemble{}, put[0], canonical.LeftOut(3), put[7], put[8])
	shows("a window that drops nothing", view(tight), put[0], canonical.LeftOut(3), put[7], put[8])
	for i := 4; i < 7; i++ {
		for _, m := range talk(i) {
			r.put2("chat", m)
		}
	}
	more := append(talk(5), talk(6)...)
	shows("a window behind it", view(tight), append([]*Message{put[0], canonical.LeftOut(5)}, more...)...)
	equal(r, "what search finds of it", len(r.search(inChain(byAlias("chat"), "turns are not shown"))), 0)
	r.compact(&Compact{Head: byAlias("chat"), Policy: tight})
	shows("compacted again", &Assemble{}, append([]*Message{put[0], canonical.LeftOut(6)}, talk(6)...)...)

	r.compact(&Compact{Head: byAlias("chat"), Summary: "s", SummaryOnly: true})
	shows("with a summary", &Assemble{}, put[0], summary("s"))
	for i := 7; i < 10; i++ {
		for _, m := range talk(i) {
			r.put2("chat", m)
		}
	}
	shows("counted from the summary on", view(tight), append([]*Message{put[0], summary("s"), canonical.LeftOut(1)}, append(talk(8), talk(9)...)...)...)
	r.clean("")
}
