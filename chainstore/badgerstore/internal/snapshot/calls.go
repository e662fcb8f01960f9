package snapshot

import (
	"slices"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
	"github.com/transcriptd/transcriptd/chainstore/derive"
)

// CallRows looks for calls in recall rows. In a segment both the ids and the rows are in order, so each seek skips what the other side
// does not have: a segment costs at most one seek more than the fewer of its calls and the ids.
type CallRows struct {
	V      *Snapshot
	cursor *Cursor
}

func (r *CallRows) Close() {
	if r.cursor != nil {
		r.cursor.Close()
	}
}

// rows is the cursor over the recall rows.
func (r *CallRows) rows() *Cursor {
	if r.cursor == nil {
		r.cursor = r.V.Iterate(layout.TableKey(r.V.Namespace, layout.TableRecall))
	}
	return r.cursor
}

// Within notes of ids, which are in order, whether a node of a segment through a seq, or one before it, has a call. An id without a row
// has no answer.
func (r *CallRows) Within(through chainstore.Place, ids []derive.CallKey, called map[derive.CallKey]bool) error {
	for len(ids) > 0 {
		found, id, err := r.seek(through, ids[0], called)
		if err != nil || !found { // no id from the first on has a row
			return err
		}
		skip, _ := slices.BinarySearchFunc(ids, id, derive.CompareKeys) // none before it has
		if id == ids[0] {
			skip = 1
		}
		ids = ids[skip:]
	}
	return nil
}

// seek finds the first row of an id at a seq or before it, or else the next row of the segment, and notes the answer if
// it is the id's.
func (r *CallRows) seek(at chainstore.Place, call derive.CallKey, called map[derive.CallKey]bool) (found bool, id derive.CallKey, err error) {
	c := r.rows()
	c.Seek(layout.RecallKey(r.V.Namespace, at, call))
	if !c.Valid() {
		return false, id, nil
	}
	row, id, err := layout.ParseRecallKey(c.Key())
	if err != nil || row.Segment != at.Segment {
		return false, id, err
	}
	if id == call {
		err = c.Value(func(value []byte) error {
			recall, err := layout.ParseRecall(value)
			called[call] = recall.Called
			return err
		})
	}
	return true, id, err
}

// Each runs f on the ids of the rows of a segment, until it returns false.
func (r *CallRows) Each(segment uint64, f func(derive.CallKey) bool) error {
	prefix := layout.RecallSegment(r.V.Namespace, segment)
	c := r.rows()
	for c.Seek(prefix); c.Within(prefix); c.Next() {
		_, call, err := layout.ParseRecallKey(c.Key())
		if err != nil {
			return err
		}
		if !f(call) {
			return nil
		}
	}
	return nil
}

// EachRun runs f on the runs of a chain through a seq, nearest first, while ids are without an answer, with those.
func EachRun(
	l *chainstore.Lineage, through uint32, open []derive.CallKey, called map[derive.CallKey]bool,
	f func(through chainstore.Place, open []derive.CallKey) error,
) (err error) {
	l.Runs(func(part chainstore.Run) bool {
		if last := min(part.Through, through); last >= part.From && len(open) > 0 {
			err = f(chainstore.Place{Segment: part.Key, Seq: last}, open)
			open = slices.DeleteFunc(open, func(key derive.CallKey) bool {
				_, answered := called[key]
				return answered
			})
		}
		return err == nil && len(open) > 0
	})
	return err
}

// FindCalls is a derive.Finder that asks the database alone.
func (v *Snapshot) FindCalls(through derive.Node, ids []derive.CallKey, called map[derive.CallKey]bool) error {
	r := CallRows{V: v}
	defer r.Close()
	return EachRun(through.Lineage, through.Header.Tools.Seq, ids, called, func(at chainstore.Place, open []derive.CallKey) error {
		return r.Within(at, open, called)
	})
}
