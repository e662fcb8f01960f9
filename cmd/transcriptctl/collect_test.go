package main

import (
	"strings"
	"testing"

	"github.com/transcriptd/transcriptd/chainstore/memstore"
)

// TestCollect: what an alias left behind goes, once its history is forgotten; nothing goes without --yes, or with a dry run.
func TestCollect(t *testing.T) {
	s := serveStore(t, memstore.New(memstore.Options{}))
	s.must("put", "--text", "hello", "--alias", "chat")
	s.must("put", "--text", "hello there", "--alias", "tmp/1")
	for _, args := range [][]string{{}, {"--dry-run", "--yes"}, {"--all", "--namespace", "x", "--yes"}, {"--yes", "--grace", "-1s"}, {"--yes", "--rate", "-1"}, {"--yes", "--reclaim-space"}, {"--all", "--dry-run", "--reclaim-space"}} {
		if r := s.run(append([]string{"collect"}, args...)...); r.code != exitUsage || r.out != "" {
			t.Errorf("%q: exit code %d, %q, %q", args, r.code, r.out, r.notes)
		}
	}
	s.must("alias", "delete", "tmp/1")
	collects := func(want string, args ...string) {
		t.Helper()
		if out := s.must(append([]string{"collect", "--grace", "0s"}, args...)...); !strings.HasPrefix(out, want) {
			t.Errorf("%q prints %q, want %q", args, out, want)
		}
	}
	collects("0 nodes with 0 messages of 0 B would be deleted\n", "--dry-run")
	s.must("alias", "delete", "tmp/1", "--forget-history")
	collects("1 node with 1 message of ", "--dry-run")
	collects("1 node with 1 message of ", "--yes")
	s.must("alias", "delete", "--prefix", "ch", "--forget-history", "--yes")
	collects("1 node with 1 message of ", "--all", "--yes", "--reclaim-space")
	if out := s.must("collect", "--yes", "-o", "json"); out != `{"progress":1,"namespace":"default","done":true}`+"\n" {
		t.Errorf("it prints %q", out)
	}
}
