package openai_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/transcriptd/transcriptd/client/openai"
)

// refusedCase is JSON that Parse refuses, and the error.
type refusedCase struct {
	name, provider, err string
}

func refused() []refusedCase {
	long := strings.Repeat("x", 1025)
	return []refusedCase{
		{"empty", "", "messages is not JSON"},
		{"cut off", `[{"role":"user","content":"hi"`, "messages[0] is not JSON"},
		{"cut off in a string", `[{"role":"us`, "messages[0].role is not JSON"},
		{"more behind", "[] []", "messages holds more than one JSON text"},
		{"no list", `{"role":"user"}`, "messages is not a list"},
		{"no object", `[7]`, "messages[0] is not an object"},
		{"no role", `[{"content":"hi"}]`, "messages[0].role is not a string"},
		{"role of another kind", `[{"role":7}]`, "messages[0].role is not a string"},
		{"unknown role", `[{"role":"canary"}]`, "messages[0].role is not a role of this provider"},
		{"content of another kind", `[{"role":"user","content":7}]`,
			"messages[0].content is neither a string nor a list nor null"},
		{"name of another kind", `[{"role":"user","name":{}}]`, "messages[0].name is neither a string nor null"},
		{"tool_call_id of another kind", `[{"role":"tool","tool_call_id":7}]`,
			"messages[0].tool_call_id is neither a string nor null"},
		{"tool_calls of another kind", `[{"role":"assistant","tool_calls":{}}]`,
			"messages[0].tool_calls is neither a list nor null"},
		{"a call of another kind", `[{"role":"assistant","tool_calls":[{},"canary"]}]`,
			"messages[0].tool_calls[1] is not an object"},
		{"call id of another kind", `[{"role":"assistant","tool_calls":[{"id":7}]}]`,
			"messages[0].tool_calls[0].id is neither a string nor null"},
		{"function of another kind", `[{"role":"assistant","tool_calls":[{"function":"canary"}]}]`,
			"messages[0].tool_calls[0].function is not an object"},
		{"arguments of another kind", `[{"role":"user"},{"role":"assistant","tool_calls":[{"function":{"arguments":{}}}]}]`,
			"messages[1].tool_calls[0].function.arguments is neither a string nor null"},
		{"function name of another kind", `[{"role":"assistant","tool_calls":[{"function":{"name":7}}]}]`,
			"messages[0].tool_calls[0].function.name is neither a string nor null"},
		{"function_call of another kind", `[{"role":"assistant","function_call":{"name":"canary"}}]`,
			"messages[0].function_call has not a string as name and as arguments"},
		{"a member twice", `[{"role":"user","x":{"y":1,"y":2}}]`, "messages[0].x.y stands twice in its object"},
		{"a member twice, escaped", `[{"role":"user","r\u006fle":"user"}]`, "messages[0].role stands twice in its object"},
		{"a member whose name is no identifier", `[{"role":"user","can ary":tru}]`, "messages[0].? is not JSON"},
		{"not UTF-8", "[{\"role\":\"user\",\"content\":\"can\xffary\"}]", "messages[0].content is not UTF-8"},
		{"a control character", "[{\"role\":\"user\",\"content\":\"can\nary\"}]", "messages[0].content is not JSON"},
		{"an unknown escape", `[{"role":"user","content":"\canary"}]`, "messages[0].content is not JSON"},
		{"a number with a leading zero", `[{"role":"user","x":01}]`, "messages[0] is not JSON"},
		{"nested too deep", `[{"role":"user","x":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `}]`,
			"messages[0].x" + strings.Repeat("[0]", 14) + "… is nested too deep"},
		{"extras nested too deep", `[{"role":"user","x":` + strings.Repeat("[", 128) + strings.Repeat("]", 128) + `}]`,
			"messages[0] is refused: nested deeper than 128"},
		{"a part nested too deep", `[{"role":"user","content":[` + strings.Repeat("[", 129) + strings.Repeat("]", 129) + `]}]`,
			"messages[0].content[0] is refused: nested deeper than 128"},
		{"a long name", `[{"role":"user","name":"` + long + `"}]`, "messages[0] is refused: name must be at most 1024 bytes"},
		{"a long call id", `[{"role":"assistant","tool_calls":[{"id":"` + long + `"}]}]`,
			"messages[0] is refused: parts[0].tool_call.id must be at most 1024 bytes"},
		{"too many calls", `[{"role":"assistant","tool_calls":[` + strings.Repeat("{},", 256) + `{}]}]`,
			"messages[0] is refused: parts must hold at most 256 tool calls"},
		{"a message too large", `[{"role":"user","content":"` + strings.Repeat("long", 1<<18*3+1) + `"}]`,
			"messages[0] is refused: must be at most 3145728 bytes in canonical encoding"},
	}
}

func TestParseRefusesWithThePath(t *testing.T) {
	for _, c := range refused() {
		t.Run(c.name, func(t *testing.T) {
			messages, report, err := openai.Parse([]byte(c.provider))
			if !errors.Is(err, openai.ErrInvalid) || messages != nil || len(report.Changes) > 0 {
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
	_, _, err := openai.ParseMessage([]byte(`{"role":"tool","tool_call_id":7}`))
	if want := "message.tool_call_id is neither a string nor null"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %q", err, want)
	}
}

func TestParseReportsLoneSurrogates(t *testing.T) {
	_, report, err := openai.Parse([]byte(`[{"role":"user","content":[{"type":"text","text":"\ud83d\ude42\ud800x\udc00\ufffd"}],` +
		`"x":["\udfff"]}]`))
	if err != nil {
		t.Fatal(err)
	}
	want := []openai.Change{
		{Path: "messages[0].content[0].text", Kind: openai.Surrogates, Count: 2},
		{Path: "messages[0].x[0]", Kind: openai.Surrogates, Count: 1},
	}
	if len(report.Changes) != 2 || report.Changes[0] != want[0] || report.Changes[1] != want[1] {
		t.Errorf("got %v, want %v", report.Changes, want)
	}
}
