package canonical

import (
	"crypto/ed25519"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// receiptDomain keeps signatures of receipts apart from others with the same key. Part of what is signed: must not change.
const receiptDomain = "transcript.erasure.v1\x00"

// ErrReceipt is what CheckReceipt refuses.
var ErrReceipt = errors.New("not a receipt that its key has signed")

// SignReceipt signs a receipt.
func SignReceipt(receipt *transcriptv1.ErasureReceipt, key ed25519.PrivateKey) (*transcriptv1.SignedReceipt, error) {
	b, err := proto.Marshal(receipt)
	if err != nil {
		return nil, err
	}
	public := key[len(key)-ed25519.PublicKeySize:] // as the package ed25519 lays it
	return &transcriptv1.SignedReceipt{Receipt: b, Signature: ed25519.Sign(key, signedPart(b)), PublicKey: append([]byte(nil), public...)}, nil
}

// CheckReceipt is the receipt that is signed with the key that stands beside it. Whether that key is the one of the store, who asks has to
// know. ErrReceipt.
func CheckReceipt(signed *transcriptv1.SignedReceipt) (*transcriptv1.ErasureReceipt, error) {
	switch {
	case len(signed.GetPublicKey()) != ed25519.PublicKeySize:
		return nil, fmt.Errorf("%w: the public key has %d bytes, and must have %d", ErrReceipt, len(signed.GetPublicKey()), ed25519.PublicKeySize)
	case !ed25519.Verify(signed.PublicKey, signedPart(signed.Receipt), signed.Signature):
		return nil, fmt.Errorf("%w: the signature is not of these bytes with this key", ErrReceipt)
	}
	receipt := &transcriptv1.ErasureReceipt{}
	if err := proto.Unmarshal(signed.Receipt, receipt); err != nil {
		return nil, fmt.Errorf("%w: what is signed is no ErasureReceipt", ErrReceipt)
	}
	return receipt, nil
}

// ParseReceipt reads a receipt as stores keep it: a SignedReceipt, serialised, of at most MaxReceiptBytes, of a node with an id and a time from 1970 to 9999. Whose
// signature it has it does not tell: it may be another store's. The error is a FieldError without a path.
func ParseReceipt(kept []byte) (*transcriptv1.ErasureReceipt, error) {
	receipt, err := parseReceipt(kept)
	if err != nil {
		return nil, err
	}
	return receipt, nil
}

func parseReceipt(kept []byte) (*transcriptv1.ErasureReceipt, *FieldError) {
	signed, receipt := &transcriptv1.SignedReceipt{}, &transcriptv1.ErasureReceipt{}
	switch {
	case len(kept) == 0:
		return nil, invalid("", "must not be empty")
	case len(kept) > MaxReceiptBytes:
		return nil, overLimit("", fmt.Sprintf("must be at most %d bytes", MaxReceiptBytes))
	case proto.Unmarshal(kept, signed) != nil || proto.Unmarshal(signed.GetReceipt(), receipt) != nil || len(receipt.GetNodeId()) != 32:
		return nil, invalid("", "must be a SignedReceipt with the ErasureReceipt of a node in it")
	}
	if at := receipt.GetErasedAt(); !at.IsValid() || at.GetSeconds() < 0 || at.GetSeconds() >= 253402300800 {
		return nil, invalid("", "must have an erased_at from 1970 to 9999")
	}
	return receipt, nil
}

func signedPart(receipt []byte) []byte { return append([]byte(receiptDomain), receipt...) }
