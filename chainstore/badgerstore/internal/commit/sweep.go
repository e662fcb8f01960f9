package commit

import (
	"context"
	"errors"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
	"github.com/transcriptd/transcriptd/chainstore/internal/cache"
)

// Sweeping is a collection of a namespace under way, as the committer knows it. Between its begin and its end the committer notes every node
// that a change names. What is named is kept.
type Sweeping struct {
	c *Committer
	// Live is what is kept. It belongs to the committer during Sweep, and else to whoever collects.
	Live *Live
	// Now is the time as of which states of aliases are told of, or not.
	Now int64

	// named is what was named and is not in Live yet. It is the committer's.
	named *naming
}

// errNoNamespace is the error for a namespace that was never written to.
var errNoNamespace = errors.New("the namespace was never written to")

// BeginSweeping begins a collection; nil in a namespace that was never written to. There is one at a time. Reads that begin from now on see
// what was named before.
func (c *Committer) BeginSweeping(ctx context.Context, namespace string) (*Sweeping, error) {
	s := &Sweeping{c: c, named: &naming{seqs: map[uint64]uint32{}}}
	_, err := c.submit(ctx, &Request{Namespace: namespace, Change: &chainstore.Change{}, own: func(d *changeTxn) error {
		if err := d.enter(namespace); err != nil {
			return err
		}
		if d.created {
			return errNoNamespace
		}
		s.Live, s.Now, s.named.ns = NewLive(d.counters.NextSegment), d.now, d.ns
		c.naming = s.named
		return nil
	}})
	switch {
	case errors.Is(err, errNoNamespace):
		return nil, nil
	case err != nil:
		_ = s.End() // whose begin may yet take place
		return nil, err
	default:
		return s, nil
	}
}

// End ends a collection: from now on nothing is noted for it.
func (s *Sweeping) End() error {
	_, err := s.c.submit(context.Background(), &Request{Change: &chainstore.Change{}, own: func(d *changeTxn) error {
		if d.c.naming == s.named {
			d.c.naming = nil
		}
		return nil
	}})
	return err
}

// Dead is a node that nothing keeps, as whoever collects has read it, with the rows that go with it: all that depend on it alone.
type Dead struct {
	At chainstore.Place
	// Keys are its rows, but for the row of the node itself, and for W and X.
	Keys [][]byte
	// Begins says that it begins its segment, Forked that it has a parent then.
	Begins, Forked bool
	// From is what spawned it, Number its number among the spawned nodes; nil: nothing did. Spawned says that it spawned some itself.
	From    *chainstore.ID
	Number  uint64
	Spawned bool
	// Messages and MessageBytes are what it counts.
	Messages, MessageBytes uint64
}

// size is about what it holds.
func (n *Dead) size() int64 { return int64(192 + 64*len(n.Keys)) }

// Swept counts what a Sweep deleted.
type Swept struct{ Nodes, Messages, MessageBytes int64 }

// Sweep deletes nodes, in their order: those of a segment from its last one on, and what forked from a node before the node. What is kept by now
// stays: what was named since the collection began, with its ancestors.
func (s *Sweeping) Sweep(ctx context.Context, namespace string, nodes []Dead) (swept Swept, err error) {
	r := &Request{Namespace: namespace, Change: &chainstore.Change{}, alone: true}
	for i := range nodes {
		r.held += nodes[i].size()
	}
	out := Swept{}
	r.own = func(d *changeTxn) (err error) {
		out, err = d.sweep(namespace, s, nodes)
		return err
	}
	if _, err := s.c.submit(ctx, r); err != nil {
		return Swept{}, err // out may yet change
	}
	return out, nil
}

func (d *changeTxn) sweep(namespace string, s *Sweeping, nodes []Dead) (out Swept, err error) {
	if err := d.enter(namespace); err != nil {
		return out, err
	}
	for segment, seq := range s.named.seqs {
		if err := s.Live.Add(d.view, chainstore.Place{Segment: segment, Seq: seq}); err != nil {
			return out, err
		}
	}
	clear(s.named.seqs)
	d.swept = &cache.Forgotten{Namespace: d.ns, From: map[uint64]uint32{}}
	for i := range nodes {
		n := &nodes[i]
		if n.At.Seq < s.Live.Before(n.At.Segment) {
			continue
		}
		if err := d.sweepNode(n); err != nil {
			return out, err
		}
		out.Nodes, out.Messages, out.MessageBytes = out.Nodes+1, out.Messages+int64(n.Messages), out.MessageBytes+int64(n.MessageBytes)
	}
	if out.Nodes > 0 {
		d.set(layout.CountersKey(d.ns), layout.AppendCounters(nil, &d.counters))
	}
	return out, nil
}

// sweepNode deletes a node, the last one of its segment. Where others come before it, its place is not to be used again: an empty row says so,
// and goes with the node before it.
func (d *changeTxn) sweepNode(n *Dead) error {
	at := n.At
	d.swept.From[at.Segment] = at.Seq
	for _, key := range n.Keys {
		d.delete(key)
	}
	behind := layout.PlaceKey(d.ns, layout.TableNodes, at.Next())
	if _, found, err := d.get(behind); err != nil {
		return err
	} else if found {
		d.delete(behind)
	}
	key := layout.PlaceKey(d.ns, layout.TableNodes, at)
	switch {
	case !n.Begins:
		d.set(key, []byte{})
	case n.Forked:
		d.delete(key)
		d.counters.Forks--
	default:
		d.delete(key)
		d.counters.Roots--
	}
	d.counters.Swept++
	d.counters.Nodes--
	d.counters.Messages -= n.Messages
	d.counters.MessageBytes -= n.MessageBytes
	if err := d.unlinkSpawned(n); err != nil {
		return err
	}
	return d.unlinkSpawner(n)
}

// unlinkSpawned takes a node from those that its spawner spawned.
func (d *changeTxn) unlinkSpawned(n *Dead) error {
	if n.From == nil {
		return nil
	}
	d.delete(layout.SpawnedKey(d.ns, *n.From, n.Number))
	spawner, put, err := d.view.PlaceOf(*n.From)
	if err != nil {
		return err
	}
	if put {
		key := layout.SpawnedAtKey(d.ns, spawner, n.Number)
		_, linked, err := d.get(key)
		if err != nil {
			return err
		}
		if linked {
			d.delete(key)
			return nil
		}
	}
	d.counters.Awaited--
	return nil
}

// unlinkSpawner lets what a node spawned wait for it, as if it had not been put.
func (d *changeTxn) unlinkSpawner(n *Dead) error {
	if !n.Spawned {
		return nil
	}
	return d.view.EachSpawnedAt(n.At, func(number uint64) error {
		key := layout.SpawnedAtKey(d.ns, n.At, number)
		if w, ok := d.writes[string(key)]; ok && w.Deleted {
			return nil
		}
		d.delete(key)
		d.counters.Awaited++
		return nil
	})
}

// Forget deletes past states of an alias that nobody is told of: those of some numbers, as far as they are there.
func (s *Sweeping) Forget(ctx context.Context, namespace string, past []PastState) error {
	r := &Request{Namespace: namespace, Change: &chainstore.Change{}}
	for i := range past {
		r.held += int64(64 + len(past[i].Name))
	}
	r.own = func(d *changeTxn) error {
		if err := d.enter(namespace); err != nil {
			return err
		}
		for _, p := range past {
			key := layout.HistoryKey(d.ns, p.Name, p.Number)
			value, found, err := d.get(key)
			if err != nil || !found {
				if err != nil {
					return err
				}
				continue
			}
			// Its slot may have another state by now.
			st, err := layout.ParsePastState(value)
			if err != nil {
				return err
			}
			if st.Number == p.Number {
				d.delete(key)
			}
		}
		return nil
	}
	_, err := s.c.submit(ctx, r)
	return err
}

// PastState names a past state of an alias.
type PastState struct {
	Name   string
	Number uint64
}
