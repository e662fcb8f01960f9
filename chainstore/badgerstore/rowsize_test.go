package badgerstore

import (
	"bytes"
	"slices"
	"testing"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
	"github.com/transcriptd/transcriptd/chainstore/storetest"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// TestASmallMessageGrows: the row of a small message is at most 24 bytes longer than in format 1, the salt of an append, which nobody gave
// then, included. Decision 0092 has the table.
func TestASmallMessageGrows(t *testing.T) {
	const mayGrow = 24
	s, calls := openStore(t, Options{}), []runloop.Call{{ID: runloop.Some("call_1234567890"), Name: runloop.Some("read_file")}}
	parent := chainstore.Parent{}
	for i, m := range []storetest.Message{
		{Role: runloop.System, Text: "You help."},
		{Role: runloop.User, Text: "What is in it?"},
		{Role: runloop.Assistant, Calls: calls},
		{Role: runloop.Tool, Text: "nothing", CallID: calls[0].ID},
		{Role: runloop.Assistant, Text: "It is empty."},
	} {
		n := storetest.Node{Parent: parent, Messages: []storetest.Message{m}}
		if i > 0 {
			n.Salt = bytes.Repeat([]byte{byte(i)}, 16)
		}
		made := storetest.Simple().Make(n)
		id := put(t, s, made)[0].ID
		parent = chainstore.Parent{Kind: chainstore.ParentID, ID: id}
		h := storedHeader(t, s, id)
		before := *h
		before.Version1, before.Salt, before.Messages = true, nil, slices.Clone(h.Messages)
		before.Messages[0] = before.Messages[0].AsVersion1()
		row := layout.Row{Header: chainstore.AppendHeader(nil, &before), Payload: made.Payload}
		was := len(layout.AppendRow(nil, &row))
		now := len(allRows(t, s)[string(layout.PlaceKey(1, layout.TableNodes, chainstore.Place{Segment: 1, Seq: h.Seq}))])
		t.Logf("role %d: a header of %d bytes, of %d in format 1; a row of %d bytes, of %d", m.Role,
			len(chainstore.AppendHeader(nil, h)), len(row.Header), now, was)
		if now > was+mayGrow {
			t.Errorf("role %d: the row has %d bytes, and had %d in format 1", m.Role, now, was)
		}
	}
}
