package chainstore

import (
	"crypto/rand"
	"encoding/hex"
)

// StoreID names a store: 16 random bytes, made when it is first opened and kept from then on.
type StoreID [16]byte

// NewStoreID makes an id that no other store has.
func NewStoreID() (id StoreID) {
	_, _ = rand.Read(id[:]) // never fails
	return id
}

// String is the id as 32 lower-case hex digits.
func (id StoreID) String() string { return hex.EncodeToString(id[:]) }
