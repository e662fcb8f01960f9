package snapshot

import (
	"fmt"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
	"github.com/transcriptd/transcriptd/chainstore/derive"
	"github.com/transcriptd/transcriptd/chainstore/internal/cache"
)

// LineageOf reads the fork path of a node that has forks on its path: a seek for each 64.
func (v *Snapshot) lineage(head chainstore.Place, forks uint32) (*chainstore.Lineage, error) {
	l := &chainstore.Lineage{Head: head}
	if forks == 0 {
		return l, nil
	}
	c := v.Iterate(layout.TableKey(v.Namespace, layout.TableNodes))
	defer c.Close()
	segment, above := head.Segment, head.Seq
	for want := int(forks); want > 0; {
		part, err := c.firstForks(segment, want)
		if err != nil {
			return nil, err
		}
		for _, f := range part {
			if f.Seq >= above {
				return nil, fmt.Errorf("%w: a fork path that does not fall", chainstore.ErrCorrupt)
			}
			above = f.Seq
		}
		l.Forks = append(l.Forks, part...)
		want -= len(part)
		segment = part[len(part)-1].Segment
	}
	return l, nil
}

// firstForks reads the fork path in a segment's first row; want is how many forks there are from there to the root.
func (c *Cursor) firstForks(segment uint64, want int) (forks []chainstore.Place, err error) {
	prefix := layout.SegmentKey(c.V.Namespace, segment)
	c.Seek(prefix)
	if !c.Within(prefix) {
		return nil, layout.Dangling(layout.TableNodes)
	}
	err = c.Value(func(value []byte) error {
		r, present, err := layout.ParseRow(value)
		if err != nil {
			return err
		}
		if !present || len(r.Forks) != min(want, layout.MaxForksInRow) {
			return fmt.Errorf("%w: a segment's first row has another number of forks", chainstore.ErrCorrupt)
		}
		forks = r.Forks
		return nil
	})
	return forks, err
}

// ForkedFrom is the place of the parent of a segment's first node; forked is false where that is a root.
func (v *Snapshot) ForkedFrom(segment uint64) (from chainstore.Place, forked bool, err error) {
	prefix := layout.SegmentKey(v.Namespace, segment)
	c := v.Iterate(prefix)
	defer c.Close()
	if c.Seek(prefix); !c.Valid() {
		return from, false, layout.Dangling(layout.TableNodes)
	}
	err = c.Value(func(value []byte) error {
		r, present, err := layout.ParseRow(value)
		if err == nil && !present {
			err = layout.Dangling(layout.TableNodes)
		}
		if len(r.Forks) > 0 {
			from, forked = r.Forks[0], true
		}
		return err
	})
	return from, forked, err
}

// HeaderAt reads the header of the node at a place that an index or a path names.
func (v *Snapshot) HeaderAt(at chainstore.Place) (h *chainstore.Header, err error) {
	found, err := v.Borrow(layout.PlaceKey(v.Namespace, layout.TableNodes, at), func(value []byte) error {
		r, present, err := layout.ParseRow(value)
		if err != nil {
			return err
		}
		if !present {
			return layout.Dangling(layout.TableNodes)
		}
		h, err = r.Header.Decode(at.Seq)
		return err
	})
	if err == nil && !found {
		err = layout.Dangling(layout.TableNodes)
	}
	return h, err
}

// PlaceOf looks an id up.
func (v *Snapshot) PlaceOf(id chainstore.ID) (p chainstore.Place, found bool, err error) {
	if p, ok := v.s.readNodes.PlaceOf(cache.NodeKey{Namespace: v.Namespace, ID: id}, v.Seen); ok {
		return p, true, nil
	}
	found, err = v.Borrow(layout.IDKey(v.Namespace, id), func(value []byte) error {
		p, err = layout.ParsePlaceValue(value, layout.TableIDs)
		return err
	})
	return p, found, err
}

// Resolve returns where a reference points: ErrNodeNotFound, ErrAliasNotFound.
func (v *Snapshot) Resolve(ref chainstore.Ref) (chainstore.Place, error) {
	if ref.Alias == "" {
		p, found, err := v.PlaceOf(ref.ID)
		if err == nil && !found {
			err = chainstore.ErrNodeNotFound
		}
		return p, err
	}
	if p, ok := v.s.Caches.Aliases.Get(v.Namespace, ref.Alias, v.Seen); ok {
		return p, nil
	}
	a, err := v.Alias(ref.Alias)
	if err != nil {
		return chainstore.Place{}, err
	}
	v.s.Caches.Aliases.Put(v.Namespace, ref.Alias, v.Seen, a.At)
	return a.At, nil
}

// Head resolves a reference and gives what is known of the node, with its lineage; it must not be changed.
func (v *Snapshot) Head(ref chainstore.Ref) (*cache.Node, error) {
	at, err := v.Resolve(ref)
	if err != nil {
		return nil, err
	}
	n := v.s.readNodes.At(cache.NodePlace{Namespace: v.Namespace, At: at})
	if n != nil && n.Lineage != nil {
		return n, nil
	}
	whole := &cache.Node{Namespace: v.Namespace, At: at}
	if n != nil {
		*whole = *n
	} else if whole.Header, err = v.HeaderAt(at); err != nil {
		return nil, err
	}
	if whole.Lineage, err = v.lineage(at, whole.Header.Forks); err != nil {
		return nil, err
	}
	v.s.readNodes.Offer(whole, v.Seen)
	return whole, nil
}

// Compaction reads the header of the nearest compaction node on the path to a node whose lineage is known; nil without one.
func (v *Snapshot) Compaction(n *cache.Node) (*chainstore.Header, error) {
	switch link := n.Header.Compaction; {
	case !link.Present:
		return nil, nil
	case link.Seq == n.At.Seq:
		return n.Header, nil
	default:
		return v.keptHeader(n.Lineage.Locate(link.Seq))
	}
}

// keptHeader is HeaderAt of a node that many chains ask for.
func (v *Snapshot) keptHeader(at chainstore.Place) (*chainstore.Header, error) {
	if n := v.s.readNodes.At(cache.NodePlace{Namespace: v.Namespace, At: at}); n != nil {
		return n.Header, nil
	}
	n, err := v.NodeAt(at)
	if err != nil {
		return nil, err
	}
	v.s.readNodes.Offer(n, v.Seen)
	return n.Header, nil
}

// NodeAt reads the header of the node at a place, which is there.
func (v *Snapshot) NodeAt(at chainstore.Place) (*cache.Node, error) {
	h, err := v.HeaderAt(at)
	if err != nil {
		return nil, err
	}
	return &cache.Node{Namespace: v.Namespace, At: at, Header: h}, nil
}

// WithPath reads what the children of a node follow from beside its header: its lineage and its tables.
func (v *Snapshot) WithPath(n *cache.Node) (*cache.Node, error) {
	whole := *n
	var err error
	if whole.Lineage == nil {
		if whole.Lineage, err = v.lineage(n.At, n.Header.Forks); err != nil {
			return nil, err
		}
	}
	whole.Tables, err = v.TablesOf(n.Header, whole.Lineage)
	return &whole, err
}

// Derived is what of a node its children follow from; no node for nil.
func Derived(n *cache.Node) derive.Node {
	if n == nil {
		return derive.Node{}
	}
	return derive.Node{Header: n.Header, Lineage: n.Lineage, Tables: n.Tables}
}

// Used tells whether a place was ever used.
func (v *Snapshot) Used(at chainstore.Place) (bool, error) {
	return v.Borrow(layout.PlaceKey(v.Namespace, layout.TableNodes, at), func([]byte) error { return nil })
}

// IDAt reads the id of the node at a place that an index names.
func (v *Snapshot) IDAt(at chainstore.Place) (id chainstore.ID, err error) {
	found, err := v.Borrow(layout.PlaceKey(v.Namespace, layout.TableNodes, at), func(value []byte) error {
		r, present, err := layout.ParseRow(value)
		if err == nil && !present {
			err = layout.Dangling(layout.TableNodes)
		}
		id = r.Header.ID()
		return err
	})
	if err == nil && !found {
		err = layout.Dangling(layout.TableNodes)
	}
	return id, err
}

// SpawnedBy reads what the database has of the nodes that a node spawned: those put first, at most limit.
func (v *Snapshot) SpawnedBy(spawner chainstore.ID, limit int) (all []layout.Spawned, err error) {
	prefix := layout.SpawnerKey(v.Namespace, spawner)
	c := v.Iterate(prefix)
	defer c.Close()
	for c.Seek(prefix); c.Valid() && len(all) < limit; c.Next() {
		_, number, err := layout.ParseSpawnedKey(c.Key())
		if err != nil {
			return nil, err
		}
		s := layout.Spawned{Number: number}
		if err := c.Value(func(value []byte) error {
			s.At, err = layout.ParsePlaceValue(value, layout.TableSpawned)
			return err
		}); err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}
