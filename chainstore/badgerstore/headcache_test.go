package badgerstore

import (
	"context"
	"errors"
	"testing"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/snapshot"
	"github.com/transcriptd/transcriptd/chainstore/internal/cache"
	"github.com/transcriptd/transcriptd/chainstore/storetest"
)

// A view of before a commit does not find what later views know of its nodes.
func TestHeadsOfLaterCommits(t *testing.T) {
	s := openStore(t, Options{})
	put(t, s, node(nil, "before"))
	n := node(nil, "later")
	id := n.Identify(nil)
	inTestNamespace(t, s, func(v *snapshot.Snapshot) error {
		put(t, s, n)
		if _, err := s.Chain(context.Background(), testNamespace, chainstore.Ref{ID: id}, nil); err != nil {
			return err
		}
		if at, err := v.Resolve(chainstore.Ref{ID: id}); !errors.Is(err, chainstore.ErrNodeNotFound) {
			t.Errorf("a view of before finds %v, %v", at, err)
		}
		return nil
	})
	inTestNamespace(t, s, func(v *snapshot.Snapshot) error {
		if _, known := s.source.Caches.Nodes.PlaceOf(cache.NodeKey{Namespace: v.Namespace, ID: id}, v.Seen); !known {
			t.Error("a later view does not find it in the cache")
		}
		return nil
	})
}

// Verify of a sound store finds nothing where nodes that others wait for are put and read while it runs.
func TestVerifyBesidePuts(t *testing.T) {
	s := openStore(t, Options{})
	spawner := node(nil, "spawner")
	put(t, s, spawnedNode("early", spawner.Identify(nil)))
	var found []string
	begun := false
	judge := func(h *chainstore.Header, payload, metadata []byte, parent, covers *chainstore.ID) (chainstore.Judgement, error) {
		if !begun {
			begun = true
			id := put(t, s, spawner)[0].ID
			if _, err := s.Chain(context.Background(), testNamespace, chainstore.Ref{ID: id}, nil); err != nil {
				return chainstore.Judgement{}, err
			}
		}
		return storetest.Simple().Judge(h, payload, metadata, parent, covers)
	}
	err := s.Verify(context.Background(), chainstore.Check{Namespace: testNamespace}, judge, func(r chainstore.VerifyReport) error {
		for _, p := range r.Problems {
			found = append(found, p.What)
		}
		return nil
	})
	if err != nil || found != nil || !begun {
		t.Errorf("%v, %q", err, found)
	}
}
