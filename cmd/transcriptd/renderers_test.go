package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/transcriptd/transcriptd/compaction"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

func writeTemplates(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "templates.json")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestReplayTemplates(t *testing.T) {
	renderers, err := readRenderers(writeTemplates(t, `{
		"read": "{{name}} {{arguments.path}} ({{ state }})\n=> {{result}} {{arguments.none}}",
		"list": "{{arguments.files.#}} files, first {{arguments.files.0.name}}: {{result.0}}",
		"plain": "as it is"}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		tool, arguments, result string
		want                    string
	}{
		{"read", `{"path":"a.txt"}`, "text", "read a.txt (ok)\n=> text -"},
		{"read", `{"path":`, `{"x":1}`, "read - (ok)\n=> {\"x\":1} -"},
		{"list", `{"files":[{"name":"a"},{}]}`, `["r"]`, "2 files, first a: r"},
		{"plain", "", "", "as it is"},
		{"read", `{"path":"a && b <c>"}`, `{"x":"<&>"}`, "read a && b <c> (ok)\n=> {\"x\":\"<&>\"} -"},
	} {
		got := renderers[c.tool](&compaction.ReplayCall{
			ID: runloop.Some("1"), Name: runloop.Some(c.tool), State: compaction.ReplayOK, Arguments: c.arguments, Result: c.result,
		})
		if got != c.want {
			t.Errorf("%s gives %q, want %q", c.tool, got, c.want)
		}
	}
}

func TestReplayTemplatesRefused(t *testing.T) {
	for text, says := range map[string]string{
		`[]`: "JSON object", `{"x": 1}`: "JSON object", `{"x": "{{a"}`: `tool "x"`, `{"x": "{{ }}"}`: `tool "x"`,
		strings.Repeat(" ", maxTemplates+1): "1 MiB",
	} {
		_, err := readRenderers(writeTemplates(t, text))
		var usage *usageError
		if !errors.As(err, &usage) || !strings.Contains(err.Error(), says) {
			t.Errorf("%.20s: %v", text, err)
		}
	}
	if _, err := readRenderers("/nowhere"); err == nil {
		t.Error("a file that is not there was read")
	}
	if r, err := readRenderers(""); r != nil || err != nil {
		t.Error("no file gives", r, err)
	}
}
