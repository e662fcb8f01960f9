package server_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/archive"
)

// TestRestoresAnEmptyCompaction: a compaction node that keeps nothing comes back too.
func TestRestoresAnEmptyCompaction(t *testing.T) {
	r := newRig(t)
	said := r.steps("chat",
		step{messages: []*Message{system("be brief")}},
		step{messages: []*Message{user("one"), assistant("1")}},
		step{messages: []*Message{user("two"), calling("f", "1"), result("1", "found"), assistant("2")}},
		step{messages: []*Message{user("what?")}},
	)
	empty := r.compact(&Compact{Head: byAlias("chat"), ThroughId: said[1], SummaryOnly: true, Policy: &Policy{OmitLeftOutLine: true}})
	t.Logf("written %v %q messages after %d", empty.Written, empty.NodeId, empty.Report.MessagesAfter)
	g := must[*transcriptv1.GetNodeResponse](r)(r.GetNode(r.ctx(), &transcriptv1.GetNodeRequest{Node: &transcriptv1.NodeRef{Ref: &transcriptv1.NodeRef_NodeId{NodeId: empty.NodeId}}}))
	t.Logf("its messages: %d", len(g.Messages))
	r.point("chat", empty.NodeId)
	data, _, err := r.backedUp(&transcriptv1.BackupRequest{})
	if err != nil {
		t.Fatal(err)
	}
	in, err := archive.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	c, _ := archive.NewChain(archive.File{Name: "f", Reader: in})
	for err == nil {
		_, _, err = c.Next()
	}
	if !errors.Is(err, io.EOF) {
		t.Errorf("backup verify: %v", err)
	}
	r.restored(data, "copy")
}
