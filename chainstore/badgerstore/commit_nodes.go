package badgerstore

import (
	"bytes"
	"fmt"
	"math"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// renewAfter is how long ago, in milliseconds, a node was last put when putting it again is noted: half the grace
// period of collection.
const renewAfter = 12 * 60 * 60 * 1000

// putNodes puts the change's nodes in order, and returns what is known of each.
func (d *draft) putNodes(change *chainstore.Change) (nodes []*known, put []chainstore.PutNode, err error) {
	nodes = make([]*known, len(change.Nodes))
	put = make([]chainstore.PutNode, len(change.Nodes))
	for i := range change.Nodes {
		parent, err := d.parent(change, i, nodes)
		if err != nil {
			return nil, nil, err
		}
		n, created, err := d.putNode(&change.Nodes[i], parent)
		if err != nil {
			return nil, nil, err
		}
		nodes[i] = n
		put[i] = chainstore.PutNode{
			ID: n.id, Created: created, Full: n.state.Full.Totals, Effective: n.state.Effective.Totals,
		}
	}
	return nodes, put, nil
}

// parent returns node i's parent; nil for a root.
func (d *draft) parent(change *chainstore.Change, i int, nodes []*known) (n *known, err error) {
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

func (d *draft) putNode(in *chainstore.NewNode, parent *known) (n *known, created bool, err error) {
	var parentID *chainstore.ID
	if parent != nil {
		id := parent.id
		parentID = &id
	}
	id := in.Identify(parentID)
	if parent == nil || !parent.childless() {
		if n, err = d.find(id); err != nil {
			return nil, false, err
		}
	}
	if n != nil {
		return n, false, d.renew(n)
	}
	n, err = d.create(in, id, parent)
	return n, true, err
}

// renew notes that a node was put again, if that has not been noted lately.
func (d *draft) renew(n *known) error {
	if d.now-n.firstPut <= renewAfter {
		return nil
	}
	key := placeKey(d.ns, tableLastPut, n.at)
	value, found, err := d.get(key)
	if err != nil {
		return err
	}
	if found {
		last, err := parseNumber(value, tableLastPut)
		if err != nil || d.now-int64(last) <= renewAfter {
			return err
		}
	}
	d.set(key, numberValue(uint64(d.now)))
	return nil
}

// find returns what is known of a node by id; nil if it is not there.
func (d *draft) find(id chainstore.ID) (*known, error) {
	key := nodeKey{d.ns, id}
	if n := d.byID[key]; n != nil {
		return n, nil
	}
	if n := d.c.nodes.get(key); n != nil {
		return n, nil
	}
	at, found, err := d.view.placeOf(id)
	if err != nil || !found {
		return nil, err
	}
	return d.load(at)
}

// at returns what is known of the node at a place, which is there.
func (d *draft) at(at chainstore.Place) (*known, error) {
	key := nodePlace{d.ns, at}
	if n := d.byPlace[key]; n != nil {
		return n, nil
	}
	if n := d.c.nodes.at(key); n != nil {
		return n, nil
	}
	return d.load(at)
}

// load reads a node that this batch did not write.
func (d *draft) load(at chainstore.Place) (*known, error) {
	h, err := d.view.header(at)
	if err != nil {
		return nil, err
	}
	n := knownOf(d.ns, at, h)
	d.c.nodes.misses.Add(1)
	d.c.nodes.put(n)
	return n, nil
}

// asEnd returns a node with all that is needed to append to it.
func (d *draft) asEnd(n *known) (*known, error) {
	if n.end {
		return n, nil
	}
	end := *n // not of this batch: what it writes behind a node, it writes behind one with end
	var err error
	if end.lineage, err = d.view.lineage(n.at, n.forks); err != nil {
		return nil, err
	}
	if err = d.view.readTables(&end); err != nil {
		return nil, err
	}
	if end.continued, err = d.view.used(n.at.Next()); err != nil {
		return nil, err
	}
	end.end = true
	d.c.nodes.put(&end)
	return &end, nil
}

// create writes a new node and its index rows.
func (d *draft) create(in *chainstore.NewNode, id chainstore.ID, parent *known) (*known, error) {
	if parent != nil {
		var err error
		if parent, err = d.asEnd(parent); err != nil {
			return nil, err
		}
	}
	n := &known{ns: d.ns, id: id, firstPut: d.now, end: true}
	if err := d.settle(n, parent); err != nil {
		return nil, err
	}
	earlier := &earlierCalls{v: d.view, parent: parent, node: in.Messages, batch: d.batch, kept: d.c.calls}
	marks, err := d.fold(n, in, parent, earlier)
	if err != nil {
		return nil, err
	}
	n.link(in)
	h := header(n, in, marks)
	d.row(n, h, in)
	d.know(n)
	return n, d.index(n, in, h, earlier)
}

// fold continues the folds over a new node, or begins those of a compaction node again.
func (d *draft) fold(n *known, in *chainstore.NewNode, parent *known, earlier *earlierCalls) ([]runloop.Mark, error) {
	if in.Compaction != nil {
		return d.compact(n, in, parent)
	}
	return n.fold(in, earlier)
}

// settle takes a place for a new node and makes it its parent's child; a root has no parent. ErrTooLarge at the end of
// the longest chain that places can tell.
func (d *draft) settle(n, parent *known) error {
	switch {
	case parent != nil && parent.at.Seq == math.MaxUint32:
		return fmt.Errorf("%w: a node with more ancestors than can be counted", chainstore.ErrTooLarge)
	case parent == nil:
		n.at = chainstore.Place{Segment: d.newSegment()}
		n.lineage = &chainstore.Lineage{Head: n.at}
		d.counters.roots++
		return nil
	case !parent.continued:
		n.at = parent.at.Next()
		n.lineage = &chainstore.Lineage{Head: n.at, Forks: parent.lineage.Forks}
		claimed := *parent
		claimed.continued = true
		d.know(&claimed)
	default:
		n.at = chainstore.Place{Segment: d.newSegment(), Seq: parent.at.Seq + 1}
		n.lineage = &chainstore.Lineage{Head: n.at, Forks: parent.lineage.Child()}
		d.counters.forks++
		d.set(forkKey(d.ns, parent.at, n.at.Segment), []byte{})
	}
	n.forks = uint32(len(n.lineage.Forks))
	n.inherit(parent)
	return nil
}

func (d *draft) newSegment() uint64 {
	d.counters.nextSegment++
	in := segmentOf{d.ns, d.counters.nextSegment}
	d.begun[in] = struct{}{}
	d.undo.begun = append(d.undo.begun, in)
	return in.segment
}

// row writes the node's row, and its payload in chunks if it is long.
func (d *draft) row(n *known, h *chainstore.Header, in *chainstore.NewNode) {
	var forks []chainstore.Place
	if f := n.lineage.Forks; len(f) > 0 && f[0].Seq+1 == n.at.Seq {
		forks = f[:min(len(f), maxForksInRow)]
	}
	chunks := chunksOf(len(in.Payload))
	d.raw = chainstore.AppendHeader(d.raw[:0], h)
	b := d.space(len(d.raw) + len(in.Metadata) + min(len(in.Payload), maxChunk) + 32 + 16*len(forks))
	d.set(placeKey(d.ns, tableNodes, n.at), appendRow(b, forks, d.raw, in.Metadata, in.Payload, chunks))
	for i := range chunks {
		part := in.Payload[i*maxChunk : min(len(in.Payload), (i+1)*maxChunk)]
		d.set(chunkKey(d.ns, n.at, i+1), bytes.Clone(part))
	}
}

// chunksOf is the chunks that a payload lies in; 0 for one that lies in its row.
func chunksOf(payload int) int {
	if payload <= maxChunk {
		return 0
	}
	return (payload + maxChunk - 1) / maxChunk
}
