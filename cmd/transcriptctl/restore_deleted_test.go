package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/memstore"
)

// namespaces are the names of what the server has, in a line.
func (s *stack) namespaces() string {
	s.tb.Helper()
	return strings.Join(strings.Fields(s.must("namespace", "list", "-o", "json")), " ")
}

// sees is what a namespace shows of the alias chat.
func (s *stack) sees(namespace string) (out string) {
	s.tb.Helper()
	for _, command := range []string{"alias list", "alias history chat", "assemble chat", "log chat", "stats"} {
		out += s.must(append(strings.Fields(command), "--namespace", namespace, "-o", "json")...)
	}
	return out
}

// TestRestoreDeleted: a namespace that was deleted between two backups does not come back with both, and one that was begun anew has nothing of the
// one before, neither nodes nor aliases nor what was erased there.
func TestRestoreDeleted(t *testing.T) {
	s, dir := serveStore(t, memstore.New(memstore.Options{})), t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	put := func(namespace, text string) {
		t.Helper()
		s.must("put", "--namespace", namespace, "--text", text, "--alias", "chat")
	}
	for _, namespace := range []string{"anew", "gone", "stays"} {
		put(namespace, "hello")
		s.must("put", "--namespace", namespace, "--parent", "chat", "--text", "first life", "--alias", "chat")
	}
	s.must("alias", "set", "another", "chat", "--namespace", "anew")
	s.must("erase", "--namespace", "anew", "--alias-prefix", "another", "--yes", "--shared", "keep")
	s.must("namespace", "set", "gone", "--max-nodes", "100")
	s.must("backup", "create", file("full"), "--all")
	s.must("backup", "create", file("scoped"), "--namespace", "gone")
	for _, namespace := range []string{"anew", "gone"} {
		s.must("namespace", "delete", namespace, "--confirm", namespace)
	}
	put("anew", "hello")
	s.must("put", "--namespace", "anew", "--parent", "chat", "--text", "first life", "--alias", "chat")
	want := map[string]string{"anew": s.sees("anew"), "stays": s.sees("stays")}
	s.must("backup", "create", file("more"), "--all", "--since", file("full"))
	s.must("backup", "create", file("more-scoped"), "--namespace", "gone", "--since", file("scoped"))
	s.must("backup", "create", file("later"), "--all")
	put("gone", "third life")
	s.must("backup", "create", file("last"), "--all", "--since", file("more"))
	there := func(s *stack, gone bool) {
		t.Helper()
		for namespace, shown := range want {
			if got := s.sees(namespace); got != shown {
				t.Errorf("namespace %s is\n%s\nand was\n%s", namespace, got, shown)
			}
		}
		if got := s.namespaces(); strings.Contains(got, "gone") != gone {
			t.Errorf("the namespaces are %s", got)
		}
	}

	out := s.must("backup", "verify", file("full"), file("more"))
	if !strings.Contains(out, "anew, stays") || !strings.Contains(out, "namespaces that earlier files have: gone") {
		t.Errorf("verify tells %s", out)
	}
	other := newStack(t)
	r := other.run("restore", file("full"), file("more"), "-o", "json")
	var told struct{ NamespacesDeleted, Namespaces, NodesErased []string }
	if err := json.Unmarshal([]byte(r.out), &told); err != nil || strings.Join(told.NamespacesDeleted, " ") != "gone" ||
		strings.Join(told.Namespaces, " ") != "anew stays" || told.NodesErased != nil {
		t.Errorf("told: %+v, %v", told, err)
	}
	if !strings.Contains(r.notes, "deleted by the time of "+file("more")+", and not restored: gone") {
		t.Errorf("told: %s", r.notes)
	}
	there(other, false)
	other.must("restore", file("full"), file("more"), "--again")
	there(other, false)

	third := newStack(t)
	third.must("restore", file("full"), file("more"), file("last"))
	there(third, true)
	if got := third.sees("gone"); strings.Contains(got, "first life") || !strings.Contains(got, "third life") {
		t.Errorf("what was begun anew is %s", got)
	}
	if got := third.must("namespace", "set", "gone", "--ttl", "tmp/=24h", "-o", "json"); strings.Contains(got, "100") {
		t.Errorf("the settings of what was deleted are back: %s", got)
	}

	before := newStack(t)
	before.must("restore", file("full"))
	if got := before.namespaces(); !strings.Contains(got, "gone") {
		t.Errorf("the full one alone has %s", got)
	}
	erasures := newStack(t)
	if r := erasures.run("restore", file("full"), "--erasures", file("later")); r.code != exitOK || !strings.Contains(r.notes, "not restored: anew, gone") {
		t.Errorf("exit code %d, %s", r.code, r.notes)
	}
	if got := erasures.namespaces(); strings.Contains(got, "gone") || strings.Contains(got, "anew") || !strings.Contains(got, "stays") {
		t.Errorf("with the erasures of a later one: %s", got)
	}
	earlier := newStack(t)
	earlier.must("restore", file("later"), "--erasures", file("full")) // which has other namespaces of these names
	there(earlier, false)
	scoped := newStack(t)
	scoped.must("restore", file("full"), "--erasures", file("more-scoped"))
	if got := scoped.namespaces(); !strings.Contains(got, "gone") {
		t.Errorf("by a backup of one namespace others are not restored: %s", got)
	}

	nothing := newStack(t)
	if out := nothing.must("restore", file("scoped"), file("more-scoped")); !strings.Contains(out, "0 created") {
		t.Errorf("told: %s", out)
	}
	for _, args := range [][]string{
		{file("full"), file("more"), "--namespace", "gone"}, {file("full"), file("more"), "--map", "gone=then"},
		{file("full"), "--erasures", file("later"), "--namespace", "gone"},
	} {
		if r := nothing.run(append([]string{"restore"}, args...)...); r.code != exitUsage || !strings.Contains(r.notes, "namespace gone was deleted by the time of") {
			t.Errorf("%v: exit code %d, %s", args, r.code, r.notes)
		}
	}
	if got := nothing.must("namespace", "list"); strings.Contains(got, "gone") {
		t.Errorf("there is %s", got)
	}
}

// TestRestoreDeletedBehindACut: what a backup that was cut has of a namespace which was then deleted and begun anew is not restored with the rest.
func TestRestoreDeletedBehindACut(t *testing.T) {
	s, dir := newStack(t), t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	text := strings.Repeat("0123456789abcdef", 62500)
	for _, namespace := range []string{"a", "b", "c"} {
		for i := range 20 { // more than a backup has before its first point
			s.must("put", "--namespace", namespace, "--text", strings.Repeat("x", i+1)+text, "--alias", "chat")
		}
	}
	s.must("backup", "create", file("full"), "--all")
	whole, err := os.ReadFile(file("full"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file("part"), whole[:len(whole)-60], 0o600); err != nil {
		t.Fatal(err)
	}
	for _, namespace := range []string{"a", "b"} {
		s.must("namespace", "delete", namespace, "--confirm", namespace)
	}
	s.must("put", "--namespace", "b", "--text", "anew", "--alias", "chat")
	s.must("backup", "create", file("rest"), "--all", "--continue", file("part"))
	want := s.sees("b")
	other := newStack(t)
	var told struct {
		NamespacesDeleted []string
		NodesCreated      string
	}
	if err := json.Unmarshal([]byte(other.must("restore", file("part"), file("rest"), "-o", "json")), &told); err != nil ||
		strings.Join(told.NamespacesDeleted, " ") != "a" || told.NodesCreated != "21" {
		t.Errorf("told: %+v, %v", told, err)
	}
	if got := other.sees("b"); got != want {
		t.Errorf("what was begun anew is\n%s\nand was\n%s", got, want)
	}
}

// besideStore does something else once, in the middle of a backup: behind the first part, and before the last one.
type besideStore struct {
	chainstore.Store
	begun atomic.Bool
	does  func()
}

func (s *besideStore) ExportAliases(
	ctx context.Context, after chainstore.Point, wanted func(string) bool, yield chainstore.ExportYield,
) (chainstore.Point, error) {
	if s.begun.CompareAndSwap(false, true) {
		s.does()
	}
	return s.Store.ExportAliases(ctx, after, wanted, yield)
}

// TestRestoreBegunDuringABackup: a backup that was begun later than the one that is restored, and was made before a namespace of that one was begun,
// does not tell that the namespace was deleted. One that was made behind it does.
func TestRestoreBegunDuringABackup(t *testing.T) {
	store, dir := &besideStore{Store: memstore.New(memstore.Options{})}, t.TempDir()
	s := serveStore(t, store)
	file := func(name string) string { return filepath.Join(dir, name) }
	put := func(namespace string) { s.must("put", "--namespace", namespace, "--text", "hello", "--alias", "chat") }
	put("anew")
	put("stays")
	store.does = func() {
		s.must("backup", "create", file("beside"), "--all")
		put("begun")
	}
	s.must("backup", "create", file("long"), "--all")
	s.must("backup", "create", file("then"), "--all")
	s.must("namespace", "delete", "begun", "--confirm", "begun")
	s.must("namespace", "delete", "anew", "--confirm", "anew")
	put("anew")
	s.must("backup", "create", file("last"), "--all")
	for erasures, want := range map[string]string{"beside": "anew begun stays", "then": "anew begun stays", "last": "stays"} {
		r := newStack(t).run("restore", file("long"), "--erasures", file(erasures), "-o", "json")
		var told struct{ Namespaces []string }
		if err := json.Unmarshal([]byte(r.out), &told); err != nil || strings.Join(slices.Sorted(slices.Values(told.Namespaces)), " ") != want {
			t.Errorf("with %s: %v, not %s: %v, %s", erasures, told.Namespaces, want, err, r.notes)
		}
	}
}
