package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// TestExportFile: the file is there when it is complete, and not at all when it is not.
func TestExportFile(t *testing.T) {
	s := newStack(t)
	s.must("import", "testdata/library.jsonl")
	dir := t.TempDir()
	s.must("export", "--file", filepath.Join(dir, "all.jsonl"))
	content, err := os.ReadFile(filepath.Join(dir, "all.jsonl"))
	if err != nil || string(content) != s.must("export") {
		t.Errorf("%v, %q", err, content)
	}
	if r := s.run("export", "--chat", "nobody", "--file", filepath.Join(dir, "none.jsonl")); r.code != exitNotFound {
		t.Errorf("exit code %d, %s", r.code, r.notes)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
		t.Errorf("%v, %v", files, err)
	}
}

// TestExportToWhatIsNoFile: a device or a pipe is written, not replaced; a link stays one.
func TestExportToWhatIsNoFile(t *testing.T) {
	s := newStack(t)
	s.importText(chatLine(t, "1", "a", "b")).sums(t)
	want := s.must("export")
	dir := t.TempDir()

	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	read := make(chan string, 1)
	go func() {
		text, err := os.ReadFile(pipe)
		if err != nil {
			t.Error(err)
		}
		read <- string(text)
	}()
	s.must("export", "--file", pipe)
	if got := <-read; got != want {
		t.Errorf("the pipe got %q, want %q", got, want)
	}
	if info, err := os.Stat(pipe); err != nil || info.Mode().IsRegular() {
		t.Errorf("the pipe is %v, %v", info, err)
	}

	file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Symlink(file, link)); err != nil {
		t.Fatal(err)
	}
	s.must("export", "--file", link)
	if got, err := os.ReadFile(file); err != nil || string(got) != want {
		t.Errorf("behind the link is %q, %v", got, err)
	}
	if r := s.run("export", "--file", dir); r.code != exitUsage || !strings.Contains(r.notes, "is a directory") {
		t.Errorf("exit code %d, %s", r.code, r.notes)
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

// TestExportOpaque: what is a framework's own is exported and imported as the same nodes, shown for people, and no part of what a
// provider is sent; an import finds no fault in it.
func TestExportOpaque(t *testing.T) {
	s, other := newStack(t), newStack(t)
	line := `{"id":"1","messages":[{"role":"system","opaque":{"type":"adk.state","data":"AAH/"}},{"role":"user","content":"q","framework":{"adk":1}},` +
		`{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"},"framework":2}]},` +
		`{"role":"assistant","opaque":{"type":"adk.state","data":""}},{"role":"tool","tool_call_id":"c","content":"4"},` +
		`{"role":"user","opaque":{"type":"t","data":"AA=="}},{"role":"tool","tool_call_id":"c","content":"again"},{"role":"assistant","content":"a"}]}` + "\n"
	checked := s.importText(line, "--check")
	if lines := strings.Split(strings.TrimSpace(checked.out), "\n"); len(lines) != 2 || !strings.Contains(lines[0], `"duplicate_result"`) ||
		!strings.Contains(lines[1], `"check":{"requests":"3","differing":"2",`) {
		t.Errorf("exit code %d, %s, %s", checked.code, checked.out, checked.notes)
	}
	if exported, put := jsonOf(t, s.must("export")), jsonOf(t, line); !reflect.DeepEqual(exported, put) {
		t.Errorf("exported %v, put %v", exported, put)
	}
	other.importText(s.must("export")).sums(t)
	if other.head("1") != s.head("1") {
		t.Error("an import of what was exported is another chain")
	}
	if got := s.must("assemble", "chat/1", "--view", "full"); !strings.Contains(got, "[opaque adk.state, 3 B]") {
		t.Errorf("shown is %s", got)
	}
	for _, args := range [][]string{{"--view", "full"}, {"--view", "full", "--for-model"}, {}} {
		got := s.must(append([]string{"assemble", "chat/1", "-f", "openai"}, args...)...)
		if strings.Contains(got, "opaque") || strings.Contains(got, "framework") {
			t.Errorf("%v: a provider is sent %s", args, got)
		}
	}
}

func jsonOf(t *testing.T, text string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}
