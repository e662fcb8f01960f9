package badgerdb

import (
	"bytes"
	"slices"
	"sync"

	"github.com/dgraph-io/badger/v4/y"
)

// peek finds what some keys have in the files of a store, before Badger opens them. It is for what must be known before anything is
// changed, and it may find nothing: of a value that is packed, in a file that is damaged, and far into a table.
type peek struct {
	keys [][]byte

	mu    sync.Mutex
	found []peeked
}

// peeked is what a transaction made of a key: its value; nil, where it deleted the key, or where that cannot be told.
type peeked struct {
	key    int
	number uint64
	value  []byte
}

// metaDelete marks that a key was deleted, in a log and in a table (value.go of Badger 4).
const metaDelete = 1

// wants tells whether a key, which ends with the number of its transaction, is one of those.
func (p *peek) wants(key []byte) bool {
	return p != nil && len(key) > keyNumber && slices.ContainsFunc(p.keys, func(wanted []byte) bool { return bytes.Equal(wanted, key[:len(key)-keyNumber]) })
}

// take notes a value of a key, which ends with the number of its transaction.
func (p *peek) take(key []byte, meta, mark byte, value []byte) {
	if p == nil || len(key) <= keyNumber {
		return
	}
	for n, wanted := range p.keys {
		if !bytes.Equal(wanted, key[:len(key)-keyNumber]) {
			continue
		}
		found := peeked{key: n, number: y.ParseTs(key)}
		if meta&metaDelete == 0 && mark == markPlain {
			found.value = append([]byte{}, value...)
		}
		p.mu.Lock()
		p.found = append(p.found, found)
		p.mu.Unlock()
	}
}

// values are what the keys have, nil for none, as of a transaction.
func (p *peek) values(through uint64) [][]byte {
	values, numbers := make([][]byte, len(p.keys)), make([]uint64, len(p.keys))
	for _, f := range p.found {
		if f.number <= through && f.number > numbers[f.key] {
			values[f.key], numbers[f.key] = f.value, f.number
		}
	}
	return values
}

// before tells whether any of the keys may follow one that ends with a number.
func (p *peek) before(key []byte) bool {
	for _, wanted := range p.keys {
		if bytes.Compare(key[:len(key)-keyNumber], wanted) <= 0 {
			return true
		}
	}
	return false
}
