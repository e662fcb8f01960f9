package conformance

import (
	"crypto/ed25519"
	"encoding/hex"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/transcriptd/transcriptd/canonical"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

func archivedChecks() []Check {
	return []Check{
		{ID: "put-archived-nodes/keeps", Promise: "a node keeps its id, its notes and the time of its first put; a repeat writes no node", run: archivedKeeps},
		{ID: "put-archived-nodes/refused", Promise: "a node whose id is not that of its bytes is refused, and one without its parent; none of the call is written", run: archivedRefused},
		{ID: "put-archived-nodes/erased", Promise: "a node that was erased elsewhere is put as it is, and erased where it is; it shows markers, and is not put again as it was", run: archivedErased},
	}
}

// archived is a root of one message, and its id.
func (p *probe) archived() (*transcriptv1.ArchivedNode, string) {
	form := canonical.NewNode([]*transcriptv1.Message{p.user()}, nil, nil)
	envelope := form.Envelope(nil, nil)
	id := canonical.NodeID(envelope)
	return &transcriptv1.ArchivedNode{Envelope: canonical.AppendEnvelope(nil, envelope), Payload: form.Payload}, hex.EncodeToString(id[:])
}

func (p *probe) putArchived(nodes ...*transcriptv1.ArchivedNode) ([]*transcriptv1.PutNodeResponse, error) {
	reply, err := p.PutArchivedNodes(p.ctx, &transcriptv1.PutArchivedNodesRequest{Namespace: p.namespace, Nodes: nodes})
	return reply.GetNodes(), err
}

func archivedKeeps(p *probe) {
	n, id := p.archived()
	n.FirstPutAt = timestamppb.New(time.UnixMilli(1_000_000_000_000))
	n.Notes = []*transcriptv1.MessageNote{{Model: "m"}}
	for again := range 2 {
		reply, err := p.putArchived(n)
		p.ok(err, "PutArchivedNodes")
		is(p, "nodes of the reply", len(reply), 1)
		is(p, "id", reply[0].GetNodeId(), id)
		is(p, "created", reply[0].GetCreated(), again == 0)
	}
	got := p.get(id)
	is(p, "time of the first put", got.GetFirstPutAt().AsTime(), n.FirstPutAt.AsTime())
	is(p, "notes", len(got.GetInfo().GetNotes()), 1)
	is(p, "model of the note", got.GetInfo().GetNotes()[0].GetModel(), "m")
}

func archivedRefused(p *probe) {
	good, id := p.archived()
	other, _ := p.archived()
	bad, _ := p.archived()
	bad.Payload = other.Payload
	_, err := p.putArchived(good, bad)
	p.refused(err, "INVALID_FIELD", "nodes[1].payload")
	form := canonical.NewNode([]*transcriptv1.Message{p.user()}, nil, nil)
	orphan := &transcriptv1.ArchivedNode{Envelope: canonical.AppendEnvelope(nil, form.Envelope(&[32]byte{1}, nil)), Payload: form.Payload}
	_, err = p.putArchived(good, orphan)
	p.refused(err, "PARENT_NOT_FOUND", "nodes[1].envelope")
	_, err = p.GetNode(p.ctx, &transcriptv1.GetNodeRequest{Namespace: p.namespace, Node: byID(id)})
	p.refused(err, "NODE_NOT_FOUND", "node")
}

// receiptOf is a receipt of a node, which another store has signed.
func (p *probe) receiptOf(id []byte) []byte {
	receipt := &transcriptv1.ErasureReceipt{NodeId: id, ErasedAt: &timestamppb.Timestamp{Seconds: 1}}
	signed, err := canonical.SignReceipt(receipt, ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)))
	p.ok(err, "a receipt")
	b, err := proto.Marshal(signed)
	p.ok(err, "a receipt")
	return b
}

func archivedErased(p *probe) {
	there, thereID := p.archived()
	_, err := p.putArchived(there)
	p.ok(err, "PutArchivedNodes")
	absent, absentID := p.archived()
	for id, n := range map[string]*transcriptv1.ArchivedNode{thereID: there, absentID: absent} {
		receipt := p.receiptOf(p.idBytes(id))
		left, err := canonical.EraseArchived(n, receipt)
		p.ok(err, "what is left")
		for _, bad := range [][]byte{[]byte("receipt"), p.receiptOf(make([]byte, 32))} {
			left.Erasure.Receipt = bad
			_, err := p.putArchived(left)
			p.refused(err, "INVALID_FIELD", "nodes[0].erasure.receipt")
		}
		left.Erasure.Receipt = receipt
		reply, err := p.putArchived(left)
		p.ok(err, "PutArchivedNodes of an erased node")
		is(p, "id", reply[0].GetNodeId(), id)
		is(p, "created", reply[0].GetCreated(), id == absentID)
		got := p.get(id)
		is(p, "content", got.GetInfo().GetContent(), transcriptv1.NodeContent_NODE_CONTENT_ERASED)
		is(p, "text", got.GetMessages()[0].GetParts()[0].GetText(), canonical.ErasedText)
		is(p, "receipt", string(got.GetErasure().GetReceipt()), string(receipt))
		is(p, "bytes from before", got.GetErasure().GetMessageBytes()[0], int32(len(n.GetPayload())))
		_, err = p.putArchived(n)
		p.refused(err, "PAYLOAD_ERASED", "nodes[0]")
	}
}
