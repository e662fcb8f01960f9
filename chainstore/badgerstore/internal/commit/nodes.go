package commit

import (
	"bytes"
	"fmt"
	"math"
	"slices"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/snapshot"
	"github.com/transcriptd/transcriptd/chainstore/derive"
	"github.com/transcriptd/transcriptd/chainstore/internal/cache"
)

// putNodes puts the change's nodes in order, and returns what is known of each.
func (d *changeTxn) putNodes(change *chainstore.Change) (nodes []*cache.Node, put []chainstore.PutNode, err error) {
	nodes = make([]*cache.Node, len(change.Nodes))
	put = make([]chainstore.PutNode, len(change.Nodes))
	for i := range change.Nodes {
		parent, err := d.parent(change, i, nodes)
		if err != nil {
			return nil, nil, err
		}
		n, created, err := d.putNode(i, &change.Nodes[i], parent)
		if err != nil {
			return nil, nil, err
		}
		nodes[i] = n
		put[i] = chainstore.PutNode{
			ID: n.Header.ID, Created: created, Full: n.Header.State.Full.Totals, Effective: n.Header.State.Effective.Totals,
		}
	}
	return nodes, put, nil
}

// parent returns node i's parent; nil for a root.
func (d *changeTxn) parent(change *chainstore.Change, i int, nodes []*cache.Node) (n *cache.Node, err error) {
	switch p := change.EffectiveParent(i); p.Kind {
	case chainstore.NoParent:
		return nil, nil
	case chainstore.ParentID:
		n, err = d.find(p.ID)
	case chainstore.ParentAlias:
		n, err = d.aliasHead(p.Alias)
	case chainstore.ParentPrevious:
		if i > 0 {
			n = nodes[i-1]
		}
	}
	if err == nil && n == nil {
		err = &chainstore.MissingError{Err: chainstore.ErrParentNotFound, Index: i}
	}
	return n, err
}

func (d *changeTxn) putNode(i int, in *chainstore.NewNode, parent *cache.Node) (n *cache.Node, created bool, err error) {
	var parentID *chainstore.ID
	if parent != nil {
		id := parent.Header.ID
		parentID = &id
	}
	id := in.Identify(parentID)
	if parent == nil || !parent.IsTip || parent.HasChild {
		if n, err = d.find(id); err != nil {
			return nil, false, err
		}
	}
	if in.Erased != nil || d.counters.Erasures > 0 {
		if n, err = d.judgeErased(i, in, id, n); err != nil {
			return nil, false, err
		}
	}
	if n != nil {
		return n, false, d.renew(n)
	}
	n, err = d.create(in, id, parent)
	return n, true, err
}

// judgeErased judges a node of a change, which is there as n, or nil: an ErasedError where it was erased and is put as it was, or where it was erased
// again since it was exported, and collected. One that is put as erased elsewhere has a receipt then, and is erased where it is there.
func (d *changeTxn) judgeErased(i int, in *chainstore.NewNode, id chainstore.ID, n *cache.Node) (*cache.Node, error) {
	receipt, found, err := d.get(layout.ReceiptKey(d.ns, id))
	switch {
	case err != nil:
		return nil, err
	case found && (in.Erased == nil || n == nil && !bytes.Equal(receipt, in.Receipt)):
		return nil, &chainstore.ErasedError{Index: i, ID: id, Receipt: bytes.Clone(receipt)}
	case in.Erased == nil:
		return n, nil
	case n == nil && found: // by its version it tells when the words left the files, which may not be yet
		return nil, nil
	case n == nil:
		d.receipt(id, in.Receipt)
		return nil, nil
	}
	h, err := d.erase(n.At, in.ErasedHere(id))
	if err != nil || h == nil {
		return n, err
	}
	left := *n
	left.Header = h
	d.know(&left)
	return &left, nil
}

// receipt writes that of a node that is erased.
func (d *changeTxn) receipt(id chainstore.ID, receipt []byte) {
	d.set(layout.ReceiptKey(d.ns, id), append([]byte{}, receipt...))
	if d.erased == nil {
		d.counters.Erasures = chainstore.NextErasures(d.counters.Erasures, d.now, d.view.Seen+1)
		d.erased = map[chainstore.ID]bool{}
	}
	d.erased[id] = true
}

// erase writes the row of the node at a place anew, with what is left of it, and returns its header; nil where it is erased already, and stays as
// it is. The change is in a batch of its own. chainstore.ErrBadErasure.
func (d *changeTxn) erase(at chainstore.Place, in *chainstore.ErasedNode) (*chainstore.Header, error) {
	key := layout.PlaceKey(d.ns, layout.TableNodes, at)
	value, found, err := d.get(key)
	if err != nil {
		return nil, err
	}
	row, present, err := layout.ParseRow(value)
	if err == nil && !(found && present) {
		err = layout.Dangling(layout.TableIDs)
	}
	if err != nil {
		return nil, err
	}
	before, err := row.Header.Decode(at.Seq)
	if err != nil {
		return nil, err
	}
	chunks := row.Chunks
	if before.Covers.Present && chunks > 0 {
		if err := d.gather(at, &row); err != nil {
			return nil, err
		}
	}
	h, payload, err := in.Over(before, row.Payload)
	if err != nil || h == nil {
		return nil, err
	}
	raw := chainstore.AppendHeader(nil, h)
	d.setRow(at, &layout.Row{Forks: row.Forks, Header: raw, Payload: payload, Chunks: layout.ChunksOf(len(payload))})
	for i := layout.ChunksOf(len(payload)); i < chunks; i++ {
		d.delete(layout.ChunkKey(d.ns, at, i+1))
	}
	d.receipt(in.ID, in.Receipt)
	d.rewritten, d.left = append(d.rewritten, at), append(d.left, uint64(len(raw)+len(payload)))
	if d.swept == nil {
		d.swept = &cache.Forgotten{Namespace: d.ns}
	}
	d.swept.Rewritten = append(d.swept.Rewritten, at)
	return h, nil
}

// purge notes what the change takes out of the files, or that there is nothing to take out. The number of the batch's commit tells it from others.
func (d *changeTxn) purge() error {
	number := d.view.Seen + 1
	most := uint64(d.maxBytes / 4)
	for _, p := range layout.PurgesOf(layout.Purge{Number: number, At: d.now, Namespace: d.ns}, d.rewritten, d.left, most) {
		d.set(p.Key(), p.Value())
	}
	if len(d.rewritten) == 0 {
		d.set(layout.PurgedKey(number), layout.NumberValue(uint64(d.now)))
	}
	return d.require(layout.FeaturePurges)
}

// gather reads the payload of a row that lies in chunks.
func (d *changeTxn) gather(at chainstore.Place, row *layout.Row) error {
	var all []byte
	for i := range row.Chunks {
		chunk, found, err := d.get(layout.ChunkKey(d.ns, at, i+1))
		if err != nil {
			return err
		}
		if !found {
			return fmt.Errorf("%w: a piece of a payload is missing", chainstore.ErrCorrupt)
		}
		all = append(all, chunk...)
	}
	return row.Gather(all)
}

// renew notes that a node was put again, if that has not been noted lately.
func (d *changeTxn) renew(n *cache.Node) error {
	if d.now-n.Header.FirstPut <= chainstore.RenewAfter {
		return nil
	}
	key := layout.PlaceKey(d.ns, layout.TableLastPut, n.At)
	value, found, err := d.get(key)
	if err != nil {
		return err
	}
	if found {
		last, err := layout.ParseNumber(value, layout.TableLastPut)
		if err != nil || d.now-int64(last) <= chainstore.RenewAfter {
			return err
		}
	}
	d.set(key, layout.NumberValue(uint64(d.now)))
	return nil
}

// find returns what is known of a node by id; nil if it is not there.
func (d *changeTxn) find(id chainstore.ID) (n *cache.Node, err error) {
	key := cache.NodeKey{Namespace: d.ns, ID: id}
	if n = d.byID[key]; n == nil {
		n = d.c.source.Caches.Nodes.Find(key, d.view.Seen)
	}
	if n == nil {
		at, found, err := d.view.PlaceOf(id)
		if err != nil || !found {
			return nil, err
		}
		if n, err = d.load(at); err != nil {
			return nil, err
		}
	}
	d.c.naming.note(d.ns, n.At)
	return n, nil
}

// at returns what is known of the node at a place, which is there.
func (d *changeTxn) at(at chainstore.Place) (*cache.Node, error) {
	d.c.naming.note(d.ns, at)
	where := cache.NodePlace{Namespace: d.ns, At: at}
	if n := d.byPlace[where]; n != nil {
		return n, nil
	}
	if n := d.c.source.Caches.Nodes.At(where); n != nil {
		return n, nil
	}
	return d.load(at)
}

// load reads a node that this batch did not write.
func (d *changeTxn) load(at chainstore.Place) (*cache.Node, error) {
	n, err := d.view.NodeAt(at)
	if err == nil {
		d.c.source.Caches.Nodes.Offer(n, d.view.Seen)
	}
	return n, err
}

// asTip returns a node with all that is needed to append to it.
func (d *changeTxn) asTip(n *cache.Node) (*cache.Node, error) {
	if n.IsTip {
		return n, nil
	}
	tip, err := d.view.WithPath(n) // not of this batch: what it writes behind a node, it writes behind a tip
	if err != nil {
		return nil, err
	}
	if tip.HasChild, err = d.view.Used(n.At.Next()); err != nil {
		return nil, err
	}
	tip.IsTip = true
	d.c.source.Caches.Nodes.Put(tip, d.view.Seen)
	return tip, nil
}

// create writes a new node and its index rows.
func (d *changeTxn) create(in *chainstore.NewNode, id chainstore.ID, parent *cache.Node) (*cache.Node, error) {
	if parent != nil {
		var err error
		if parent, err = d.asTip(parent); err != nil {
			return nil, err
		}
	}
	lineage, err := d.place(parent)
	if err != nil {
		return nil, err
	}
	firstPut := d.now
	if in.FirstPut != 0 {
		firstPut = min(firstPut, in.FirstPut)
	}
	made, recalls, err := d.derive(in, derive.Seat{ID: id, FirstPut: firstPut, Lineage: lineage}, snapshot.Derived(parent))
	if err != nil {
		return nil, err
	}
	n := &cache.Node{Namespace: d.ns, At: lineage.Head, Header: made.Header, Lineage: lineage, Tables: made.Tables, IsTip: true}
	d.c.naming.note(d.ns, n.At)
	d.row(n, in)
	d.know(n)
	if err := d.index(n, made, in, recalls); err != nil {
		return nil, err
	}
	return n, d.renew(n) // one that was put elsewhere long ago is put now
}

// derive tells what follows from a new node and its parent.
func (d *changeTxn) derive(in *chainstore.NewNode, seat derive.Seat, parent derive.Node) (derive.Node, map[derive.CallKey]*derive.Recall, error) {
	if in.Compaction != nil {
		made, err := d.compact(in, seat, parent)
		return made, nil, err
	}
	return derive.Append(in, seat, parent, derive.CallsBefore(parent, in.Messages, d))
}

// index writes the rows that find a new node, and counts it.
func (d *changeTxn) index(n *cache.Node, made derive.Node, in *chainstore.NewNode, recalls map[derive.CallKey]*derive.Recall) error {
	for _, row := range layout.IndexRows(d.ns, made, recalls) {
		d.set(row.Key, row.Value)
	}
	for call, r := range recalls {
		if r.Calls() {
			d.call(segmentCall{cache.Segment{Namespace: d.ns, Segment: n.At.Segment}, call}, n.At.Seq)
		}
	}
	if err := d.linkSpawned(n, in.SpawnedFrom); err != nil {
		return err
	}
	d.counters.Puts++
	d.counters.Nodes++
	d.counters.Messages += uint64(len(in.Messages))
	d.counters.MessageBytes += uint64(n.Header.CountedBytes())
	return nil
}

// place takes a place for a new node and makes it its parent's child; a root has no parent. ErrTooLarge at the end of
// the longest chain that places can tell.
func (d *changeTxn) place(parent *cache.Node) (*chainstore.Lineage, error) {
	switch {
	case parent == nil:
		d.counters.Roots++
		return &chainstore.Lineage{Head: chainstore.Place{Segment: d.newSegment()}}, nil
	case parent.At.Seq == math.MaxUint32:
		return nil, fmt.Errorf("%w: a node with more ancestors than can be counted", chainstore.ErrTooLarge)
	case !parent.HasChild:
		claimed := *parent
		claimed.HasChild = true
		d.know(&claimed)
		return &chainstore.Lineage{Head: parent.At.Next(), Forks: parent.Lineage.Forks}, nil
	default:
		at := chainstore.Place{Segment: d.newSegment(), Seq: parent.At.Seq + 1}
		d.counters.Forks++
		d.set(layout.ForkKey(d.ns, parent.At, at.Segment), []byte{})
		return &chainstore.Lineage{Head: at, Forks: parent.Lineage.Child()}, nil
	}
}

func (d *changeTxn) newSegment() uint64 {
	d.counters.NextSegment++
	in := cache.Segment{Namespace: d.ns, Segment: d.counters.NextSegment}
	d.begun[in] = struct{}{}
	d.undo.begun = append(d.undo.begun, in)
	return in.Segment
}

// row writes the node's row, and its payload and details in chunks if they are long.
func (d *changeTxn) row(n *cache.Node, in *chainstore.NewNode) {
	var forks []chainstore.Place
	if f := n.Lineage.Forks; len(f) > 0 && f[0].Seq+1 == n.At.Seq {
		forks = f[:min(len(f), layout.MaxForksInRow)]
	}
	d.raw = chainstore.AppendHeader(d.raw[:0], n.Header)
	d.setRow(n.At, &layout.Row{
		Forks: forks, Header: d.raw, Metadata: in.Metadata, Payload: in.Payload, Details: in.Details,
		Chunks: layout.ChunksOf(len(in.Payload) + len(in.Details)), DetailsLength: len(in.Details),
	})
}

// setRow writes a row of a node, with its chunks.
func (d *changeTxn) setRow(at chainstore.Place, row *layout.Row) {
	long := len(row.Payload) + len(row.Details)
	b := d.space(len(row.Header) + len(row.Metadata) + min(long, layout.MaxChunk) + 32 + 16*len(row.Forks))
	d.set(layout.PlaceKey(d.ns, layout.TableNodes, at), layout.AppendRow(b, row))
	for i := range row.Chunks {
		from, to := i*layout.MaxChunk, min(long, (i+1)*layout.MaxChunk)
		d.set(layout.ChunkKey(d.ns, at, i+1), slices.Concat(within(row.Payload, from, to), within(row.Details, from-len(row.Payload), to-len(row.Payload))))
	}
}

// within is the part of b from a byte on and before another, either of which may lie outside.
func within(b []byte, from, to int) []byte {
	return b[min(max(from, 0), len(b)):min(max(to, 0), len(b))]
}
