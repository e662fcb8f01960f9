package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/transcriptd/transcriptd/chainstore/memstore"
)

// TestRestoreFloor: a name that was forgotten by the time of the first backup does not get revisions again that it had, whatever settings came behind.
func TestRestoreFloor(t *testing.T) {
	now := time.Now()
	s, dir := serveStore(t, memstore.New(memstore.Options{Now: func() time.Time { return now }})), t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	for range 3 {
		s.must("put", "--text", "hello", "--alias", "chat")
		s.must("put", "--text", "hallo", "--alias", "chat")
	}
	s.must("alias", "delete", "chat")
	now = now.Add(400 * 24 * time.Hour)
	s.must("backup", "create", file("full"), "--all")
	s.must("namespace", "set", "default", "--max-nodes", "100")
	s.must("backup", "create", file("more"), "--all", "--since", file("full"))
	other := newStack(t)
	other.must("restore", file("full"), file("more"))
	other.must("put", "--text", "hello", "--alias", "chat")
	if got := other.must("alias", "list", "-o", "json"); !strings.Contains(got, `"revision":"8"`) {
		t.Errorf("it has %s", got)
	}
}
