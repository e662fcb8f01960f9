package badgerstore

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/commit"
	"github.com/transcriptd/transcriptd/chainstore/internal/cache"
	"github.com/transcriptd/transcriptd/chainstore/memstore"
	"github.com/transcriptd/transcriptd/chainstore/storetest"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// Calls of few ids, two of one fingerprint, on trees of short branches are found as the model finds them: whatever of
// them is kept, pushed out, read in, refused, in the same batch or from before the start.
func TestKeptCallsAgreeWithTheModel(t *testing.T) {
	for seed := range uint64(5) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := &callModel{Rand: rand.New(rand.NewPCG(seed, 1)), t: t, dir: t.TempDir()}
			r.s, r.model = openAt(t, r.dir, Options{}), memstore.New(memstore.Options{})
			a, b := twins()
			r.names = []string{a, b, "x", "y"}
			for i := range 20 {
				r.names = append(r.names, fmt.Sprint("seldom ", i))
			}
			r.put(r.change())
			for range 150 {
				r.step()
			}
			mustBeClean(t, r.s)
		})
	}
}

type callModel struct {
	*rand.Rand
	t      *testing.T
	dir    string
	s      *Store
	model  chainstore.Store
	names  []string
	nodes  []chainstore.ID
	number int
}

func (r *callModel) step() {
	switch r.IntN(24) {
	case 0:
		r.s.source.Caches.Calls = callsOf(int64(r.IntN(2)) << 20)
	case 1:
		if err := r.s.Close(); err != nil {
			r.t.Fatal(err)
		}
		r.s = openAt(r.t, r.dir, Options{})
	case 2, 3, 4: // as often as it takes to be read in, behind one node
		parent := r.nodes[r.IntN(len(r.nodes))]
		for range cache.ReadInAfter + 1 {
			r.put(&chainstore.Change{Nodes: []chainstore.NewNode{r.node(byID(parent))}})
		}
	case 5, 6:
		r.put(r.change(), r.change())
	default:
		r.put(r.change())
	}
}

// change has nodes one behind the other, the first one mostly behind one of the last that were put.
func (r *callModel) change() *chainstore.Change {
	parent := chainstore.Parent{}
	if n := len(r.nodes); n > 0 {
		parent = byID(r.nodes[n-1-min(r.IntN(n), r.IntN(n), r.IntN(n))])
	}
	c := &chainstore.Change{}
	for range 1 + r.IntN(3) {
		c.Nodes = append(c.Nodes, r.node(parent))
		parent = previous()
	}
	return c
}

func (r *callModel) node(parent chainstore.Parent) chainstore.NewNode {
	r.number++
	n := storetest.Node{Parent: parent, Messages: []storetest.Message{}}
	if r.IntN(3) == 0 {
		n.Messages = append(n.Messages, storetest.Message{Role: runloop.User, Text: fmt.Sprint(r.number)})
	}
	for range 1 + r.IntN(3) {
		m := storetest.Message{Role: runloop.Assistant, Text: fmt.Sprint(r.number)}
		if r.IntN(2) == 0 {
			m.Role, m.CallID = runloop.Tool, r.id()
		} else {
			for range r.IntN(3) {
				m.Calls = append(m.Calls, runloop.Call{ID: r.id()})
			}
		}
		n.Messages = append(n.Messages, m)
	}
	return storetest.Simple().Make(n)
}

func (r *callModel) id() runloop.Optional {
	if i := r.IntN(len(r.names) + 4); i < len(r.names) {
		return runloop.Some(r.names[min(i, r.IntN(len(r.names)))])
	}
	return runloop.Optional{}
}

// put puts changes in one batch, each behind one that is refused for its last node, and compares.
func (r *callModel) put(changes ...*chainstore.Change) {
	r.t.Helper()
	var all, taken []*commit.Request
	for _, c := range changes {
		refused := queuedNodes(testNamespace, append(r.change().Nodes, node(&chainstore.ID{1}, "no parent"))...)
		q := queuedChange(testNamespace, c)
		all, taken = append(all, refused, q), append(taken, q)
	}
	together(r.s, all...)
	for i, c := range changes {
		r.compare(c, taken[i])
	}
}

func (r *callModel) compare(c *chainstore.Change, taken *commit.Request) {
	r.t.Helper()
	out, err := r.model.Commit(r.t.Context(), testNamespace, c)
	if err != nil || taken.Err != nil {
		r.t.Fatalf("%v, the model %v", taken.Err, err)
	}
	for k, n := range out.Nodes {
		want, got := headerOf(r.t, r.model, n.ID), headerOf(r.t, r.s, taken.Committed.Nodes[k].ID)
		if !reflect.DeepEqual(got.Messages, want.Messages) {
			r.t.Fatalf("node %d: %+v, the model %+v", len(r.nodes), got.Messages, want.Messages)
		}
		r.nodes = append(r.nodes, n.ID)
	}
}
