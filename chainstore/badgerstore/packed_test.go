package badgerstore

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/dgraph-io/badger/v4"
	"pgregory.net/rapid"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/storetest"
)

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
		{"numbered lines", numbered(maxChunk), true},
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

// marks counts the values of a store by the mark beside them.
func marks(tb testing.TB, s *Store) (n [256]int) {
	tb.Helper()
	v, err := s.open(ownNamespace)
	if err != nil {
		tb.Fatal(err)
	}
	defer v.close()
	c := v.cursor(nil)
	defer c.close()
	for c.seek(nil); c.valid(); c.next() {
		n[c.it.Item().UserMeta()]++
	}
	return n
}

// packedRows is a store with packed values in the rows of nodes, of pieces of payloads, of variables and of aliases; its head, and the
// payloads of its nodes.
func packedRows(tb testing.TB) (s *Store, head chainstore.ID, payloads []string) {
	tb.Helper()
	s = openStore(tb, Options{RowCacheBytes: -1}) // so that reads ask the database
	var end *chainstore.ID
	for i, size := range []int{2_000, 60_000, maxChunk + 10, 2_000_000} {
		for _, text := range []string{strings.Repeat("word ", size/5), numbered(size)} {
			n := node(end, fmt.Sprint(i), text)
			payloads = append(payloads, string(n.Payload))
			id := put(tb, s, n)[0].ID
			end = &id
		}
	}
	naming := storetest.Node{Parent: chainstore.Parent{Kind: chainstore.ParentID, ID: *end}}
	for i := range 50 {
		naming.Metadata = append(naming.Metadata, storetest.Entry{Key: fmt.Sprint("var/", strings.Repeat("name ", 20), i)})
	}
	n := storetest.Simple().Make(naming)
	payloads = append(payloads, string(n.Payload))
	id := put(tb, s, n)[0].ID
	end = &id
	alias := setAlias("alias", *end, chainstore.Condition{})
	alias.Labels, alias.SetLabels = map[string]string{"label": strings.Repeat("x", 60_000)}, true
	commitAliases(tb, s, alias)
	return s, *end, payloads
}

// What the database gets of values is what it has of them on disk; they are read as they were put, also from its tables.
func TestPackedRows(t *testing.T) {
	s, head, payloads := packedRows(t)
	if n := s.Metrics().WrittenBytes; n > 4_700_000/packsTo {
		t.Errorf("the database gets %d bytes of 4.7 MB", n)
	}
	check := func(s *Store) {
		t.Helper()
		if n := marks(t, s); n[markPacked] < 20 || n[markPlain] == 0 || n[markPlain]+n[markPacked] != len(allRows(t, s)) {
			t.Errorf("%d values are packed, %d are not", n[markPacked], n[markPlain])
		}
		if got, err := payloadsOf(s, head); err != nil || !slices.Equal(got, payloads) {
			t.Errorf("%d nodes come back of %d, or others: %v", len(got), len(payloads), err)
		}
		mustBeClean(t, s)
	}
	check(s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	check(openAt(t, s.dir, Options{}))
}

func payloadsOf(s *Store, head chainstore.ID) (payloads []string, err error) {
	c, err := s.Chain(context.Background(), testNamespace, chainstore.Ref{ID: head}, nil)
	if err != nil {
		return nil, err
	}
	err = c.Rows(context.Background(), chainstore.Span{Through: c.Head().Seq}, func(r *chainstore.Row) error {
		payloads = append(payloads, string(r.Payload))
		return nil
	})
	return payloads, err
}

// A packed row that is damaged is never read as another: ErrCorrupt to readers, and Verify goes on behind it.
func TestDamagedPackedRows(t *testing.T) {
	s, head, _ := packedRows(t)
	rows, tables := allRows(t, s), map[byte]int{}
	p, _ := packing(t)
	for key, value := range rows {
		held, mark := p.pack(value)
		if mark != markPacked {
			continue
		}
		tables[key[keyPrefix-1]]++
		for name, e := range map[string]*badger.Entry{
			"cut":          badger.NewEntry([]byte(key), held[:len(held)-9]).WithMeta(markPacked),
			"empty":        badger.NewEntry([]byte(key), nil).WithMeta(markPacked),
			"unknown mark": badger.NewEntry([]byte(key), held).WithMeta(markPacked + 1),
		} {
			setEntry(t, s, e)
			if _, err := payloadsOf(s, head); key[keyPrefix-1] == tableNodes && !errors.Is(err, chainstore.ErrCorrupt) {
				t.Errorf("%x %s: %v", key, name, err)
			}
			if _, err := s.Alias(t.Context(), testNamespace, "alias"); key[keyPrefix-1] == tableAliases && !errors.Is(err, chainstore.ErrCorrupt) {
				t.Errorf("%x %s: %v", key, name, err)
			}
			if problems(t, s, testNamespace, storetest.Simple().Judge) == nil {
				t.Errorf("%x %s: verify found nothing", key, name)
			}
		}
		rewrite(t, s, map[string]write{key: {value: value}})
	}
	if tables[tableNodes] < 20 || tables[tableAliases] != 1 || tables[tableVariables] != 1 {
		t.Errorf("the packed values lie in the tables %v", tables)
	}
	mustBeClean(t, s)
}

// setEntry writes what the database is to have, behind the committer's back.
func setEntry(tb testing.TB, s *Store, e *badger.Entry) {
	tb.Helper()
	ts := s.reads.last() + 1
	if err := s.db.Commit(ts, func(txn *badger.Txn) (int64, error) { return 0, txn.SetEntry(e) }); err != nil {
		tb.Fatal(err)
	}
	s.reads.publish(ts)
}
