package badgerstore

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
)

// TestReadOnly: a store that was closed is read, and refuses writes; one that a start would change is refused.
func TestReadOnly(t *testing.T) {
	s := openStore(t, Options{})
	id := put(t, s, node(nil, "x"))[0].ID
	dir := s.dir
	if _, err := Open(dir, Options{ReadOnly: true}); !errors.Is(err, ErrLocked) {
		t.Errorf("beside a store that is open: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := Open(dir, Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	mustBeClean(t, s)
	if _, err := s.Chain(t.Context(), testNamespace, chainstore.Ref{ID: id}, nil); err != nil {
		t.Error(err)
	}
	if err := putIn(s, testNamespace, node(nil, "y")); err == nil {
		t.Error("it was written to")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := Open(filepath.Join(dir, "none"), Options{ReadOnly: true}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("where there is none: %v", err)
	}
	for name, content := range map[string]string{"000777.sst": "x", "00009.mem": "x"} {
		other := copied(t, dir)
		if err := os.WriteFile(filepath.Join(other, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(other, Options{ReadOnly: true}); err == nil {
			t.Errorf("with a file %s it is opened", name)
		}
		if kept, err := os.ReadFile(filepath.Join(other, name)); err != nil || string(kept) != content {
			t.Errorf("the file %s is changed: %v", name, err)
		}
	}
}

// TestReadOnlyOfAnEncryptedStore: it needs the key.
func TestReadOnlyOfAnEncryptedStore(t *testing.T) {
	key := bytes.Repeat([]byte{7}, 32)
	s := openStore(t, Options{EncryptionKey: key})
	put(t, s, node(nil, "x"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(s.dir, Options{ReadOnly: true}); !errors.Is(err, ErrKey) {
		t.Errorf("without its key: %v", err)
	}
	s, err := Open(s.dir, Options{ReadOnly: true, EncryptionKey: key})
	if err != nil {
		t.Fatal(err)
	}
	mustBeClean(t, s)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestReadOnlyOfAnEarlierFormat: it would be brought to this one, and is refused.
func TestReadOnlyOfAnEarlierFormat(t *testing.T) {
	dir := t.TempDir()
	unpack(t, goldenArchive(layout.FirstFormatVersion), dir)
	if _, err := Open(dir, Options{ReadOnly: true}); !errors.Is(err, ErrUnclean) {
		t.Errorf("error is %v", err)
	}
	if s := openAt(t, dir, Options{}); s.Info().Format != layout.FormatVersion {
		t.Error("it is not brought to this format afterwards")
	}
}
