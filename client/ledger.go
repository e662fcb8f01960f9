package client

import (
	"crypto/rand"
	"crypto/sha256"
	"sync"

	"google.golang.org/protobuf/proto"
)

// An append has a salt: 16 random bytes, chosen once and kept over its repeats. So equal appends are different nodes, and a node
// with the salt was put by that append, whoever asks and whatever came behind it.

// newSalt makes 16 random bytes.
func newSalt() []byte {
	salt := make([]byte, 16)
	_, _ = rand.Read(salt) // never fails: it would end the process
	return salt
}

// pending is an append under way, or one of which it is not known whether it took place.
type pending struct {
	// of is a hash of all that was asked for, but for the place in the chain.
	of   [sha256.Size]byte
	salt []byte
	// parent is the node below which it was last sent; empty where an alias or no node was the parent.
	parent string
	// unsure tells that it may have taken place.
	unsure bool
}

// maxUnsure is how many appends a ledger remembers.
const maxUnsure = 1000

// ledger remembers appends that may have taken place although they failed, so that their repeats have the same salt. Each is
// taken by one repeat. All methods may run at once.
type ledger struct {
	mu   sync.Mutex
	open []*pending // oldest first
}

// take begins an append: an earlier attempt of the same, or one with a salt.
func (l *ledger) take(asked proto.Message, salt func() []byte) *pending {
	// Equal messages are encoded equally in one process. What cannot be encoded is never sent.
	encoded, _ := proto.MarshalOptions{Deterministic: true}.Marshal(asked)
	of := sha256.Sum256(encoded)
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, a := range l.open {
		if a.of == of {
			l.open = append(l.open[:i:i], l.open[i+1:]...)
			return a
		}
	}
	return &pending{of: of, salt: salt()}
}

// end ends an append: it is remembered where it may have taken place although it failed.
func (l *ledger) end(a *pending, err error) {
	if !MayHaveHappened(err) {
		return
	}
	a.unsure = true
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open = append(l.open, a); len(l.open) > maxUnsure {
		l.open = l.open[1:]
	}
}
