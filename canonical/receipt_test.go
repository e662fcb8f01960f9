package canonical_test

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

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

// TestParseReceipt: what stores keep is read, whoever signed it, and what is none is refused with what has to be.
func TestParseReceipt(t *testing.T) {
	kept := func(does func(*transcriptv1.ErasureReceipt)) []byte {
		receipt := &transcriptv1.ErasureReceipt{NodeId: bytes.Repeat([]byte{1}, 32), ErasedAt: &timestamppb.Timestamp{Seconds: 1}, Reference: "T-1"}
		does(receipt)
		inner, err := proto.Marshal(receipt)
		if err != nil {
			t.Fatal(err)
		}
		b, err := proto.Marshal(&transcriptv1.SignedReceipt{Receipt: inner})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	good := kept(func(*transcriptv1.ErasureReceipt) {})
	if got, err := canonical.ParseReceipt(good); err != nil || got.Reference != "T-1" || len(got.NodeId) != 32 {
		t.Errorf("got %v, %v", got, err)
	}
	at := func(seconds int64, nanos int32) []byte {
		return kept(func(r *transcriptv1.ErasureReceipt) {
			r.ErasedAt = &timestamppb.Timestamp{Seconds: seconds, Nanos: nanos}
		})
	}
	for what, c := range map[string]struct {
		kept []byte
		rule string
		kind error
	}{
		"nothing":                {nil, "must not be empty", canonical.ErrInvalid},
		"more than fits":         {kept(func(r *transcriptv1.ErasureReceipt) { r.Reference = strings.Repeat("x", canonical.MaxReceiptBytes) }), "at most 4096 bytes", canonical.ErrLimit},
		"a text":                 {[]byte("receipt"), "a SignedReceipt with the ErasureReceipt of a node", canonical.ErrInvalid},
		"another thing inside":   {[]byte{0x0a, 1, 0x0a}, "a SignedReceipt with the ErasureReceipt of a node", canonical.ErrInvalid},
		"no node":                {kept(func(r *transcriptv1.ErasureReceipt) { r.NodeId = nil }), "a SignedReceipt with the ErasureReceipt of a node", canonical.ErrInvalid},
		"a node of 31 bytes":     {kept(func(r *transcriptv1.ErasureReceipt) { r.NodeId = r.NodeId[1:] }), "a SignedReceipt with the ErasureReceipt of a node", canonical.ErrInvalid},
		"no time":                {kept(func(r *transcriptv1.ErasureReceipt) { r.ErasedAt = nil }), "an erased_at from 1970 to 9999", canonical.ErrInvalid},
		"a time before 1970":     {at(-1, 0), "an erased_at from 1970 to 9999", canonical.ErrInvalid},
		"a time after 9999":      {at(253402300800, 0), "an erased_at from 1970 to 9999", canonical.ErrInvalid},
		"nanoseconds below zero": {at(1, -1), "an erased_at from 1970 to 9999", canonical.ErrInvalid},
	} {
		_, err := canonical.ParseReceipt(c.kept)
		if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.rule) {
			t.Errorf("%s: %v, want %q", what, err, c.rule)
		}
	}
	if _, err := canonical.ParseReceipt(at(253402300799, 999999999)); err != nil {
		t.Errorf("the last moment of 9999: %v", err)
	}
}
