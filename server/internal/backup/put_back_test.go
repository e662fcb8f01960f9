package backup_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/archive"
	"github.com/transcriptd/transcriptd/internal/testserver"
	"github.com/transcriptd/transcriptd/server/internal/backup"
)

// folder is a store on disk that is opened now and then.
type folder struct {
	*testing.T
	dir  string
	puts int
}

// open opens the store for a while.
func (f *folder) open(does func(s *badgerstore.Store)) {
	f.Helper()
	s := must(badgerstore.Open(f.dir, badgerstore.Options{}))
	defer func() { _ = s.Close() }()
	does(s)
}

func (f *folder) put(s *badgerstore.Store, n int) {
	f.Helper()
	rpc := transcriptv1.NewTranscriptServiceClient(testserver.Start(f, s))
	for range n {
		f.puts++
		text := fmt.Sprint(f.dir, f.puts)
		if _, err := rpc.PutNode(f.Context(), &transcriptv1.PutNodeRequest{
			Aliases:  []*transcriptv1.AliasUpdate{{Name: "chat/" + text}},
			Messages: []*transcriptv1.Message{{Role: transcriptv1.Role_ROLE_USER, Parts: []*transcriptv1.Part{{Kind: &transcriptv1.Part_Text{Text: text}}}}},
		}); err != nil {
			f.Fatal(err)
		}
	}
}

// copied is a copy of the folder, as it is.
func (f *folder) copied() *folder {
	f.Helper()
	to := filepath.Join(f.TempDir(), "copy")
	if err := os.CopyFS(to, os.DirFS(f.dir)); err != nil {
		f.Fatal(err)
	}
	return &folder{T: f.T, dir: to}
}

// since is a backup that goes on from an archive, or from its last point.
func since(t *testing.T, s chainstore.Store, data []byte, cut bool) ([]byte, error) {
	t.Helper()
	r := must(archive.NewReader(bytes.NewReader(data)))
	b := &backup.Backup{Store: s, PointBytes: 1}
	var err error
	for err == nil {
		var record *transcriptv1.ArchiveRecord
		if record, err = r.Next(); cut && record.GetPoint() != nil {
			b.Continue, b.ContinueDigest = record.GetPoint().GetCursor(), r.Digest()
		}
	}
	if !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	if cut && len(b.Continue) == 0 {
		t.Fatal("there is no point")
	}
	if !cut {
		b.Since, b.SinceDigest = r.Ended().GetCursor(), r.Digest()
	}
	var out bytes.Buffer
	_, _, err = b.Write(t.Context(), &out)
	return out.Bytes(), err
}

// TestPutBack: what goes on from an archive of a state that the store was put back behind is refused, also once the store has gone on, and whether it
// was opened, closed, or backed up before or since. What goes on from an archive of its own is taken, over any number of starts.
func TestPutBack(t *testing.T) {
	full := func(s *badgerstore.Store) (data []byte) {
		return writeTo(t, &backup.Backup{Store: onePage{s}, PointBytes: 1})
	}
	refused := func(what string, f *folder, data []byte, grows ...int) {
		t.Helper()
		for _, n := range grows { // a start each
			f.open(func(s *badgerstore.Store) { f.put(s, n) })
		}
		f.open(func(s *badgerstore.Store) {
			for _, cut := range []bool{false, true} {
				_, err := since(t, s, data, cut)
				var field *canonical.FieldError
				if !errors.As(err, &field) {
					t.Errorf("%s, grown by %v, cut %t: %v", what, grows, cut, err)
				}
			}
		})
	}
	f := &folder{T: t, dir: filepath.Join(t.TempDir(), "store")}
	f.open(func(s *badgerstore.Store) { f.put(s, 2) })
	never := f.copied() // was never backed up
	var first, later []byte
	f.open(func(s *badgerstore.Store) {
		f.put(s, 5)
		first = full(s)
	})
	closed := f.copied() // has all of the first
	var live, idle *folder
	f.open(func(s *badgerstore.Store) {
		f.put(s, 1)
		live = f.copied() // as a snapshot of the file system has it
		f.put(s, 5)
		later = full(s)
	})
	idle = f.copied()
	refused("a copy that was never backed up", never, first, 20)
	refused("a copy that was never backed up", never, later, 20)
	for _, grows := range [][]int{{20}, {20, 1, 20}, {0, 20}} {
		refused("a copy of before", closed.copied(), later, grows...)
		refused("a copy of a store at work", live.copied(), later, grows...)
	}
	for _, own := range []*folder{closed, live, idle, f} {
		for range starts { // starts
			own.open(func(s *badgerstore.Store) { own.put(s, 1) })
		}
		own.open(func(s *badgerstore.Store) {
			if data, err := since(t, s, first, false); err != nil || len(data) == 0 {
				t.Errorf("what goes on from its own: %v", err)
			}
		})
	}
}

// starts are fewer than a store knows eras.
const starts = 8

// writeless is a store to which nothing can be written, and forgetful one that knows no eras any more.
type (
	writeless struct {
		chainstore.Store
		err error
	}
	forgetful struct{ chainstore.Store }
)

func (s writeless) NoteEras(context.Context) error { return s.err }

func (s forgetful) Era(context.Context, chainstore.Point) (era chainstore.Era, err error) {
	return era, nil
}

// TestErasThatCannotBeNoted: what can be read is backed up, also where nothing can be written.
func TestErasThatCannotBeNoted(t *testing.T) {
	for _, store := range engines(t) {
		for _, err := range []error{chainstore.ErrDiskFull, chainstore.ErrTooManyFiles, chainstore.ErrFailed} {
			writeTo(t, &backup.Backup{Store: writeless{store, fmt.Errorf("of the disk: %w", err)}})
		}
		b := &backup.Backup{Store: writeless{store, chainstore.ErrClosed}}
		if _, _, err := b.Write(t.Context(), io.Discard); !errors.Is(err, chainstore.ErrClosed) {
			t.Errorf("error is %v", err)
		}
	}
}

// TestErasThatAreNotKnown: whose era is not known any more is not told that the store was put back.
func TestErasThatAreNotKnown(t *testing.T) {
	for name, store := range engines(t) {
		full := writeTo(t, &backup.Backup{Store: store})
		_, err := since(t, forgetful{store}, full, false)
		var field *canonical.FieldError
		if !errors.As(err, &field) || !strings.Contains(field.Error(), "opened too often since") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
