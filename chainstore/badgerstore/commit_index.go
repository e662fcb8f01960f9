package badgerstore

import (
	"slices"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// index writes the rows that find a new node, and counts it.
func (d *draft) index(n *known, in *chainstore.NewNode, h *chainstore.Header, earlier *earlierCalls) error {
	recalls, err := recallRows(in, h.Messages, earlier)
	if err != nil {
		return err
	}
	for _, row := range n.followingRows(recalls) {
		d.set(row.key, row.value)
	}
	for hash, r := range recalls {
		if r.calls() {
			d.call(segmentCall{segmentOf{d.ns, n.at.Segment}, hash}, n.at.Seq)
		}
	}
	if err := d.linkSpawned(n, in.SpawnedFrom); err != nil {
		return err
	}
	d.counters.puts++
	d.counters.nodes++
	d.counters.messages += uint64(len(in.Messages))
	d.counters.messageBytes += uint64(len(in.Payload))
	return nil
}

// recallRows are the recall rows of a node, by call; a compaction node has none.
func recallRows(in *chainstore.NewNode, messages []runloop.Brief, earlier *earlierCalls) (map[callKey]*recall, error) {
	rows := map[callKey]*recall{}
	if in.Compaction != nil {
		return rows, nil
	}
	for i := range in.Messages {
		f, leftOut := &in.Messages[i], messages[i].Mark.LeftOut
		ids := make([]runloop.Optional, 0, len(f.Calls)+1)
		for _, c := range f.Calls {
			if !slices.Contains(ids, c.ID) {
				ids = append(ids, c.ID)
			}
		}
		result := f.Role == runloop.Tool
		if result && !slices.Contains(ids, f.CallID) {
			ids = append(ids, f.CallID)
		}
		for _, id := range ids {
			hash := callHash(id)
			r := rows[hash]
			if r == nil {
				r = &recall{}
				rows[hash] = r
			}
			isResult := result && id == f.CallID
			r.called = r.called || !isResult || leftOut != runloop.Orphan && earlier.answered(id)
			r.messages = append(r.messages, chainstore.CallMessage{
				Index: uint32(i), Result: isResult, LeftOut: leftOut != runloop.Shown,
			})
		}
	}
	return rows, earlier.failed
}
