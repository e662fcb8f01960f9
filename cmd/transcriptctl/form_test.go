package main

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"
)

// TestForms: what is imported in a provider's form is exported in it, equal as JSON, and imported again as the same nodes.
func TestForms(t *testing.T) {
	for _, form := range []string{formAnthropic, formResponses} {
		t.Run(form, func(t *testing.T) {
			s, other := newStack(t), newStack(t)
			file := "testdata/" + form + ".jsonl"
			r := s.run("import", "--form", form, file, "--output", "json").sums(t)
			if form == formAnthropic && r.Times != 1 {
				t.Errorf("%d times of results were read, want 1", r.Times)
			}
			exported := s.must("export", "--form", form)
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			written := strings.ReplaceAll(string(content), `\ud800`, "\uFFFD")
			got, want := lineObjects(t, exported), lineObjects(t, written)
			for _, line := range want {
				delete(line, "model")
				delete(line, "max_tokens")
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("exported\n%v\nwant\n%v", got, want)
			}
			if r = other.importText(exported, "--form", form).sums(t); r.New != int64(len(want)) || len(r.Changes) != 0 {
				t.Errorf("%+v", r)
			}
			if all := s.must("alias", "list", "--output", "json"); heads(all) != heads(other.must("alias", "list", "--output", "json")) {
				t.Error("an import of what was exported made other nodes")
			}
			if r = s.importText(exported, "--form", form).sums(t); r.Unchanged != int64(len(want)) {
				t.Errorf("again: %+v", r)
			}
		})
	}
}

// heads are the nodes that aliases point to.
func heads(list string) string {
	var ids []string
	for line := range strings.Lines(list) {
		var a struct {
			NodeID string `json:"nodeId"`
		}
		if json.Unmarshal([]byte(line), &a) == nil {
			ids = append(ids, a.NodeID)
		}
	}
	return strings.Join(ids, " ")
}

func lineObjects(t *testing.T, lines string) (objects []map[string]any) {
	t.Helper()
	for line := range strings.Lines(lines) {
		var object map[string]any
		if err := json.Unmarshal([]byte(line), &object); err != nil {
			t.Fatal(err)
		}
		objects = append(objects, object)
	}
	return objects
}

// TestImportChanges: what a conversion changed is told by kind, with the first places, and no content.
func TestImportChanges(t *testing.T) {
	s := newStack(t)
	lines := ""
	for _, id := range []string{"1", "2", "3", "4"} {
		lines += `{"id":"` + id + `","source":"canary","messages":[{"role":"user","content":"canary \ud800"},` +
			`{"role":"user","content":[{"type":"text","text":"\udfff","canary key":"\ud800"}]}]}` + "\n"
	}
	r := s.importText(lines)
	sums := r.sums(t)
	want := []*changed{
		{Kind: notStored, Member: "source", Count: 4, Places: []string{"standard input:1", "standard input:2", "standard input:3"}},
		{Kind: "surrogates", Count: 12, Places: []string{
			"standard input:1 messages[0].content", "standard input:1 messages[1].content[0].text", "standard input:1 messages[1].content[0]",
		}},
	}
	if !reflect.DeepEqual(sums.Changes, want) {
		got, _ := json.Marshal(sums.Changes)
		t.Errorf("%s", got)
	}
	for _, text := range []string{
		"the member source of 4 lines is not stored, the first 3: standard input:1, ",
		"lone surrogates in 12 strings became U+FFFD, the first 3: standard input:1 messages[0].content, ",
	} {
		if !strings.Contains(r.notes, text) {
			t.Errorf("%q is not told in %q", text, r.notes)
		}
	}
	if strings.Contains(r.notes+r.out, "canary") {
		t.Errorf("content is told: %q, %q", r.out, r.notes)
	}
}

// TestFormMistakes: a line in another form is refused with what is missing, and a form that is none with those that there are.
func TestFormMistakes(t *testing.T) {
	s := newStack(t)
	for _, test := range []struct {
		line, text string
		args       []string
	}{
		{`{"id":"1","messages":[]}`, "items is not there; messages is, as lines of --form openai have it", []string{"--form", "responses"}},
		{`{"id":"1","items":[]}`, "messages is not there; items is, as lines of --form responses have it", nil},
		{`{"id":"1"}`, "items is not there", []string{"--form", "responses"}},
		{`{"id":"1","items":[]}`, "items is an empty list", []string{"--form", "responses"}},
		{`{"id":"1","system":7,"messages":[]}`, "system is neither a string nor a list", []string{"--form", "anthropic"}},
		{`{"id":"1","messages":[{"role":"tool","content":"x"}]}`, "messages[0].role", []string{"--form", "anthropic"}},
		{``, `--form must be one of "openai","anthropic","responses"`, []string{"--form", "gemini"}},
	} {
		r := s.importText(test.line, test.args...)
		if r.code != exitUsage || !strings.Contains(r.notes, test.text) {
			t.Errorf("%s %v: exit code %d, %q", test.line, test.args, r.code, r.notes)
		}
	}
	// The name that the flag had goes on.
	if r := s.importText(`{"id":"1","items":[{"role":"user","content":"x"}]}`, "--format", "responses").sums(t); r.New != 1 {
		t.Errorf("%+v", r)
	}
}

// TestExportForms: what a form cannot say is told with its places; what it has no place for is left out.
func TestExportForms(t *testing.T) {
	s := newStack(t)
	s.must("import", "--form", "anthropic", "testdata/anthropic.jsonl")
	r := s.run("export", "--form", "responses", "--chat", "tides-1")
	if r.code != exitOK || !strings.Contains(r.notes, "that this form cannot say exactly: chat/tides-1 messages") {
		t.Errorf("exit code %d, %q", r.code, r.notes)
	}
	if lines := lineObjects(t, r.out); len(lines) != 1 || lines[0]["items"] == nil || lines[0]["id"] != "tides-1" {
		t.Errorf("%v", lines)
	}
	for _, form := range []string{formOpenAI, formAnthropic, formResponses} {
		if out := s.must("assemble", "chat/tides-1", "--form", form, "--for-model"); !json.Valid([]byte(out)) {
			t.Errorf("%s: %s", form, out)
		}
	}
}
