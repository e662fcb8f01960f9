package badgerstore

import (
	"slices"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// index writes the rows that find a new node, and counts it.
func (d *draft) index(n *known, in *chainstore.NewNode, h *chainstore.Header) {
	for _, row := range n.followingRows(in, h) {
		d.set(row.key, row.value)
	}
	for hash, r := range recallRows(in.Messages, h.Messages) {
		prefix := string(recallPrefix(d.ns, n.at.segment, hash))
		d.layer.recalls[prefix] = append(d.layer.recalls[prefix], recalled{n.at.seq, r.called})
	}
	if in.SpawnedFrom != nil {
		d.set(spawnedKey(d.ns, in.SpawnedFrom.Node, d.counters.puts), appendPlaceValue(nil, n.at))
	}
	d.counters.puts++
	d.counters.nodes++
	d.counters.messages += uint64(len(in.Messages))
	d.counters.messageBytes += uint64(len(in.Payload))
}

// recallRows are the recall rows of a node, by call.
func recallRows(facts []runloop.Facts, messages []chainstore.Message) map[[callLength]byte]*recall {
	rows := map[[callLength]byte]*recall{}
	for i := range facts {
		f, leftOut := &facts[i], messages[i].Mark.LeftOut
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
			r.called = r.called || !isResult || leftOut != runloop.Orphan
			r.messages = append(r.messages, chainstore.CallMessage{
				Index: uint32(i), Result: isResult, LeftOut: leftOut != runloop.Shown,
			})
		}
	}
	return rows
}

// called tells whether the chain has a call in one of its nodes through a seq: a seek for each segment on it down to one
// that knows. Layers hold what the database does not have yet, later ones first.
func (v *view) called(l *lineage, through uint32, hash [callLength]byte, layers ...*layer) (called bool, err error) {
	var c *cursor
	defer func() {
		if c != nil {
			c.close()
		}
	}()
	l.stretches(func(part stretch) bool {
		last := min(part.through, through)
		if last < part.from {
			return true
		}
		prefix := recallPrefix(v.ns, part.segment, hash)
		for _, l := range layers {
			if r := latest(l.recalls[string(prefix)], last); r != nil {
				called = r.called
				return false
			}
		}
		if c == nil {
			c = v.cursor(tableKey(v.ns, tableRecall))
		}
		var found bool
		found, called, err = c.calledIn(prefix, recallKey(v.ns, place{part.segment, last}, hash))
		return err == nil && !found
	})
	return called, err
}

// latest is the last of rows whose seq is at most last.
func latest(rows []recalled, last uint32) *recalled {
	for i := len(rows) - 1; i >= 0; i-- {
		if rows[i].seq <= last {
			return &rows[i]
		}
	}
	return nil
}

func (c *cursor) calledIn(prefix, from []byte) (found, called bool, err error) {
	if c.seek(from); !c.it.ValidForPrefix(prefix) {
		return false, false, nil
	}
	err = c.value(func(value []byte) error {
		r, err := parseRecall(value)
		called = r.called
		return err
	})
	return true, called, err
}
