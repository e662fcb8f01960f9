package anthropic_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/transcriptd/transcriptd/client/anthropic"
)

// refusedCase is JSON that Parse refuses, and the error.
type refusedCase struct {
	name, provider, err string
}

func refused() []refusedCase {
	long := strings.Repeat("x", 1025)
	return []refusedCase{
		{"empty", "", "the document is not JSON"},
		{"no object", "[]", "the document is not an object"},
		{"no messages", `{"system":"S"}`, "messages is not a list"},
		{"messages of another kind", `{"messages":{}}`, "messages is not a list"},
		{"system of another kind", `{"system":7,"messages":[]}`, "system is neither a string nor a list nor null"},
		{"message of another kind", `{"messages":[7]}`, "messages[0] is not an object"},
		{"no role", `{"messages":[{}]}`, "messages[0].role is not a string"},
		{"unknown role", `{"messages":[{"role":"canary"}]}`, "messages[0].role is not a role of this provider"},
		{"content of another kind", user("7"), "messages[0].content is neither a string nor a list nor null"},
		{"tool_use id of another kind", assistant(`[{"type":"text","text":"x"},{"type":"tool_use","id":7}]`),
			"messages[0].content[1].id is neither a string nor null"},
		{"tool_use name of another kind", assistant(`[{"type":"tool_use","name":{}}]`),
			"messages[0].content[0].name is neither a string nor null"},
		{"tool_use_id of another kind", user(`[{"type":"tool_result","tool_use_id":7}]`),
			"messages[0].content[0].tool_use_id is neither a string nor null"},
		{"content of a result of another kind", user(`[{"type":"tool_result","content":{}}]`),
			"messages[0].content[0].content is neither a string nor a list nor null"},
		{"a member twice in an input", assistant(`[{"type":"tool_use","input":{"a":1,"a":2}}]`),
			"messages[0].content[0].input.a stands twice in its object"},
		{"cut off", `{"messages":[{"role":"user","content":[{"type":"text","text":"canary`,
			"messages[0].content[0].text is not JSON"},
		{"not UTF-8", user("\"can\xffary\""), "messages[0].content is not UTF-8"},
		{"a long id", assistant(`[{"type":"tool_use","id":"` + long + `"}]`),
			"messages[0] is refused: parts[0].tool_call.id must be at most 1024 bytes"},
		{"input nested too deep", assistant(`[{"type":"tool_use","input":` + strings.Repeat("[", 129) +
			strings.Repeat("]", 129) + `}]`),
			"messages[0].content[0].input is refused: nested deeper than 128"},
	}
}

func TestParseRefusesWithThePath(t *testing.T) {
	for _, c := range refused() {
		t.Run(c.name, func(t *testing.T) {
			messages, report, err := anthropic.Parse([]byte(c.provider))
			if !errors.Is(err, anthropic.ErrInvalid) || messages != nil || len(report.Changes) > 0 {
				t.Fatalf("%v, %v, %v", messages, report, err)
			}
			if err.Error() != c.err {
				t.Errorf("got %q, want %q", err, c.err)
			}
			if strings.Contains(err.Error(), "canary") {
				t.Errorf("%q shows a value", err)
			}
		})
	}
}

func TestParseMessageNamesTheMember(t *testing.T) {
	_, _, err := anthropic.ParseMessage([]byte(`{"role":"assistant","content":[{"type":"tool_use","id":7}]}`))
	if want := "message.content[0].id is neither a string nor null"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %q", err, want)
	}
}

func TestParseReportsWhatItLeavesOutAndLoneSurrogates(t *testing.T) {
	_, report, err := anthropic.Parse([]byte(`{"model":"m","messages":[{"role":"user","content":"\ud800"}],"max_tokens":1}`))
	if err != nil {
		t.Fatal(err)
	}
	const why = "is no part of a transcript"
	want := []anthropic.Change{
		{Path: "messages[0].content", Kind: anthropic.Surrogates, Count: 1},
		{Path: "model", Kind: anthropic.LeftOut, Why: why},
		{Path: "max_tokens", Kind: anthropic.LeftOut, Why: why},
	}
	for i := range want {
		if i >= len(report.Changes) || report.Changes[i] != want[i] {
			t.Fatalf("got %v, want %v", report.Changes, want)
		}
	}
}

func TestFormatMessageWritesOneMessage(t *testing.T) {
	messages, _, err := anthropic.Parse([]byte(`{"messages":[{"role":"user","content":"a"},{"role":"user","content":"b"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := anthropic.FormatMessage(messages); !errors.Is(err, anthropic.ErrInvalid) {
		t.Errorf("two messages: %v", err)
	}
	if _, _, err := anthropic.FormatMessage(nil); !errors.Is(err, anthropic.ErrInvalid) {
		t.Errorf("no message: %v", err)
	}
}
