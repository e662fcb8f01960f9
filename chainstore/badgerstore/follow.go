package badgerstore

import (
	"errors"
	"fmt"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// What a node's header and rows follow from, for the committer, which writes them, and for Verify, which compares.

// inherit begins with what follows from the parent.
func (n *known) inherit(parent *known) {
	n.state = parent.state
	n.tools, n.variables, n.compaction, n.spawned = parent.tools, parent.variables, parent.compaction, parent.spawned
	n.toolTable, n.variableTable = parent.toolTable, parent.variableTable
}

// fold continues the folds over the node: ErrGroupTooLarge.
func (n *known) fold(in *chainstore.NewNode, earlier *earlierCalls) ([]runloop.Mark, error) {
	marks, err := n.state.Fold(runloop.Node{
		Seq: n.at.Seq, Prefix: n.id.Prefix(), FirstPut: n.firstPut, Messages: in.Messages,
	}, earlier.has)
	switch {
	case earlier.failed != nil:
		return nil, earlier.failed
	case errors.Is(err, runloop.ErrGroupTooLarge):
		return nil, fmt.Errorf("%w: a call too many", chainstore.ErrGroupTooLarge)
	default:
		return marks, err
	}
}

// link makes the node the nearest with calls, variables or a spawner, if it has any, or the nearest compaction node.
func (n *known) link(in *chainstore.NewNode) {
	here := chainstore.Link{Present: true, Seq: n.at.Seq}
	if in.Compaction != nil {
		n.compaction = here
		return
	}
	if in.SpawnedFrom != nil {
		n.spawned = here
	}
	if hasCalls(in.Messages) {
		if n.toolTable == nil {
			n.toolTable = &toolTable{}
		}
		n.tools, n.toolTable = here, n.toolTable.with(in.Messages)
	}
	if len(in.Variables) > 0 {
		n.variables, n.variableTable = here, withVariables(n.variableTable, in.Variables, n.at.Seq)
	}
}

func hasCalls(messages []runloop.Facts) bool {
	for i := range messages {
		if len(messages[i].Calls) > 0 {
			return true
		}
	}
	return false
}

// header is the node's, once it is linked.
func header(n *known, in *chainstore.NewNode, marks []runloop.Mark) *chainstore.Header {
	h := &chainstore.Header{
		ID: n.id, Seq: n.at.Seq, FirstPut: n.firstPut, Forks: n.forks, Salt: in.Salt, SpawnedFrom: in.SpawnedFrom,
		PayloadLength: len(in.Payload), MetadataLength: len(in.Metadata), State: n.state,
		Tools: n.tools, Variables: n.variables, Compaction: n.compaction, Spawned: n.spawned,
	}
	if in.Compaction != nil {
		h.Covers, h.Provenance = n.covers, in.Compaction.Provenance
	}
	h.Messages = make([]runloop.Brief, len(marks))
	for i := range marks {
		h.Messages[i] = runloop.BriefOf(&in.Messages[i], marks[i])
	}
	return h
}

// keyValue is a row to be.
type keyValue struct{ key, value []byte }

// followingRows are the index rows that follow from a node once it is linked, its recall rows among them; but for W and
// X, which are numbered, and K.
func (n *known) followingRows(recalls map[callKey]*recall) []keyValue {
	rows := []keyValue{{idKey(n.ns, n.id), appendPlaceValue(nil, n.at)}}
	here := chainstore.Link{Present: true, Seq: n.at.Seq}
	if n.tools == here {
		rows = append(rows, keyValue{placeKey(n.ns, tableTools, n.at), appendTools(nil, n.toolTable)})
	}
	if n.variables == here {
		value := appendVariables([]byte{}, n.variableTable)
		rows = append(rows, keyValue{placeKey(n.ns, tableVariables, n.at), value})
	}
	for hash, r := range recalls {
		rows = append(rows, keyValue{recallKey(n.ns, n.at, hash), appendRecall(nil, r)})
	}
	return rows
}
