package commit

import (
	"github.com/transcriptd/transcriptd/chainstore/derive"
	"github.com/transcriptd/transcriptd/chainstore/internal/cache"
)

// undo is what it takes to take back the last change of a batch.
type undo struct {
	writes []undoneWrite
	nodes  []undoneNode
	// calls, begun and awaiting are what was added to the batch's.
	calls    []segmentCall
	begun    []cache.Segment
	awaiting []cache.NodeKey
}

// undoneWrite is what a key had in the batch before.
type undoneWrite struct {
	key    string
	before Write
	had    bool
}

// undoneNode is what was known of a node, and what the batch knew before; nil: nothing.
type undoneNode struct{ now, before *cache.Node }

func (u *undo) reset() {
	clear(u.writes)
	clear(u.nodes)
	u.writes, u.nodes = u.writes[:0], u.nodes[:0]
	u.calls, u.begun, u.awaiting = u.calls[:0], u.begun[:0], u.awaiting[:0]
}

// segmentCall is a call id in a segment.
type segmentCall struct {
	in  cache.Segment
	key derive.CallKey
}
