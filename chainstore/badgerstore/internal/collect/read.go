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
	n := commit.Dead{At: at, Messages: uint64(len(h.Messages)), MessageBytes: uint64(h.PayloadLength)}
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
		err := r.each(layout.SpawnerKey(r.v.Namespace, spawner), nil, func(key, value []byte) error {
			_, number, err := layout.ParseSpawnedKey(key)
			if err != nil {
				return err
			}
			at, err := layout.ParsePlaceValue(value, layout.TableSpawned)
			if err != nil {
				return err
			}
			if i, has := places[at]; has {
				r.nodes[i].Number = number
				if delete(places, at); len(places) == 0 {
					return snapshot.ErrStop
				}
			}
			return nil
		})
		if err == nil && len(places) > 0 {
			err = layout.Dangling(layout.TableSpawned)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// spawners finds which of the nodes spawned others.
func (r *reader) spawners() error {
	prefix := layout.SpawnedAtPrefix(r.v.Namespace, r.segment)
	c := r.v.Iterate(prefix)
	defer c.Close()
	for c.Seek(prefix); c.Valid(); {
		at, _, err := layout.ParsePlace(c.Key())
		if err != nil {
			return err
		}
		if at.Seq = ^at.Seq; at.Seq < r.from { // latest first
			return nil
		}
		if n := r.node(at.Seq); n != nil {
			n.Spawned = true
		}
		if at.Seq == 0 {
			return nil
		}
		c.Seek(layout.SpawnedAtKey(r.v.Namespace, chainstore.Place{Segment: r.segment, Seq: at.Seq - 1}, 0))
	}
	return r.ctx.Err()
}
