package commit

import (
	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/snapshot"
	"github.com/transcriptd/transcriptd/chainstore/derive"
	"github.com/transcriptd/transcriptd/chainstore/internal/cache"
)

// callSearch looks for calls of a batch: in what it wrote, in what is kept of calls, and else in the database.
type callSearch struct {
	b    *batch
	rows snapshot.CallRows
}

// FindCalls is a derive.Finder.
func (d *changeTxn) FindCalls(through derive.Node, ids []derive.CallKey, called map[derive.CallKey]bool) error {
	s := callSearch{d.batch, snapshot.CallRows{V: d.view}}
	defer s.rows.Close()
	return snapshot.EachRun(through.Lineage, through.Header.Tools.Seq, ids, called, func(at chainstore.Place, open []derive.CallKey) error {
		return s.within(cache.Segment{Namespace: d.ns, Segment: at.Segment}, at, open, called)
	})
}

// within answers for the nodes of a segment through a seq: from what is known, and where only the database can tell, from
// there.
func (s *callSearch) within(in cache.Segment, through chainstore.Place, ids []derive.CallKey, called map[derive.CallKey]bool) error {
	ids, begun := s.b.earlier(in, through.Seq, ids, called)
	if begun {
		return nil
	}
	calls := s.b.c.source.Caches.Calls
	unsure, kept := calls.Earlier(in, through.Seq, ids, called)
	if !kept && len(ids) > 0 && calls.Due(in) {
		read, err := s.readIn(in)
		if err != nil {
			return err
		}
		if read {
			unsure, _ = calls.Earlier(in, through.Seq, ids, called)
		}
	}
	return s.rows.Within(through, unsure, called)
}

// earlier notes which ids the batch wrote a call of, at a node of a segment through a seq, and returns the others. begun says
// that there is nothing of the segment but in the batch.
func (b *batch) earlier(
	in cache.Segment, through uint32, ids []derive.CallKey, called map[derive.CallKey]bool,
) (others []derive.CallKey, begun bool) {
	for _, key := range ids {
		if seq, has := b.calls[segmentCall{in, key}]; has && seq <= through {
			called[key] = true
		} else {
			others = append(others, key)
		}
	}
	_, begun = b.begun[in]
	return others, begun
}

// readIn reads the calls of a segment, as of before this batch, and keeps them; false where the segment has too many rows, or the
// batch read in enough: with the last segment at most twice cache.MaxReadIn, a few milliseconds. What else is due waits for the next batch.
func (s *callSearch) readIn(in cache.Segment) (bool, error) {
	if s.b.readIn >= cache.MaxReadIn {
		return false, nil
	}
	kept, rows := &cache.SegmentCalls{}, 0
	err := s.rows.Each(in.Segment, func(call derive.CallKey) bool {
		if rows++; rows <= cache.MaxReadIn {
			kept.Add(call)
		}
		return rows <= cache.MaxReadIn
	})
	s.b.readIn += rows
	switch {
	case err != nil:
		return false, err
	case rows > cache.MaxReadIn:
		s.b.c.source.Caches.Calls.TooLong(in)
		return false, nil
	}
	s.b.c.source.Caches.Calls.PutRead(in, kept, s.b.view.Seen)
	return true, nil
}

// call notes that a node of this change has a call of an id. The seqs of a segment ascend.
func (d *changeTxn) call(call segmentCall, seq uint32) {
	if _, has := d.calls[call]; has {
		return
	}
	d.calls[call] = seq
	d.undo.calls = append(d.undo.calls, call)
}

// keepCalls puts the calls of a batch that is durable into the cache.
func (b *batch) keepCalls() {
	calls := b.c.source.Caches.Calls
	for in := range b.begun {
		calls.Begin(in)
	}
	for call, seq := range b.calls {
		calls.Note(call.in, call.key, seq)
	}
}
