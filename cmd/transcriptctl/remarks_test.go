package main

import (
	"strings"
	"testing"
)

// TestRemarkOfCompaction: messages that a compaction shortened are told of, with the view that has them as they were.
func TestRemarkOfCompaction(t *testing.T) {
	s := newStack(t)
	s.must("put", "--text", strings.Repeat("long ", 200), "--alias", "chat/a")
	s.must("put", "--text", "reply", "--role", "assistant", "--alias", "chat/a", "--parent", "chat/a")
	s.must("compact", "chat/a", "--max-user-chars", "10")
	if r := s.run("assemble", "chat/a"); r.notes != "transcriptctl: shortened by a compaction: 1 message; see --view full\n" {
		t.Errorf("%q", r.notes)
	}
	if r := s.run("assemble", "chat/a", "--view", "full"); r.notes != "" {
		t.Errorf("of the full view: %q", r.notes)
	}
}
