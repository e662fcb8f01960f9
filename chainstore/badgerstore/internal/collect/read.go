package collect

import (
	"context"
	"fmt"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/commit"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/snapshot"
)

// reader reads some nodes of a segment with the rows that go with them.
type reader struct {
	ctx           context.Context
	v             *snapshot.Snapshot
	segment       uint64
	from, through uint32
	nodes         []commit.Dead
	// spawned has the nodes that were spawned, by spawner and place.
	spawned map[chainstore.ID]map[chainstore.Place]int
	// known outlives the reader.
	known *numbers
}

func (r *reader) read() ([]commit.Dead, error) {
	r.spawned = map[chainstore.ID]map[chainstore.Place]int{}
	for _, part := range []func() error{r.rows, r.recalls, r.lastPuts, r.numbers, r.spawners} {
		if err := part(); err != nil {
			return nil, err
		}
	}
	return r.nodes, nil
}

// each runs f on the rows with a prefix, from a key on.
func (r *reader) each(prefix, from []byte, f func(key, value []byte) error) error {
	return r.v.Scan(r.ctx, prefix, from, f)
}

// node is the node with a Seq; nil where it is none of these.
func (r *reader) node(seq uint32) *commit.Dead {
	if seq < r.from || seq > r.through || len(r.nodes) == 0 {
		return nil
	}
	return &r.nodes[seq-r.nodes[0].At.Seq]
}

// rows reads the rows of the nodes, and what their headers tell.
func (r *reader) rows() error {
	ns := r.v.Namespace
	first := layout.PlaceKey(ns, layout.TableNodes, chainstore.Place{Segment: r.segment, Seq: r.from})
	err := r.each(layout.SegmentKey(ns, r.segment), first, func(key, value []byte) error {
		at, chunk, err := layout.ParseNodeKey(key)
		switch {
		case err != nil || chunk != 0:
			return err
		case at.Seq > r.through:
			return snapshot.ErrStop
		}
		row, present, err := layout.ParseRow(value)
		if err != nil || !present {
			return err
		}
		return r.row(at, &row)
	})
	if err == nil && len(r.nodes) != int(r.through-r.from)+1 {
		err = fmt.Errorf("%w: a segment has a gap", chainstore.ErrCorrupt)
	}
	return err
}

func (r *reader) row(at chainstore.Place, row *layout.Row) error {
	h, err := row.Header.Decode(at.Seq)
	if err != nil {
		return err
	}
	ns := r.v.Namespace
	n := commit.Dead{At: at, Messages: uint64(len(h.Messages)), MessageBytes: uint64(h.CountedBytes())}
	n.Keys = append(n.Keys, layout.IDKey(ns, h.ID))
	for i := range row.Chunks {
		n.Keys = append(n.Keys, layout.ChunkKey(ns, at, i+1))
	}
	if h.Tools.Present && h.Tools.Seq == at.Seq {
		n.Keys = append(n.Keys, layout.PlaceKey(ns, layout.TableTools, at))
	}
	if h.Variables.Present && h.Variables.Seq == at.Seq {
		n.Keys = append(n.Keys, layout.PlaceKey(ns, layout.TableVariables, at))
	}
	if from := row.Forks; len(from) > 0 {
		n.Begins, n.Forked = true, true
		n.Keys = append(n.Keys, layout.ForkKey(ns, from[0], at.Segment))
	} else if at.Seq == 0 {
		n.Begins = true
	}
	if h.SpawnedFrom != nil {
		from := h.SpawnedFrom.Node
		n.From = &from
		if r.spawned[from] == nil {
			r.spawned[from] = map[chainstore.Place]int{}
		}
		r.spawned[from][at] = len(r.nodes)
	}
	r.nodes = append(r.nodes, n)
	return nil
}

// recalls reads the segment's rows of call ids, which lie in the order of these.
func (r *reader) recalls() error {
	return r.each(layout.RecallSegment(r.v.Namespace, r.segment), nil, func(key, _ []byte) error {
		at, _, err := layout.ParseRecallKey(key)
		if n := r.node(at.Seq); err == nil && n != nil {
			n.Keys = append(n.Keys, append([]byte(nil), key...))
		}
		return err
	})
}

func (r *reader) lastPuts() error {
	first := layout.PlaceKey(r.v.Namespace, layout.TableLastPut, chainstore.Place{Segment: r.segment, Seq: r.from})
	return r.each(first[:layout.KeyPrefix+8], first, func(key, _ []byte) error {
		at, _, err := layout.ParsePlace(key)
		if err == nil && at.Seq > r.through {
			return snapshot.ErrStop
		}
		if n := r.node(at.Seq); err == nil && n != nil {
			n.Keys = append(n.Keys, append([]byte(nil), key...))
		}
		return err
	})
}

// numbers finds the numbers of the nodes that were spawned, spawner by spawner.
func (r *reader) numbers() error {
	for spawner, places := range r.spawned {
		for at, i := range places {
			number, err := r.known.find(r.ctx, r.v, spawner, at)
			if err != nil {
				return err
			}
			r.nodes[i].Number = number
		}
	}
	return nil
}

// spawners counts what the nodes spawned, as far as it is linked to them.
func (r *reader) spawners() error {
	prefix := layout.SpawnedAtPrefix(r.v.Namespace, r.segment)
	first := layout.SpawnedAtKey(r.v.Namespace, chainstore.Place{Segment: r.segment, Seq: r.through}, 0) // latest first
	c := r.v.Iterate(prefix)
	defer c.Close()
	for c.Seek(first); c.Valid(); c.Next() {
		at, _, err := layout.ParsePlace(c.Key())
		if err == nil {
			err = r.ctx.Err()
		}
		if err != nil {
			return err
		}
		n := r.node(^at.Seq)
		if n == nil {
			return nil
		}
		n.Spawned++
	}
	return r.ctx.Err()
}
