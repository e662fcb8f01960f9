package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/age"

	"github.com/transcriptd/transcriptd/internal/archive"
)

// shows is what a namespace shows: aliases with revisions and histories, and the views of chains.
func (s *stack) shows(namespace string) string {
	s.tb.Helper()
	out := s.must("alias", "list", "--namespace", namespace, "-o", "json") + s.must("stats", "--namespace", namespace, "-o", "json")
	for _, alias := range []string{"trip/a", "trip/b"} {
		for _, command := range [][]string{{"alias", "history", alias}, {"assemble", alias}, {"log", alias}} {
			out += s.must(append(command, "--namespace", namespace, "-o", "json")...)
		}
	}
	return out
}

// TestBackup: a full one and what changed since restore what the server has, through another server, under another name, and into a folder.
func TestBackup(t *testing.T) {
	s, dir := bundles(t), t.TempDir()
	full, more := filepath.Join(dir, "full"), filepath.Join(dir, "more")
	s.must("backup", "create", full, "--all")
	s.must("put", "--text", "five", "--parent", "trip/a", "--alias", "trip/a")
	s.must("alias", "set", "gone", "trip/b")
	s.must("alias", "delete", "gone")
	var made struct{ Digest, Nodes, AliasChanges string }
	if err := json.Unmarshal([]byte(s.must("backup", "create", more, "--all", "--since", full, "-o", "json")), &made); err != nil || made.Nodes != "1" || made.AliasChanges != "2" {
		t.Errorf("since: %+v, %v", made, err)
	}
	want := s.shows("default")
	if out := s.must("backup", "verify", full, more, "-o", "json"); !strings.Contains(out, made.Digest) {
		t.Errorf("verify tells %s, not %s", out, made.Digest)
	}
	other := newStack(t)
	other.must("restore", full, more)
	if got := other.shows("default"); got != want {
		t.Errorf("restored is\n%s\nand was\n%s", got, want)
	}
	if r := other.run("restore", full, more); r.code != exitUsage || !strings.Contains(r.notes, "--map") || !strings.Contains(r.notes, "--again") {
		t.Errorf("over what is there: exit code %d, %s", r.code, r.notes)
	}
	other.must("restore", full, more, "--again")
	if r := other.run("restore", full, "--map", "default=default"); r.code != exitUsage {
		t.Errorf("mapped to what is there: exit code %d, %s", r.code, r.notes)
	}
	if r := other.run("restore", full, "--map", "other=new"); r.code != exitUsage || !strings.Contains(r.notes, "no namespace of that name") {
		t.Errorf("a map of what is not there: exit code %d, %s", r.code, r.notes)
	}
	other.must("restore", full, more, "--map", "default=copy")
	if got := other.shows("copy"); got != want {
		t.Errorf("restored under another name is\n%s\nand was\n%s", got, want)
	}
	nowhere := &stack{tb: t, addr: "127.0.0.1:1"}
	store := "badger://" + filepath.Join(dir, "store")
	nowhere.must("restore", full, more, "--store", store)
	nowhere.must("restore", full, more, "--store", store, "--again")
	if r := nowhere.run("restore", full, "--store", "memory:"); r.code != exitUsage {
		t.Errorf("a store of another kind: exit code %d, %s", r.code, r.notes)
	}
}

// TestBackupOrder: files in another order, of another store, or without what they go on from, are refused by their names.
func TestBackupOrder(t *testing.T) {
	s, dir := bundles(t), t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	s.must("backup", "create", file("full"), "--all")
	s.must("put", "--text", "five", "--parent", "trip/a", "--alias", "trip/a")
	s.must("backup", "create", file("one"), "--all", "--since", file("full"))
	s.must("put", "--text", "six", "--parent", "trip/a", "--alias", "trip/a")
	s.must("backup", "create", file("two"), "--all", "--since", file("one"))
	other := bundles(t)
	other.must("backup", "create", file("other"), "--all")
	s.must("bundle", "create", file("bundle"), "trip/a")
	empty := newStack(t)
	for _, files := range [][]string{
		{"full", "two"}, {"one", "full"}, {"full", "full"}, {"full", "two", "one"}, {"full", "other"}, {"bundle"}, {"full", "bundle"},
	} {
		var paths []string
		for _, f := range files {
			paths = append(paths, file(f))
		}
		for _, command := range [][]string{{"backup", "verify"}, {"restore"}} {
			if r := empty.run(append(command, paths...)...); r.code != exitUsage || !strings.Contains(r.notes, file(files[0])) && !strings.Contains(r.notes, file(files[len(files)-1])) {
				t.Errorf("%v %v: exit code %d, %s", command, files, r.code, r.notes)
			}
		}
	}
	if r := empty.run("restore", file("one"), file("two")); r.code != exitUsage || !strings.Contains(r.notes, "name that one before it") {
		t.Errorf("without the full one: exit code %d, %s", r.code, r.notes)
	}
	for _, flags := range [][]string{
		{"--since", file("other"), "--all"}, {"--since", file("full")}, {"--since", file("bundle"), "--all"}, {"--continue", file("full"), "--all"},
		{"--rate", "-1"}, {"--recipient", "age1nobody"}, {"--all", "--namespace", "default"},
	} {
		if r := s.run(append([]string{"backup", "create", file("none")}, flags...)...); r.code != exitUsage {
			t.Errorf("%v: exit code %d, %s", flags, r.code, r.notes)
		}
	}
	if r := s.run("backup", "create", file("full")); r.code != exitUsage || !strings.Contains(r.notes, "is there already") {
		t.Errorf("over a file: exit code %d, %s", r.code, r.notes)
	}
	if left, _ := filepath.Glob(file("*.part")); len(left) > 0 {
		t.Errorf("%v stay", left)
	}
}

// TestSealedBackup: for a recipient alone; what is cut of it is told.
func TestSealedBackup(t *testing.T) {
	s, dir := bundles(t), t.TempDir()
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	identity, file := filepath.Join(dir, "key"), filepath.Join(dir, "sealed")
	if err := os.WriteFile(identity, []byte(key.String()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.must("backup", "create", file, "--all", "--recipient", key.Recipient().String())
	if r := s.run("backup", "verify", file); r.code != exitUsage || !strings.Contains(r.notes, "--identity") {
		t.Errorf("without the key: exit code %d, %s", r.code, r.notes)
	}
	s.must("backup", "verify", file, "--identity", identity)
	s.must("put", "--text", "five", "--parent", "trip/a", "--alias", "trip/a")
	s.must("backup", "create", file+"2", "--all", "--since", file, "--identity", identity, "--recipient", key.Recipient().String())
	other := newStack(t)
	other.must("restore", file, file+"2", "--identity", identity)
	if got, want := other.shows("default"), s.shows("default"); got != want {
		t.Errorf("restored is\n%s\nand was\n%s", got, want)
	}
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, whole[:len(whole)-20], 0o600); err != nil {
		t.Fatal(err)
	}
	if r := s.run("backup", "verify", file, "--identity", identity); r.code != exitDamaged {
		t.Errorf("cut: exit code %d, %s", r.code, r.notes)
	}
}

// TestBackupToStandardOutput: the archive, and nothing else.
func TestBackupToStandardOutput(t *testing.T) {
	s := bundles(t)
	r, err := archive.NewReader(bytes.NewReader([]byte(s.must("backup", "create", "-"))))
	for err == nil {
		_, err = r.Next()
	}
	if !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}
