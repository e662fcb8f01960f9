package main

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/transcriptd/transcriptd/internal/identity"
)

// walked is a command line of a walk through all commands.
type walked struct {
	command, args string
	// prints says what it prints with json: nothing, replies of the contract, objects of the tool's own, lines of another format, or no
	// json at all.
	prints printed
	// asks says which namespace its calls are of where a context has one: that one, none, those that the command makes, or no server is
	// asked.
	asks asked
	code int
}

type printed string

const (
	replies printed = "replies"
	own     printed = "own"
	foreign printed = "foreign"
	texts   printed = "texts"
	nothing printed = "nothing"
)

type asked string

const (
	theContexts asked = "the context's"
	itsOwn      asked = "its own"
	noServer    asked = "no server"
	theNamed    asked = "the named"
)

// walk goes through all commands, in this order: what one needs, another before it has put. KEYS is a file of principals, BUNDLE one beside it.
func walk() []walked {
	return []walked{
		{"import", "--check testdata/broken.jsonl", own, theContexts, exitOK},
		{"import", "testdata/agent.jsonl testdata/library.jsonl", own, theContexts, exitOK},
		{"put", "--text x --alias walk/a --alias walk/b", replies, theContexts, exitOK},
		{"show", "walk/a", replies, theContexts, exitOK},
		{"alias set", "walk/c walk/a --label a=b", replies, theContexts, exitOK},
		{"alias list", "walk/", replies, theContexts, exitOK},
		{"alias resolve", "walk/c", replies, theContexts, exitOK},
		{"alias history", "walk/c", replies, theContexts, exitOK},
		{"alias delete", "walk/c", own, theContexts, exitOK},
		{"alias delete", "walk/c", own, theContexts, exitOK},
		{"alias delete", "--prefix walk/b --yes", replies, theContexts, exitOK},
		{"log", "chat/trip", replies, theContexts, exitOK},
		{"diff", "chat/loan-1 chat/loan-2", replies, theContexts, exitOK},
		{"tree", "chat/loan-1 --root", own, theContexts, exitOK},
		{"assemble", "chat/trip", replies, theContexts, exitOK},
		{"assemble", "chat/trip --form openai", texts, theContexts, exitOK},
		{"assemble", "chat/trip --form anthropic --for-model", foreign, theContexts, exitOK},
		{"loops", "chat/trip", replies, theContexts, exitOK},
		{"loops", "--stale 0s", own, theContexts, exitOK},
		{"recall", "chat/trip call_1", replies, theContexts, exitOK},
		{"search", "hotel --prefix chat/", replies, theContexts, exitOK},
		{"replay", "chat/trip", replies, theContexts, exitOK},
		{"describe", "chat/trip --preview", replies, theContexts, exitOK},
		{"window", "chat/trip", own, theContexts, exitOK},
		{"economy", "testdata/economy.jsonl", own, noServer, exitOK},
		{"economy", "testdata/agent.jsonl --keep", own, itsOwn, exitOK},
		{"compact", "chat/trip", replies, theContexts, exitOK},
		{"loops", "--stale 0s --end cancelled", own, theContexts, exitOK},
		{"export", "", foreign, theContexts, exitOK},
		{"verify", "", replies, theContexts, exitOK},
		{"verify", "--all", replies, theContexts, exitOK},
		{"collect", "--dry-run", replies, theContexts, exitOK},
		{"collect", "--all --dry-run", replies, theContexts, exitOK},
		{"stats", "", replies, theContexts, exitOK},
		{"health", "", own, theContexts, exitOK},
		{"bench", "--duration 1ms --callers 2 --turns 2", own, itsOwn, exitOK},
		{"conformance", "--run ^put-nodes/previous$", own, itsOwn, exitOK},
		{"conformance", "--list --run ^put-nodes/", own, noServer, exitOK},
		{"namespace list", "", replies, theContexts, exitOK},
		{"namespace set", "named --max-nodes 5", replies, theNamed, exitOK},
		{"namespace delete", "named --confirm named", replies, theNamed, exitOK},
		{"version", "--server", own, theContexts, exitOK},
		{"mcp", "", texts, theContexts, exitOK},
		{"bundle create", "BUNDLE chat/trip", own, theContexts, exitOK},
		{"bundle verify", "BUNDLE", own, noServer, exitOK},
		{"bundle unbundle", "BUNDLE", own, theContexts, exitOK},
		{"backup create", "BACKUP", own, theContexts, exitOK},
		{"backup verify", "BACKUP", own, noServer, exitOK},
		{"restore", "BACKUP --store badger://BACKUP.store --again", own, noServer, exitOK},
		{"erase", "chat/trip --dry-run --shared erase", replies, theContexts, exitOK},
		{"receipt show", "chat/loan-2", nothing, theContexts, exitNotFound},
		{"receipt verify", "chat/loan-2", nothing, theContexts, exitNotFound},
		{"audit verify", "testdata/audit.jsonl", own, noServer, exitOK},
		{"audit verify", "testdata/audit-changed.jsonl", own, noServer, exitDamaged},
		{"audit alias", "chat/planted-alias --namespace team-a testdata/audit.jsonl", foreign, noServer, exitOK},
		{"token create", "agents --role read --namespaces a --principals KEYS", own, noServer, exitOK},
		{"token list", "--principals KEYS", own, noServer, exitOK},
		{"token revoke", "--principal agents --principals KEYS", own, noServer, exitOK},
		{"context add", "added --addr unix:///s --token-file t", nothing, noServer, exitOK},
		{"context list", "", own, noServer, exitOK},
		{"context use", "added", nothing, noServer, exitOK},
		{"context remove", "added", nothing, noServer, exitOK},
		{"completions", "bash", texts, noServer, exitOK},
		{"help", "put", texts, noServer, exitOK},
	}
}

// walkKeys makes the file of principals of a walk.
func walkKeys(t *testing.T) string {
	t.Helper()
	keys := filepath.Join(t.TempDir(), "principals.json")
	admin := func(f *identity.File) error {
		f.Principals = append(f.Principals, identity.FilePrincipal{Name: "root", Grants: []identity.FileGrant{{Roles: []string{"admin"}, Namespaces: "*"}}})
		return nil
	}
	if err := identity.Edit(keys, admin); err != nil {
		t.Fatal(err)
	}
	return keys
}

// words is the command line.
func (w walked) words(keys string) []string {
	return strings.Fields(w.command + " " + strings.NewReplacer("KEYS", keys, "BUNDLE", keys+".bundle", "BACKUP", keys+".backup").Replace(w.args))
}

// TestWalkIsWhole: no command is left out of the walk.
func TestWalkIsWhole(t *testing.T) {
	parser, err := newParser(context.Background(), &commandLine{}, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	left := map[string]bool{}
	for _, leaf := range parser.Model.Leaves(false) {
		left[strings.TrimPrefix(leaf.FullPath(), "transcriptctl ")] = true
	}
	for _, w := range walk() {
		delete(left, w.command)
	}
	if len(left) > 0 {
		t.Errorf("the walk goes not through %q: give each a line in walk()", slices.Sorted(maps.Keys(left)))
	}
}
