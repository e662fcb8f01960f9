package badgerstore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dgraph-io/badger/v4"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/commit"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
)

func TestOpenCreatesAndReopens(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	s := openAt(t, dir, Options{})
	id := put(t, s, node(nil, "x"))[0].ID
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory is %v, %v", info.Mode(), err)
	}
	s = openAt(t, dir, Options{})
	if out := put(t, s, node(nil, "x"), node(&id, "y")); out[0].Created || !out[1].Created {
		t.Errorf("after opening again: %+v", out)
	}
	if i := s.Info(); i.Engine != "badger" || i.Format != 2 {
		t.Errorf("info is %+v", i)
	}
}

func TestOpenRefusesASecondProcess(t *testing.T) {
	s := openStore(t, Options{})
	if _, err := Open(s.dir, Options{}); !errors.Is(err, ErrLocked) {
		t.Fatalf("error is %v", err)
	}
	put(t, s, node(nil, "still works"))
}

func TestOpenRefusesStrangers(t *testing.T) {
	for name, prepare := range map[string]func(dir string) error{
		"file": func(dir string) error { return os.WriteFile(filepath.Join(dir, "thesis.doc"), nil, 0o600) },
		"badger": func(dir string) error {
			db, err := badger.Open(badger.DefaultOptions(dir).WithLogger(nil))
			if err != nil {
				return err
			}
			return db.Close()
		},
		"manifest": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, badger.ManifestFilename), []byte("other"), 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := prepare(dir); err != nil {
				t.Fatal(err)
			}
			if _, err := Open(dir, Options{}); !errors.Is(err, ErrFormat) {
				t.Fatalf("error is %v", err)
			}
		})
	}
}

func TestOpenAfterAFirstOpenThatWasCutShort(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"LOCK", "MANIFEST-REWRITE"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(t, openAt(t, dir, Options{}), node(nil, "x"))
}

func TestOpenRefusesOtherVersions(t *testing.T) {
	for name, c := range map[string]struct {
		value []byte
		want  error
	}{
		"newer":   {layout.NumberValue(layout.FormatVersion + 1), ErrFormat},
		"older":   {layout.NumberValue(0), ErrFormat},
		"garbage": {[]byte{0xff}, chainstore.ErrCorrupt},
	} {
		t.Run(name, func(t *testing.T) {
			s := openStore(t, Options{})
			rewrite(t, s, map[string]commit.Write{string(formatKey): {Value: c.value}})
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			_, err := Open(s.dir, Options{})
			if !errors.Is(err, c.want) {
				t.Fatalf("error is %v", err)
			}
			if name == "newer" && !strings.Contains(err.Error(), fmt.Sprintf("format %d", layout.FormatVersion+1)) {
				t.Errorf("the error does not name the version: %v", err)
			}
		})
	}
}

func TestOpenRefusesADatabaseWithoutAVersion(t *testing.T) {
	s := openStore(t, Options{})
	rewrite(t, s, map[string]commit.Write{string(formatKey): {Deleted: true}})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(s.dir, Options{}); !errors.Is(err, ErrFormat) {
		t.Fatalf("error is %v", err)
	}
}

// rewrite changes rows behind the committer's back.
func rewrite(tb testing.TB, s *Store, writes map[string]commit.Write) {
	tb.Helper()
	ts := s.source.Versions.Last() + 1
	if err := commit.WriteTo(s.source.DB, writes, ts); err != nil {
		tb.Fatal(err)
	}
	s.source.Versions.Publish(ts)
}

func TestNothingRunsAfterClose(t *testing.T) {
	s := openStore(t, Options{})
	id := put(t, s, node(nil, "x"), node(nil, "y"))[0].ID
	c, err := s.Chain(context.Background(), testNamespace, chainstore.Ref{ID: id}, nil)
	if err != nil {
		t.Fatal(err)
	}
	closed := make(chan error)
	err = c.Rows(context.Background(), []chainstore.Span{{}}, func(*chainstore.Row) error {
		go func() { closed <- s.Close() }()
		waitFor(t, s.source.Versions.IsShut)
		select {
		case err := <-closed:
			t.Errorf("closed under a read: %v", err)
		default:
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if err := s.Close(); !errors.Is(err, chainstore.ErrClosed) {
		t.Errorf("the second close: %v", err)
	}
}

// A disk without room for a log is told, not written through a memory map.
func TestOpenOnAFullDisk(t *testing.T) {
	_, err := Open(t.TempDir(), Options{MemtableBytes: 1 << 60})
	if !errors.Is(err, chainstore.ErrDiskFull) {
		t.Errorf("%v; want %v", err, chainstore.ErrDiskFull)
	}
}
