package badgerstore

import (
	"fmt"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
	"github.com/transcriptd/transcriptd/chainstore/derive"
	"github.com/transcriptd/transcriptd/chainstore/internal/cache"
)

// lineage reads the fork path of a node that has forks on its path: a seek for each 64.
func (v *view) lineage(head chainstore.Place, forks uint32) (*chainstore.Lineage, error) {
	l := &chainstore.Lineage{Head: head}
	if forks == 0 {
		return l, nil
	}
	c := v.cursor(layout.TableKey(v.ns, layout.TableNodes))
	defer c.close()
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
func (c *cursor) firstForks(segment uint64, want int) (forks []chainstore.Place, err error) {
	prefix := layout.SegmentKey(c.v.ns, segment)
	c.seek(prefix)
	if !c.it.Within(prefix) {
		return nil, layout.Dangling(layout.TableNodes)
	}
	err = c.value(func(value []byte) error {
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

// header reads the header of the node at a place that an index or a path names.
func (v *view) header(at chainstore.Place) (h *chainstore.Header, err error) {
	found, err := v.borrow(layout.PlaceKey(v.ns, layout.TableNodes, at), func(value []byte) error {
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

// placeOf looks an id up.
func (v *view) placeOf(id chainstore.ID) (p chainstore.Place, found bool, err error) {
	if p, ok := v.s.readNodes.PlaceOf(cache.NodeKey{Namespace: v.ns, ID: id}, v.ts); ok {
		return p, true, nil
	}
	found, err = v.borrow(layout.IDKey(v.ns, id), func(value []byte) error {
		p, err = layout.ParsePlaceValue(value, layout.TableIDs)
		return err
	})
	return p, found, err
}

// resolve returns where a reference points: ErrNodeNotFound, ErrAliasNotFound.
func (v *view) resolve(ref chainstore.Ref) (chainstore.Place, error) {
	if ref.Alias == "" {
		p, found, err := v.placeOf(ref.ID)
		if err == nil && !found {
			err = chainstore.ErrNodeNotFound
		}
		return p, err
	}
	if p, ok := v.s.caches.Aliases.Get(v.ns, ref.Alias, v.ts); ok {
		return p, nil
	}
	a, err := v.alias(ref.Alias)
	if err != nil {
		return chainstore.Place{}, err
	}
	v.s.caches.Aliases.Put(v.ns, ref.Alias, v.ts, a.At)
	return a.At, nil
}

// head resolves a reference and gives what is known of the node, with its lineage; it must not be changed.
func (v *view) head(ref chainstore.Ref) (*cache.Node, error) {
	at, err := v.resolve(ref)
	if err != nil {
		return nil, err
	}
	n := v.s.readNodes.At(cache.NodePlace{Namespace: v.ns, At: at})
	if n != nil && n.Lineage != nil {
		return n, nil
	}
	whole := &cache.Node{Namespace: v.ns, At: at}
	if n != nil {
		*whole = *n
	} else if whole.Header, err = v.header(at); err != nil {
		return nil, err
	}
	if whole.Lineage, err = v.lineage(at, whole.Header.Forks); err != nil {
		return nil, err
	}
	v.s.readNodes.Offer(whole, v.ts)
	return whole, nil
}

// node reads the header of the node at a place, which is there.
func (v *view) node(at chainstore.Place) (*cache.Node, error) {
	h, err := v.header(at)
	if err != nil {
		return nil, err
	}
	return &cache.Node{Namespace: v.ns, At: at, Header: h}, nil
}

// withPath reads what the children of a node follow from beside its header: its lineage and its tables.
func (v *view) withPath(n *cache.Node) (*cache.Node, error) {
	whole := *n
	var err error
	if whole.Lineage == nil {
		if whole.Lineage, err = v.lineage(n.At, n.Header.Forks); err != nil {
			return nil, err
		}
	}
	whole.Tables, err = v.tables(n.Header, whole.Lineage)
	return &whole, err
}

// derived is what of a node its children follow from; no node for nil.
func derived(n *cache.Node) derive.Node {
	if n == nil {
		return derive.Node{}
	}
	return derive.Node{Header: n.Header, Lineage: n.Lineage, Tables: n.Tables}
}

// used tells whether a place was ever used.
func (v *view) used(at chainstore.Place) (bool, error) {
	return v.borrow(layout.PlaceKey(v.ns, layout.TableNodes, at), func([]byte) error { return nil })
}
