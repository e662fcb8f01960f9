package badgerstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/storetest"
)

// Nothing that was put is in any file of an encrypted store: text, metadata, calls, names of aliases and namespaces, labels, ids. The same
// put into one that is not is found, so the search would find it.
func TestNoPlainTextOnDisk(t *testing.T) {
	for name, key := range map[string][]byte{"plain": nil, "encrypted": testKey(1)} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			o := Options{EncryptionKey: key, MemtableBytes: 8 << 20}
			s := openAt(t, dir, o)
			if s.Info().Encrypted != (key != nil) {
				t.Errorf("it says that it is encrypted: %t", s.Info().Encrypted)
			}
			canaries := putCanaries(t, s, 0, 40)
			found := map[string][]string{}
			search := func() {
				for what, text := range canaries {
					found[what] = append(found[what], filesWith(t, dir, text)...)
				}
			}
			search()
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = openAt(t, dir, o)
			putCanaries(t, s, 40, 60)
			search()
			for what, files := range found {
				if (files == nil) != (key != nil) {
					t.Errorf("%s is in the files %v", what, files)
				}
			}
			if found := problems(t, s, "canary-namespace", storetest.Simple().Judge); found != nil {
				t.Error(found)
			}
		})
	}
}

// putCanaries puts nodes and aliases whose every part can be searched for: what each is, by its text.
func putCanaries(t *testing.T, s *Store, from, to int) map[string][]byte {
	t.Helper()
	var id chainstore.ID
	for n := from; n < to; n++ {
		made := storetest.Node{
			Messages: []storetest.Message{{Role: 3, Text: fmt.Sprintf("canary-text %d %s", n, noise(100))}, {Role: 4, Text: "canary-answer"}},
			Metadata: []storetest.Entry{{Key: "canary-key", Value: "canary-value"}},
		}
		out, err := s.Commit(context.Background(), "canary-namespace", &chainstore.Change{
			Nodes: []chainstore.NewNode{storetest.Simple().Make(made)},
			Aliases: []chainstore.AliasChange{{
				Name: fmt.Sprintf("canary-alias/%d", n), SetLabels: true,
				Labels: map[string]string{"canary-label": "canary-labelled"},
			}},
		})
		if err != nil {
			t.Fatal(err)
		}
		id = out.Nodes[0].ID
	}
	return map[string][]byte{
		"text": []byte("canary-text"), "an answer": []byte("canary-answer"), "a key": []byte("canary-key"), "a value": []byte("canary-value"),
		"an alias": []byte("canary-alias"), "a label": []byte("canary-label"), "a label's value": []byte("canary-labelled"),
		"a namespace": []byte("canary-namespace"), "an id": id[:8],
	}
}

// filesWith are the files of a folder that have a text, or are named by it.
func filesWith(t *testing.T, dir string, text []byte) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, text) || strings.Contains(e.Name(), string(text)) {
			names = append(names, e.Name())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// A store has its key alone, or the one that took its place; it is what it was begun as, and a repair asks for the key too.
func TestKeys(t *testing.T) {
	dir := t.TempDir()
	s := openAt(t, dir, Options{EncryptionKey: testKey(1)})
	root := put(t, s, node(nil, "root"))[0].ID
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	refused := func(o Options) {
		t.Helper()
		if s, err := Open(dir, o); !errors.Is(err, ErrKey) {
			t.Errorf("it opens: %v, %v", err, s.Close())
		}
		if err := Repair(dir, o, false, func(string) {}); !errors.Is(err, ErrKey) {
			t.Errorf("it is repaired: %v", err)
		}
	}
	refused(Options{})
	refused(Options{EncryptionKey: testKey(2)})
	if err := Rekey(dir, Options{EncryptionKey: testKey(1)}, testKey(2)); err != nil {
		t.Fatal(err)
	}
	refused(Options{EncryptionKey: testKey(1)})
	s = openAt(t, dir, Options{EncryptionKey: testKey(2)})
	if _, err := s.Chain(context.Background(), testNamespace, chainstore.Ref{ID: root}, nil); err != nil {
		t.Error(err)
	}
	mustBeClean(t, s)
	m := s.Metrics()
	if limits := m.Blocks.LimitBytes + m.Indexes.LimitBytes + m.Rows.LimitBytes + m.Aliases.LimitBytes + m.Nodes.LimitBytes; limits != 16<<20 || m.Indexes.Misses == 0 {
		t.Errorf("the caches may hold %d bytes together: %+v", limits, m)
	}
	plain := openStore(t, Options{})
	dir = plain.dir
	if err := plain.Close(); err != nil {
		t.Fatal(err)
	}
	refused(Options{EncryptionKey: testKey(1)})
}
