package badgerstore

import (
	"math"
	"sync"
)

// Numbers of namespaces; noNamespace is never given. Part of the storage format, must not change.
const (
	firstNamespace = 1
	lastNamespace  = math.MaxUint32 - 1
	noNamespace    = math.MaxUint32
)

// maxNames bounds the names that are remembered; each is short where the server's limits hold.
const maxNames = 4096

// namespaceNumbers remembers numbers of namespaces. A number is given once and never taken back, so that what is
// remembered stays true.
type namespaceNumbers struct {
	mu      sync.RWMutex
	numbers map[string]uint32
	// given is the last number that was given. It belongs to who opens the store, then to the committer.
	given uint32
}

func newNamespaceNumbers() *namespaceNumbers {
	return &namespaceNumbers{numbers: map[string]uint32{}}
}

func (n *namespaceNumbers) get(name string) (uint32, bool) {
	n.mu.RLock()
	defer n.mu.RUnlock()
	number, ok := n.numbers[name]
	return number, ok
}

// put remembers a number that was read from a committed row.
func (n *namespaceNumbers) put(name string, number uint32) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.numbers) >= maxNames {
		clear(n.numbers)
	}
	n.numbers[name] = number
}

// namespace returns the number of a namespace; found is false, and the number noNamespace, if it was never written to.
func (v *view) namespace(name string) (number uint32, found bool, err error) {
	if n, ok := v.s.names.get(name); ok {
		return n, true, nil
	}
	value, found, err := v.get(nameKey(name))
	if err != nil || !found {
		return noNamespace, false, err
	}
	if number, err = parseNamespace(value, tableNames); err != nil {
		return noNamespace, false, err
	}
	v.s.names.put(name, number)
	return number, true, nil
}

func parseNamespace(value []byte, table byte) (uint32, error) {
	n, err := parseNumber(value, table)
	if err == nil && (n < firstNamespace || n > lastNamespace) {
		err = corruptValue(table)
	}
	return uint32(n), err
}
