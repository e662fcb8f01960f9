package archive_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
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
	// A file has no name, where the system allows that, so that a kill leaves none; where it has one, it shows nothing.
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || names < 1000 && len(files) != 0 || len(files) > 1 || runtime.GOOS == "linux" && len(files) != 0 {
		t.Fatalf("%d records: the folder has %v, %v", names, files, err)
	}
	for _, file := range files {
		if b, err := os.ReadFile(file); err != nil || strings.Contains(string(b), "secret-name") {
			t.Errorf("the file has %d bytes, which show what was written, %v", len(b), err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("behind Close there is %v, %v", left, err)
	}
}

// TestSpoolShowsNothing: what is in the file shows nothing of what was written.
func TestSpoolShowsNothing(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("what an open file without a name has is read as Linux shows it")
	}
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	var s archive.Spool
	for range 300_000 {
		if err := s.Write(&transcriptv1.ArchiveRecord{Record: &transcriptv1.ArchiveRecord_Alias{Alias: &transcriptv1.ArchiveAlias{Name: "secret-name"}}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Records(func(*transcriptv1.ArchiveRecord) error { return nil }); err != nil {
		t.Fatal(err)
	}
	open, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, fd := range open {
		if to, err := os.Readlink(fd); err != nil || !strings.HasPrefix(to, dir) {
			continue
		}
		b, err := os.ReadFile(fd)
		if seen++; err != nil || strings.Contains(string(b), "secret-name") || len(b) < 300_000 {
			t.Errorf("the file has %d bytes, which show what was written, %v", len(b), err)
		}
	}
	if seen != 1 {
		t.Errorf("%d files are open", seen)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestSpoolWithoutAFolder: a folder that is not there is told as such.
func TestSpoolWithoutAFolder(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "none"))
	var s archive.Spool
	var err error
	for i := 0; err == nil && i < 300_000; i++ {
		err = s.Write(&transcriptv1.ArchiveRecord{Record: &transcriptv1.ArchiveRecord_Alias{Alias: &transcriptv1.ArchiveAlias{Name: strings.Repeat("n", 100)}}})
	}
	if !errors.Is(err, archive.ErrSpool) {
		t.Errorf("error is %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
