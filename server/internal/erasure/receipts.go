package erasure

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/chainstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

// Receipts makes receipts with the key of a store, which it asks for once.
type Receipts struct {
	store chainstore.Store
	now   func() time.Time

	mu  sync.Mutex
	key ed25519.PrivateKey
}

// NewReceipts makes those of a store.
func NewReceipts(store chainstore.Store, now func() time.Time) *Receipts {
	return &Receipts{store: store, now: now}
}

// private is the store's key.
func (r *Receipts) private(ctx context.Context) (ed25519.PrivateKey, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.key == nil {
		seed, err := r.store.SigningKey(ctx)
		if err != nil {
			return nil, err
		}
		r.key = ed25519.NewKeyFromSeed(seed[:])
	}
	return r.key, nil
}

// Draw draws the key of a store that has none yet. Errors are those of the store's SigningKey.
func (r *Receipts) Draw(ctx context.Context) error {
	_, err := r.private(ctx)
	return err
}

// signing is the feature of a store that has a key.
const signing = "signing"

// PublicKey is the one that receipts are checked with; nil: the store has none, and none is drawn for that. Errors are those of the store's SigningKey.
func (r *Receipts) PublicKey(ctx context.Context) ([]byte, error) {
	if !r.drawn() {
		return nil, nil
	}
	key, err := r.private(ctx)
	if err != nil {
		return nil, err
	}
	return key[len(key)-ed25519.PublicKeySize:], nil
}

// drawn tells whether the store has a key.
func (r *Receipts) drawn() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.key != nil || slices.Contains(r.store.Info().Features, signing)
}

// make makes the receipt of a node, as it is kept.
func (r *Receipts) make(ctx context.Context, namespace string, id chainstore.ID, reference string) ([]byte, error) {
	key, err := r.private(ctx)
	if err != nil {
		return nil, err
	}
	signed, err := canonical.SignReceipt(&transcriptv1.ErasureReceipt{
		StoreId: r.store.Info().ID.String(), Namespace: namespace, NodeId: id[:], ErasedAt: wire.Timestamp(r.now().UnixMilli()), Reference: reference,
	}, key)
	if err != nil {
		return nil, err
	}
	return proto.Marshal(signed)
}

// Parse reads a receipt as it is kept: ErrCorrupt.
func Parse(kept []byte) (*transcriptv1.SignedReceipt, error) {
	signed := &transcriptv1.SignedReceipt{}
	if err := proto.Unmarshal(kept, signed); err != nil {
		return nil, fmt.Errorf("%w: a receipt does not parse", chainstore.ErrCorrupt)
	}
	return signed, nil
}

// erasedAt is when a receipt says that its node was erased, in milliseconds since the epoch: long ago where it does not say so.
func erasedAt(kept []byte) int64 {
	const longAgo = 1
	signed, err := Parse(kept)
	receipt := &transcriptv1.ErasureReceipt{}
	if err != nil || proto.Unmarshal(signed.Receipt, receipt) != nil {
		return longAgo
	}
	return max(longAgo, receipt.GetErasedAt().AsTime().UnixMilli())
}
