package badgerdb

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/transcriptd/transcriptd/chainstore"
)

// noise is text that does not compress to less than a half.
func noise(n int) string {
	random, b := rand.New(rand.NewPCG(1, 2)), make([]byte, n)
	for i := range b {
		b[i] = byte('a' + random.IntN(26))
	}
	return string(b)
}

func packing(tb testing.TB) (*valuePacker, *unpacker) {
	tb.Helper()
	p, u, err := newPacking()
	if err != nil {
		tb.Fatal(err)
	}
	return p, u
}

// numbered are lines in which only zstd finds an order.
func numbered(n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, "%07d\n", i)
	}
	return b.String()[:n]
}

// What packs to an eighth is packed, and nothing else, and comes back as it was.
func TestPacking(t *testing.T) {
	p, u := packing(t)
	for _, c := range []struct {
		name, value string
		packs       bool
	}{
		{"a word", strings.Repeat("word ", 20_000), true},
		{"numbered lines", numbered(256 << 10), true},
		{"fewer of them", numbered(minSampled), true},
		{"the shortest", strings.Repeat("x", minPacked), true},
		{"a shorter one", strings.Repeat("x", minPacked-1), false},
		{"the longest", strings.Repeat("x", maxPacked-1), true},
		{"a longer one", strings.Repeat("x", maxPacked), false},
		{"a long period", strings.Repeat(noise(10_000), 20), true},
		{"a head that does not pack", noise(1_000) + strings.Repeat("x", 99_000), true},
		{"an end that does not pack", strings.Repeat("x", 99_000) + noise(1_000), true},
		{"half of it", strings.Repeat("x", 10_000) + noise(10_000), false},
		{"noise", noise(100_000), false},
		{"nothing", "", false},
	} {
		held, mark := p.pack([]byte(c.value))
		if packed := mark == markPacked; packed != c.packs || packed && len(held) > len(c.value)/packsTo+3 {
			t.Errorf("%s: %d bytes are packed to %d: %v", c.name, len(c.value), len(held), packed)
		}
		if mark == markPlain {
			continue
		}
		if value, err := u.unpack(nil, held); err != nil || string(value) != c.value {
			t.Errorf("%s: %d bytes come back, %v", c.name, len(value), err)
		}
	}
}

// Whatever a value is, it comes back, also with the memory of others.
func TestPackingComesBack(t *testing.T) {
	p, u := packing(t)
	var room []byte
	rapid.Check(t, func(t *rapid.T) {
		var value []byte
		for range rapid.IntRange(0, 3).Draw(t, "parts") {
			part := rapid.SliceOfN(rapid.Byte(), 1, 40).Draw(t, "part")
			value = append(value, bytes.Repeat(part, rapid.IntRange(1, 2000).Draw(t, "times"))...)
		}
		held, mark := p.pack(value)
		if mark == markPlain {
			if !bytes.Equal(held, value) {
				t.Fatal("what is not packed is changed")
			}
			return
		}
		var err error
		if room, err = u.unpack(room, held); err != nil || !bytes.Equal(room, value) {
			t.Fatalf("%d bytes come back of %d: %v", len(room), len(value), err)
		}
	})
}

// A packed value that is damaged is ErrCorrupt, or the value; it takes no more memory than a value may have.
func TestDamagedPacked(t *testing.T) {
	p, u := packing(t)
	value := []byte(numbered(40_000))
	held, mark := p.pack(value)
	if mark != markPacked {
		t.Fatal("the value does not pack")
	}
	damaged := map[string][]byte{
		"empty": {}, "no frame": held[:3], "the length alone": binary.AppendUvarint(nil, 40_000),
		"a length beyond all": append(binary.AppendUvarint(nil, 1<<62), held[3:]...),
		"the longest length":  append(binary.AppendUvarint(nil, maxPacked), held[3:]...),
		"too long a length":   append(binary.AppendUvarint(nil, maxPacked-1), held[3:]...),
		"one too much":        append(binary.AppendUvarint(nil, 40_001), held[3:]...),
		"one too few":         append(binary.AppendUvarint(nil, 39_999), held[3:]...),
		"twice":               append(bytes.Clone(held), held[3:]...),
		"a frame of more":     append(binary.AppendUvarint(nil, 40_000), p.zstd.EncodeAll(make([]byte, 64<<20), nil)...),
	}
	random := rand.New(rand.NewPCG(3, 4))
	for i := range 500 {
		b := bytes.Clone(held)
		b[random.IntN(len(b))] ^= byte(1 + random.IntN(255))
		damaged[fmt.Sprint("a byte, ", i)] = b
		damaged[fmt.Sprint("cut, ", i)] = held[:random.IntN(len(held))]
	}
	for name, b := range damaged {
		got, err := u.unpack(nil, b)
		if err == nil && !bytes.Equal(got, value) || err != nil && !errors.Is(err, chainstore.ErrCorrupt) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
		if cap(got) > 2*maxPacked {
			t.Errorf("%s: %d bytes are taken", name, cap(got))
		}
	}
}

// goldenPacked is what the format has for 5,000 times "word ".
const goldenPacked = "a8c30128b52ffd64a86075000028776f7264200154050332a02102a47ea8a8"

// What was packed once is unpacked for ever.
func TestGoldenPacked(t *testing.T) {
	held, err := hex.DecodeString(goldenPacked)
	if err != nil {
		t.Fatal(err)
	}
	_, u := packing(t)
	if value, err := u.unpack(nil, held); err != nil || string(value) != strings.Repeat("word ", 5_000) {
		t.Errorf("%d bytes, %v", len(value), err)
	}
}
