package badgerstore

import (
	"errors"
	"strings"
	"testing"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/commit"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
)

// TestEras: a point keeps its era, each opening with a commit begins one, one without does not, and a damaged row is as none.
func TestEras(t *testing.T) {
	dir := t.TempDir()
	root := func(text string) chainstore.NewNode { return node(nil, text) }
	opened := func(does func(s *Store)) {
		t.Helper()
		s, err := Open(dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		does(s)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	of := func(s *Store, p chainstore.Point) chainstore.Era {
		t.Helper()
		era, err := s.Era(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		return era
	}
	point := func(s *Store) chainstore.Point {
		t.Helper()
		p, err := s.Point(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	var before, first, second chainstore.Point
	var eras [2]chainstore.Era
	opened(func(s *Store) {
		put(t, s, root("before"))
		before = point(s)
	})
	opened(func(s *Store) {
		for range 2 {
			if err := s.NoteEras(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		first = point(s)
		eras[0] = of(s, first)
	})
	opened(func(s *Store) {
		if of(s, first) != eras[0] || of(s, first+9) != eras[0] {
			t.Error("a start without a commit begins an era")
		}
		put(t, s, root("second"))
		second = point(s)
		eras[1] = of(s, second)
		mustBeClean(t, s)
	})
	none := chainstore.Era{}
	opened(func(s *Store) {
		put(t, s, root("third"))
		if of(s, before) != none || of(s, first) != eras[0] || of(s, second) != eras[1] || eras[0] == eras[1] || of(s, point(s)) == eras[1] || eras[0] == none {
			t.Errorf("eras %x and %x; now %x, %x, %x and %x", eras[0], eras[1], of(s, before), of(s, first), of(s, second), of(s, point(s)))
		}
		if err := s.write(s.source.Versions.Last()+1, map[string]commit.Write{string(layout.ErasKey()): {Value: []byte{1}}}); err != nil {
			t.Fatal(err)
		}
		finds := func(what string, rows map[string]commit.Write) {
			t.Helper()
			rewrite(t, s, rows)
			if found, _ := verifyStore(t, s); len(found) != 1 || !strings.Contains(found[0], what) {
				t.Errorf("found %q, want %q", found, what)
			}
		}
		key := string(layout.ErasKey())
		finds("eras are missing, or cannot be read", nil)
		finds("eras are missing, or cannot be read", map[string]commit.Write{key: gone})
		finds("table E has 1 entries", map[string]commit.Write{key: {Value: []byte{}}, key + "x": {Value: []byte{}}})
		rewrite(t, s, map[string]commit.Write{key: {Value: []byte{1}}, key + "x": gone})
	})
	opened(func(s *Store) {
		if of(s, second) != none {
			t.Error("a damaged row has eras")
		}
		put(t, s, root("fourth"))
		if of(s, point(s)) == none {
			t.Error("no era begins behind a damaged row")
		}
		mustBeClean(t, s)
	})
}

// TestErasAreKept: a store that is opened very often between two backups knows the era of the first one, and a commit that leaves no room for so many
// takes place, with the last ones.
func TestErasAreKept(t *testing.T) {
	dir := t.TempDir()
	after := func(does func(s *Store)) layout.Eras {
		t.Helper()
		s, err := Open(dir, Options{MemtableBytes: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		does(s)
		all := *s.source.Eras.Load()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		return all
	}
	var many layout.Eras
	for i := range uint64(layout.MaxEras - 1) {
		many = append(many, layout.Era{ID: chainstore.Era{byte(i), byte(i >> 8), 1}, From: 10 + i})
	}
	after(func(s *Store) {
		if err := s.NoteEras(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := s.write(10*layout.MaxEras, map[string]commit.Write{string(layout.ErasKey()): {Value: layout.AppendEras(nil, many)}}); err != nil {
			t.Fatal(err)
		}
	})
	for i := range 2 {
		all := after(func(s *Store) { put(t, s, node(nil, string(rune('a'+i)))) })
		if len(all) != layout.MaxEras || all[0] != many[i] {
			t.Fatalf("%d eras from %+v on, want %d from %+v on", len(all), all[0], layout.MaxEras, many[i])
		}
	}
	var begins chainstore.Point
	all := after(func(s *Store) {
		begins = chainstore.Point(s.source.Versions.Last() + 1)
		size, _ := s.source.DB.MaxCommit()
		err := chainstore.ErrTooLarge
		for ; errors.Is(err, chainstore.ErrTooLarge); size -= 200 {
			text := noise(int(size / 4))
			_, err = s.Commit(t.Context(), testNamespace, &chainstore.Change{Nodes: []chainstore.NewNode{
				node(nil, "c"+text), node(nil, "d"+text), node(nil, "e"+text), node(nil, "f"+text),
			}})
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	if len(all) != layout.FewEras || chainstore.Point(all[len(all)-1].From) != begins {
		t.Errorf("%d eras, the last from %d on, want %d, and from %d on", len(all), all[len(all)-1].From, layout.FewEras, begins)
	}
}
