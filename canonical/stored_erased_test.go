package canonical_test

import (
	"crypto/ed25519"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/transcriptd/transcriptd/canonical"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// TestEraseArchived: what is left of any node of an archive is a node of an archive of the same id, which tells the lengths from before.
func TestEraseArchived(t *testing.T) {
	tried := 0
	for _, v := range acceptedCases(t) {
		messages, metadata, salt := expand(t, v.input)
		form := canonical.NewNode(messages, metadata, salt)
		e := form.Envelope(nil, nil)
		n := &transcriptv1.ArchivedNode{Envelope: canonical.AppendEnvelope(nil, e), Payload: form.Payload, Metadata: form.Metadata, Salt: salt}
		if _, err := canonical.CheckArchived(n); err != nil {
			continue // what clients may not put any more
		}
		n.Notes = []*transcriptv1.MessageNote{{Model: "m", TokenCount: proto.Int32(3)}}
		left, err := canonical.EraseArchived(n, receiptOf(t, canonical.NodeID(e), ""))
		if err != nil {
			t.Fatalf("%s: %v", v.Name, err)
		}
		tried++
		got, err := canonical.CheckArchived(left)
		if err != nil {
			t.Errorf("%s: what is left: %v", v.Name, err)
			continue
		}
		if got.ID != canonical.NodeID(e) || got.Erased.PayloadBytes != len(form.Payload) || got.Erased.MetadataBytes != len(form.Metadata) {
			t.Errorf("%s: what is left is %x of %+v", v.Name, got.ID, got.Erased)
		}
		if !proto.Equal(left.Notes[0], &transcriptv1.MessageNote{TokenCount: proto.Int32(3)}) {
			t.Errorf("%s: the note is %v", v.Name, left.Notes[0])
		}
		stranger := proto.CloneOf(left)
		stranger.Erasure.Receipt = receiptOf(t, [32]byte{1}, "")
		if _, err := canonical.CheckArchived(stranger); err == nil || err.Error() != "erasure.receipt: must be of this node" {
			t.Errorf("%s: with the receipt of another node: %v", v.Name, err)
		}
		if again, err := canonical.EraseArchived(left, left.Erasure.Receipt); err != nil || !proto.Equal(again, left) {
			t.Errorf("%s: erased again it is %v, %v", v.Name, again, err)
		}
		want := proto.CloneOf(left)
		another := receiptOf(t, canonical.NodeID(e), "another")
		want.Erasure.Receipt = another
		if again, err := canonical.EraseArchived(left, another); err != nil || !proto.Equal(again, want) {
			t.Errorf("%s: erased again with another receipt it is %v, %v", v.Name, again, err)
		}
	}
	if tried < 60 {
		t.Errorf("%d nodes", tried)
	}
}

// receiptOf is a receipt of a node as stores keep it.
func receiptOf(t *testing.T, id [32]byte, reference string) []byte {
	t.Helper()
	receipt := &transcriptv1.ErasureReceipt{NodeId: id[:], ErasedAt: &timestamppb.Timestamp{Seconds: 1}, Reference: reference}
	signed, err := canonical.SignReceipt(receipt, ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)))
	if err != nil {
		t.Fatal(err)
	}
	b, err := proto.Marshal(signed)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestCheckArchivedCompaction: of a compaction node messages may be left that were not erased, but not all of them.
func TestCheckArchivedCompaction(t *testing.T) {
	says := func(text string) *transcriptv1.Message {
		return &transcriptv1.Message{Role: transcriptv1.Role_ROLE_USER, Parts: []*transcriptv1.Part{{Kind: &transcriptv1.Part_Text{Text: text}}}}
	}
	messages := []*transcriptv1.Message{says("one"), says("two")}
	form := canonical.NewNode(messages, nil, nil)
	e := form.Envelope(&[32]byte{1}, nil)
	e.CoversThrough = &[32]byte{1}
	another := receiptOf(t, canonical.NodeID(e), "another")
	for erased, field := range map[int]string{0: "", 1: "", 2: "erasure.message_bytes"} {
		is := func(i int) bool { return i == erased }
		left := &transcriptv1.ArchivedNode{
			Envelope: canonical.AppendEnvelope(nil, e), Payload: canonical.EncodePayload(canonical.ErasedWhere(messages, is)),
			Erasure: canonical.NewErasure(messages, nil, is, receiptOf(t, canonical.NodeID(e), "")),
		}
		_, err := canonical.CheckArchived(left)
		if field == "" && err != nil || field != "" && (err == nil || !strings.HasPrefix(err.Error(), field)) {
			t.Errorf("message %d erased: %v, want a fault of %q", erased, err, field)
		}
		if field != "" {
			continue
		}
		all := canonical.NewErasure(messages, nil, func(int) bool { return true }, another)
		again, err := canonical.EraseArchived(left, another)
		if err != nil || !proto.Equal(again.Erasure, all) || string(again.Payload) != string(canonical.EncodePayload(canonical.Erased(messages))) {
			t.Errorf("message %d erased, and again with another receipt: %v, %v", erased, again, err)
		}
	}
}
