package main

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/transcriptd/transcriptd/client"
)

// promptedLine is a line with a conversation of a system message and user messages.
func promptedLine(t *testing.T, id string, texts ...string) string {
	t.Helper()
	list := []map[string]string{{"role": "system", "content": "Be brief."}}
	for _, text := range texts {
		list = append(list, map[string]string{"role": "user", "content": text})
	}
	line, err := json.Marshal(map[string]any{"id": id, "messages": list})
	if err != nil {
		t.Fatal(err)
	}
	return string(line) + "\n"
}

// TestImportApart: conversations that begin with the same words share their prompt alone, and are found again.
func TestImportApart(t *testing.T) {
	s := newStack(t)
	both := promptedLine(t, "1", "Hello?") + promptedLine(t, "2", "Hello?") + chatLine(t, "3", "Hello?")
	got := s.importText(both, "--apart").sums(t)
	if got.New != 3 || got.NodesCreated != 4 || s.head("1") == s.head("2") {
		t.Fatalf("%+v", got)
	}
	if again := s.importText(both, "--apart").sums(t); again.Unchanged != 3 || again.NodesCreated != 0 {
		t.Errorf("again: %+v", again)
	}
	if again := s.importText(both).sums(t); again.Unchanged != 3 || again.NodesCreated != 0 {
		t.Errorf("again, without: %+v", again)
	}
	grown := promptedLine(t, "1", "Hello?", "More?") + promptedLine(t, "2", "Hello?", "More?") + chatLine(t, "3", "Hello?", "More?")
	if more := s.importText(grown, "--apart", "--check").sums(t); more.Grown != 3 || more.NodesCreated != 3 {
		t.Errorf("grown: %+v", more)
	}
	checkExport(t, s, grown)
	c, err := client.Dial(s.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	salts := map[string]bool{}
	for id := range 3 {
		node, err := c.NodeInfo(t.Context(), client.ByAlias(fmt.Sprint("chat/", id+1)))
		if err != nil {
			t.Fatal(err)
		}
		salts[string(node.Info.Envelope.Salt)] = len(node.Info.Envelope.Salt) == 16
	}
	if len(salts) != 3 || salts[""] {
		t.Errorf("salts %v", salts)
	}
}

// TestImportApartBehindSharing: what was stored without salts stays, and is continued with them.
func TestImportApartBehindSharing(t *testing.T) {
	s := newStack(t)
	s.importText(chatLine(t, "1", "a") + chatLine(t, "2", "a")).sums(t)
	got := s.importText(chatLine(t, "1", "a", "b")+chatLine(t, "2", "a", "b"), "--apart").sums(t)
	if got.Grown != 2 || got.NodesCreated != 2 || s.head("1") == s.head("2") {
		t.Errorf("%+v", got)
	}
	if again := s.importText(chatLine(t, "1", "a", "b"), "--apart").sums(t); again.Unchanged != 1 || again.NodesCreated != 0 {
		t.Errorf("again: %+v", again)
	}
	again := s.importText(chatLine(t, "2", "a", "x"), "--apart", "--move").sums(t)
	if again.Moved != 1 || again.NodesCreated != 2 {
		t.Errorf("moved: %+v", again)
	}
}
