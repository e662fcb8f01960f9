package snapshot

import (
	"sync"

	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
)

// MaxNames bounds the names that are remembered; each is short where the server's limits hold.
const MaxNames = 4096

// Names remembers numbers of namespaces. A number is given once, and taken back where its namespace is deleted. What is remembered is true for
// snapshots that are no older than one that found it: an older one may have no rows of it.
type Names struct {
	mu      sync.RWMutex
	numbers map[string]foundNumber
	// gone are the numbers of namespaces that were deleted since the store was opened; deleted is the commit of the last of them. What snapshots of
	// before find is not remembered.
	gone    map[uint32]bool
	deleted uint64
	// Given is the last number that was given. It belongs to who opens the store, then to the committer.
	Given uint32
}

// foundNumber is the number of a namespace, as snapshots of a timestamp and later find it.
type foundNumber struct {
	number uint32
	since  uint64
}

func newNamespaceNumbers() *Names {
	return &Names{numbers: map[string]foundNumber{}, gone: map[uint32]bool{}}
}

// get returns a number that snapshots of a timestamp find.
func (n *Names) get(name string, ts uint64) (uint32, bool) {
	n.mu.RLock()
	defer n.mu.RUnlock()
	found, ok := n.numbers[name]
	return found.number, ok && found.since <= ts
}

// Put remembers a number that a snapshot of a timestamp found.
func (n *Names) Put(name string, number uint32, ts uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if ts < n.deleted {
		return
	}
	if found, ok := n.numbers[name]; ok { // by another snapshot, side by side
		ts = min(ts, found.since)
	} else if len(n.numbers) >= MaxNames {
		clear(n.numbers)
	}
	n.numbers[name] = foundNumber{number, ts}
}

// Forget forgets every number, since one was taken back with a commit that is durable, before any snapshot sees that.
func (n *Names) Forget(number uint32, commit uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.numbers)
	n.gone[number], n.deleted = true, commit
}

// Gone tells whether a number that was found since the store was opened was taken back.
func (n *Names) Gone(number uint32) bool {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.gone[number]
}

// NumberOf returns the number of a namespace; found is false, and the number noNamespace, if it was never written to.
func (v *Snapshot) NumberOf(name string) (number uint32, found bool, err error) {
	if n, ok := v.s.Names.get(name, v.Seen); ok {
		return n, true, nil
	}
	value, found, err := v.Get(layout.NameKey(name))
	if err != nil || !found {
		return layout.NoNamespace, false, err
	}
	if number, err = layout.ParseNamespace(value, layout.TableNames); err != nil {
		return layout.NoNamespace, false, err
	}
	v.s.Names.Put(name, number, v.Seen)
	return number, true, nil
}
