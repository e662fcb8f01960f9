package verify

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/snapshot"
	"github.com/transcriptd/transcriptd/chainstore/derive"
	"github.com/transcriptd/transcriptd/chainstore/internal/cache"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// parentNode is a node whose children are checked: what follows for them, and from what.
type parentNode struct {
	*cache.Node
	// readable is false for a node that could not be read, or not with what its children follow from.
	readable bool
	// unchecked says that so was its own parent, which is told already; strays, that it has pieces too many, as is told.
	unchecked, strays bool
}

// nodes reads every node in the order of places, in which parents come before their children.
func (c *checker) nodes() error {
	cur := c.Snapshot.Iterate(layout.TableKey(c.Namespace, layout.TableNodes))
	defer cur.Close()
	cur.Seek(layout.TableKey(c.Namespace, layout.TableNodes))
	var before parentNode
	var buffer []byte
	for cur.Valid() {
		if err := c.tick(); err != nil {
			return err
		}
		at, chunk, err := layout.ParseNodeKey(cur.Key())
		if err := c.judged(nil, err); err != nil {
			return err
		}
		if err != nil || chunk != 0 {
			if err == nil {
				before = c.stray(at, before)
			}
			cur.Next()
			continue
		}
		c.segment = max(c.segment, at.Segment)
		r, kept, present, err := cur.Whole(at, buffer)
		buffer = kept
		if err != nil {
			err = fmt.Errorf("the node at place %d of segment %d: %w", at.Seq, at.Segment, err)
		}
		if err := c.judged(nil, err); err != nil {
			return err
		}
		if err != nil || !present {
			before = parentNode{Node: &cache.Node{At: at}}
			continue
		}
		if before, err = c.node(at, &r, before); err != nil {
			return err
		}
	}
	if c.unchecked > 0 {
		c.problem(nil, "%d more nodes come behind one that cannot be read, and could not be checked", c.unchecked)
	}
	return nil
}

// stray notes a piece of a payload that is not its node's: once for a place, and not where the node's row cannot be read.
func (c *checker) stray(at chainstore.Place, before parentNode) parentNode {
	if before.Node == nil || before.At != at {
		before = parentNode{Node: &cache.Node{At: at}}
		c.problem(nil, "the node at place %d of segment %d is missing, and pieces of its payload are there", at.Seq, at.Segment)
	} else if before.readable && !before.strays {
		before.strays = true
		c.problem(&before.Header.ID, "it has more pieces of a payload than its row says")
	}
	return before
}

// node checks a node. before is the node of the place read before it.
func (c *checker) node(at chainstore.Place, r *layout.Row, before parentNode) (parentNode, error) {
	c.out.Nodes++
	h, err := r.Header.Decode(at.Seq)
	if err != nil {
		return parentNode{Node: &cache.Node{At: at}}, c.judged(nil, err)
	}
	c.counted.Nodes++
	c.counted.Messages += uint64(len(h.Messages))
	c.counted.MessageBytes += uint64(len(r.Payload))
	self := parentNode{Node: &cache.Node{Namespace: c.Namespace, At: at, Header: h}, readable: true}
	up, ok, err := c.parent(at, r, h, before)
	if err != nil {
		return self, err
	}
	if ok {
		self.Lineage = lineageUnder(at, up)
		c.sizes(self.Node, r, h)
		if followed, err := c.content(self.Node, r, h, up.Node); followed || err != nil {
			return self, err
		}
	}
	// Its children are checked against what is stored.
	end, err := c.endAt(at)
	switch {
	case err == nil:
		self.Node = end
	case errors.Is(err, chainstore.ErrCorrupt):
		self.readable, self.unchecked = false, !ok
		err = nil
	}
	return self, err
}

// lineageUnder is the lineage of a child of up that lies at a place.
func lineageUnder(at chainstore.Place, up parentNode) *chainstore.Lineage {
	switch {
	case up.Node == nil:
		return &chainstore.Lineage{Head: at}
	case up.At.Segment == at.Segment:
		return &chainstore.Lineage{Head: at, Forks: up.Lineage.Forks}
	default:
		return &chainstore.Lineage{Head: at, Forks: up.Lineage.Child()}
	}
}

// parent finds a node's parent, whose Node is nil for a root, and checks the links to it. ok is false if the rest of
// the node cannot be checked.
func (c *checker) parent(at chainstore.Place, r *layout.Row, h *chainstore.Header, before parentNode) (up parentNode, ok bool, err error) {
	switch {
	case before.Node != nil && before.At.Next() == at:
		if !before.readable && before.unchecked {
			c.unchecked++
			return up, false, nil
		}
		if !before.readable {
			c.problem(&h.ID, "its parent cannot be read")
			return up, false, nil
		}
		if len(r.Forks) > 0 {
			c.problem(&h.ID, "it has a fork path, but does not begin a segment")
		}
		return before, true, nil
	case before.Node != nil && before.At.Segment == at.Segment:
		c.problem(&h.ID, "the place before it is empty")
		return up, false, nil
	case at.Seq == 0:
		c.counted.Roots++
		if len(r.Forks) > 0 {
			c.problem(&h.ID, "it has a fork path, but no parent")
		}
		return up, true, nil
	case len(r.Forks) == 0:
		c.problem(&h.ID, "it begins a segment, but has no fork path")
		return up, false, nil
	default:
		return c.forked(at, r, h)
	}
}

// forked finds the parent of a node that begins a segment.
func (c *checker) forked(at chainstore.Place, r *layout.Row, h *chainstore.Header) (up parentNode, ok bool, err error) {
	c.counted.Forks++
	from := r.Forks[0]
	if from.Seq+1 != at.Seq || from.Segment >= at.Segment {
		c.problem(&h.ID, "its fork path does not lead to a place that comes before it")
		return up, false, nil
	}
	if up.Node, err = c.endAt(from); errors.Is(err, chainstore.ErrCorrupt) {
		c.problem(&h.ID, "its parent cannot be read")
		return up, false, nil
	}
	if err != nil {
		return up, false, err
	}
	up.readable = true
	path := up.Lineage.Child()
	if !slices.Equal(r.Forks, path[:min(len(path), layout.MaxForksInRow)]) {
		c.problem(&h.ID, "its fork path is not its parent's and its parent")
	}
	return up, true, c.expect(&h.ID, layout.ForkKey(c.Namespace, from, at.Segment), nil)
}

// endAt reads a node with all that its children follow from.
func (c *checker) endAt(at chainstore.Place) (*cache.Node, error) {
	n, err := c.Snapshot.NodeAt(at)
	if err != nil {
		return nil, err
	}
	return c.WithPath(n)
}

// sizes checks the lengths of a node.
func (c *checker) sizes(n *cache.Node, r *layout.Row, h *chainstore.Header) {
	if h.PayloadLength != len(r.Payload) || h.MetadataLength != len(r.Metadata) || h.DetailsLength != len(r.Details) {
		c.problem(&h.ID, "its payload, metadata or details have another length than its header says")
	}
	if _, err := chainstore.DecodeDetails(r.Details, len(h.Messages)); err != nil {
		c.problem(&h.ID, "the details of its messages, which lie behind its payload, are damaged")
	}
	if r.Chunks != layout.ChunksOf(len(r.Payload)+len(r.Details)) {
		c.problem(&h.ID, "its payload lies in other pieces than it should")
	}
	if from := h.SpawnedFrom; from != nil {
		c.spawned += spawnHash(from.Node, n.At)
	}
}

// content judges a node's bytes, and compares what follows from them and from its parent with what is stored. followed
// is false where the header is not what follows.
func (c *checker) content(n *cache.Node, r *layout.Row, h *chainstore.Header, parent *cache.Node) (followed bool, err error) {
	var parentID *chainstore.ID
	if parent != nil {
		parentID = &parent.Header.ID
	}
	covers, err := c.covered(n, h, parent)
	if err != nil {
		return false, c.judged(&h.ID, err)
	}
	judgement, err := c.Judge(h, r.Payload, r.Metadata, parentID, covers)
	switch {
	case err != nil:
		c.problem(&h.ID, "its bytes are not a node's: %v", err)
		return false, nil
	case len(judgement.Messages) != len(h.Messages):
		c.problem(&h.ID, "its header has another number of messages")
		return false, nil
	case judgement.ID != h.ID:
		c.problem(&h.ID, "its bytes give another id")
	}
	in := &chainstore.NewNode{
		Payload: r.Payload, Metadata: r.Metadata, Details: r.Details, Salt: h.Salt, SpawnedFrom: h.SpawnedFrom,
		Messages: slices.Clone(judgement.Messages), Variables: judgement.Variables, Outcome: judgement.Outcome,
	}
	for i := range in.Messages {
		in.Messages[i].Note = h.Messages[i].Note
	}
	if covers != nil {
		in.Compaction = &chainstore.Compaction{Covers: *covers, Provenance: h.Provenance, Loops: loopsOf(h)}
	}
	return c.follow(n, in, parent, r.Header)
}

// loopsOf are the run loops of a compaction node's messages, which its bytes do not tell.
func loopsOf(h *chainstore.Header) *runloop.Loops {
	l := &runloop.Loops{Begins: make([]bool, len(h.Messages)), Phase: h.Stands}
	for i := range h.Messages {
		l.Begins[i] = h.Messages[i].Mark.BeginsLoop
	}
	return l
}

// follow derives a node again and compares.
func (c *checker) follow(n *cache.Node, in *chainstore.NewNode, parent *cache.Node, raw chainstore.RawHeader) (bool, error) {
	h := n.Header
	seat := derive.Seat{ID: h.ID, FirstPut: h.FirstPut, Lineage: n.Lineage, Version1: h.Version1}
	made, recalls, err := c.derive(h, in, seat, snapshot.Derived(parent))
	if errors.Is(err, chainstore.ErrGroupTooLarge) {
		c.problem(&h.ID, "the group of calls that it ends in is too large")
		return false, nil
	}
	if err != nil {
		return false, c.judged(&h.ID, err)
	}
	made.Header.Extension = h.Extension // it follows from nothing
	followed := bytes.Equal(chainstore.AppendHeader(nil, made.Header), raw)
	if !followed {
		c.problem(&h.ID, "its header differs from what follows from its bytes and its parent")
	}
	n.Tables = made.Tables
	for _, row := range layout.IndexRows(c.Namespace, made, recalls) {
		if err := c.expect(&h.ID, row.Key, row.Value); err != nil {
			return false, err
		}
	}
	return followed, nil
}

func spawnHash(spawner chainstore.ID, at chainstore.Place) uint64 {
	h := fnv.New64a()
	b := binary.BigEndian.AppendUint64(spawner[:], at.Segment)
	h.Write(binary.BigEndian.AppendUint32(b, at.Seq))
	return h.Sum64()
}
