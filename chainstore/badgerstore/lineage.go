package badgerstore

import (
	"fmt"
	"sort"

	"github.com/transcriptd/transcriptd/chainstore"
)

// lineage is where a chain lies: its head, and where each fork left its parent's segment, nearest first. Their seqs
// fall strictly: a segment begins one above the fork that began it.
type lineage struct {
	head  place
	forks []place
}

// stretch is a run of a chain's nodes in one segment, from one seq through another.
type stretch struct {
	segment       uint64
	from, through uint32
}

// stretches calls f with the chain's stretches, nearest first, until f returns false.
func (l *lineage) stretches(f func(stretch) bool) {
	at := l.head
	for _, fork := range l.forks {
		if !f(stretch{at.segment, fork.seq + 1, at.seq}) {
			return
		}
		at = fork
	}
	f(stretch{at.segment, 0, at.seq})
}

// locate returns where the chain's node with seq ancestors lies; seq <= head.seq.
func (l *lineage) locate(seq uint32) place {
	i := sort.Search(len(l.forks), func(i int) bool { return l.forks[i].seq < seq })
	if i == 0 {
		return place{l.head.segment, seq}
	}
	return place{l.forks[i-1].segment, seq}
}

// holds tells whether p is on the chain.
func (l *lineage) holds(p place) bool { return p.seq <= l.head.seq && l.locate(p.seq) == p }

// within is the part of the chain from one seq through another, root first.
func (l *lineage) within(from, through uint32) []stretch {
	var out []stretch
	l.stretches(func(s stretch) bool {
		if s.from <= through && s.through >= from {
			out = append(out, stretch{s.segment, max(s.from, from), min(s.through, through)})
		}
		return s.from > from
	})
	for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
		out[i], out[j] = out[j], out[i]
	}
	return out
}

// child is the fork path of a segment that a child of the chain's head begins.
func (l *lineage) child() []place { return append([]place{l.head}, l.forks...) }

// lineage reads the fork path of a node that has forks on its path: a seek for each 64.
func (v *view) lineage(head place, forks uint32) (*lineage, error) {
	l := &lineage{head: head}
	if forks == 0 {
		return l, nil
	}
	c := v.cursor(tableKey(v.ns, tableNodes))
	defer c.close()
	segment, above := head.segment, head.seq
	for want := int(forks); want > 0; {
		part, err := c.firstForks(segment, want)
		if err != nil {
			return nil, err
		}
		for _, f := range part {
			if f.seq >= above {
				return nil, fmt.Errorf("%w: a fork path that does not fall", chainstore.ErrCorrupt)
			}
			above = f.seq
		}
		l.forks = append(l.forks, part...)
		want -= len(part)
		segment = part[len(part)-1].segment
	}
	return l, nil
}

// firstForks reads the fork path in a segment's first row; want is how many forks there are from there to the root.
func (c *cursor) firstForks(segment uint64, want int) (forks []place, err error) {
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
func (v *view) header(at place) (h *chainstore.Header, err error) {
	found, err := v.borrow(placeKey(v.ns, tableNodes, at), func(value []byte) error {
		r, present, err := parseRow(value)
		if err != nil {
			return err
		}
		if !present {
			return dangling(tableNodes)
		}
		h, err = r.header.Decode(at.seq)
		return err
	})
	if err == nil && !found {
		err = dangling(tableNodes)
	}
	return h, err
}

// placeOf looks an id up.
func (v *view) placeOf(id chainstore.ID) (p place, found bool, err error) {
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
func (v *view) resolve(ref chainstore.Ref) (place, error) {
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
		return place{}, err
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
func (v *view) used(at place) (bool, error) {
	return v.borrow(placeKey(v.ns, tableNodes, at), func([]byte) error { return nil })
}
