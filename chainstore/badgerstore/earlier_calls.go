package badgerstore

import (
	"bytes"
	"slices"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// earlierCalls answers, for the folds of one node, whether an ancestor has a call of an id. The first question looks all
// of the node's ids up at once, so that a node with many calls below many forks costs a walk over the forks and not
// one for each call.
type earlierCalls struct {
	v      *view
	parent *known
	node   []runloop.Facts
	// batch has what the database does not have yet; nil: nothing.
	batch *batch
	// kept is the committer's cache of calls; nil: none.
	kept *callCache
	// called has the answers, once there was a question. It does not change then.
	called map[callKey]bool
	failed error
}

type callKey = [callLength]byte

// has is a runloop.Earlier; after a failure it says no.
func (e *earlierCalls) has(id runloop.Optional) bool {
	if e.parent == nil || !e.parent.tools.Present || e.failed != nil {
		return false
	}
	if e.called == nil && !e.search() {
		return false
	}
	return e.called[callHash(id)]
}

// search finds the answers, unless it fails: of the group that the parent ends in it is known that ancestors have its calls.
func (e *earlierCalls) search() bool {
	called := map[callKey]bool{}
	if !e.copied() {
		for _, c := range e.parent.state.Group.Calls {
			called[callHash(c.ID)] = true
		}
	}
	s := &callSearch{v: e.v, ns: e.parent.ns, batch: e.batch, kept: e.kept, open: callKeys(e.node), called: called}
	if e.failed = s.run(e.parent.lineage, e.parent.tools.Seq); e.failed == nil {
		e.called = called
	}
	return e.failed == nil
}

// answered tells whether the call that a result of the node answers, or would if it were not left out, lies in an ancestor or in
// the node. It does, unless it is a copy: of what was put elsewhere there may be no original on the path.
func (e *earlierCalls) answered(id runloop.Optional) bool { return !e.copied() || e.has(id) }

// copied tells whether the group that the parent ends in may be a compaction node's, of copies. Behind a node with calls the
// group is that node's, since a compaction node ends with no call unanswered (chainstore.Compaction).
func (e *earlierCalls) copied() bool {
	p := e.parent
	return p != nil && p.compaction.Present && !(p.tools.Present && p.tools.Seq > p.compaction.Seq)
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
	ns    uint32
	batch *batch
	kept  *callCache
	// open are the ids without an answer yet, in order.
	open   []callKey
	called map[callKey]bool
	cursor *cursor
}

// run answers for the chain's nodes through a seq. An id without a row has no answer.
func (s *callSearch) run(l *chainstore.Lineage, through uint32) (err error) {
	defer func() {
		if s.cursor != nil {
			s.cursor.close()
		}
	}()
	s.settle()
	l.Runs(func(part chainstore.Run) bool {
		if last := min(part.Through, through); last >= part.From && len(s.open) > 0 {
			err = s.within(chainstore.Place{Segment: part.Key, Seq: last})
			s.settle()
		}
		return err == nil && len(s.open) > 0
	})
	return err
}

// settle takes the ids with an answer out of the open ones.
func (s *callSearch) settle() {
	s.open = slices.DeleteFunc(s.open, func(key callKey) bool {
		_, answered := s.called[key]
		return answered
	})
}

// within answers for the nodes of a segment through a seq: from what is known, and where only the database can tell, from
// there.
func (s *callSearch) within(through chainstore.Place) error {
	in, ids := segmentOf{s.ns, through.Segment}, s.open
	if s.batch != nil {
		var begun bool
		if ids, begun = s.batch.earlier(in, through.Seq, ids, s.called); begun {
			return nil
		}
	}
	if s.kept != nil {
		unsure, kept := s.kept.earlier(in, through.Seq, ids, s.called)
		if !kept && len(ids) > 0 && s.kept.due(in) {
			read, err := s.readIn(in)
			if err != nil {
				return err
			}
			if read {
				unsure, _ = s.kept.earlier(in, through.Seq, ids, s.called)
			}
		}
		ids = unsure
	}
	return s.stored(through, ids)
}

// earlier notes which ids the batch wrote a call of, at a node of a segment through a seq, and returns the others. begun says
// that there is nothing of the segment but in the batch.
func (b *batch) earlier(in segmentOf, through uint32, ids []callKey, called map[callKey]bool) (others []callKey, begun bool) {
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
// batch read in enough.
func (s *callSearch) readIn(in segmentOf) (bool, error) {
	if s.batch.readIn >= maxReadIn {
		return false, nil
	}
	kept := &segmentCalls{}
	prefix := recallSegment(in.ns, in.segment)
	c := s.rows()
	rows := 0
	defer func() { s.batch.readIn += rows }()
	for c.seek(prefix); c.it.ValidForPrefix(prefix); c.next() {
		if rows++; rows > maxReadIn {
			s.kept.tooLong(in)
			return false, nil
		}
		_, key, err := parseRecallKey(c.key())
		if err != nil {
			return false, err
		}
		kept.add(fingerprintOf(key))
	}
	s.kept.putRead(in, kept)
	return true, nil
}

// rows is the cursor over the recall rows.
func (s *callSearch) rows() *cursor {
	if s.cursor == nil {
		s.cursor = s.v.cursor(tableKey(s.v.ns, tableRecall))
	}
	return s.cursor
}

// stored answers from the database for ids in order.
func (s *callSearch) stored(at chainstore.Place, ids []callKey) error {
	for len(ids) > 0 {
		found, id, err := s.seek(at, ids[0])
		if err != nil || !found { // no id from the first on has a row
			return err
		}
		skip, _ := slices.BinarySearchFunc(ids, id, compareCalls) // none before it has
		if id == ids[0] {
			skip = 1
		}
		ids = ids[skip:]
	}
	return nil
}

// seek finds the first row of an id at a seq or before it, or else the next row of the segment, and notes the answer if
// it is the id's.
func (s *callSearch) seek(at chainstore.Place, key callKey) (found bool, id callKey, err error) {
	c := s.rows()
	c.seek(recallKey(s.v.ns, at, key))
	if !c.valid() {
		return false, id, nil
	}
	row, id, err := parseRecallKey(c.key())
	if err != nil || row.Segment != at.Segment {
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
