package commit

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"math"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/snapshot"
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

// Is tells whether a namespace that was found by its name is the one that is collected.
func (s *Sweeping) Is(namespace uint32) bool { return namespace == s.named.ns }

// errNoNamespace is the error for a namespace that was never written to.
var errNoNamespace = errors.New("the namespace was never written to")

// ErrGone is the error for a namespace that was deleted since its collection began.
var ErrGone = errors.New("the namespace was deleted")

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
		s.named.last = s.Live.Last()
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
	// From is what spawned it, Number its number among the spawned nodes; nil: nothing did. Spawned are the nodes that are linked to it as spawned
	// by it; MaxLinks at most, when it is deleted.
	From    *chainstore.ID
	Number  uint64
	Spawned int
	// Messages and MessageBytes are what it counts.
	Messages, MessageBytes uint64
}

// MaxLinks is how many nodes may be linked to one that is deleted as spawned by it, so that a commit has room for it; see Unlink.
const MaxLinks = layout.MaxAdopted

// Rows is how many rows a commit writes or deletes for it, at most: beside its own one it may leave an empty one, or take one away, and another
// spawned node may be linked in its place.
func (n *Dead) Rows() int {
	rows := 2 + len(n.Keys) + n.Spawned
	if n.From != nil {
		rows += 3
	}
	return rows
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
	if err := d.enterSweep(namespace, s); err != nil {
		return out, err
	}
	d.swept = &cache.Forgotten{Namespace: d.ns, From: map[uint64]uint32{}}
	freed := map[chainstore.ID]chainstore.Place{}
	for i := range nodes {
		n := &nodes[i]
		if n.At.Seq < s.Live.Before(n.At.Segment) {
			continue
		}
		if err := d.sweepNode(n, freed); err != nil {
			return out, err
		}
		out.Nodes, out.Messages, out.MessageBytes = out.Nodes+1, out.Messages+int64(n.Messages), out.MessageBytes+int64(n.MessageBytes)
	}
	if out.Nodes > 0 {
		if err := d.linkOthers(freed); err != nil {
			return out, err
		}
		d.forgets = true
		d.set(layout.CountersKey(d.ns), layout.AppendCounters(nil, &d.counters))
	}
	return out, nil
}

// enterAgain enters the namespace of a collection, if that is the one that it began with.
func (d *changeTxn) enterAgain(namespace string, s *Sweeping) error {
	err := d.enter(namespace)
	if err == nil && (d.created || d.ns != s.named.ns) {
		err = ErrGone
	}
	return err
}

// enterSweep enters the namespace of a collection, and adds what was named to what is kept.
func (d *changeTxn) enterSweep(namespace string, s *Sweeping) error {
	if err := d.enterAgain(namespace, s); err != nil {
		return err
	}
	for segment, seq := range s.named.seqs {
		if err := s.Live.Add(d.view, chainstore.Place{Segment: segment, Seq: seq}); err != nil {
			return err
		}
	}
	clear(s.named.seqs)
	return nil
}

// sweepPieces deletes the pieces of a node's payload, which an erasure may have made more than they were when the node was found to be dead.
func (d *changeTxn) sweepPieces(at chainstore.Place) error {
	if d.counters.Erasures == 0 {
		return nil
	}
	value, found, err := d.get(layout.PlaceKey(d.ns, layout.TableNodes, at))
	if err != nil || !found {
		return err
	}
	row, _, err := layout.ParseRow(value)
	for i := range row.Chunks {
		d.delete(layout.ChunkKey(d.ns, at, i+1))
	}
	return err
}

// sweepNode deletes a node, the last one of its segment. Where others come before it, its place is not to be used again: an empty row says so,
// and goes with the node before it. freed has the spawners that a node was linked to, which is gone.
func (d *changeTxn) sweepNode(n *Dead, freed map[chainstore.ID]chainstore.Place) error {
	at := n.At
	d.swept.From[at.Segment] = at.Seq
	for _, key := range n.Keys {
		d.delete(key)
	}
	if err := d.sweepPieces(at); err != nil {
		return err
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
	if err := d.unlinkSpawned(n, freed); err != nil {
		return err
	}
	if n.Spawned == 0 {
		return nil
	}
	_, _, err := d.unlink(n.At, 0, 0, math.MaxInt)
	return err
}

// unlinkSpawned takes a node from those that its spawner spawned.
func (d *changeTxn) unlinkSpawned(n *Dead, freed map[chainstore.ID]chainstore.Place) error {
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
			freed[*n.From] = spawner
			return nil
		}
	}
	d.counters.Awaited--
	return nil
}

// linkOthers links nodes to spawners that had some that are gone, so that of those left the first layout.MaxAdopted are linked.
func (d *changeTxn) linkOthers(freed map[chainstore.ID]chainstore.Place) error {
	for id, spawner := range freed {
		if from, gone := d.swept.From[spawner.Segment]; d.counters.Awaited == 0 || gone && spawner.Seq >= from {
			continue
		}
		left := layout.MaxAdopted
		err := d.view.Scan(context.Background(), layout.SpawnerKey(d.ns, id), nil, func(key, value []byte) error {
			if w, ok := d.writes[string(key)]; ok && w.Deleted {
				return nil
			}
			if left--; left < 0 {
				return snapshot.ErrStop
			}
			_, number, err := layout.ParseSpawnedKey(key)
			if err != nil {
				return err
			}
			link := layout.SpawnedAtKey(d.ns, spawner, number)
			if _, linked, err := d.get(link); err != nil || linked {
				return err
			}
			d.set(link, bytes.Clone(value))
			d.counters.Awaited--
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// unlink lets nodes that a node spawned wait for it, as if it had not been put: at most limit of those with a number or a higher one, but for so
// many that are kept. more says that others follow, from next on.
func (d *changeTxn) unlink(spawner chainstore.Place, number uint64, kept, limit int) (next uint64, more bool, err error) {
	prefix := layout.SpawnedAtKey(d.ns, spawner, 0)[:layout.RowKeySize]
	err = d.view.Scan(context.Background(), prefix, layout.SpawnedAtKey(d.ns, spawner, number), func(key, _ []byte) (err error) {
		if w, ok := d.writes[string(key)]; ok && w.Deleted {
			return nil
		}
		if kept--; kept >= 0 {
			return nil
		}
		if limit--; limit < 0 {
			more = true
			next, err = layout.ParseSpawnedAtKey(key)
			return cmp.Or(err, snapshot.ErrStop)
		}
		d.delete(bytes.Clone(key))
		d.counters.Awaited++
		return nil
	})
	return next, more, err
}

// Unlink makes a node that is to be deleted small enough for a commit: it lets nodes that it spawned wait for it, at most limit, of those behind the
// first MaxLinks for a number of 0, or of those from a number on. more says that others follow, from next on. A node that is kept by now stays as
// it is. Where it is named later, it is as one that was put behind them, which is linked to the first ones.
func (s *Sweeping) Unlink(ctx context.Context, namespace string, spawner chainstore.Place, number uint64, limit int) (next uint64, more bool, err error) {
	kept := 0
	if number == 0 {
		kept = MaxLinks
	}
	r := &Request{Namespace: namespace, Change: &chainstore.Change{}, alone: true, held: int64(limit) * 64}
	r.own = func(d *changeTxn) (err error) {
		if err := d.enterSweep(namespace, s); err != nil || spawner.Seq < s.Live.Before(spawner.Segment) {
			return err
		}
		if next, more, err = d.unlink(spawner, number, kept, limit); err == nil && d.keys > 0 {
			d.set(layout.CountersKey(d.ns), layout.AppendCounters(nil, &d.counters))
		}
		return err
	}
	if _, err := s.c.submit(ctx, r); err != nil {
		return 0, false, err // the others may yet change
	}
	return next, more, nil
}

// Forget deletes the past states of aliases that nobody is told of, as the aliases are by then, and tells how many these were. It is alone, so that
// no change of the same batch has written one.
func (s *Sweeping) Forget(ctx context.Context, namespace string, names []string) (states int64, err error) {
	r := &Request{Namespace: namespace, Change: &chainstore.Change{}, alone: true}
	for _, name := range names {
		r.held += int64(64 + len(name))
	}
	forgot := int64(0)
	r.own = func(d *changeTxn) error {
		if err := d.enterAgain(namespace, s); err != nil {
			return err
		}
		for _, name := range names {
			row, found, err := d.view.AliasRow(name)
			if err != nil {
				return err
			}
			if !found {
				continue
			}
			_, untold, err := d.view.PastStates(context.Background(), name, row, s.Now)
			if err != nil {
				return err
			}
			for _, st := range untold {
				d.delete(layout.HistoryKey(d.ns, name, st.Number))
			}
			forgot += int64(len(untold))
			if len(untold) > 0 && row.IsForgotten(s.Now) { // also for whoever looks at it by an earlier time
				row.Forgot = true
				d.set(layout.AliasKey(d.ns, name), layout.AppendAlias(nil, row))
			}
		}
		d.forgets = forgot > 0
		return nil
	}
	if _, err := s.c.submit(ctx, r); err != nil {
		return 0, err // forgot may yet change
	}
	return forgot, nil
}
