package layout

import (
	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/derive"
)

// KeyValue is a row to be.
type KeyValue struct{ Key, Value []byte }

// IndexRows are the rows that follow from a node, its recall rows among them; but for W and X, which are numbered, and K.
func IndexRows(ns uint32, n derive.Node, recalls map[derive.CallKey]*derive.Recall) []KeyValue {
	at := n.At()
	rows := []KeyValue{{IDKey(ns, n.Header.ID), AppendPlaceValue(nil, at)}}
	if n.HasTools() {
		rows = append(rows, KeyValue{PlaceKey(ns, TableTools, at), AppendTools(tableVersion(n.Header), n.Tables)})
	}
	if n.HasVariables() {
		rows = append(rows, KeyValue{PlaceKey(ns, TableVariables, at), appendVariables(tableVersion(n.Header), n.Tables.Variables)})
	}
	for call, r := range recalls {
		rows = append(rows, KeyValue{RecallKey(ns, at, call), AppendRecall(nil, r)})
	}
	return rows
}

// tableVersion is what the U and V rows of a node begin with: their version, which is that of its header; nothing in version 1.
func tableVersion(h *chainstore.Header) []byte {
	if h.Version1 {
		return []byte{}
	}
	return append([]byte(tableVersions), lastVersion)
}
