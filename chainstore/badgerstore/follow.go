package badgerstore

import (
	"github.com/transcriptd/transcriptd/chainstore/derive"
)

// keyValue is a row to be.
type keyValue struct{ key, value []byte }

// indexRows are the rows that follow from a node, its recall rows among them; but for W and X, which are numbered, and K.
func indexRows(ns uint32, n derive.Node, recalls map[derive.CallKey]*derive.Recall) []keyValue {
	at := n.At()
	rows := []keyValue{{idKey(ns, n.Header.ID), appendPlaceValue(nil, at)}}
	if n.HasTools() {
		rows = append(rows, keyValue{placeKey(ns, tableTools, at), appendTools(nil, n.Tables)})
	}
	if n.HasVariables() {
		rows = append(rows, keyValue{placeKey(ns, tableVariables, at), appendVariables([]byte{}, n.Tables.Variables)})
	}
	for call, r := range recalls {
		rows = append(rows, keyValue{recallKey(ns, at, call), appendRecall(nil, r)})
	}
	return rows
}
