package badgerstore

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/commit"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
)

func headerRow(h *layout.StoreHeader) commit.Write {
	return commit.Write{Value: layout.AppendStoreHeader(nil, h)}
}

// reopened is a store whose rows were changed and that was closed.
func reopened(t *testing.T, s *Store, writes map[string]commit.Write) (*Store, error) {
	t.Helper()
	rewrite(t, s, writes)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return Open(s.dir, Options{})
}

// TestAStoreKeepsItsID: made at the first start, in the commit of the format, which has its number alone: a version that knows no header reads
// that and refuses the store.
func TestAStoreKeepsItsID(t *testing.T) {
	s := openStore(t, Options{})
	id, rows := s.Info().ID, allRows(t, s)
	if len(rows) != 2 || !bytes.Equal(rows[string(formatKey)], []byte{2}) || s.source.Versions.Last() != 1 {
		t.Errorf("a new store has %x, as of commit %d", rows, s.source.Versions.Last())
	}
	if other := openStore(t, Options{}).Info().ID; id == other || id == (chainstore.StoreID{}) || len(id.String()) != 32 {
		t.Errorf("the ids of two stores are %s and %s", id, other)
	}
	put(t, s, node(nil, "x"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again := openAt(t, s.dir, Options{})
	if got := again.Info().ID; got != id || again.source.Versions.Last() != s.source.Versions.Last() {
		t.Errorf("opened again it is %s, was %s; the last commit %d, was %d", got, id, again.source.Versions.Last(), s.source.Versions.Last())
	}
}

// TestAStoreWithoutAHeaderGetsOne, of this format as of an earlier one; nothing else is written.
func TestAStoreWithoutAHeaderGetsOne(t *testing.T) {
	for format := uint64(layout.FirstFormatVersion); format <= layout.FormatVersion; format++ {
		s := openStore(t, Options{})
		put(t, s, node(nil, "x"))
		before := allRows(t, s)
		s, err := reopened(t, s, map[string]commit.Write{string(formatKey): number(format), string(headerKey): gone})
		if err != nil {
			t.Fatal(err)
		}
		after := allRows(t, s)
		if id := s.Info().ID; id == (chainstore.StoreID{}) || !bytes.HasPrefix(after[string(headerKey)], id[:]) {
			t.Errorf("format %d: the id is %s, the row %x", format, id, after[string(headerKey)])
		}
		delete(before, string(headerKey))
		delete(after, string(headerKey))
		if found, _ := verifyStore(t, s); found != nil || !sameRows(before, after) {
			t.Errorf("format %d: verify found %q, and the rows are %x, were %x", format, found, after, before)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func sameRows(a, b map[string][]byte) bool {
	for key, value := range a {
		if !bytes.Equal(b[key], value) {
			return false
		}
	}
	return len(a) == len(b)
}

// TestAnUnknownFeature that is required is refused and named; one that is not is kept, with whatever a later version has behind, and
// the rows that come with it are no problem.
func TestAnUnknownFeature(t *testing.T) {
	s := openStore(t, Options{})
	put(t, s, node(nil, "x"))
	later := layout.StoreHeader{ID: s.Info().ID, Optional: []string{"feeds"}, Rest: []byte("later")}
	rows := map[string]commit.Write{string(headerKey): headerRow(&later)}
	for _, ns := range []uint32{layout.OwnNamespace, layout.FirstNamespace} {
		rows[string(layout.TableKey(ns, 'q'))+"x"] = commit.Write{Value: []byte("later")}
	}
	s, err := reopened(t, s, rows)
	if err != nil {
		t.Fatal(err)
	}
	put(t, s, node(nil, "y"))
	if found, _ := verifyStore(t, s); found != nil || len(s.Info().Features) != 1 || s.Info().Features[0] != "feeds" {
		t.Errorf("verify found %q, the store says %+v", found, s.Info())
	}
	for key, w := range rows {
		if got := allRows(t, s)[key]; !bytes.Equal(got, w.Value) {
			t.Errorf("the row %x is %x, was %x", key, got, w.Value)
		}
	}
	later.Required = []string{"receipts", "quotas"}
	_, err = reopened(t, s, map[string]commit.Write{string(headerKey): headerRow(&later)})
	if !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), `["receipts" "quotas"]: open it with the version that wrote it`) {
		t.Errorf("error is %v", err)
	}
}

func TestAHeaderOfNonsense(t *testing.T) {
	for name, value := range map[string][]byte{
		"empty": nil, "no id": make([]byte, 18), "cut short": append(bytes.Repeat([]byte{1}, 16), 0), "an empty name": append(bytes.Repeat([]byte{1}, 16), 1, 0, 0),
	} {
		_, err := reopened(t, openStore(t, Options{}), map[string]commit.Write{string(headerKey): {Value: value}})
		if !errors.Is(err, chainstore.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
