package main

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"filippo.io/age"

	"github.com/transcriptd/transcriptd/canonical"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// bundles is a stack with a chain that was compacted and went on, and a fork of it; the aliases are trip/a and trip/b.
func bundles(t *testing.T) *stack {
	t.Helper()
	s := newStack(t)
	long := strings.Repeat("a long answer ", 50)
	s.must("put", "--text", "root", "--alias", "trip/a", "--metadata", "source=test")
	for _, put := range []string{"assistant " + long, "user two", "assistant " + long, "user three", "assistant done"} {
		role, text, _ := strings.Cut(put, " ")
		s.must("put", "--role", role, "--text", text, "--parent", "trip/a", "--alias", "trip/a")
	}
	s.must("alias", "set", "trip/b", "trip/a")
	s.must("compact", "trip/a", "--keep-whole-run-loops", "1")
	s.must("put", "--text", "four", "--parent", "trip/a", "--alias", "trip/a")
	s.must("put", "--text", "another", "--parent", "trip/b", "--alias", "trip/b")
	return s
}

// idOfAlias is the node that an alias points to.
func (s *stack) idOfAlias(alias string) string {
	s.tb.Helper()
	var reply struct{ Alias struct{ NodeID string } }
	if err := json.Unmarshal([]byte(s.must("alias", "resolve", alias, "-o", "json")), &reply); err != nil {
		s.tb.Fatal(err)
	}
	return reply.Alias.NodeID
}

// told is what create or verify tell.
func told(t *testing.T, out string) (b toldBundle) {
	t.Helper()
	if err := json.Unmarshal([]byte(out), &b); err != nil {
		t.Fatal(err)
	}
	return b
}

// TestBundle: what create tells, verify tells, who asks no server; a node is there once, above it its parent and what it covers.
func TestBundle(t *testing.T) {
	s := bundles(t)
	file := filepath.Join(t.TempDir(), "trip.bundle")
	a, b := s.idOfAlias("trip/a"), s.idOfAlias("trip/b")
	made := told(t, s.must("bundle", "create", file, "--prefix", "trip/", "trip/a", "-o", "json"))
	nowhere := &stack{tb: t, addr: "127.0.0.1:1"}
	seen := told(t, nowhere.must("bundle", "verify", file, "--head", a, "--head", b, "-o", "json"))
	heads := []string{a, b}
	if seen.Digest != made.Digest || seen.Nodes != 9 || made.Nodes != 9 || len(seen.Aliases) != 2 || !slices.Equal(seen.Aliases, made.Aliases) || !slices.Equal(seen.Heads, heads) || !slices.Equal(made.Heads, heads) {
		t.Errorf("made %+v, seen %+v", made, seen)
	}
	compactions, noted := 0, 0
	in, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }()
	_, err = (&session{notes: io.Discard}).readArchive(t.Context(), in, file, nil, func(r *transcriptv1.ArchiveRecord, n *canonical.Stored) error {
		if n != nil && n.Envelope.CoversThrough != nil {
			compactions++
			if len(r.GetNode().GetCopies().GetCopiedFrom()) != len(n.Facts) {
				t.Error("it is not told where the messages of a compaction come from")
			}
		}
		if n != nil && len(n.Metadata) > 0 {
			noted++
		}
		return nil
	})
	if err != nil || compactions != 1 || noted != 1 {
		t.Errorf("%d compactions, %d nodes with metadata, %v", compactions, noted, err)
	}
	if r := nowhere.run("bundle", "verify", file, "--head", strings.Repeat("0", idDigits)); r.code != exitDamaged || !strings.Contains(r.notes, "is no head") {
		t.Errorf("another head: exit code %d, %s", r.code, r.notes)
	}
	if r := nowhere.run("bundle", "verify", file, "--head", a[:8]); r.code != exitUsage {
		t.Errorf("a part of an id: exit code %d, %s", r.code, r.notes)
	}
}

// TestThinBundle: what the receiver has is left out, also where the bundle has a compaction that covers it.
func TestThinBundle(t *testing.T) {
	s := bundles(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "thin.bundle")
	b := s.idOfAlias("trip/b")
	whole := told(t, s.must("bundle", "create", filepath.Join(dir, "whole.bundle"), "trip/a", "-o", "json"))
	thin := told(t, s.must("bundle", "create", filepath.Join(dir, "other.bundle"), "trip/a", "--known", "trip/b", "-o", "json"))
	if whole.Nodes != 8 || thin.Nodes != 8 || !slices.Equal(thin.Known, []string{b}) {
		t.Errorf("%d nodes, and %d without a node that is not above: %v", whole.Nodes, thin.Nodes, thin.Known)
	}
	var fork struct {
		Info struct{ Envelope struct{ ParentID string } }
	}
	if err := json.Unmarshal([]byte(s.must("show", "trip/b", "-o", "json")), &fork); err != nil {
		t.Fatal(err)
	}
	thin = told(t, s.must("bundle", "create", file, "trip/a", "--known", fork.Info.Envelope.ParentID, "-o", "json"))
	seen := told(t, s.must("bundle", "verify", file, "-o", "json"))
	if thin.Nodes != 2 || seen.Nodes != 2 || !slices.Equal(seen.Known, []string{fork.Info.Envelope.ParentID}) {
		t.Errorf("%d nodes behind the fork, read %d: %v", thin.Nodes, seen.Nodes, seen.Known)
	}
}

// TestSealedBundle: a bundle for a recipient of age is read with its key alone, and by age itself.
func TestSealedBundle(t *testing.T) {
	s := bundles(t)
	dir := t.TempDir()
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	keyFile, file := filepath.Join(dir, "key"), filepath.Join(dir, "sealed.bundle")
	if err := os.WriteFile(keyFile, []byte("# a key\n"+key.String()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	made := told(t, s.must("bundle", "create", file, "trip/a", "--recipient", key.Recipient().String(), "-o", "json"))
	if seen := told(t, s.must("bundle", "verify", file, "--identity", keyFile, "-o", "json")); seen.Digest != made.Digest {
		t.Errorf("made %+v, seen %+v", made, seen)
	}
	if r := s.run("bundle", "verify", file); r.code != exitUsage || !strings.Contains(r.notes, "--identity") {
		t.Errorf("without a key: exit code %d, %s", r.code, r.notes)
	}
	if r := s.run("bundle", "create", file, "trip/a", "--recipient", "somebody"); r.code != exitUsage {
		t.Errorf("a recipient that is none: exit code %d, %s", r.code, r.notes)
	}
	if r := s.run("bundle", "verify", file, "--identity", file); r.code != exitUsage || strings.Contains(r.notes, key.String()) {
		t.Errorf("a key file that is none: exit code %d, %s", r.code, r.notes)
	}
	if _, err := exec.LookPath("age"); err == nil {
		if out, err := exec.Command("age", "-d", "-i", keyFile, file).Output(); err != nil || !strings.Contains(string(out), "transcriptd archive 1") {
			t.Errorf("age reads %d bytes, %v", len(out), err)
		}
	}
}

// TestBundleMistakes: each is told, and no file is left.
func TestBundleMistakes(t *testing.T) {
	s := bundles(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "x.bundle")
	for args, c := range map[string]struct {
		code int
		says string
	}{
		"create FILE":                       {exitUsage, "name the chains"},
		"create FILE nobody":                {exitNotFound, "no alias"},
		"create FILE --prefix nobody/":      {exitUsage, "no alias begins with nobody/"},
		"create FILE trip/a --known nobody": {exitNotFound, "no alias"},
		"create nowhere/x.bundle trip/a":    {exitUsage, "no such file"},
		"verify FILE":                       {exitUsage, "no such file"},
		"verify testdata/agent.jsonl":       {exitUsage, "no archive of transcriptd"},
		"verify FILE --identity FILE":       {exitUsage, "no such file"},
	} {
		r := s.run(append([]string{"bundle"}, strings.Fields(strings.ReplaceAll(args, "FILE", file))...)...)
		if r.code != c.code || !strings.Contains(r.notes, c.says) {
			t.Errorf("%s: exit code %d, %s", args, r.code, r.notes)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Fatalf("%s leaves %v, %v", args, left, err)
		}
	}
	s.must("bundle", "create", file, "trip/a")
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for what, data := range map[string][]byte{"cut": whole[:len(whole)-9], "changed": append(slices.Clone(whole[:len(whole)-9]), "123456789"...)} {
		if r := s.runWith(t.Context(), string(data), "bundle", "verify", "-"); r.code != exitDamaged || !strings.Contains(r.notes, "block ") {
			t.Errorf("%s: exit code %d, %s", what, r.code, r.notes)
		}
	}
	if out := s.must("bundle", "create", "-", "trip/a"); s.runWith(t.Context(), out, "bundle", "verify", "-").code != exitOK {
		t.Error("a bundle on standard output is not one")
	}
}

// TestUnbundle: in another store chains, views and aliases are as they were; again nothing more is put; a bundle that goes on moves aliases only where that is
// asked for, and never those that went elsewhere.
func TestUnbundle(t *testing.T) {
	s, there := bundles(t), newStack(t)
	file := filepath.Join(t.TempDir(), "trip.bundle")
	s.must("bundle", "create", file, "--prefix", "trip/")
	for again, want := range []string{`"nodesCreated":"9","nodesThere":"0"`, `"nodesCreated":"0","nodesThere":"9"`} {
		if out := there.must("bundle", "unbundle", file, "-o", "json"); !strings.Contains(out, want) || strings.Count(out, `"fate":"set"`) != 2 {
			t.Errorf("time %d: %s", again, out)
		}
	}
	same := func(args ...string) {
		t.Helper()
		if a, b := s.must(args...), there.must(args...); a != b {
			t.Errorf("%v: here\n%s\nthere\n%s", args, a, b)
		}
	}
	for _, alias := range []string{"trip/a", "trip/b"} {
		same("log", alias, "-o", "json")
		same("assemble", alias, "--view", "full", "-o", "json")
		same("assemble", alias, "-o", "json")
		same("show", alias, "-o", "json")
	}
	if out := there.must("verify", "-o", "json"); !strings.Contains(out, `"nodesChecked":"9"`) || strings.Contains(out, "problemsFound") {
		t.Error(out)
	}
	s.must("put", "--text", "five", "--parent", "trip/a", "--alias", "trip/a")
	there.must("put", "--text", "elsewhere", "--parent", "trip/b", "--alias", "trip/b")
	s.must("put", "--text", "six", "--parent", "trip/b", "--alias", "trip/b")
	file = filepath.Join(t.TempDir(), "more.bundle")
	s.must("bundle", "create", file, "--prefix", "trip/")
	for _, c := range []struct{ flag, a, b string }{{"", "elsewhere", "elsewhere"}, {"--fast-forward", "moved", "elsewhere"}, {"--fast-forward", "set", "elsewhere"}} {
		r := there.run(strings.Fields("bundle unbundle " + file + " " + c.flag)...)
		if r.code != exitConflict || !strings.Contains(r.out, "trip/a "+c.a) || !strings.Contains(r.out, "trip/b "+c.b) {
			t.Errorf("%s: exit code %d, %s%s", c.flag, r.code, r.out, r.notes)
		}
	}
	same("log", "trip/a", "-o", "json")
	if out := there.must("bundle", "unbundle", file, "--prefix", "from/"); !strings.Contains(out, "from/trip/b set") {
		t.Error(out)
	}
	if out := there.must("bundle", "unbundle", file, "--no-aliases"); strings.Contains(out, "trip/") {
		t.Error(out)
	}
}

// TestUnbundleThin: a thin bundle goes on from what is there, and is refused where that is not there.
func TestUnbundleThin(t *testing.T) {
	s, there := bundles(t), newStack(t)
	thin := s.must("bundle", "create", "-", "trip/a", "--known", s.idOfAlias("trip/b"))
	whole := s.must("bundle", "create", "-", "trip/b")
	s.must("put", "--text", "five", "--parent", "trip/b", "--alias", "trip/b")
	more := s.must("bundle", "create", "-", "trip/b", "--known", s.parentOfAlias("trip/b"))
	if r := there.runWith(t.Context(), more, "bundle", "unbundle", "-"); r.code != exitNotFound {
		t.Errorf("without what it goes on from: exit code %d, %s", r.code, r.notes)
	}
	for _, bundle := range []string{whole, more, thin} {
		if r := there.runWith(t.Context(), bundle, "bundle", "unbundle", "-", "--fast-forward"); r.code != exitOK {
			t.Errorf("exit code %d, %s", r.code, r.notes)
		}
	}
	if a, b := s.must("log", "trip/b", "-o", "json"), there.must("log", "trip/b", "-o", "json"); a != b {
		t.Errorf("here\n%s\nthere\n%s", a, b)
	}
}

// TestUnbundleDamaged: of a bundle that is cut or changed nothing is put.
func TestUnbundleDamaged(t *testing.T) {
	s, there := bundles(t), newStack(t)
	whole := s.must("bundle", "create", "-", "--prefix", "trip/")
	for i := range 100 {
		at := i * (len(whole) - 1) / 100
		for what, data := range map[string]string{"cut": whole[:at], "changed": whole[:at] + string(whole[at]^1) + whole[at+1:]} {
			r := there.runWith(t.Context(), data, "bundle", "unbundle", "-")
			if r.code != exitDamaged && r.code != exitUsage {
				t.Fatalf("%s at %d of %d: exit code %d, %s", what, at, len(whole), r.code, r.notes)
			}
		}
	}
	if out := there.must("stats", "-o", "json"); strings.Contains(out, "nodes") {
		t.Errorf("nodes were put: %s", out)
	}
}

// parentOfAlias is the parent of the node that an alias points to.
func (s *stack) parentOfAlias(alias string) string {
	s.tb.Helper()
	var n struct {
		Info struct{ Envelope struct{ ParentID string } }
	}
	if err := json.Unmarshal([]byte(s.must("show", alias, "-o", "json")), &n); err != nil {
		s.tb.Fatal(err)
	}
	return n.Info.Envelope.ParentID
}

// goldenBundle is a bundle of an earlier version, and what is in it. A reader in Python reads it, too. It is never made anew: what was written once is read by
// every later version.
const goldenBundle = "../../proto/testdata/trip.bundle"

// TestGoldenBundle: a bundle that an earlier version made is read and unbundled, and has what it had.
func TestGoldenBundle(t *testing.T) {
	if _, err := os.Stat(goldenBundle); errors.Is(err, os.ErrNotExist) && os.Getenv("UPDATE_GOLDEN") != "" {
		s := bundles(t)
		s.must("bundle", "create", goldenBundle, "--prefix", "trip/")
		if err := os.WriteFile(goldenBundle+".json", []byte(readGolden(t)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(goldenBundle + ".json")
	if err != nil {
		t.Fatal(err)
	}
	if got := readGolden(t); got != string(want) {
		t.Errorf("it has\n%s\nand had\n%s", got, want)
	}
	s := newStack(t)
	s.must("bundle", "unbundle", goldenBundle)
	if out := s.must("verify"); !strings.Contains(out, "0 problems") {
		t.Error(out)
	}
}

// readGolden is what is in the bundle, as JSON: what verify tells, and the ids of the nodes in order.
func readGolden(t *testing.T) string {
	t.Helper()
	s := newStack(t)
	in, err := os.Open(goldenBundle)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }()
	ids := []string{}
	_, err = (&session{notes: io.Discard}).readArchive(t.Context(), in, goldenBundle, nil, func(_ *transcriptv1.ArchiveRecord, n *canonical.Stored) error {
		if n != nil {
			ids = append(ids, hex.EncodeToString(n.ID[:]))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	out, err := json.MarshalIndent(struct {
		Bundle toldBundle `json:"bundle"`
		IDs    []string   `json:"nodeIds"`
	}{told(t, s.must("bundle", "verify", goldenBundle, "-o", "json")), ids}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(out) + "\n"
}

// TestSpoolLeavesNothing: what is copied of standard input has no name while it is read, where the system allows that, so that a kill leaves
// nothing, and is there until it is closed.
func TestSpoolLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	s := &session{in: strings.NewReader("a bundle")}
	f, _, err := s.openTwice(t.Context(), "-")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		got, err := io.ReadAll(f)
		if err != nil || string(got) != "a bundle" {
			t.Errorf("%q, %v", got, err)
		}
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			t.Error(err)
		}
	}
	left := func() int {
		there, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		return len(there)
	}
	if n := left(); n > 0 && runtime.GOOS != "windows" {
		t.Errorf("%d files have a name", n)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if n := left(); n > 0 {
		t.Errorf("%d files stay", n)
	}
}
