// Package prose makes up text for benchmarks and tests of sizes: the same from the same source, and of the kind that agents
// say, in that zstd makes about a third of it.
package prose

import (
	"math/rand/v2"
	"strings"
)

// Words are n bytes of made-up words, of which some are frequent and most are rare.
func Words(random *rand.Rand, n int) string {
	var b strings.Builder
	for b.Len() < n {
		b.WriteString(vocabulary[min(random.IntN(len(vocabulary)), random.IntN(len(vocabulary)))])
	}
	return b.String()[:n]
}

// vocabulary is the words that there are, the more frequent ones first.
var vocabulary = func() (all [200]string) {
	for i := range all {
		random := rand.New(rand.NewPCG(2, uint64(i)))
		word := make([]byte, 2+random.IntN(8), 10)
		for j := range word {
			word[j] = "etaoinshrdlucmfw"[random.IntN(16)]
		}
		all[i] = string(word) + " "
	}
	return all
}()
