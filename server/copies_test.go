package server_test

import (
	"strings"
	"testing"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// TestCopies: of a compaction node GetNode and GetNodes tell where each message was put first, and which run loops begin there; of other nodes
// nothing.
func TestCopies(t *testing.T) {
	bothEngines(t, func(r *rig) {
		long := strings.Repeat("a long result ", 50)
		first := r.put("", system("be brief"), user("one"), calling("read", "1"), result("1", long), assistant("done"))
		second := r.put(first, user("two"), calling("read", "2"), result("2", long), assistant("done too"))
		head := r.put(second, user("three"), assistant("all done"))
		made := must[*transcriptv1.CompactResponse](r)(r.Compact(r.ctx(), &Compact{Head: byID(head), ThroughId: second, Summary: "s"}))
		equal(r, "written", made.Written, true)
		node := must[*transcriptv1.GetNodeResponse](r)(r.GetNode(r.ctx(), &transcriptv1.GetNodeRequest{Node: byID(made.NodeId)}))
		equal(r, "messages", len(node.Copies.GetCopiedFrom()), len(node.Messages))
		originals := [][]*Message{
			must[*transcriptv1.GetNodeResponse](r)(r.GetNode(r.ctx(), &transcriptv1.GetNodeRequest{Node: byID(first)})).Messages,
			must[*transcriptv1.GetNodeResponse](r)(r.GetNode(r.ctx(), &transcriptv1.GetNodeRequest{Node: byID(second)})).Messages,
		}
		copied := 0
		for i, from := range node.Copies.CopiedFrom {
			if from.Ancestors == nil {
				continue
			}
			copied++
			original := originals[from.GetAncestors()][from.GetMessageIndex()]
			equal(r, "a copy", node.Messages[i].Parts[0].GetText(), original.Parts[0].GetText())
		}
		if copied == 0 {
			r.Error("no message is a copy")
		}
		for _, at := range node.Copies.LoopBegins {
			equal(r, "the role that a run loop begins with", node.Messages[at].Role, transcriptv1.Role_ROLE_USER)
		}
		equal(r, "a plain node has copies", must[*transcriptv1.GetNodeResponse](r)(r.GetNode(r.ctx(), &transcriptv1.GetNodeRequest{Node: byID(head)})).Copies != nil, false)
		many := must[*transcriptv1.GetNodesResponse](r)(r.GetNodes(r.ctx(), &transcriptv1.GetNodesRequest{NodeIds: []string{made.NodeId, head}}))
		equal(r, "copies of GetNodes", len(many.Nodes[0].Copies.GetCopiedFrom()), len(node.Messages))
	})
}
