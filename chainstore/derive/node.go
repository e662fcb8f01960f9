// Package derive tells what follows from a new node and its parent: the folds, the links and tables of its header, the rows that find
// its calls. It is pure, and the same for every engine that keeps nodes on a disk: what one writes, Verify of any derives again.
package derive

import (
	"bytes"
	"slices"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// Node is what of a node its children follow from; the zero Node is no node. What it holds never changes.
type Node struct {
	Header  *chainstore.Header
	Lineage *chainstore.Lineage
	// Tables are those of its path; nil: it has no call and no variable.
	Tables *chainstore.Tables
}

// At is where it lies.
func (n *Node) At() chainstore.Place { return n.Lineage.Head }

// Seat is which node is to be, where, and since when.
type Seat struct {
	ID       chainstore.ID
	FirstPut int64
	Lineage  *chainstore.Lineage
	// Version1 says that a header of version 1 is derived.
	Version1 bool
}

// Append derives a node that is no compaction node from its parent, no node for a root, with its recall rows: ErrGroupTooLarge, and what
// calls fails with. It holds nothing of in.
func Append(in *chainstore.NewNode, at Seat, parent Node, calls *Calls) (Node, map[CallKey]*Recall, error) {
	n := begin(in, at, parent)
	h, facts := n.Header, factsOf(in, at)
	h.Outcome = in.Outcome
	if h.Version1 {
		h.Outcome = runloop.NoOutcome
	}
	marks, stubs, err := h.State.Fold(runloop.Node{
		Seq: h.Seq, Prefix: h.ID.Prefix(), Times: h.Times(), Messages: facts, Outcome: h.Outcome,
	}, calls.has)
	switch {
	case calls.failed != nil:
		return Node{}, nil, calls.failed
	case err != nil:
		return Node{}, nil, tooLarge(err)
	}
	h.Stubs = stubs
	n.link(in, variablesOf(in, at))
	n.brief(facts, marks)
	recalls, err := recallsOf(in, h.Messages, calls)
	return n, recalls, err
}

// factsOf are the facts of a node's messages: those that a header of its version tells.
func factsOf(in *chainstore.NewNode, at Seat) []runloop.Facts {
	if !at.Version1 {
		return in.Messages
	}
	facts := slices.Clone(in.Messages)
	for i := range facts {
		f := &facts[i]
		f.Partial, f.LeftOutLine, f.LeftOutLoops, f.Opaque = false, false, 0, false
	}
	return facts
}

// variablesOf is what a node does to variables: what a header of its version tells. In version 1 none was declared, and an empty value
// was one.
func variablesOf(in *chainstore.NewNode, at Seat) []runloop.VariableChange {
	if !at.Version1 {
		return in.Variables
	}
	var changes []runloop.VariableChange
	for _, c := range in.Variables {
		if !c.Declared {
			changes = append(changes, runloop.VariableChange{Name: c.Name})
		}
	}
	return changes
}

// begin is a node with what is its own, and what it has of its parent.
func begin(in *chainstore.NewNode, at Seat, parent Node) Node {
	h := &chainstore.Header{
		ID: at.ID, Version1: at.Version1, Seq: at.Lineage.Head.Seq, FirstPut: at.FirstPut, Forks: uint32(len(at.Lineage.Forks)), Salt: bytes.Clone(in.Salt),
		PayloadLength: len(in.Payload), MetadataLength: len(in.Metadata), DetailsLength: len(in.Details), Erased: in.Erased.Clone(),
	}
	if h.Erased != nil {
		h.Erased.Variables = slices.Clone(in.Variables)
	}
	if in.SpawnedFrom != nil {
		from := *in.SpawnedFrom
		h.SpawnedFrom = &from
	}
	n := Node{Header: h, Lineage: at.Lineage}
	if parent.Header != nil {
		p := parent.Header
		h.State, h.Tools, h.Variables, h.Compaction, h.Spawned = p.State, p.Tools, p.Variables, p.Compaction, p.Spawned
		n.Tables = parent.Tables
	}
	return n
}

// link makes the node the nearest with calls, variables or a spawner, if it has any.
func (n *Node) link(in *chainstore.NewNode, variables []runloop.VariableChange) {
	h, here := n.Header, n.here()
	if in.SpawnedFrom != nil {
		h.Spawned = here
	}
	calls := slices.ContainsFunc(in.Messages, func(m runloop.Facts) bool { return len(m.Calls) > 0 })
	if !calls && len(variables) == 0 {
		return
	}
	tables := chainstore.Tables{}
	if n.Tables != nil {
		tables = *n.Tables
	}
	if calls {
		h.Tools = here
		countTools(&tables, in.Messages)
	}
	if len(variables) > 0 {
		h.Variables = here
		tables.Variables = withVariables(tables.Variables, variables, h.Seq)
	}
	n.Tables = &tables
}

func (n *Node) here() chainstore.Link { return chainstore.Link{Present: true, Seq: n.Header.Seq} }

// HasTools tells whether the node has a row of tools: it has calls.
func (n *Node) HasTools() bool { return n.Header.Tools == n.here() }

// HasVariables tells whether the node has a row of variables: it sets or unsets some.
func (n *Node) HasVariables() bool { return n.Header.Variables == n.here() }

// brief notes what is kept of the messages.
func (n *Node) brief(facts []runloop.Facts, marks []runloop.Mark) {
	n.Header.Messages = make([]runloop.Brief, len(marks))
	for i := range marks {
		b := runloop.BriefOf(&facts[i], marks[i])
		if n.Header.Version1 {
			b = b.AsVersion1()
		}
		n.Header.Messages[i] = b
	}
}
