package archive_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/archive"
)

// What waits in a spool comes back in its order; its file does not show it, and goes with it.
func TestSpool(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	for _, names := range []int{0, 3, 300_000} {
		spools(t, dir, names)
	}
}

// spools keeps so many records.
func spools(t *testing.T, dir string, names int) {
	t.Helper()
	var s archive.Spool
	name := func(i int) string { return strings.Repeat("secret-name", 1+i%3) }
	for i := range names {
		if err := s.Write(&transcriptv1.ArchiveRecord{Record: &transcriptv1.ArchiveRecord_Alias{Alias: &transcriptv1.ArchiveAlias{Name: name(i), Revision: int64(i)}}}); err != nil {
			t.Fatal(err)
		}
	}
	seen := 0
	if err := s.Records(func(r *transcriptv1.ArchiveRecord) error {
		if a := r.GetAlias(); a.GetName() != name(seen) || a.GetRevision() != int64(seen) {
			t.Fatalf("record %d is %v", seen, a)
		}
		seen++
		return nil
	}); err != nil || seen != names {
		t.Fatalf("%d records, %v", seen, err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || names < 1000 && len(files) != 0 || names > 1000 && len(files) != 1 {
		t.Fatalf("%d records: the folder has %v, %v", names, files, err)
	}
	if len(files) == 0 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		return
	}
	if b, err := os.ReadFile(files[0]); err != nil || strings.Contains(string(b), "secret-name") || len(b) < names {
		t.Errorf("the file has %d bytes, which show what was written, %v", len(b), err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(files[0]); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is there behind Close: %v", err)
	}
}
