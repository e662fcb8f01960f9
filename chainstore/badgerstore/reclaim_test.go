package badgerstore

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/storetest"
)

// TestReclaim: what a collection deleted gives its space back, to what a store takes that never had it, and the gauge tells so. Nothing is lost, the
// store is sound, and so it is when it is opened again.
func TestReclaim(t *testing.T) {
	const chats = 600
	dir := filepath.Join(t.TempDir(), "store")
	s, fresh := openAt(t, dir, Options{}), openStore(t, Options{})
	for _, of := range []struct {
		*Store
		every int
	}{{s, 1}, {fresh, 2}} {
		for i := 0; i < chats; i += of.every {
			root := put(t, of, node(nil, noiseOf(uint64(2*i), 12<<10)))[0].ID
			tip := put(t, of, node(&root, noiseOf(uint64(2*i+1), 12<<10)))[0].ID
			commitAliases(t, of, setAlias(fmt.Sprint("chat/", i), tip, chainstore.Condition{}))
		}
	}
	var forgotten []chainstore.AliasChange
	for i := 1; i < chats; i += 2 {
		forgotten = append(forgotten, forgetAlias(fmt.Sprint("chat/", i)))
	}
	commitAliases(t, s, forgotten...)
	if told := collected(t, s, chainstore.Collection{}, nil); told.Nodes != chats {
		t.Fatalf("%+v", told)
	}
	var spaces []chainstore.Space
	for _, of := range []*Store{s, fresh} {
		if err := of.Reclaim(t.Context()); err != nil {
			t.Fatal(err)
		}
		space, err := of.Space(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		spaces = append(spaces, space)
	}
	if got, want := spaces[0], spaces[1]; got.Files > want.Files*11/10 || got.Dead > got.Files/10 {
		t.Errorf("the store has %+v, a fresh one %+v", got, want)
	}
	soundAll(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openAt(t, dir, Options{})
	soundAll(t, s)
	if st, err := s.Stats(t.Context(), testNamespace); err != nil || st.Nodes != chats {
		t.Errorf("%+v, %v", st, err)
	}
}

// soundAll verifies the whole store.
func soundAll(t *testing.T, s *Store) {
	t.Helper()
	err := s.Verify(t.Context(), chainstore.Check{WholeStore: true}, storetest.Simple().Judge, func(r chainstore.VerifyReport) error {
		for _, p := range r.Problems {
			t.Errorf("verify found %q", p.What)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
