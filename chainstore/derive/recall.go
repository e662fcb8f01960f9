package derive

import (
	"crypto/sha256"
	"slices"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// CallKey stands for a call id in recall rows: see KeyOf.
type CallKey = [16]byte

// KeyOf is 16 bytes of SHA-256 over a byte that tells presence, and the id. Part of the storage format, must not change.
func KeyOf(id runloop.Optional) (key CallKey) {
	b := make([]byte, 1, 1+len(id.Value))
	if id.Present {
		b[0] = 1
	}
	sum := sha256.Sum256(append(b, id.Value...))
	copy(key[:], sum[:])
	return key
}

// Recall is the row of a node for one call id.
type Recall struct {
	// Called says that a call of this id lies in this node or in one before it on its path.
	Called   bool
	Messages []chainstore.CallMessage
}

// Calls tells whether the node itself has a call of the id.
func (r *Recall) Calls() bool {
	return slices.ContainsFunc(r.Messages, func(m chainstore.CallMessage) bool { return !m.Result })
}

// recallsOf are the recall rows of a node that is no compaction node, by call.
func recallsOf(in *chainstore.NewNode, messages []runloop.Brief, calls *Calls) (map[CallKey]*Recall, error) {
	rows := map[CallKey]*Recall{}
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
			key := KeyOf(id)
			r := rows[key]
			if r == nil {
				r = &Recall{}
				rows[key] = r
			}
			isResult := result && id == f.CallID
			r.Called = r.Called || !isResult || leftOut != runloop.Orphan && calls.answered(id)
			r.Messages = append(r.Messages, chainstore.CallMessage{
				Index: uint32(i), Result: isResult, LeftOut: leftOut != runloop.Shown,
			})
		}
	}
	return rows, calls.failed
}
