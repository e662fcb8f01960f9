package badgerstore

import (
	"bytes"
	"slices"

	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// earlierCalls answers, for the folds of one node, whether an ancestor has a call of an id. The first question looks all
// of the node's ids up at once, so that a node with many calls below many forks costs a walk over the forks and not
// one for each call.
type earlierCalls struct {
	v      *view
	parent *known
	node   []runloop.Facts
	// batch has what the database does not have yet, and the committer's cache of calls; nil: nothing, and no cache.
	batch *batch
	// called has the answers, once there was a question.
	called map[callKey]bool
	failed error
}

type callKey = [callLength]byte

// has is a runloop.Earlier; after a failure it says no.
func (e *earlierCalls) has(id runloop.Optional) bool {
	if e.parent == nil || !e.parent.tools.Present || e.failed != nil {
		return false
	}
	if e.called == nil {
		s := &callSearch{v: e.v, batch: e.batch, open: callKeys(e.node), called: map[callKey]bool{}}
		e.failed = s.run(e.parent.lineage, e.parent.tools.Seq)
		e.called = s.called
	}
	return e.called[callHash(id)]
}

// answered tells whether the call that a result of the node answers, or would if it were not left out, lies in an ancestor or in
// the node. It does, unless it is a compaction node's: those are copies, and of what was put elsewhere there may be no
// original on the path. Behind a node with calls the group is that node's, since a compaction node ends with no call unanswered
// (chainstore.Compaction).
func (e *earlierCalls) answered(id runloop.Optional) bool {
	p := e.parent
	if p == nil || !p.compaction.Present || p.tools.Present && p.tools.Seq > p.compaction.Seq {
		return true
	}
	return e.has(id)
}

// callKeys are the hashes of the ids of calls and results, each once, in order.
func callKeys(messages []runloop.Facts) []callKey {
	var keys []callKey
	for i := range messages {
		for _, c := range messages[i].Calls {
			keys = append(keys, callHash(c.ID))
		}
		if messages[i].Role == runloop.Tool {
			keys = append(keys, callHash(messages[i].CallID))
		}
	}
	slices.SortFunc(keys, compareCalls)
	return slices.Compact(keys)
}

func compareCalls(a, b callKey) int { return bytes.Compare(a[:], b[:]) }

// callSearch looks for calls along a chain, nearest segment first. In a segment both the ids and the recall rows are in
// order, so each seek skips what the other side does not have: a segment costs at most one seek more than the fewer of
// its calls and the open ids.
type callSearch struct {
	v     *view
	batch *batch
	// open are the ids without an answer yet, in order.
	open   []callKey
	called map[callKey]bool
	cursor *cursor
}

// run answers for the chain's nodes through a seq. An id without a row has no answer.
func (s *callSearch) run(l *lineage, through uint32) (err error) {
	defer func() {
		if s.cursor != nil {
			s.cursor.close()
		}
	}()
	l.stretches(func(part stretch) bool {
		if last := min(part.through, through); last >= part.from {
			if !s.remembered(segmentOf{s.v.ns, part.segment}, last) {
				err = s.stored(part.segment, last)
			}
		}
		return err == nil && len(s.open) > 0
	})
	return err
}

// remembered answers from what the committer knows of a segment, and tells whether that is all there is to know.
func (s *callSearch) remembered(in segmentOf, last uint32) (all bool) {
	if s.batch == nil {
		return false
	}
	_, all = s.batch.begun[in]
	kept := s.batch.c.calls.get(in)
	s.open = slices.DeleteFunc(s.open, func(key callKey) bool {
		seq, has := kept.seq(key)
		if !has {
			seq, has = s.batch.calls[segmentCall{in, key}]
		}
		if has && seq <= last {
			s.called[key] = true
			return true
		}
		return false
	})
	return all || kept != nil
}

// stored answers from the database.
func (s *callSearch) stored(segment uint64, last uint32) error {
	if s.cursor == nil {
		s.cursor = s.v.cursor(tableKey(s.v.ns, tableRecall))
	}
	kept := s.open[:0]
	for rest := s.open; len(rest) > 0; {
		found, at, err := s.seek(place{segment, last}, rest[0])
		switch {
		case err != nil:
			return err
		case !found: // no id from rest[0] on has a row
			s.open = append(kept, rest...)
			return nil
		case at == rest[0]:
			rest = rest[1:]
		default: // none before at has
			skip, _ := slices.BinarySearchFunc(rest, at, compareCalls)
			kept, rest = append(kept, rest[:skip]...), rest[skip:]
		}
	}
	s.open = kept
	return nil
}

// seek finds the first row of an id at a seq or before it, or else the next row of the segment, and notes the answer if
// it is the id's.
func (s *callSearch) seek(at place, key callKey) (found bool, id callKey, err error) {
	c := s.cursor
	c.seek(recallKey(s.v.ns, at, key))
	if !c.valid() {
		return false, id, nil
	}
	row, id, err := parseRecallKey(c.key())
	if err != nil || row.segment != at.segment {
		return false, id, err
	}
	if id == key {
		err = c.value(func(value []byte) error {
			r, err := parseRecall(value)
			s.called[key] = r.called
			return err
		})
	}
	return true, id, err
}
