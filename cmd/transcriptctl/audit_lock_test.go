package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What a shell makes of "audit.jsonl.* audit.jsonl" has the audit's lock in it, which is no audit. A file of that name alone is judged as any.
func TestLocksAreNoAudits(t *testing.T) {
	golden, err := os.ReadFile("testdata/audit.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	lock := path + ".lock"
	for name, content := range map[string][]byte{path: golden, lock: nil} {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	k := keys{t: t}
	if r := k.tool("audit", "verify", lock, path); r.code != exitOK || !strings.Contains(r.out, "in 1 file,") {
		t.Errorf("with its lock: %+v", r)
	}
	if r := k.tool("audit", "alias", "chat/planted-alias", "--namespace", "team-a", lock, path); r.code != exitOK || !strings.Contains(r.out, `"seq":3`) {
		t.Errorf("alias, with its lock: %+v", r)
	}
	if r := k.tool("audit", "verify", lock); r.code != exitDamaged || !strings.Contains(r.out, "the file is empty") {
		t.Errorf("a lock alone: %+v", r)
	}
}

// A key that no line is under is told to be that, behind what it makes of the lines.
func TestAnotherKeyOfAnAudit(t *testing.T) {
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte(strings.Repeat("z", 32)), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := (keys{t: t}).tool("audit", "verify", "--key-file", key, "../../internal/audit/testdata/keyed-1.jsonl"); r.code != exitDamaged ||
		!strings.Contains(r.notes, "no line is under the key of --key-file") {
		t.Errorf("%+v", r)
	}
}
