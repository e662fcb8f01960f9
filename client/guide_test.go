package client_test

import (
	"os"
	"strings"
	"testing"
)

// lines are the lines of a text, without indentation and empty ones.
func lines(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

// TestTheGuideRuns holds each snippet of docs/sdk.md to be part of an example, which runs.
func TestTheGuideRuns(t *testing.T) {
	var examples string
	for _, name := range []string{"example_test.go", "example_compact_test.go", "example_outside_test.go", "example_back_test.go", "example_notes_test.go"} {
		examples += lines(string(must(os.ReadFile(name))(t)))
	}
	blocks := strings.Split(string(must(os.ReadFile("../docs/sdk.md"))(t)), "```go\n")[1:]
	for i, block := range blocks {
		snippet, _, closed := strings.Cut(block, "```")
		if !closed || !strings.Contains(examples, lines(snippet)) {
			t.Errorf("snippet %d of docs/sdk.md is in no example:\n%s", i+1, snippet)
		}
	}
	if len(blocks) < 10 {
		t.Errorf("%d snippets", len(blocks))
	}
}
