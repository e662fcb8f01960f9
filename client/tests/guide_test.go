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

// examples are the lines of the examples that run.
func examples(t *testing.T) (all string) {
	for _, name := range []string{"example_test.go", "example_compact_test.go", "example_outside_test.go", "example_back_test.go", "example_notes_test.go", "example_secure_test.go"} {
		all += lines(string(must(os.ReadFile(name))(t)))
	}
	return all
}

// TestTheLeastRuns: the example of package client, which has no server to run with, is part of one that runs.
func TestTheLeastRuns(t *testing.T) {
	_, body, found := strings.Cut(string(must(os.ReadFile("../example_agent_test.go"))(t)), `address := "127.0.0.1:7420"`)
	if body, closed := strings.CutSuffix(body, "}\n"); !found || !closed || !strings.Contains(examples(t), lines(body)) {
		t.Error("it is in no example:", body)
	}
}

// TestTheGuideRuns holds each snippet of docs/sdk.md to be part of an example, which runs.
func TestTheGuideRuns(t *testing.T) {
	examples := examples(t)
	blocks := strings.Split(string(must(os.ReadFile("../../docs/sdk.md"))(t)), "```go\n")[1:]
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
