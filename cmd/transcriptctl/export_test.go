package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// TestExportFile: the file is there when it is complete, and not at all when it is not.
func TestExportFile(t *testing.T) {
	s := newStack(t)
	s.must("import", "testdata/library.jsonl")
	dir := t.TempDir()
	s.must("export", "-o", filepath.Join(dir, "all.jsonl"))
	content, err := os.ReadFile(filepath.Join(dir, "all.jsonl"))
	if err != nil || string(content) != s.must("export") {
		t.Errorf("%v, %q", err, content)
	}
	if r := s.run("export", "--chat", "nobody", "-o", filepath.Join(dir, "none.jsonl")); r.code != exitNotFound {
		t.Errorf("exit code %d, %s", r.code, r.notes)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
		t.Errorf("%v, %v", files, err)
	}
}

// TestExportRoundTrip: what was exported is imported as the same nodes.
func TestExportRoundTrip(t *testing.T) {
	s, other := newStack(t), newStack(t)
	s.must("import", "testdata/library.jsonl")
	r := other.importText(s.must("export")).sums(t)
	if r.New != 5 || other.must("export") != s.must("export") || other.head("loan-2") != s.head("loan-2") {
		t.Errorf("%+v", r)
	}
}

// TestExportInexact: what OpenAI's form cannot say is told.
func TestExportInexact(t *testing.T) {
	s := newStack(t)
	c, err := client.Dial(s.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	signed := &transcriptv1.Reasoning{Text: "hm", Signature: "sig"}
	_, err = c.Put(context.Background(), client.Node{
		Messages: []*transcriptv1.Message{{
			Role:  transcriptv1.Role_ROLE_ASSISTANT,
			Parts: []*transcriptv1.Part{{Kind: &transcriptv1.Part_Reasoning{Reasoning: signed}}},
		}},
		Aliases: []client.AliasUpdate{{Name: "chat/1"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	r := s.run("export")
	if r.code != exitOK || !strings.Contains(r.notes, "of 1 conversation, 1 cannot be said") {
		t.Errorf("exit code %d, %s", r.code, r.notes)
	}
}
