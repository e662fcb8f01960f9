package badgerstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/commit"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
	"github.com/transcriptd/transcriptd/internal/badgerdb"
)

func putIn(s *Store, namespace string, nodes ...chainstore.NewNode) error {
	_, err := s.Commit(context.Background(), namespace, &chainstore.Change{Nodes: nodes})
	return err
}

// threeNamespaces is a store of the namespaces secret-1 to secret-3, which have the numbers 1 to 3, and its rows.
func threeNamespaces(t *testing.T) (*Store, map[string][]byte) {
	t.Helper()
	s := openStore(t, Options{})
	for i := range 3 {
		if err := putIn(s, fmt.Sprint("secret-", i+1), node(nil, "x")); err != nil {
			t.Fatal(err)
		}
	}
	return s, allRows(t, s)
}

var numbersKey = string(layout.TableKey(layout.OwnNamespace, layout.TableNumbers))

func nameRow(i int) string { return string(layout.NameKey(fmt.Sprint("secret-", i))) }

func number(n uint64) commit.Write { return commit.Write{Value: layout.NumberValue(n)} }

var gone = commit.Write{Deleted: true}

// misnumberings are the ways in which names and numbers do not agree, and what Open says of each.
var misnumberings = map[string]struct {
	writes map[string]commit.Write
	says   string
}{
	"a name is lost":                {map[string]commit.Write{nameRow(2): gone}, "number 2 given to a namespace, without a name"},
	"the last name is lost":         {map[string]commit.Write{nameRow(3): gone}, "number 3 given to a namespace, without a name"},
	"names are lost":                {map[string]commit.Write{nameRow(1): gone, nameRow(2): gone}, "numbers 1 to 2 given to a namespace, without a name"},
	"two names of one number":       {map[string]commit.Write{nameRow(3): number(2)}, "number 2 has two names; number 3 given to a namespace, without a name"},
	"a name more":                   {map[string]commit.Write{nameRow(4): number(3)}, "number 3 has two names"},
	"a number above the last":       {map[string]commit.Write{nameRow(4): number(7)}, "the last number given is 3, and 1 names have a higher one, up to 7"},
	"a name that does not parse":    {map[string]commit.Write{nameRow(1): {Value: []byte{0xff}}}, "the numbers of 1 names cannot be read; number 1 given"},
	"an older last number":          {map[string]commit.Write{numbersKey: number(1)}, "the last number given is 1, and 2 names have a higher one, up to 3"},
	"no last number":                {map[string]commit.Write{numbersKey: gone}, "the last number given is 0, and 3 names have a higher one, up to 3"},
	"neither names nor number":      {map[string]commit.Write{numbersKey: gone, nameRow(1): gone, nameRow(2): gone, nameRow(3): gone}, "the last number given is 0, and number 1 has rows"},
	"older by a whole namespace":    {map[string]commit.Write{numbersKey: number(2), nameRow(3): gone}, "the last number given is 2, and number 3 has rows"},
	"a last number too high":        {map[string]commit.Write{numbersKey: number(9)}, "numbers 4 to 9 given to a namespace, without a name"},
	"rows of no namespace":          {map[string]commit.Write{string(layout.PlaceKey(1<<31, layout.TableNodes, chainstore.Place{})): {Value: []byte{1}}}, "the last number given is 3, and number 2147483648 has rows"},
	"a name of a deleted namespace": {map[string]commit.Write{string(layout.GoneKey(2)): number(1)}, "number 2 has a name, and its namespace was deleted"},
	"a deletion above the last":     {map[string]commit.Write{string(layout.GoneKey(8)): number(1)}, "the last number given is 3, and the namespace of number 8 was deleted"},
	"a number that is none":         {map[string]commit.Write{numbersKey: {Value: []byte{0xff}}}, "the last number given cannot be read"},
}

// TestOpenComparesNamesWithNumbers: where the names of namespaces and the numbers given do not agree, Open says how and what to do.
func TestOpenComparesNamesWithNumbers(t *testing.T) {
	for what, c := range misnumberings {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s, _ := threeNamespaces(t)
			rewrite(t, s, c.writes)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			_, err := Open(s.dir, Options{})
			if !errors.Is(err, chainstore.ErrCorrupt) {
				t.Fatalf("error is %v", err)
			}
			for _, part := range []string{c.says, s.dir, "backup"} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("the error does not tell %q: %v", part, err)
				}
			}
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("the error tells a name: %v", err)
			}
		})
	}
}

// TestANumberIsNeverGivenTwice: in a store whose rows of names and numbers get lost while it is open, no namespace is made; those that
// there are go on.
func TestANumberIsNeverGivenTwice(t *testing.T) {
	for what, c := range misnumberings {
		if _, lost := c.writes[numbersKey]; !lost && what != "rows of no namespace" {
			continue // the next number is free then
		}
		t.Run(what, func(t *testing.T) {
			s, rows := threeNamespaces(t)
			rewrite(t, s, c.writes)
			for _, given := range []uint32{3, lastOf(t, s)} { // as of the open process, and as if it had been opened so
				s.source.Names.Given = given
				if given == 9 {
					continue // nothing has a row above it
				}
				if err := putIn(s, "new", node(nil, "x")); !errors.Is(err, chainstore.ErrCorrupt) {
					t.Errorf("last given %d: error is %v", given, err)
				}
			}
			if err := putIn(s, "secret-2", node(nil, "on")); err != nil {
				t.Errorf("another namespace: %v", err)
			}
			rewrite(t, s, map[string]commit.Write{numbersKey: number(3), string(layout.PlaceKey(1<<31, layout.TableNodes, chainstore.Place{})): gone})
			s.source.Names.Given = 3
			if err := putIn(s, "new", node(nil, "x")); err != nil {
				t.Errorf("once the rows are there again: %v", err)
			}
			for key, value := range rows {
				if key[3] == 1 && string(allRows(t, s)[key]) != string(value) {
					t.Errorf("row %x is another", key)
				}
			}
		})
	}
}

func lastOf(t *testing.T, s *Store) (last uint32) {
	t.Helper()
	v, err := s.source.Open(layout.OwnNamespace)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	last, _ = v.LastNumber()
	return last
}

// TestNumbersAreDense: changes that fail, that do not fit and that come together leave no number out.
func TestNumbersAreDense(t *testing.T) {
	s := openStore(t, Options{MemtableBytes: 1 << 20})
	large := strings.Repeat("x", 60<<10)
	var requests []*commit.Request
	good := uint32(0)
	for i := range 12 {
		requests = append(requests,
			queuedNodes(fmt.Sprint("fails ", i), node(nil, large), node(&chainstore.ID{9}, "of no parent")),
			queuedNodes(fmt.Sprint("good ", i), node(nil, large)),
			queuedNodes(fmt.Sprint("good ", i), node(nil, "again")),
			queuedChange(fmt.Sprint("nothing ", i), &chainstore.Change{
				Aliases: []chainstore.AliasChange{{Name: "a", Target: chainstore.Target{Kind: chainstore.TargetNone}}},
			}))
		good++
	}
	if writes := together(s, requests...); len(writes) < 3 {
		t.Fatalf("%d transactions", len(writes))
	}
	for _, r := range requests {
		if strings.HasPrefix(r.Namespace, "fails") != (r.Err != nil) {
			t.Errorf("%s: %v", r.Namespace, r.Err)
		}
	}
	unwritten := s.committer.Durable
	s.committer.Durable = func(map[string]commit.Write, uint64) error { return &badgerdb.Unwritten{Err: errors.New("no room")} }
	if err := putIn(s, "not written", node(nil, "x")); err == nil {
		t.Error("the commit did not fail")
	}
	s.committer.Durable = unwritten
	if err := putIn(s, "last", node(nil, "x")); err != nil || lastOf(t, s) != good+1 {
		t.Errorf("the last number is %d, %v", lastOf(t, s), err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	openAt(t, s.dir, Options{})
}

// Where the counters of a namespace are lost, or older than its rows, it takes no change: its segments would be used again. An open
// store knows them.
func TestSegmentsAreGivenOnce(t *testing.T) {
	for what, w := range map[string]commit.Write{
		"lost":  gone,
		"older": {Value: layout.AppendCounters(nil, &layout.Counters{NextSegment: 1, Puts: 1, Nodes: 1})},
	} {
		t.Run(what, func(t *testing.T) {
			s, _ := threeNamespaces(t)
			for i := range 3 {
				if err := putIn(s, "secret-2", node(nil, fmt.Sprint(i))); err != nil {
					t.Fatal(err)
				}
			}
			rows := allRows(t, s)
			rewrite(t, s, map[string]commit.Write{string(layout.CountersKey(2)): w})
			if err := putIn(s, "secret-2", node(nil, "y")); err != nil {
				t.Errorf("while it is open: %v", err)
			}
			rewrite(t, s, map[string]commit.Write{string(layout.CountersKey(2)): w})
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = openAt(t, s.dir, Options{})
			if err := putIn(s, "secret-2", node(nil, "z")); !errors.Is(err, chainstore.ErrCorrupt) {
				t.Errorf("put: %v", err)
			}
			if _, err := s.Stats(context.Background(), "secret-2"); what == "lost" && !errors.Is(err, chainstore.ErrCorrupt) {
				t.Errorf("stats: %v", err)
			}
			if err := putIn(s, "secret-1", node(nil, "y")); err != nil {
				t.Errorf("another namespace: %v", err)
			}
			now := allRows(t, s)
			for key, value := range rows {
				if key[3] == 2 && key[layout.KeyPrefix-1] == layout.TableNodes && string(now[key]) != string(value) {
					t.Errorf("row %x is another", key)
				}
			}
		})
	}
}

// BenchmarkOpenNames opens a store of 100,000 namespaces: the names are compared with the numbers.
func BenchmarkOpenNames(b *testing.B) {
	s := openStore(b, Options{})
	const names = 100_000
	writes := map[string]commit.Write{}
	for i := uint64(1); i <= names; i++ {
		writes[string(layout.NameKey(fmt.Sprintf("tenant-%d", i)))] = number(i)
		if writes[numbersKey] = number(i); i%5000 == 0 {
			if err := commit.WriteTo(s.source.DB, writes, 1+i); err != nil {
				b.Fatal(err)
			}
			clear(writes)
		}
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	var compared time.Duration
	for b.Loop() {
		s := openAt(b, s.dir, Options{})
		begin := time.Now()
		if err := s.source.CheckNames(s.dir); err != nil {
			b.Fatal(err)
		}
		compared += time.Since(begin)
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(compared.Seconds()*1000/float64(b.N), "ms-compared/op")
}
