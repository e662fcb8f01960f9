package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"filippo.io/age"
)

// TestArchiveWithoutAReader: an archive on standard output that nobody reads to its end is a failure, unlike a listing.
func TestArchiveWithoutAReader(t *testing.T) {
	s := bundles(t)
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"backup", "create", "-", "--all"}, {"backup", "create", "-", "--all", "--recipient", key.Recipient().String()},
		{"bundle", "create", "-", "trip/a"}, {"bundle", "create", "-", "trip/a", "--recipient", key.Recipient().String()},
	} {
		c := s.process(args...)
		var notes bytes.Buffer
		c.Stderr = &notes
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		c.Stdout = w
		if err := errors.Join(r.Close(), c.Start(), w.Close()); err != nil {
			t.Fatal(err)
		}
		_ = c.Wait()
		if said := notes.String(); c.ProcessState.ExitCode() != exitFailed || strings.Count(said, "was not written whole") != 1 {
			t.Errorf("%v: exit code %d, %s", args, c.ProcessState.ExitCode(), said)
		}
	}
}

// TestBundleFile: a bundle is its owner's alone, is not written over what is there, and leaves nothing where it fails.
func TestBundleFile(t *testing.T) {
	s, dir := bundles(t), t.TempDir()
	file := filepath.Join(dir, "a.bundle")
	s.must("bundle", "create", file, "trip/a")
	if info, err := os.Stat(file); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("its mode is %v, %v", info.Mode(), err)
	}
	made, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if r := s.run("bundle", "create", file, "trip/b"); r.code != exitUsage || !strings.Contains(r.notes, "is there already: a bundle is not written over") {
		t.Errorf("over a file: exit code %d, %s", r.code, r.notes)
	}
	if now, err := os.ReadFile(file); err != nil || !bytes.Equal(now, made) {
		t.Errorf("it was changed, %v", err)
	}
	other := filepath.Join(dir, "b.bundle")
	if err := os.WriteFile(other+partEnding, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := s.run("bundle", "create", other, "trip/b"); r.code != exitUsage || !strings.Contains(r.notes, "remove it") {
		t.Errorf("over a part: exit code %d, %s", r.code, r.notes)
	}
	if err := os.Remove(other + partEnding); err != nil {
		t.Fatal(err)
	}
	if r := s.run("bundle", "create", "", "trip/b"); r.code != exitUsage {
		t.Errorf("without a name: exit code %d, %s", r.code, r.notes)
	}
	f, err := newPartFile(other, "bundle", "a bundle")
	if err != nil {
		t.Fatal(err)
	}
	if err := f.end(false); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(other + "*"); len(left) > 0 {
		t.Errorf("%v stay", left)
	}
}
