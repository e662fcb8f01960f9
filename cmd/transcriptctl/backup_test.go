package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"filippo.io/age"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore"
	"github.com/transcriptd/transcriptd/chainstore/memstore"
	"github.com/transcriptd/transcriptd/internal/archive"
	"github.com/transcriptd/transcriptd/internal/identity"
	"github.com/transcriptd/transcriptd/server"
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
	for _, files := range [][]string{ // the last name is that of the file that does not fit
		{"full", "two", "two"}, {"one", "full", "full"}, {"full", "full", "full"}, {"full", "two", "one", "two"}, {"full", "other", "other"}, {"bundle", "bundle"},
		{"full", "bundle", "bundle"},
	} {
		at := files[len(files)-1]
		files = files[:len(files)-1]
		var paths []string
		for _, f := range files {
			paths = append(paths, file(f))
		}
		for _, command := range [][]string{{"backup", "verify"}, {"restore"}} {
			if r := empty.run(append(command, paths...)...); r.code != exitUsage || !strings.HasPrefix(r.notes, "transcriptctl: "+file(at)+": ") {
				t.Errorf("%v %v: exit code %d, %s", command, files, r.code, r.notes)
			}
		}
	}
	if r := empty.run("backup", "verify", file("full"), file("two")); !strings.Contains(r.notes, "is one left out") || !strings.Contains(r.notes, file("full")) {
		t.Errorf("one that is left out: %s", r.notes)
	}
	if r := empty.run("backup", "verify", file("bundle")); !strings.Contains(r.notes, "a bundle, and no backup") {
		t.Errorf("a bundle: %s", r.notes)
	}
	if r := s.run("backup", "create", ""); r.code != exitUsage || !strings.Contains(r.notes, "FILE must not be empty") {
		t.Errorf("without a name: exit code %d, %s", r.code, r.notes)
	}
	if err := os.WriteFile(file("empty"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := empty.run("backup", "verify", file("empty")); r.code != exitDamaged {
		t.Errorf("an empty file: exit code %d, %s", r.code, r.notes)
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

// teams is a server with a namespace team beside default, and its backup.
func teams(t *testing.T) (s *stack, file string) {
	t.Helper()
	s, file = bundles(t), filepath.Join(t.TempDir(), "all")
	s.must("put", "--namespace", "team", "--text", "one", "--alias", "chat/one")
	s.must("backup", "create", file, "--all")
	return s, file
}

// TestRestoreMap: two namespaces never become one, and a name that is none is refused, before there is a store.
func TestRestoreMap(t *testing.T) {
	s, file := teams(t)
	store := filepath.Join(t.TempDir(), "store")
	for _, flags := range [][]string{
		{"--map", "default=x", "--map", "team=x"}, {"--map", "default=team"}, {"--map", "team=default", "--again"}, {"--map", "team="}, {"--map", "team=BAD!"},
		{"--map", "team=" + strings.Repeat("x", 65)}, {"--map", "default=x", "--namespace", "team"}, {"--map", "other=x", "--namespace", "team"}, {"--namespace", "other"},
	} {
		r := s.run(append([]string{"restore", file, "--store", "badger://" + store}, flags...)...)
		if r.code != exitUsage || !strings.Contains(r.notes, "--map") && !strings.Contains(r.notes, "they have default, team") {
			t.Errorf("%v: exit code %d, %s", flags, r.code, r.notes)
		}
		if _, err := os.Stat(store); !errors.Is(err, os.ErrNotExist) {
			t.Fatalf("%v: there is a store", flags)
		}
	}
	s.must("restore", file, "--map", "default=x", "--map", "team=y")
	swapped := newStack(t)
	swapped.must("restore", file, "--map", "default=team", "--map", "team=default")
	if out := swapped.must("alias", "list", "--namespace", "default", "-o", "json"); !strings.Contains(out, "chat/one") || strings.Contains(out, "trip/a") {
		t.Errorf("names that were exchanged: %s", out)
	}
}

// TestRestoreOneNamespace: --namespace and its environment restore that namespace alone, under its name or another one.
func TestRestoreOneNamespace(t *testing.T) {
	s, file := teams(t)
	names := func(s *stack) string { return strings.Join(strings.Fields(s.must("namespace", "list")), " ") }
	other := newStack(t)
	var told struct {
		NodesCreated, MadeAt, StoreID string
		Namespaces                    []string
	}
	if err := json.Unmarshal([]byte(other.must("restore", file, "--namespace", "team", "-o", "json")), &told); err != nil {
		t.Fatal(err)
	}
	if told.NodesCreated != "1" || len(told.Namespaces) != 1 || told.Namespaces[0] != "team" || told.MadeAt == "" {
		t.Errorf("restored: %+v", told)
	}
	if got := names(other); strings.Contains(got, "default") || !strings.Contains(got, "team") {
		t.Errorf("the store has %s", got)
	}
	want := s.shows("default")
	if out := s.must("restore", file, "--namespace", "team", "--map", "team=team-as-of-sunday"); !strings.Contains(out, "team as team-as-of-sunday") {
		t.Errorf("told: %s", out)
	}
	s.must("alias", "resolve", "chat/one", "--namespace", "team-as-of-sunday")
	if got := s.shows("default"); got != want {
		t.Error("the other namespace is another one")
	}
	s.must("alias", "delete", "chat/one", "--namespace", "team")
	trip := file + ".bundle"
	s.must("bundle", "create", trip, "chat/one", "--namespace", "team-as-of-sunday")
	s.must("bundle", "unbundle", trip, "--namespace", "team")
	s.must("alias", "resolve", "chat/one", "--namespace", "team")
	t.Setenv("TRANSCRIPTCTL_NAMESPACE", "team")
	third := newStack(t)
	third.must("restore", file)
	if got := names(third); strings.Contains(got, "default") {
		t.Errorf("by the environment, the store has %s", got)
	}
}

// TestDamagedRest: what stands before a damaged file is said to be whole only up to the cut one whose rest it is.
func TestDamagedRest(t *testing.T) {
	s, dir := bundles(t), t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	s.must("backup", "create", file("full"), "--all")
	text := strings.Repeat("0123456789abcdef", 62500)
	for i := range 40 { // more than a backup has before its first point
		s.must("put", "--text", strings.Repeat("x", i+1)+text, "--alias", "long")
	}
	s.must("backup", "create", file("more"), "--all", "--since", file("full"))
	whole, err := os.ReadFile(file("more"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file("part"), whole[:len(whole)-60], 0o600); err != nil {
		t.Fatal(err)
	}
	s.must("backup", "create", file("rest"), "--all", "--continue", file("part"))
	s.must("backup", "verify", file("full"), file("part"), file("rest"))
	damage := func(name string) {
		bytes, err := os.ReadFile(file(name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file(name), bytes[:len(bytes)-1], 0o600); err != nil {
			t.Fatal(err)
		}
	}
	damage("rest")
	r := s.run("backup", "verify", file("full"), file("part"), file("rest"))
	if r.code != exitDamaged || !strings.Contains(r.notes, "What stands before "+file("part")+" is whole") {
		t.Errorf("exit code %d, %s", r.code, r.notes)
	}
	s.must("backup", "verify", file("full"))
	damage("more")
	if r := s.run("restore", file("full"), file("more")); r.code != exitDamaged || !strings.Contains(r.notes, "What stands before "+file("more")+" is whole") {
		t.Errorf("exit code %d, %s", r.code, r.notes)
	}
}

// TestBackupTells: when each file was made, of which store and namespaces, and since which one; from standard input, too.
func TestBackupTells(t *testing.T) {
	s, full := teams(t)
	more := full + "2"
	s.must("backup", "create", more, "--all", "--since", full)
	type told struct {
		MadeAt, StoreID, Digest string
		Namespaces              []string
		Archives                []struct{ File, MadeAt, Since, Digest string }
	}
	var got, alone told
	if err := json.Unmarshal([]byte(s.must("backup", "verify", full, more, "-o", "json")), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.StoreID) != 32 || strings.Join(got.Namespaces, " ") != "default team" || len(got.Archives) != 2 || got.Archives[1].MadeAt != got.MadeAt {
		t.Fatalf("told: %+v", got)
	}
	if a := got.Archives; a[0].Since != "" || a[1].Since != a[0].Digest || a[1].Digest != got.Digest {
		t.Errorf("told: %+v", a)
	}
	if _, err := time.Parse(time.RFC3339, got.MadeAt); err != nil {
		t.Error(err)
	}
	out := s.must("backup", "verify", full, more)
	for _, want := range []string{"made", got.MadeAt, got.StoreID, "default, team", "everything", "what changed since " + got.Archives[0].Digest} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	if out := newStack(t).must("restore", full, more); !strings.Contains(out, got.MadeAt) || !strings.Contains(out, got.StoreID) {
		t.Errorf("restore tells %s", out)
	}
	whole, err := os.ReadFile(full)
	if err != nil {
		t.Fatal(err)
	}
	r := s.runWith(t.Context(), string(whole), "backup", "verify", "-", "-o", "json")
	if err := json.Unmarshal([]byte(r.out), &alone); err != nil || alone.Digest != got.Archives[0].Digest {
		t.Errorf("of standard input: %v, %+v, %s", err, alone, r.notes)
	}
	r = s.runWith(t.Context(), string(whole), "backup", "create", full+"3", "--all", "--since", "-")
	if r.code != exitOK {
		t.Errorf("since what stands on standard input: %s", r.notes)
	}
	s.must("backup", "verify", full, full+"3")
	for _, command := range [][]string{{"backup", "verify", full, "-"}, {"restore", "-"}} {
		if r := s.runWith(t.Context(), string(whole), command...); r.code != exitUsage || !strings.Contains(r.notes, "standard input") {
			t.Errorf("%v: exit code %d, %s", command, r.code, r.notes)
		}
	}
}

// TestBackupNamesFlags: refusals of the server name flags, and what to do.
func TestBackupNamesFlags(t *testing.T) {
	s, all := teams(t)
	dir := t.TempDir()
	file, one := filepath.Join(dir, "none"), filepath.Join(dir, "one")
	s.must("backup", "create", one, "--namespace", "team")
	sealed := serveStore(t, encryptedStore(t))
	sealed.must("put", "--text", "one", "--alias", "a")
	for _, c := range []struct {
		s     *stack
		flags []string
		want  []string
	}{
		{s, []string{"--since", all}, []string{"--since " + all, "default, team", "give --all"}},
		{s, []string{"--since", one, "--all"}, []string{"--since " + one, "team alone", "leave out --all"}},
		{newStack(t), []string{"--since", all, "--all"}, []string{"--since " + all, "full backup"}},
		{sealed, []string{"--all"}, []string{"--recipient", "--plain"}},
	} {
		r := c.s.run(append([]string{"backup", "create", file}, c.flags...)...)
		for _, want := range c.want {
			if r.code != exitUsage || !strings.Contains(r.notes, want) || strings.Contains(r.notes, "_cursor") || strings.Contains(r.notes, "plain:") {
				t.Errorf("%v: exit code %d, without %q: %s", c.flags, r.code, want, r.notes)
			}
		}
	}
}

// encryptedStore is an encrypted store in a folder of its own.
func encryptedStore(t *testing.T) chainstore.Store {
	t.Helper()
	store, err := badgerstore.Open(filepath.Join(t.TempDir(), "store"), badgerstore.Options{EncryptionKey: bytes.Repeat([]byte{7}, 32)})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// TestBackupSinceSealed: what goes on from an encrypted backup is encrypted, unless it is said.
func TestBackupSinceSealed(t *testing.T) {
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
	since := []string{"backup", "create", file + "2", "--all", "--since", file, "--identity", identity}
	if r := s.run(since...); r.code != exitUsage || !strings.Contains(r.notes, "--recipient") || !strings.Contains(r.notes, "--plain") {
		t.Errorf("exit code %d, %s", r.code, r.notes)
	}
	if there, _ := filepath.Glob(file + "2*"); len(there) > 0 {
		t.Errorf("%v are there", there)
	}
	s.must(append(since, "--plain")...)
	s.must("backup", "verify", file, file+"2", "--identity", identity)
	r := s.run("restore", file, "--identity", identity, "--store", "badger://"+filepath.Join(dir, "store"))
	if r.code != exitOK || !strings.Contains(r.notes, "--encryption-key-file") {
		t.Errorf("into a store that is not encrypted: exit code %d, %s", r.code, r.notes)
	}
}

// TestRestoreNeedsRead: a caller who cannot see what a namespace has is refused before anything is put.
func TestRestoreNeedsRead(t *testing.T) {
	_, file := teams(t)
	at := filepath.Join(t.TempDir(), "principals.json")
	tokens, hashes := map[string]string{}, []any{}
	for _, name := range []string{"blind", "part", "all", "team"} {
		token := identity.NewToken()
		tokens[name], hashes = token, append(hashes, identity.HashToken(token))
	}
	text := fmt.Sprintf(`{"principals": [
		{"name": "blind", "grants": [{"roles": ["append", "admin"], "namespaces": "*"}], "tokens": [{"id": "a", "sha256": "%x"}]},
		{"name": "part", "grants": [{"roles": ["append", "admin"], "namespaces": "*"}, {"roles": ["read"], "namespaces": "default"}], "tokens": [{"id": "b", "sha256": "%x"}]},
		{"name": "all", "grants": [{"roles": ["read", "append", "admin"], "namespaces": "*"}], "tokens": [{"id": "c", "sha256": "%x"}]},
		{"name": "team", "grants": [{"roles": ["read", "append", "admin"], "namespaces": "team*"}], "tokens": [{"id": "d", "sha256": "%x"}]}]}`, hashes...)
	if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	callers, err := identity.Open(at, identity.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = callers.Close() })
	guarded := serveAs(t, memstore.New(memstore.Options{}), server.Config{Version: "test", Authenticator: callers})
	as := func(name string, flags ...string) result {
		t.Setenv(tokenVariable, tokens[name])
		return guarded.run(append([]string{"restore", file}, flags...)...)
	}
	for _, token := range []string{"blind", "part"} {
		if r := as(token); r.code != exitDenied || !strings.Contains(r.notes, "for restore, read, append and admin") || !strings.Contains(r.notes, "for backup create, backup") {
			t.Errorf("%s: exit code %d, %s", token, r.code, r.notes)
		}
	}
	if r := as("team", "--namespace", "team", "--map", "team=team-as-of-sunday"); r.code != exitOK {
		t.Errorf("one namespace: exit code %d, %s", r.code, r.notes)
	}
	if r := as("team", "--map", "team=team2", "--map", "default=other"); r.code != exitDenied {
		t.Errorf("beside the namespaces that it may read: exit code %d, %s", r.code, r.notes)
	}
	guarded = serveAs(t, memstore.New(memstore.Options{}), server.Config{Version: "test", Authenticator: callers})
	if r := as("all"); r.code != exitOK || !strings.Contains(r.out, " 0 there already") {
		t.Errorf("exit code %d, %s%s", r.code, r.out, r.notes)
	}
}

// TestRestoreAgainIsNotProposed: over a store that a restore of the files cannot have made.
func TestRestoreAgainIsNotProposed(t *testing.T) {
	_, file := teams(t)
	gone := newStack(t)
	gone.must("restore", file)
	if r := gone.run("restore", file); r.code != exitUsage || !strings.Contains(r.notes, "--again") {
		t.Errorf("restored before: exit code %d, %s", r.code, r.notes)
	}
	gone.must("put", "--text", "live", "--parent", "trip/a", "--alias", "trip/a")
	live := newStack(t)
	live.must("put", "--text", "live", "--alias", "mine")
	beside := newStack(t)
	beside.must("put", "--text", "live", "--namespace", "elsewhere")
	for what, s := range map[string]*stack{"gone on": gone, "of its own": live, "another namespace": beside} {
		if r := s.run("restore", file); r.code != exitUsage || strings.Contains(r.notes, "--again") || !strings.Contains(r.notes, "--map") {
			t.Errorf("%s: exit code %d, %s", what, r.code, r.notes)
		}
	}
	if r := gone.run("restore", file, "--map", "default=default", "--map", "team=x"); r.code != exitUsage || strings.Contains(r.notes, "--again") {
		t.Errorf("mapped to one that went on: exit code %d, %s", r.code, r.notes)
	}
}

// TestRestoreConverts: a store that is not encrypted becomes one that is by a backup and a restore, and the other way round.
func TestRestoreConverts(t *testing.T) {
	s, file := teams(t)
	dir, key := t.TempDir(), bytes.Repeat([]byte{7}, 32)
	keyFile, sealed, open := filepath.Join(dir, "key"), filepath.Join(dir, "sealed"), filepath.Join(dir, "open")
	if err := os.WriteFile(keyFile, fmt.Appendf(nil, "%x\n", key), 0o600); err != nil {
		t.Fatal(err)
	}
	served := func(path string, key []byte) *stack {
		store, err := badgerstore.Open(path, badgerstore.Options{EncryptionKey: key})
		if err != nil {
			t.Fatal(err)
		}
		if store.Info().Encrypted != (key != nil) {
			t.Errorf("%s: encrypted is %t", path, store.Info().Encrypted)
		}
		return serveStore(t, store)
	}
	s.must("restore", file, "--store", "badger://"+sealed, "--encryption-key-file", keyFile)
	other := served(sealed, key)
	if got, want := other.shows("default"), s.shows("default"); got != want {
		t.Errorf("encrypted it is\n%s\nand was\n%s", got, want)
	}
	other.must("backup", "create", file+"2", "--all", "--plain")
	s.must("restore", file+"2", "--store", "badger://"+open)
	if got, want := served(open, nil).shows("default"), other.shows("default"); got != want {
		t.Errorf("not encrypted it is\n%s\nand was\n%s", got, want)
	}
}

// TestRestoreInParts: a folder that is made is PATH.part until the restore is complete; another restore does not go on with it by itself, and
// --again does only where all that is there is of the same files.
func TestRestoreInParts(t *testing.T) {
	s, dir := bundles(t), t.TempDir()
	file, path := filepath.Join(dir, "full"), filepath.Join(dir, "store")
	s.must("backup", "create", file, "--all")
	nowhere := &stack{tb: t, addr: "127.0.0.1:1"}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r := nowhere.runWith(ctx, "", "restore", file, "--store", "badger://"+path); r.code == exitOK {
		t.Fatal("a restore that is cancelled ends well")
	}
	if err := os.MkdirAll(path+".part", 0o700); err != nil { // as a kill leaves it
		t.Fatal(err)
	}
	if r := nowhere.run("restore", file, "--store", "badger://"+path); r.code != exitUsage || !strings.Contains(r.notes, "--again") {
		t.Errorf("over what was cut: exit code %d, %s", r.code, r.notes)
	}
	nowhere.must("restore", file, "--store", "badger://"+path, "--again")
	if _, err := os.Stat(path + ".part"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the part is there yet: %v", err)
	}
	nowhere.must("restore", file, "--store", "badger://"+path, "--again")

	other := newStack(t)
	other.must("restore", file)
	other.must("put", "--text", "by somebody else", "--alias", "of/somebody")
	if r := other.run("restore", file, "--again"); r.code != exitUsage || !strings.Contains(r.notes, "--map") {
		t.Errorf("--again over what is not of the files: exit code %d, %s", r.code, r.notes)
	}
}
