package canonical_test

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/canonical"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// TestReceipts: a receipt that was signed is told, and with any bit of it flipped it is refused.
func TestReceipts(t *testing.T) {
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))
	receipt := &transcriptv1.ErasureReceipt{StoreId: "5f", Namespace: "default", NodeId: bytes.Repeat([]byte{1}, 32), Reference: "T-1"}
	signed, err := canonical.SignReceipt(receipt, key)
	if err != nil {
		t.Fatal(err)
	}
	got, err := canonical.CheckReceipt(signed)
	if err != nil || !proto.Equal(got, receipt) {
		t.Fatalf("got %v, %v", got, err)
	}
	if !ed25519.Verify(ed25519.PublicKey(signed.PublicKey), append([]byte("transcript.erasure.v1\x00"), signed.Receipt...), signed.Signature) {
		t.Error("the signature is not over what the contract says")
	}
	for name, field := range map[string]*[]byte{"receipt": &signed.Receipt, "signature": &signed.Signature, "public key": &signed.PublicKey} {
		for bit := range 8 * len(*field) {
			(*field)[bit/8] ^= 1 << (bit % 8)
			if _, err := canonical.CheckReceipt(signed); !errors.Is(err, canonical.ErrReceipt) {
				t.Errorf("%s with bit %d flipped: %v", name, bit, err)
			}
			(*field)[bit/8] ^= 1 << (bit % 8)
		}
	}
	for _, bad := range []*transcriptv1.SignedReceipt{nil, {}, {PublicKey: signed.PublicKey}, {PublicKey: make([]byte, 31), Signature: signed.Signature}} {
		if _, err := canonical.CheckReceipt(bad); !errors.Is(err, canonical.ErrReceipt) {
			t.Errorf("%v: %v", bad, err)
		}
	}
}
