package badgerstore

import (
	"sync"

	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
)

// maxNames bounds the names that are remembered; each is short where the server's limits hold.
const maxNames = 4096

// namespaceNumbers remembers numbers of namespaces. A number is given once and never taken back, so that what is
// remembered stays true, for a view that is no older than one that found it: an older one may have no rows of it.
type namespaceNumbers struct {
	mu      sync.RWMutex
	numbers map[string]foundNumber
	// given is the last number that was given. It belongs to who opens the store, then to the committer.
	given uint32
}

// foundNumber is the number of a namespace, as views of a timestamp and later find it.
type foundNumber struct {
	number uint32
	since  uint64
}

func newNamespaceNumbers() *namespaceNumbers {
	return &namespaceNumbers{numbers: map[string]foundNumber{}}
}

// get returns a number that views of a timestamp find.
func (n *namespaceNumbers) get(name string, ts uint64) (uint32, bool) {
	n.mu.RLock()
	defer n.mu.RUnlock()
	found, ok := n.numbers[name]
	return found.number, ok && found.since <= ts
}

// put remembers a number that a view of a timestamp found.
func (n *namespaceNumbers) put(name string, number uint32, ts uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if found, ok := n.numbers[name]; ok { // by another view, side by side
		ts = min(ts, found.since)
	} else if len(n.numbers) >= maxNames {
		clear(n.numbers)
	}
	n.numbers[name] = foundNumber{number, ts}
}

// namespace returns the number of a namespace; found is false, and the number noNamespace, if it was never written to.
func (v *view) namespace(name string) (number uint32, found bool, err error) {
	if n, ok := v.s.names.get(name, v.ts); ok {
		return n, true, nil
	}
	value, found, err := v.get(layout.NameKey(name))
	if err != nil || !found {
		return layout.NoNamespace, false, err
	}
	if number, err = layout.ParseNamespace(value, layout.TableNames); err != nil {
		return layout.NoNamespace, false, err
	}
	v.s.names.put(name, number, v.ts)
	return number, true, nil
}
