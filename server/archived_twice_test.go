package server_test

import (
	"context"
	"fmt"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/memstore"
)

// TestArchivedBothWays: a request with a node as it was and as it was erased is answered as a wrong request, and is no fault of the server.
func TestArchivedBothWays(t *testing.T) {
	bothEngines(t, func(r *rig) {
		id := r.put("", user("some words"))
		r.point("chat", id)
		before := r.archivedNodes("default")
		r.erase(id)
		after := r.archivedNodes("default")
		err := r.putArchived("there", before[0], after[0])
		if f := failureOf(err); f.code == codes.Internal {
			r.Fatalf("the answer is %v", err)
		}
	})
}

// TestArchivedPutAgainAndAgain: where others put a node of the call between each look and the commit, the call is refused as one that can be repeated
// later, has written nothing, and takes place once they are done.
func TestArchivedPutAgainAndAgain(t *testing.T) {
	store := &putsMeanwhile{Store: memstore.New(memstore.Options{})}
	r := newRig(t, store)
	var ids []string
	for i := range 9 {
		ids = append(ids, r.put("", user(fmt.Sprint(i))))
	}
	whole := r.archivedNodes("default")
	r.erase(ids...)
	erased := r.archivedNodes("default")

	// meanwhile puts one more node before each of so many commits.
	meanwhile := func(namespace string, commits int) {
		next := 0
		var again func()
		again = func() {
			if err := r.putArchived(namespace, whole[next]); err != nil {
				t.Error(err)
			}
			if next++; next < commits {
				store.before = again
			}
		}
		store.before = again
	}
	meanwhile("often", 7)
	if err := r.putArchived("often", erased...); err != nil {
		t.Fatal(err)
	}
	r.sameNodes("nodes that others put seven times", r.archivedNodes("often"), erased)

	meanwhile("always", 8)
	r.fails(r.putArchived("always", erased...), codes.ResourceExhausted, "OVERLOADED", "")
	r.sameNodes("nodes of a call that was refused", r.archivedNodes("always"), whole[:8])
	if err := r.putArchived("always", erased...); err != nil {
		t.Fatal(err)
	}
	r.sameNodes("nodes of a call that was repeated", r.archivedNodes("always"), erased)
}

// refusesErased is a store that takes no erasure of a node that was put elsewhere.
type refusesErased struct{ chainstore.Store }

func (s refusesErased) Commit(ctx context.Context, ns string, change *chainstore.Change) (*chainstore.Committed, error) {
	if len(change.Nodes) > 0 && change.Nodes[0].Erased != nil {
		return nil, chainstore.ErrBadErasure
	}
	return s.Store.Commit(ctx, ns, change)
}

// TestArchivedOfAFault: what the store refuses although nobody put anything is a fault of the server, and is not repeated.
func TestArchivedOfAFault(t *testing.T) {
	r := newRig(t, refusesErased{memstore.New(memstore.Options{})})
	id := r.put("", user("said"))
	r.erase(id)
	r.fails(r.putArchived("there", r.archivedNodes("default")...), codes.Internal, "INTERNAL", "")
}
