// Package testreceipt makes receipts of nodes for tests.
package testreceipt

import (
	"crypto/ed25519"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/transcriptd/transcriptd/canonical"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// Of is a receipt of a node as stores keep it, signed with a key of its own. The same id and reference give the same bytes.
func Of(tb testing.TB, id [32]byte, reference string) []byte {
	tb.Helper()
	receipt := &transcriptv1.ErasureReceipt{NodeId: id[:], ErasedAt: &timestamppb.Timestamp{Seconds: 1}, Reference: reference}
	signed, err := canonical.SignReceipt(receipt, ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)))
	if err != nil {
		tb.Fatal(err)
	}
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(signed)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}
