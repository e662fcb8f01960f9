package badgerstore

import (
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
