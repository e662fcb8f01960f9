package badgerstore

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/transcriptd/transcriptd/chainstore"
)

// TestRepeatsAskForNothing: a put that is repeated is found in memory, though its calls are known.
func TestRepeatsAskForNothing(t *testing.T) {
	s := openStore(t, Options{})
	root := put(t, s, callNode(nil, ids("root", 1)))[0].ID
	again := callNode(&root, ids("again", 2))
	put(t, s, again)
	if cost := s.cost(func() { put(t, s, again) }); cost.seeks != 0 || cost.gets > 1 {
		t.Errorf("%+v", cost)
	}
}

// TestPutsBesideEvictions: chains grow, by ids and aliases, and are forked from by many callers whose parents are pushed out of
// the committer's cache all the time: each node gets a place of its own, behind its parent.
func TestPutsBesideEvictions(t *testing.T) {
	s := openStore(t, Options{CacheBytes: 256 << 10}) // for some ten nodes
	const chats, callers, puts = 60, 8, 250
	root := put(t, s, node(nil, "of all"))[0].ID
	var mu sync.Mutex
	ends, parents := make([]chainstore.ID, chats), map[chainstore.ID]chainstore.ID{}
	for i := range ends {
		ends[i] = put(t, s, node(&root, fmt.Sprint("chat ", i)))[0].ID
		point(t, s, "default", fmt.Sprint(i), &ends[i])
	}
	var running sync.WaitGroup
	for caller := range callers {
		running.Go(func() {
			random := rand.New(rand.NewPCG(4, uint64(caller)))
			for k := range puts {
				chat := random.IntN(chats)
				mu.Lock()
				parent := ends[chat]
				mu.Unlock()
				n := turnOf(parent, fmt.Sprint(caller, " ", k), "used again")
				change := &chainstore.Change{Nodes: []chainstore.NewNode{n}}
				if k%3 == 0 { // where the alias is by now
					change.Nodes[0].Parent = chainstore.Parent{Kind: chainstore.ParentAlias, Alias: fmt.Sprint(chat)}
					change.Aliases = []chainstore.AliasChange{{Name: fmt.Sprint(chat), Target: chainstore.Target{Kind: chainstore.TargetNew}}}
				}
				out, err := s.Commit(t.Context(), "default", change)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				ends[chat] = out.Nodes[0].ID
				if k%3 != 0 {
					parents[out.Nodes[0].ID] = parent
				}
				mu.Unlock()
			}
		})
	}
	running.Wait()
	if t.Failed() {
		return
	}
	if misses := s.Metrics().Nodes.Misses; misses < callers*puts/4 {
		t.Errorf("only %d nodes were not kept", misses)
	}
	for id, parent := range parents {
		chain, err := s.Chain(t.Context(), "default", chainstore.Ref{ID: id}, &parent)
		if err != nil || chain.After()+1 != chain.Head().Seq {
			t.Fatalf("a node is not behind its parent: %v", err)
		}
	}
	mustBeClean(t, s)
}
