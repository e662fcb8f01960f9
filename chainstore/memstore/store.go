// Package memstore keeps chains in maps behind one mutex. It is the model that the other engines are compared with:
// what a walk from child to parent can tell is told by that walk, and by no index. Nothing outlives the process.
package memstore

import (
	"context"
	"sync"
	"time"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/internal/hold"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// Options are what New needs.
type Options struct {
	// Now tells the time; nil: time.Now.
	Now func() time.Time
}

// Store is a chainstore.Store in memory.
type Store struct {
	now func() time.Time
	id  chainstore.StoreID

	gate hold.Gate
	// collecting is what one collection at a time has.
	collecting hold.Gate

	mu     sync.Mutex
	closed bool
	point  chainstore.Point // the changes so far
	// sweeping is the collection under way; nil without one.
	sweeping   *sweeping
	namespaces map[string]*namespace
	numbers    int64 // how many namespaces there ever were
	keys       chainstore.TokenKeys
	// signing is zero until it is asked for.
	signing chainstore.Secret
}

// namespace is a tenant's world. A namespace that was never written to has no entry in Store.
type namespace struct {
	nodes map[chainstore.ID]*node
	// order has every node in the order of the first puts, so a parent before its children; puts counts those that were ever put.
	order   []*node
	puts    uint64
	aliases map[string]*alias
	// floor is the highest revision of any name that was forgotten when it was set again.
	floor    int64
	settings chainstore.SettingsNow
	// receipts has those of the nodes that were ever erased; erasures are those of chainstore.Eraser.
	receipts map[chainstore.ID]receipt
	erasures uint64
	// number is that of chainstore.NumberedNamespace, once it was written to; gone says that it was deleted.
	number int64
	gone   bool
}

// receipt is what was given with an erasure, and when that was.
type receipt struct {
	bytes []byte
	at    int64
	point chainstore.Point
}

// node never changes once it is in a namespace, but for hasChild, lastPut and what an erasure puts in place of others: header, raw, payload, metadata,
// details, facts and erased. Whoever reads those holds the lock; what they point to stays as it is.
type node struct {
	parent    *node
	header    *chainstore.Header
	raw       chainstore.RawHeader
	payload   []byte
	metadata  []byte
	details   []byte
	facts     []runloop.Facts
	variables []runloop.VariableChange
	outcome   runloop.Outcome
	// compaction is nil but for compaction nodes; covers is then the node that Covers names.
	compaction *chainstore.Compaction
	covers     *node
	// number counts the nodes ever put; run names the run of the path that the node lies in: the number of its first node.
	number   uint64
	run      uint64
	hasChild bool
	// lastPut is when it was last put, to within chainstore.RenewAfter; milliseconds since the epoch.
	lastPut int64
	// point is the change of the store that put it, erased the last one that erased it; 0: none did.
	point, erased chainstore.Point
}

// forks tells whether its parent had a child before.
func (n *node) forks() bool { return n.parent != nil && n.run == n.number }

func (n *node) id() chainstore.ID { return n.header.ID }

// New returns an empty store.
func New(o Options) *Store {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Store{now: o.Now, id: chainstore.NewStoreID(), namespaces: map[string]*namespace{}}
}

// Info tells that this is the memory engine; see chainstore.Store.
func (s *Store) Info() chainstore.Info {
	return chainstore.Info{Engine: "memory", ID: s.id, Format: 1}
}

// Close releases everything.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return chainstore.ErrClosed
	}
	s.closed, s.namespaces = true, nil
	return nil
}

// Stats counts a namespace.
func (s *Store) Stats(ctx context.Context, name string) (chainstore.Stats, error) {
	ns, unlock, err := s.read(ctx, name)
	if err != nil {
		return chainstore.Stats{}, err
	}
	defer unlock()
	return ns.stats(), nil
}

func (ns *namespace) stats() (st chainstore.Stats) {
	for _, n := range ns.order {
		st.Nodes++
		st.Messages += int64(len(n.header.Messages))
		st.MessageBytes += int64(n.header.CountedBytes())
		switch {
		case n.parent == nil:
			st.Roots++
		case n.forks():
			st.Forks++
		}
	}
	for _, a := range ns.aliases {
		if a.exists() {
			st.Aliases++
		}
	}
	return st
}

// read locks the store and returns a namespace, an empty one where it was never written to.
func (s *Store) read(ctx context.Context, name string) (*namespace, func(), error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, nil, chainstore.ErrClosed
	}
	ns := s.namespaces[name]
	if ns == nil {
		ns = newNamespace()
	}
	return ns, s.mu.Unlock, nil
}

// keep has a namespace be there from now on.
func (s *Store) keep(name string, ns *namespace) {
	if s.namespaces[name] == nil {
		s.numbers++
		ns.number = s.numbers
	}
	s.namespaces[name] = ns
}

func newNamespace() *namespace {
	return &namespace{nodes: map[chainstore.ID]*node{}, aliases: map[string]*alias{}, receipts: map[chainstore.ID]receipt{}}
}

func (s *Store) millis() int64 { return s.now().UnixMilli() }

// find returns the node that a reference names: ErrNodeNotFound, ErrAliasNotFound.
func (ns *namespace) find(ref chainstore.Ref) (*node, error) {
	if ref.Alias == "" {
		if n := ns.nodes[ref.ID]; n != nil {
			return n, nil
		}
		return nil, chainstore.ErrNodeNotFound
	}
	if a := ns.aliases[ref.Alias]; a.exists() {
		return ns.nodes[a.head()], nil
	}
	return nil, chainstore.ErrAliasNotFound
}
