package badgerstore

import (
	"fmt"

	"github.com/transcriptd/transcriptd/chainstore"
)

// lineage reads the fork path of a node that has forks on its path: a seek for each 64.
func (v *view) lineage(head chainstore.Place, forks uint32) (*chainstore.Lineage, error) {
	l := &chainstore.Lineage{Head: head}
	if forks == 0 {
		return l, nil
	}
	c := v.cursor(tableKey(v.ns, tableNodes))
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
	prefix := segmentKey(c.v.ns, segment)
	c.seek(prefix)
	if !c.it.ValidForPrefix(prefix) {
		return nil, dangling(tableNodes)
	}
	err = c.value(func(value []byte) error {
		r, present, err := parseRow(value)
		if err != nil {
			return err
		}
		if !present || len(r.forks) != min(want, maxForksInRow) {
			return fmt.Errorf("%w: a segment's first row has another number of forks", chainstore.ErrCorrupt)
		}
		forks = r.forks
		return nil
	})
	return forks, err
}

// header reads the header of the node at a place that an index or a path names.
func (v *view) header(at chainstore.Place) (h *chainstore.Header, err error) {
	found, err := v.borrow(placeKey(v.ns, tableNodes, at), func(value []byte) error {
		r, present, err := parseRow(value)
		if err != nil {
			return err
		}
		if !present {
			return dangling(tableNodes)
		}
		h, err = r.header.Decode(at.Seq)
		return err
	})
	if err == nil && !found {
		err = dangling(tableNodes)
	}
	return h, err
}

// placeOf looks an id up.
func (v *view) placeOf(id chainstore.ID) (p chainstore.Place, found bool, err error) {
	if p, ok := v.s.heads.place(v.ns, id, v.ts); ok {
		return p, true, nil
	}
	found, err = v.borrow(idKey(v.ns, id), func(value []byte) error {
		p, err = parsePlaceValue(value, tableIDs)
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
	if p, ok := v.s.aliases.get(v.ns, ref.Alias, v.ts); ok {
		return p, nil
	}
	a, err := v.alias(ref.Alias)
	if err != nil {
		return chainstore.Place{}, err
	}
	v.s.aliases.put(v.ns, ref.Alias, v.ts, a.at)
	return a.at, nil
}

// head resolves a reference and gives its header and its lineage, which must not be changed.
func (v *view) head(ref chainstore.Ref) (*head, error) {
	at, err := v.resolve(ref)
	if err != nil {
		return nil, err
	}
	if h := v.s.heads.at(v.ns, at); h != nil {
		return h, nil
	}
	h := &head{}
	if h.header, err = v.header(at); err != nil {
		return nil, err
	}
	if h.lineage, err = v.lineage(at, h.header.Forks); err != nil {
		return nil, err
	}
	v.s.heads.put(v.ns, h, v.ts)
	return h, nil
}

// used tells whether a place was ever used.
func (v *view) used(at chainstore.Place) (bool, error) {
	return v.borrow(placeKey(v.ns, tableNodes, at), func([]byte) error { return nil })
}
