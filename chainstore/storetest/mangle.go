package storetest

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// Mangle wraps a store and spoils what is borrowed once it must not be used any more: each row when yield returns, but for Row.Shared,
// which some have, and each change when Commit returns. It fails tb where the store changes a change, or identifies nodes later.
func Mangle(tb testing.TB, s chainstore.Store) chainstore.Store { return &mangled{Store: s, tb: tb} }

type mangled struct {
	chainstore.Store
	tb testing.TB
}

func (m *mangled) Commit(ctx context.Context, namespace string, change *chainstore.Change) (*chainstore.Committed, error) {
	var over atomic.Bool
	lent, kept := copyChange(change), copyChange(change)
	for i := range lent.Nodes {
		identify := lent.Nodes[i].Identify
		lent.Nodes[i].Identify = func(parent *chainstore.ID) chainstore.ID {
			if over.Load() {
				m.tb.Error("the store called Identify after Commit had returned")
			}
			return identify(parent)
		}
	}
	out, err := m.Store.Commit(ctx, namespace, lent)
	over.Store(true)
	if !sameChange(lent, kept) {
		m.tb.Error("the store changed a change")
	}
	spoilChange(lent)
	return out, err
}

// sameChange compares two changes but for their Identify.
func sameChange(a, b *chainstore.Change) bool {
	a, b = copyChange(a), copyChange(b)
	for _, c := range []*chainstore.Change{a, b} {
		for i := range c.Nodes {
			c.Nodes[i].Identify = nil
		}
	}
	return reflect.DeepEqual(a, b)
}

func copyChange(c *chainstore.Change) *chainstore.Change {
	out := &chainstore.Change{Nodes: slices.Clone(c.Nodes), Aliases: slices.Clone(c.Aliases)}
	for i := range out.Nodes {
		n := &out.Nodes[i]
		n.Payload, n.Metadata, n.Salt = slices.Clone(n.Payload), slices.Clone(n.Metadata), slices.Clone(n.Salt)
		n.Details, n.Receipt, n.Erased = slices.Clone(n.Details), slices.Clone(n.Receipt), n.Erased.Clone()
		n.Variables, n.Messages = slices.Clone(n.Variables), slices.Clone(n.Messages)
		for k := range n.Messages {
			n.Messages[k].Calls = slices.Clone(n.Messages[k].Calls)
		}
		if n.SpawnedFrom != nil {
			from := *n.SpawnedFrom
			n.SpawnedFrom = &from
		}
		if n.Compaction != nil {
			n.Compaction = &chainstore.Compaction{
				Covers: n.Compaction.Covers, Erasures: n.Compaction.Erasures, Provenance: slices.Clone(n.Compaction.Provenance), Loops: n.Compaction.Loops,
			}
			if l := n.Compaction.Loops; l != nil {
				n.Compaction.Loops = &runloop.Loops{Begins: slices.Clone(l.Begins), Phase: l.Phase}
			}
		}
	}
	for i := range out.Aliases {
		out.Aliases[i].Labels = maps.Clone(out.Aliases[i].Labels)
	}
	return out
}

const spoilt = "spoilt by storetest.Mangle"

func spoilChange(c *chainstore.Change) {
	for i := range c.Nodes {
		n := &c.Nodes[i]
		for _, b := range [][]byte{n.Payload, n.Metadata, n.Details, n.Salt, n.Receipt} {
			spoil(b)
		}
		for k := range n.Variables {
			n.Variables[k].Name = spoilt
		}
		for k := range n.Messages {
			for j := range n.Messages[k].Calls {
				n.Messages[k].Calls[j] = runloop.Call{ID: runloop.Some(spoilt), Name: runloop.Some(spoilt)}
			}
			n.Messages[k] = runloop.Facts{CallID: runloop.Some(spoilt)}
		}
		if n.Erased != nil {
			if n.Erased.MetadataDigest != nil {
				*n.Erased.MetadataDigest = chainstore.ID{}
			}
			*n.Erased = chainstore.Erased{}
		}
		if n.SpawnedFrom != nil {
			*n.SpawnedFrom = chainstore.SpawnedFrom{CallID: runloop.Some(spoilt)}
		}
		if c := n.Compaction; c != nil {
			for k := range c.Provenance {
				c.Provenance[k] = chainstore.Provenance{Present: true, Place: runloop.Place{Seq: 1<<32 - 1, Index: 1<<32 - 1}}
			}
			*c = chainstore.Compaction{}
		}
		*n = chainstore.NewNode{Identify: n.Identify}
	}
	for i := range c.Aliases {
		clear(c.Aliases[i].Labels)
		c.Aliases[i] = chainstore.AliasChange{Name: spoilt}
	}
}

func spoil(b []byte) {
	for i := range b {
		b[i] = 0xA5
	}
}

func (m *mangled) Chain(ctx context.Context, namespace string, head chainstore.Ref, after *chainstore.ID) (chainstore.Chain, error) {
	c, err := m.Store.Chain(ctx, namespace, head, after)
	if err != nil {
		return nil, err
	}
	return &mangledChain{c}, nil
}

func (m *mangled) ChainNamed(ctx context.Context, namespace string, head chainstore.Ref, limit int) (chainstore.Chain, []string, bool, error) {
	c, names, more, err := m.Store.ChainNamed(ctx, namespace, head, limit)
	if err != nil {
		return nil, nil, false, err
	}
	return &mangledChain{c}, names, more, nil
}

func (m *mangled) Nodes(ctx context.Context, namespace string, ids []chainstore.ID, yield func(*chainstore.FoundNode) error) error {
	return m.Store.Nodes(ctx, namespace, ids, func(n *chainstore.FoundNode) error {
		row, takeBack := lend(&n.Row)
		row.Shared, row.SharedFrom = n.Shared, n.SharedFrom
		lent := chainstore.FoundNode{Row: row, Header: n.Header, Parent: n.Parent, Covers: n.Covers}
		err := yield(&lent)
		takeBack()
		lent = chainstore.FoundNode{}
		return err
	})
}

// lend copies a row, without shared memory, and returns what spoils the bytes of the copy.
func lend(r *chainstore.Row) (lent chainstore.Row, takeBack func()) {
	lent = chainstore.Row{
		Raw: slices.Clone(r.Raw), Seq: r.Seq, Payload: slices.Clone(r.Payload), Metadata: slices.Clone(r.Metadata),
		Details: slices.Clone(r.Details),
	}
	bytes := [][]byte{lent.Raw, lent.Payload, lent.Metadata, lent.Details}
	return lent, func() {
		for _, b := range bytes {
			spoil(b)
		}
	}
}

type mangledChain struct{ chainstore.Chain }

func (c *mangledChain) Rows(ctx context.Context, spans []chainstore.Span, yield func(*chainstore.Row) error) error {
	return c.Chain.Rows(ctx, spans, func(r *chainstore.Row) error {
		lent, takeBack := lend(r)
		if r.Payload != nil && r.Seq%3 > 0 { // shared memory has other bytes around the payload, and stays
			lent.Shared, lent.SharedFrom = slices.Concat([]byte("before"), r.Payload, []byte("behind")), len("before")
		}
		err := yield(&lent)
		takeBack()
		lent = chainstore.Row{}
		return err
	})
}

// Erase lends copies, which are spoilt once it is over.
func (m *mangled) Erase(ctx context.Context, namespace string, nodes []chainstore.ErasedNode) (int, error) {
	lent := slices.Clone(nodes)
	for i := range lent {
		n := &lent[i]
		n.Payload, n.Receipt, n.Variables, n.Facts = slices.Clone(n.Payload), slices.Clone(n.Receipt), slices.Clone(n.Variables), slices.Clone(n.Facts)
		for k := range n.Facts {
			n.Facts[k].Calls = slices.Clone(n.Facts[k].Calls)
		}
		if n.MetadataDigest != nil {
			digest := *n.MetadataDigest
			n.MetadataDigest = &digest
		}
	}
	erased, err := m.Store.Erase(ctx, namespace, lent)
	if !reflect.DeepEqual(lent, nodes) {
		m.tb.Error("the store changed what it was given")
	}
	for i := range lent {
		spoilErased(&lent[i])
	}
	return erased, err
}

func spoilErased(n *chainstore.ErasedNode) {
	spoil(n.Payload)
	spoil(n.Receipt)
	for k := range n.Variables {
		n.Variables[k].Name = spoilt
	}
	for k := range n.Facts {
		for j := range n.Facts[k].Calls {
			n.Facts[k].Calls[j] = runloop.Call{ID: runloop.Some(spoilt), Name: runloop.Some(spoilt)}
		}
		n.Facts[k] = runloop.Facts{CallID: runloop.Some(spoilt)}
	}
	if n.MetadataDigest != nil {
		*n.MetadataDigest = chainstore.ID{}
	}
	*n = chainstore.ErasedNode{}
}
