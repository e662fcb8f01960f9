package identity

import (
	"crypto/rand"
	"crypto/sha256"
	"hash/crc32"
	"math/big"
	"strings"
)

// A token is text of 53 bytes, so that a scanner of secrets finds it, and a mistyped one is known without asking anybody:
//
//	trd_ | 43 of 0-9 a-z A-Z: 32 random bytes, a number in base 62 | 6 of the same: CRC-32 (IEEE) of the 47 bytes before it
//
// Part of what users keep: it must not change.
const (
	tokenPrefix = "trd_"
	secretBytes = 32
	secretLen   = 43
	sumLen      = 6
	tokenLen    = len(tokenPrefix) + secretLen + sumLen
)

// NewToken makes a token that nobody has.
func NewToken() string {
	var secret [secretBytes]byte
	_, _ = rand.Read(secret[:]) // ends the process where there is no randomness
	text := tokenPrefix + base62(new(big.Int).SetBytes(secret[:]), secretLen)
	return text + sum(text)
}

// IsToken tells whether a text has the form of a token and its checksum is right; not whether anybody has it.
func IsToken(text string) bool {
	if len(text) != tokenLen || !strings.HasPrefix(text, tokenPrefix) {
		return false
	}
	for _, c := range []byte(text[len(tokenPrefix):]) {
		if !isAlnum(c) {
			return false
		}
	}
	signed := text[:tokenLen-sumLen]
	return text[tokenLen-sumLen:] == sum(signed)
}

// HashToken is what is kept of a token: it tells the token from others, and nothing of it.
func HashToken(text string) [sha256.Size]byte { return sha256.Sum256([]byte(text)) }

func sum(text string) string {
	return base62(new(big.Int).SetUint64(uint64(crc32.ChecksumIEEE([]byte(text)))), sumLen)
}

// base62 writes a number with so many digits.
func base62(n *big.Int, digits int) string {
	text := n.Text(62)
	return strings.Repeat("0", digits-len(text)) + text
}

func isAlnum(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
