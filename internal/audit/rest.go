package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
)

// rest is what lies behind the last whole line, by its hash. The zero rest is empty.
type rest struct {
	bytes int64
	// hash is of all but the last byte, which may be a line break that was added.
	hash hash.Hash
	last byte
}

func (r *rest) add(text []byte) {
	if len(text) == 0 {
		return
	}
	if r.hash == nil {
		r.hash = sha256.New()
	} else {
		r.hash.Write([]byte{r.last})
	}
	r.hash.Write(text[:len(text)-1])
	r.last = text[len(text)-1]
	r.bytes += int64(len(text))
}

// is tells whether a line tells of just this, or of this without its last byte. It ends the rest.
func (r *rest) is(told *torn) bool {
	switch told.Bytes {
	case r.bytes - 1:
	case r.bytes:
		r.hash.Write([]byte{r.last})
	default:
		return false
	}
	return hex.EncodeToString(r.hash.Sum(nil)) == told.SHA256
}
