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

// Flags of a parentNode, in a cursor.
const (
	flagReadable = 1 << iota
	flagUnchecked
	flagStrays
)

// remember notes the node before in the position.
func (c *checker) remember() {
	c.hasBefore, c.beforeSegment, c.beforeSeq, c.beforeFlags = 0, 0, 0, 0
	if c.before.Node != nil {
		c.hasBefore, c.beforeSegment, c.beforeSeq = 1, c.before.At.Segment, uint64(c.before.At.Seq)
		c.beforeFlags = one(c.before.readable)*flagReadable | one(c.before.unchecked)*flagUnchecked | one(c.before.strays)*flagStrays
	}
}

// recall is the node before of the position. Where it cannot be read whole, the nodes behind it cannot be checked, though the check that
// was there had what they follow from: that is a problem more, of a store that has one.
func (c *checker) recall() error {
	if c.hasBefore == 0 {
		return nil
	}
	at := chainstore.Place{Segment: c.beforeSegment, Seq: uint32(c.beforeSeq)}
	c.before = parentNode{Node: &cache.Node{At: at}, unchecked: c.beforeFlags&flagUnchecked != 0, strays: c.beforeFlags&flagStrays != 0}
	if c.beforeFlags&flagReadable == 0 {
		return nil
	}
	end, err := c.endAt(at)
	if err == nil {
		c.before.Node, c.before.readable = end, true
	}
	if errors.Is(err, chainstore.ErrCorrupt) { // since the cursor was made
		return nil
	}
	return err
}

// nodes reads every node in the order of places, in which parents come before their children.
func (c *checker) nodes() error {
	var buffer []byte
	err := c.walk(layout.TableNodes, func(cur *snapshot.Cursor) (err error) {
		if later, err := c.isLaterNode(cur); err != nil || later { // and so is what comes behind it
			cur.Next()
			return err
		}
		buffer, err = c.row(cur, buffer)
		return err
	})
	if err != nil {
		return err
	}
	if c.before = (parentNode{}); c.unchecked > 0 {
		c.problem(chainstore.ProblemNode, nil, "%d more nodes come behind one that cannot be read, and could not be checked", c.unchecked)
	}
	return nil
}

// row checks the row of a node, or a piece of one, at the cursor, which it leaves behind it. It reads into memory of buffer.
func (c *checker) row(cur *snapshot.Cursor, buffer []byte) (kept []byte, err error) {
	at, chunk, err := layout.ParseNodeKey(cur.Key())
	if err != nil || chunk != 0 {
		if err == nil {
			c.before = c.stray(at, c.before)
		}
		cur.Next()
		return buffer, c.judged(chainstore.ProblemNode, nil, err)
	}
	c.segment = max(c.segment, at.Segment)
	r, kept, present, err := cur.Whole(at, buffer)
	if err != nil {
		err = fmt.Errorf("the node at place %d of segment %d: %w", at.Seq, at.Segment, err)
	}
	if err != nil || !present {
		c.unreadable = c.unreadable || err != nil
		c.before = parentNode{Node: &cache.Node{At: at}}
		return kept, c.judged(chainstore.ProblemNode, nil, err)
	}
	c.before, err = c.node(at, &r, c.before)
	return kept, err
}

// stray notes a piece of a payload that is not its node's: once for a place, and not where the node's row cannot be read.
func (c *checker) stray(at chainstore.Place, before parentNode) parentNode {
	if before.Node == nil || before.At != at {
		before = parentNode{Node: &cache.Node{At: at}}
		c.problem(chainstore.ProblemNode, nil, "the node at place %d of segment %d is missing, and pieces of its payload are there", at.Seq, at.Segment)
	} else if before.readable && !before.strays {
		before.strays = true
		c.problem(chainstore.ProblemNode, &before.Header.ID, "it has more pieces of a payload than its row says")
	}
	return before
}

// node checks a node. before is the node of the place read before it.
func (c *checker) node(at chainstore.Place, r *layout.Row, before parentNode) (parentNode, error) {
	c.at.nodes++
	h, err := r.Header.Decode(at.Seq)
	if err != nil {
		c.unreadable = true
		return parentNode{Node: &cache.Node{At: at}}, c.judged(chainstore.ProblemNode, nil, err)
	}
	c.counted.Nodes++
	c.counted.Messages += uint64(len(h.Messages))
	c.counted.MessageBytes += uint64(h.CountedBytes())
	self := parentNode{Node: &cache.Node{Namespace: c.Namespace, At: at, Header: h}, readable: true}
	first := len(c.problems)
	up, ok, err := c.parent(at, r, h, before)
	if err != nil {
		return self, err
	}
	if ok {
		self.Lineage = lineageUnder(at, up)
		c.sizes(self.Node, r, h)
		if followed, err := c.content(self.Node, r, up, first); followed || err != nil {
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
			c.problem(chainstore.ProblemNode, &h.ID, "its parent cannot be read")
			return up, false, nil
		}
		if len(r.Forks) > 0 {
			c.problem(chainstore.ProblemFold, &h.ID, "it has a fork path, but does not begin a segment")
		}
		return before, true, nil
	case before.Node != nil && before.At.Segment == at.Segment:
		c.problem(chainstore.ProblemNode, &h.ID, "the place before it is empty")
		return up, false, nil
	case at.Seq == 0:
		c.counted.Roots++
		if len(r.Forks) > 0 {
			c.problem(chainstore.ProblemFold, &h.ID, "it has a fork path, but no parent")
		}
		return up, true, nil
	case len(r.Forks) == 0:
		c.problem(chainstore.ProblemFold, &h.ID, "it begins a segment, but has no fork path")
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
		c.problem(chainstore.ProblemFold, &h.ID, "its fork path does not lead to a place that comes before it")
		return up, false, nil
	}
	if up.Node, err = c.endAt(from); errors.Is(err, chainstore.ErrCorrupt) {
		c.problem(chainstore.ProblemNode, &h.ID, "its parent cannot be read")
		return up, false, nil
	}
	if err != nil {
		return up, false, err
	}
	up.readable = true
	if !slices.Equal(r.Forks, forksUnder(at, up)) {
		c.problem(chainstore.ProblemFold, &h.ID, "its fork path is not its parent's and its parent")
	}
	return up, true, c.expect(&h.ID, at.Segment, layout.ForkKey(c.Namespace, from, at.Segment), nil)
}

// forksUnder is the fork path that the row of a child of up has that lies at a place.
func forksUnder(at chainstore.Place, up parentNode) []chainstore.Place {
	if up.Node == nil || up.At.Segment == at.Segment {
		return nil
	}
	path := up.Lineage.Child()
	return path[:min(len(path), layout.MaxForksInRow)]
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
		c.problem(chainstore.ProblemContent, &h.ID, "its payload, metadata or details have another length than its header says")
	}
	if _, err := chainstore.DecodeDetails(r.Details, len(h.Messages)); err != nil {
		c.problem(chainstore.ProblemContent, &h.ID, "the details of its messages, which lie behind its payload, are damaged")
	}
	if r.Chunks != layout.ChunksOf(len(r.Payload)+len(r.Details)) {
		c.problem(chainstore.ProblemContent, &h.ID, "its payload lies in other pieces than it should")
	}
	if h.Erased != nil {
		if _, found, err := c.Version(layout.ReceiptKey(c.Namespace, h.ID)); err == nil && !found {
			c.problem(chainstore.ProblemContent, &h.ID, "it was erased, and has no receipt")
		}
	}
	if from := h.SpawnedFrom; from != nil {
		c.spawned += spawnHash(from.Node, n.At)
	}
}

// content judges a node's bytes, and compares what follows from them and from its parent with what is stored. followed
// is false where the header is not what follows, and was not put right. first is the index of the node's first problem.
func (c *checker) content(n *cache.Node, r *layout.Row, up parentNode, first int) (followed bool, err error) {
	in, id, err := c.input(n, r, up.Node)
	if in == nil || err != nil {
		return false, err
	}
	h := n.Header
	if id != h.ID {
		c.problem(chainstore.ProblemContent, &h.ID, "its bytes give another id")
	}
	made, recalls, err := c.derive(h, in, seatOf(n), snapshot.Derived(up.Node))
	if errors.Is(err, chainstore.ErrGroupTooLarge) {
		c.problem(chainstore.ProblemContent, &h.ID, "the group of calls that it ends in is too large")
		return false, nil
	}
	if err != nil {
		return false, c.judged(chainstore.ProblemNode, &h.ID, err)
	}
	made.Header.Extension = h.Extension // it follows from nothing
	followed = bytes.Equal(chainstore.AppendHeader(nil, made.Header), r.Header)
	if !followed {
		c.problem(chainstore.ProblemFold, &h.ID, "its header differs from what follows from its bytes and its parent")
	}
	if forks := forksUnder(n.At, up); c.Mend != nil && id == h.ID && (!followed || !slices.Equal(r.Forks, forks)) {
		r.Forks = forks
		c.rewrite(n.At, r, made.Header, first)
		n.Header, followed = made.Header, true
	}
	n.Tables = made.Tables
	return followed, c.expectAll(n, made, recalls)
}

// expectAll expects the rows that follow from a node.
func (c *checker) expectAll(n *cache.Node, made derive.Node, recalls map[derive.CallKey]*derive.Recall) error {
	for _, row := range layout.IndexRows(c.Namespace, made, recalls) {
		if err := c.expect(&n.Header.ID, n.At.Segment, row.Key, row.Value); err != nil {
			return err
		}
	}
	return nil
}

// rewrite writes the row of a node anew, with a header and a fork path that follow from its bytes and its parent: first is the index of the
// first problem of the node.
func (c *checker) rewrite(at chainstore.Place, r *layout.Row, h *chainstore.Header, first int) {
	row := *r
	row.Header = chainstore.AppendHeader(nil, h)
	c.write(layout.PlaceKey(c.Namespace, layout.TableNodes, at), layout.AppendRow(nil, &row))
	for i := range c.problems[first:] {
		if p := &c.problems[first+i]; p.Kind == chainstore.ProblemFold {
			p.Repaired = true
		}
	}
}

// input is what a node was put with, as its row has it, and the id that its bytes give; nil where these are not a node's, as is told.
func (c *checker) input(n *cache.Node, r *layout.Row, parent *cache.Node) (in *chainstore.NewNode, id chainstore.ID, err error) {
	h := n.Header
	var parentID *chainstore.ID
	if parent != nil {
		parentID = &parent.Header.ID
	}
	covers, err := c.covered(n, h, parent)
	if err != nil {
		return nil, id, c.judged(chainstore.ProblemContent, &h.ID, err)
	}
	judgement, err := c.Judge(h, r.Payload, r.Metadata, parentID, covers)
	switch {
	case err != nil:
		c.problem(chainstore.ProblemContent, &h.ID, "its bytes are not a node's: %v", err)
		return nil, id, nil
	case len(judgement.Messages) != len(h.Messages):
		c.problem(chainstore.ProblemContent, &h.ID, "its header has another number of messages")
		return nil, id, nil
	}
	in = &chainstore.NewNode{
		Payload: r.Payload, Metadata: r.Metadata, Details: r.Details, Salt: h.Salt, SpawnedFrom: h.SpawnedFrom,
		Messages: slices.Clone(judgement.Messages), Variables: judgement.Variables, Outcome: judgement.Outcome,
	}
	if in.Erased = h.Erased; in.Erased != nil {
		in.Variables, in.Outcome = h.Erased.Variables, h.Outcome
	}
	for i := range in.Messages {
		in.Messages[i].Note, in.Messages[i].Was = h.Messages[i].Note, int(h.Messages[i].Was)
	}
	if covers != nil {
		in.Compaction = &chainstore.Compaction{Covers: *covers, Provenance: h.Provenance, Loops: loopsOf(h)}
	}
	return in, judgement.ID, nil
}

// loopsOf are the run loops of a compaction node's messages, which its bytes do not tell.
func loopsOf(h *chainstore.Header) *runloop.Loops {
	l := &runloop.Loops{Begins: make([]bool, len(h.Messages)), Phase: h.Stands}
	for i := range h.Messages {
		l.Begins[i] = h.Messages[i].Mark.BeginsLoop
	}
	return l
}

func spawnHash(spawner chainstore.ID, at chainstore.Place) uint64 {
	h := fnv.New64a()
	b := binary.BigEndian.AppendUint64(spawner[:], at.Segment)
	h.Write(binary.BigEndian.AppendUint32(b, at.Seq))
	return h.Sum64()
}
