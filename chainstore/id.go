package chainstore

import (
	"encoding/hex"
	"fmt"
)

// ID names a node: the SHA-256 of its envelope.
type ID [32]byte

// String is the id as 64 lower-case hex digits.
func (id ID) String() string { return hex.EncodeToString(id[:]) }

// Prefix is the first 12 hex digits.
func (id ID) Prefix() string { return hex.EncodeToString(id[:6]) }

// ParseID reads 64 lower-case hex digits; anything else is an error that does not repeat s.
func ParseID(s string) (ID, error) {
	var id ID
	if len(s) != 2*len(id) {
		return ID{}, fmt.Errorf("must be %d lower-case hex digits, has %d characters", 2*len(id), len(s))
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return ID{}, fmt.Errorf("must be %d lower-case hex digits", 2*len(id))
		}
	}
	_, err := hex.Decode(id[:], []byte(s))
	return id, err
}

// Ref names a node by its id or, if Alias is not empty, by an alias that points to it.
type Ref struct {
	ID    ID
	Alias string
}
