package tokens

import (
	"crypto/sha256"
	"strings"
)

const (
	base58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

	mainnet, testnet = 0x80, 0xEF // what a key's first byte says of where it pays

	wifSum = 4 // bytes of a checksum
	wifMax = 38
)

// wif gives the check of what follows the first character of a private key of Bitcoin: it is base58 of a version, 32 bytes, a 1 if the
// public key is compressed, and a checksum. Nothing else has that by chance.
func wif(first string) func(string) bool {
	return func(t string) bool {
		n := wifMax
		if len(first+t) == 51 {
			n-- // not compressed
		}
		var buf [wifMax]byte
		key := buf[:n]
		if !fromBase58(key, first) || !fromBase58(key, t) || key[0] != mainnet && key[0] != testnet || n == wifMax && key[n-wifSum-1] != 1 {
			return false
		}
		sum := sha256.Sum256(key[:n-wifSum])
		sum = sha256.Sum256(sum[:])
		return string(sum[:wifSum]) == string(key[n-wifSum:])
	}
}

// fromBase58 appends the digits of t to the number in the bytes; false if that has no room for them, or one is no digit.
func fromBase58(number []byte, t string) bool {
	for i := range len(t) {
		carry := strings.IndexByte(base58, t[i])
		if carry < 0 {
			return false
		}
		for at := len(number) - 1; at >= 0; at-- {
			carry += int(number[at]) * len(base58)
			number[at] = byte(carry)
			carry >>= 8
		}
		if carry > 0 {
			return false
		}
	}
	return true
}
