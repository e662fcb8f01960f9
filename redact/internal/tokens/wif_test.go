package tokens

import (
	"crypto/sha256"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// newWIF makes a private key of Bitcoin that begins with a character.
func newWIF(first string, random *rand.Rand) string {
	version := byte(mainnet)
	if first == "c" || first == "9" {
		version = testnet
	}
	for {
		key := []byte{version}
		for range 32 {
			key = append(key, byte(random.Uint32()))
		}
		if first != "5" && first != "9" {
			key = append(key, 1)
		}
		if text := toBase58(withSum(key)); strings.HasPrefix(text, first) {
			return text
		}
	}
}

func withSum(raw []byte) []byte {
	sum := sha256.Sum256(raw)
	sum = sha256.Sum256(sum[:])
	return append(raw, sum[:wifSum]...)
}

func toBase58(raw []byte) string {
	var text []byte
	for n, digit := new(big.Int).SetBytes(raw), new(big.Int); n.Sign() > 0; {
		n.DivMod(n, big.NewInt(58), digit)
		text = append(text, base58[digit.Int64()])
	}
	slices.Reverse(text)
	return string(text)
}

// Every private key is one, whatever it looks like; with another character, or another version, it is none.
func TestBitcoinKeys(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 11))
	for _, first := range []string{"5", "9", "K", "L", "c"} {
		for range 200 {
			key := newWIF(first, random)
			if At(key, 0) != len(key) {
				t.Errorf("%s is no key", key)
			}
			i, other := 1+random.IntN(len(key)-1), base58[random.IntN(len(base58))]
			if broken := key[:i] + string(other) + key[i+1:]; broken != key && At(broken, 0) > 0 {
				t.Errorf("%s is a key", broken)
			}
		}
	}
	for _, raw := range [][]byte{make([]byte, 33), append(make([]byte, 33), 1), append(make([]byte, 33), 2)} {
		for _, version := range []byte{0x7F, 0x81, 0xEE, mainnet} {
			raw[0] = version
			want := version == mainnet && raw[len(raw)-1] != 2
			if text := toBase58(withSum(slices.Clone(raw))); At(text, 0) > 0 != want {
				t.Errorf("%s, of version %d, is a key: %v", text, version, !want)
			}
		}
	}
}
