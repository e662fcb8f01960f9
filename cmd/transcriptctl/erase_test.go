package main

import (
	"encoding/base64"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/transcriptd/transcriptd/chainstore/memstore"
)

// TestErase: what is selected goes with --yes alone, each selector finds its own, and receipts are shown and verified.
func TestErase(t *testing.T) {
	s := serveStore(t, memstore.New(memstore.Options{}))
	s.must("put", "--text", "a prompt", "--alias", "me/chat")
	s.must("put", "--parent", "me/chat", "--text", "my secret", "--alias", "me/chat")
	s.must("put", "--parent", "me/chat", "--text", "another", "--alias", "me/two")
	for _, args := range [][]string{
		{}, {"--yes"}, {"me/chat"}, {"me/chat", "--metadata", "a=b", "--yes"}, {"--metadata", "a=b", "--attribute", "a=b", "--yes"}, {"--metadata", "a", "--yes"},
		{"me/chat", "--dry-run", "--wait"}, {"me/chat", "--dry-run", "--reference", "x"}, {"me/chat", "--dry-run", "--yes"}, {"me/chat", "--shared", "x", "--yes"},
	} {
		if r := s.run(append([]string{"erase"}, args...)...); r.code != exitUsage || r.out != "" {
			t.Errorf("%q: exit code %d, %q, %q", args, r.code, r.out, r.notes)
		}
	}
	dry := s.must("erase", "me/chat", "--dry-run")
	if heads, row, _ := strings.Cut(dry, "\n"); strings.Index(heads, "WHY") != strings.Index(row, "selected") {
		t.Errorf("the heads are not above the columns: %q", dry)
	}
	for _, want := range []string{"selected", "reached by me/chat\n", "reached by me/two\n", "1 node with 1 message of 17 B would be erased\n"} {
		if !strings.Contains(dry, want) {
			t.Errorf("a dry run prints %q, without %q", dry, want)
		}
	}
	if out := s.must("search", "secret", "me/chat"); !strings.Contains(out, "my secret") {
		t.Errorf("behind a dry run: %q", out)
	}
	if r := s.run("erase", "me/chat", "--reference", strings.Repeat("x", 129), "--yes"); r.code != exitUsage || !strings.Contains(r.notes, " --reference: ") {
		t.Errorf("a long reference: exit code %d, %q", r.code, r.notes)
	}
	if r := s.run("erase", "--alias-prefix", "me/", "--yes"); r.code == exitOK || !strings.Contains(r.notes, "; set --shared to keep ") {
		t.Errorf("a shared root: exit code %d, %q", r.code, r.notes)
	}
	if out := s.must("erase", "me/chat", "--reference", "T-1", "--wait", "--yes"); !strings.HasSuffix(out, "1 node with 1 message of 17 B erased\n") {
		t.Errorf("it prints %q", out)
	}
	for what, shown := range map[string]bool{"secret": false, "[erased]": true, "another": true} {
		if out := s.must("search", what, "me/two"); (out != "") != shown {
			t.Errorf("a search for %q prints %q", what, out)
		}
	}
	if out := s.must("erase", "--alias-prefix", "me/", "--shared", "keep", "--yes"); !strings.HasSuffix(out, " erased; 1 node erased before; 1 shared root kept\n") {
		t.Errorf("it prints %q", out)
	}
	if out := s.must("erase", "--metadata", "a=b", "--yes") + s.must("erase", "--attribute", "a=b", "--yes"); strings.Count(out, "0 nodes with 0 messages of 0 B erased\n") != 2 {
		t.Errorf("it prints %q", out)
	}

	shown := s.must("receipt", "show", "me/chat")
	if !strings.Contains(shown, "T-1") || strings.Contains(shown, "not yet") {
		t.Errorf("the receipt: %q", shown)
	}
	_, key, _ := strings.Cut(shown, "key")
	key = strings.TrimSpace(key)
	if out := s.must("receipt", "verify", "me/chat"); !strings.Contains(out, "verified") || !strings.Contains(out, key) {
		t.Errorf("it prints %q", out)
	}
	file := filepath.Join(t.TempDir(), "receipt.json")
	kept := s.must("receipt", "show", "me/chat", "--output", "json")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(kept)
	s.must("receipt", "verify", "--file", file)
	if out := s.must("receipt", "verify", "--file", file, "--public-key", key, "-o", "json"); !strings.Contains(out, `"verified":true`) {
		t.Errorf("it prints %q", out)
	}
	raw, err := hex.DecodeString(key)
	if err != nil {
		t.Fatal(err)
	}
	s.must("receipt", "verify", "--file", file, "--public-key", base64.StdEncoding.EncodeToString(raw))
	if out := s.must("version", "--server"); !strings.Contains(out, key) {
		t.Errorf("version prints %q, without the key", out)
	}
	write(s.must("receipt", "show", "me/chat", "me/two", "--output", "json"))
	if out := s.must("receipt", "verify", "--file", file); strings.Count(out, "verified") != 2 || strings.Count(out, "left the files: 20") != 2 {
		t.Errorf("of two receipts it prints %q", out)
	}
	_, lone, _ := strings.Cut(s.must("put", "--text", "kept", "--alias", "unerased"), " ")
	for want, args := range map[string][]string{
		"nope: ":                        {"receipt", "show", "me/chat", "nope"},
		"alone: ":                       {"receipt", "show", "alone"},
		"unerased: ":                    {"receipt", "show", "me/chat", "unerased"},
		"absent: ":                      {"erase", "me/chat", "absent", "--yes"},
		strings.Repeat("ab", 32) + ": ": {"erase", "me/chat", strings.Repeat("ab", 32), "--yes"},
		"whole id ":                     {"receipt", "show", "abcdef"},
	} {
		if r := s.run(args...); r.code != exitNotFound || !strings.Contains(r.notes, want) {
			t.Errorf("%q: exit code %d, %q, without %q", args, r.code, r.notes, want)
		}
	}
	if r := s.run("receipt", "show", strings.TrimSpace(lone)[:12]); r.code != exitNotFound || strings.Contains(r.notes, "collected") {
		t.Errorf("of a node that is there and not erased: exit code %d, %q", r.code, r.notes)
	}
	for want, args := range map[string][]string{
		"nothing in namespace default has metadata a=b that is not erased; 4 nodes looked at":             {"--metadata", "a=b"},
		"an alias that begins with you/ that is not erased":                                               {"--alias-prefix", "you/"},
		"nothing in namespace other has an attribute a=b that is not erased; 0 nodes looked at. What was": {"--attribute", "a=b", "--wait", "--namespace", "other"},
	} {
		if r := s.run(append([]string{"erase", "--yes"}, args...)...); r.code != exitOK || !strings.Contains(r.notes, want) {
			t.Errorf("%q: exit code %d, %q, without %q", args, r.code, r.notes, want)
		}
	}
	refused := func(code int, args ...string) {
		t.Helper()
		if r := s.run(append([]string{"receipt", "verify"}, args...)...); r.code != code || r.out != "" {
			t.Errorf("%q: exit code %d, %q, %q", args, r.code, r.out, r.notes)
		}
	}
	refused(exitDamaged, "--file", file, "--public-key", strings.Repeat("ab", 32))
	refused(exitUsage, "--file", file, "--public-key", "ab")
	refused(exitUsage)
	refused(exitUsage, "me/chat", "--file", file)
	at := strings.Index(kept, `"signature":"`) + len(`"signature":"`)
	other := "A"
	if kept[at:at+1] == other {
		other = "B"
	}
	forged := kept[:at] + other + kept[at+1:]
	write(forged)
	refused(exitDamaged, "--file", file)
	write(forged + kept + forged)
	if r := s.run("receipt", "verify", "--file", file); r.code != exitDamaged || strings.Count(r.out, "verified") != 1 || strings.HasPrefix(r.out, "\n") ||
		strings.Count(r.notes, "does not verify") != 2 {
		t.Errorf("a receipt between two that are forged: exit code %d, %q, %q", r.code, r.out, r.notes)
	}
	write(strings.Replace(kept, `"nodeId":"`, `"nodeId":"0`, 1))
	refused(exitDamaged, "--file", file)
	if r := s.run("receipt", "verify", "--file", file, "--output", "json"); !strings.Contains(r.notes, "not of 0") {
		t.Errorf("another id: %q", r.notes)
	}
	write("no receipt")
	refused(exitUsage, "--file", file)
	s.must("put", "--text", "lone", "--alias", "lone")
	refused(exitNotFound, "lone")
}
