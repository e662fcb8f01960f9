package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/memstore"
	"github.com/transcriptd/transcriptd/client"
	"github.com/transcriptd/transcriptd/internal/testreceipt"
)

// nodesOf are the ids of the chain of an alias, newest first.
func (s *stack) nodesOf(alias string) []string {
	s.tb.Helper()
	var ids []string
	for line := range strings.Lines(s.must("log", alias, "-o", "json")) {
		var n struct{ Info struct{ NodeID string } }
		if err := json.Unmarshal([]byte(line), &n); err != nil {
			s.tb.Fatal(err)
		}
		ids = append(ids, n.Info.NodeID)
	}
	return ids
}

// erase erases nodes, as an archive does in which they are erased.
func (s *stack) erase(ids ...string) {
	s.tb.Helper()
	c, err := client.Dial(s.addr)
	if err != nil {
		s.tb.Fatal(err)
	}
	defer func() {
		if err := c.Close(); err != nil {
			s.tb.Error(err)
		}
	}()
	for _, id := range ids {
		n, err := c.Node(s.tb.Context(), client.ByID(id))
		if err != nil {
			s.tb.Fatal(err)
		}
		record, err := nodeRecord(n)
		if err != nil {
			s.tb.Fatal(err)
		}
		node, err := chainstore.ParseID(id)
		if err != nil {
			s.tb.Fatal(err)
		}
		left, err := canonical.EraseArchived(record, testreceipt.Of(s.tb, node, ""))
		if err != nil {
			s.tb.Fatal(err)
		}
		if _, err := c.PutArchived(s.tb.Context(), left); err != nil {
			s.tb.Fatal(err)
		}
	}
}

// TestRestoreErased: what was erased since a full backup comes back erased by the backup behind it, restored with it or named for its erasures, and by a
// restore into a namespace that has the receipts; of the full backup alone it comes back as it was.
func TestRestoreErased(t *testing.T) {
	s, dir := bundles(t), t.TempDir()
	full, more, again := filepath.Join(dir, "full"), filepath.Join(dir, "more"), filepath.Join(dir, "again")
	s.must("backup", "create", full, "--all")
	before := s.shows("default")
	chain := s.nodesOf("trip/a")
	erased := []string{chain[0], chain[1], chain[len(chain)-2]} // the compaction among them
	s.erase(erased...)
	s.must("backup", "create", more, "--all", "--since", full)
	want := s.shows("default")
	if out := s.must("backup", "verify", full, more); !strings.Contains(out, "3 of the nodes") {
		t.Errorf("verify tells %s", out)
	}
	for name, args := range map[string][]string{"with the backup behind it": {full, more}, "by its erasures": {full, "--erasures", more}} {
		other := newStack(t)
		var told struct{ NodesErased []string }
		if err := json.Unmarshal([]byte(other.must(append([]string{"restore", "-o", "json"}, args...)...)), &told); err != nil || len(told.NodesErased) != 3 {
			t.Errorf("%s: %v, %v", name, told, err)
		}
		if got := other.shows("default"); got != want {
			t.Errorf("%s: restored is\n%s\nand was\n%s", name, got, want)
		}
		other.must(append([]string{"restore", "--again"}, args...)...)
		other.must("restore", full, "--again")
		if got := other.shows("default"); got != want {
			t.Errorf("%s: the full one restored over it is\n%s\nand was\n%s", name, got, want)
		}
		other.must("backup", "create", again+strings.ReplaceAll(name, " ", "-"), "--all")
		third := newStack(t)
		third.must("restore", again+strings.ReplaceAll(name, " ", "-"))
		if got := third.shows("default"); got != want {
			t.Errorf("%s: restored from a backup of what was restored is\n%s\nand was\n%s", name, got, want)
		}
	}
	nowhere := &stack{tb: t, addr: "127.0.0.1:1"}
	if r := nowhere.run("restore", full, more, "--store", "badger://"+filepath.Join(dir, "store")); r.code != exitOK || !strings.Contains(r.notes, "can have copies") {
		t.Errorf("into a folder: exit code %d, %s", r.code, r.notes)
	}
	old := newStack(t)
	old.must("restore", full)
	if got := old.shows("default"); got != before {
		t.Errorf("the full one alone is\n%s\nand was\n%s", got, before)
	}
	stranger := bundles(t)
	stranger.must("backup", "create", filepath.Join(dir, "stranger"), "--all")
	if r := newStack(t).run("restore", full, "--erasures", filepath.Join(dir, "stranger")); r.code != exitUsage || !strings.Contains(r.notes, "of another store") {
		t.Errorf("erasures of another store: exit code %d, %s", r.code, r.notes)
	}
}

// TestRestoreErasedAndCollected: a backup has the receipt of a node that was erased and then collected. An older one that has the words does not bring them back with
// it, and where neither has the node it is refused, too.
func TestRestoreErasedAndCollected(t *testing.T) {
	s, dir := serveStore(t, memstore.New(memstore.Options{})), t.TempDir()
	full, more, later := filepath.Join(dir, "full"), filepath.Join(dir, "more"), filepath.Join(dir, "later")
	s.must("put", "--text", "a prompt", "--alias", "me/chat")
	s.must("put", "--parent", "me/chat", "--text", "my secret", "--alias", "me/chat")
	s.must("backup", "create", full, "--all")
	chain := s.nodesOf("me/chat")
	s.must("erase", chain[0], "--yes")
	s.must("alias", "delete", "me/chat", "--forget-history")
	s.must("collect", "--grace", "0s", "--yes")
	want := s.must("receipt", "show", chain[0], "-o", "json")
	s.must("backup", "create", more, "--all", "--since", full)
	s.must("backup", "create", later, "--all")
	if told := s.must("backup", "verify", full, more); !strings.Contains(told, "1 of nodes that are not there") {
		t.Errorf("verify tells %s", told)
	}
	for name, args := range map[string][]string{
		"with the backup behind it": {full, more}, "by its erasures": {full, "--erasures", later}, "from the later one alone": {later},
	} {
		other := newStack(t)
		other.must(append([]string{"restore"}, args...)...)
		other.must(append([]string{"restore", "--again"}, args...)...)
		if got := other.must("receipt", "show", chain[0], "-o", "json"); receiptOf(t, got) != receiptOf(t, want) {
			t.Errorf("%s: the receipt is %s, and was %s", name, got, want)
		}
		other.must("put", "--text", "a prompt", "--alias", "again")
		if r := other.run("put", "--parent", "again", "--text", "my secret"); r.code == exitOK || !strings.Contains(r.notes, "erased") {
			t.Errorf("%s: put again: exit code %d, %s", name, r.code, r.notes)
		}
		if len(args) > 1 {
			if got := other.must("show", chain[0]); strings.Contains(got, "secret") || !strings.Contains(got, "[erased]") {
				t.Errorf("%s: the node is %s", name, got)
			}
		}
	}
}

// receiptOf is the signed part of a receipt that is shown as JSON.
func receiptOf(t *testing.T, shown string) string {
	t.Helper()
	var told map[string]any
	if err := json.Unmarshal([]byte(shown), &told); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(told["receipt"])
}

// TestBundleErased: an erased node goes into a bundle and out of it as it is, erases what is there with its content, and does not come back by a bundle
// that was made before.
func TestBundleErased(t *testing.T) {
	s, dir := bundles(t), t.TempDir()
	early, late := filepath.Join(dir, "early"), filepath.Join(dir, "late")
	s.must("bundle", "create", early, "trip/a")
	chain := s.nodesOf("trip/a")
	s.erase(chain[0], chain[1], chain[len(chain)-2])
	s.must("bundle", "create", late, "trip/a")
	s.must("bundle", "verify", late, "--head", chain[0])
	want := s.must("assemble", "trip/a", "--view", "full", "-o", "json")
	fresh := newStack(t)
	fresh.must("bundle", "unbundle", late)
	had := newStack(t)
	had.must("bundle", "unbundle", early)
	had.must("bundle", "unbundle", late)
	for name, other := range map[string]*stack{"where nothing was": fresh, "over its content": had} {
		if got := other.must("assemble", "trip/a", "--view", "full", "-o", "json"); got != want {
			t.Errorf("%s: unbundled is\n%s\nand was\n%s", name, got, want)
		}
		r := other.run("bundle", "unbundle", early)
		if r.code == exitOK || !strings.Contains(r.notes, "does not come back") {
			t.Errorf("%s: a bundle from before: exit code %d, %s", name, r.code, r.notes)
		}
		if got := other.must("assemble", "trip/a", "--view", "full", "-o", "json"); got != want {
			t.Errorf("%s: behind a bundle from before it is\n%s\nand was\n%s", name, got, want)
		}
	}
	if out := s.must("show", chain[0]); !strings.Contains(out, "1 of 1 message") || !strings.Contains(out, "[erased]") {
		t.Errorf("show prints %s", out)
	}
	if out := s.must("log", "trip/a"); !strings.Contains(out, erasedText) {
		t.Errorf("log prints %s", out)
	}
}
