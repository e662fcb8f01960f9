package badgerstore

import "github.com/transcriptd/transcriptd/chainstore/internal/cache"

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
	before write
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

// takeBack leaves the batch as it was before the last change.
func (b *batch) takeBack() {
	for _, u := range b.undo.writes {
		b.bytes -= cost(u.key, b.writes[u.key])
		if !u.had {
			delete(b.writes, u.key)
			continue
		}
		b.writes[u.key] = u.before
		b.bytes += cost(u.key, u.before)
	}
	for i := len(b.undo.nodes) - 1; i >= 0; i-- {
		u := b.undo.nodes[i]
		if u.before == nil {
			delete(b.byID, u.now.Key())
			delete(b.byPlace, u.now.Place())
			continue
		}
		b.byID[u.now.Key()], b.byPlace[u.now.Place()] = u.before, u.before
	}
	for _, call := range b.undo.calls {
		delete(b.calls, call)
	}
	for _, segment := range b.undo.begun {
		delete(b.begun, segment)
	}
	for _, spawner := range b.undo.awaiting {
		b.awaiting[spawner] = b.awaiting[spawner][:len(b.awaiting[spawner])-1]
	}
}
