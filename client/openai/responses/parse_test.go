package responses_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/transcriptd/transcriptd/client/openai/responses"
)

// refusedCase is JSON that Parse refuses, and the error.
type refusedCase struct {
	name, provider, err string
}

func refused() []refusedCase {
	long := strings.Repeat("x", 1025)
	return []refusedCase{
		{"empty", "", "items is not JSON"},
		{"cut off", `[{"role":"user","content":"hi"`, "items[0] is not JSON"},
		{"more behind", "[] []", "items holds more than one JSON text"},
		{"no list", `{"output":[]}`, "items is not a list"},
		{"a string", `"hi"`, "items is not a list"},
		{"no object", `[7]`, "items[0] is not an object"},
		{"a message without a role", `[{"type":"message","content":"hi"}]`, "items[0].role is not a string"},
		{"role of another kind", `[{"role":7}]`, "items[0].role is not a string"},
		{"unknown role", `[{"role":"canary"}]`, "items[0].role is not a role of this provider"},
		{"a result as chat completions have it", `[{"role":"tool","tool_call_id":"c","content":"4"}]`, "items[0].role is not a role of this provider"},
		{"content of another kind", `[{"role":"user"},{"role":"user","content":7}]`, "items[1].content is neither a string nor a list nor null"},
		{"a member twice", `[{"role":"user","x":{"y":1,"y":2}}]`, "items[0].x.y stands twice in its object"},
		{"not UTF-8", "[{\"role\":\"user\",\"content\":\"can\xffary\"}]", "items[0].content is not UTF-8"},
		{"extras nested too deep", `[{"role":"user","x":` + strings.Repeat("[", 128) + strings.Repeat("]", 128) + `}]`, "items[0] is refused: nested deeper than 128"},
		{"members of an answer nested too deep", `[{"role":"assistant","content":"a","x":` + strings.Repeat("[", 127) + strings.Repeat("]", 127) + `}]`,
			"items[0] is refused: nested deeper than 128"},
		{"an item nested too deep", `[{"type":"other","x":` + strings.Repeat("[", 128) + strings.Repeat("]", 128) + `}]`, "items[0] is refused: nested deeper than 128"},
		{"arguments nested too deep", `[{"type":"shell_call","call_id":"c","action":` + strings.Repeat("[", 129) + strings.Repeat("]", 129) + `}]`,
			"items[0].action is refused: nested deeper than 128"},
		{"a long call id", `[{"role":"user"},{"type":"function_call","call_id":"` + long + `","name":"f","arguments":""}]`,
			"items[1] is refused: parts[0].tool_call.id must be at most 1024 bytes"},
		{"a long call id of a result", `[{"type":"function_call_output","call_id":"` + long + `"}]`, "items[0] is refused: tool_call_id must be at most 1024 bytes"},
		{"a message too large", `[{"role":"user","content":"` + strings.Repeat("long", 1<<18*3+1) + `"}]`,
			"items[0] is refused: must be at most 3145728 bytes in canonical encoding"},
	}
}

func TestParseRefusesWithThePath(t *testing.T) {
	for _, c := range refused() {
		t.Run(c.name, func(t *testing.T) {
			messages, report, err := responses.Parse([]byte(c.provider))
			if !errors.Is(err, responses.ErrInvalid) || messages != nil || len(report.Changes) > 0 {
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

func TestParseReportsLoneSurrogates(t *testing.T) {
	_, report, err := responses.Parse([]byte(`[{"role":"user","content":[{"type":"input_text","text":"\ud83d\ude42\ud800x\udc00"}]}]`))
	want := responses.Change{Path: "items[0].content[0].text", Kind: responses.Surrogates, Count: 2}
	if err != nil || len(report.Changes) != 1 || report.Changes[0] != want {
		t.Errorf("%v, %v", report, err)
	}
}

// A message has no more calls than a server accepts: an answer with more becomes two, which become the same items again.
func TestManyCallsAreTwoMessages(t *testing.T) {
	items := make([]string, 257)
	for i := range items {
		items[i] = fmt.Sprintf(`{"type":"function_call","call_id":"c%d","name":"f","arguments":""}`, i)
	}
	messages, _, err := responses.Parse([]byte("[" + strings.Join(items, ",") + "]"))
	if err != nil || len(messages) != 2 || len(messages[0].GetParts()) != 256 || len(messages[1].GetParts()) != 1 {
		t.Fatalf("%d messages, %v", len(messages), err)
	}
	if _, report, err := responses.Format(messages); err != nil || len(report.Changes) > 0 {
		t.Errorf("%v, %v", report, err)
	}
}
