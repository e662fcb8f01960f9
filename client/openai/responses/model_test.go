package responses_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/client/anthropic"
	"github.com/transcriptd/transcriptd/client/internal/convtest"
	"github.com/transcriptd/transcriptd/client/internal/convtest/responsesapi"
	"github.com/transcriptd/transcriptd/client/openai"
	"github.com/transcriptd/transcriptd/client/openai/responses"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// modelCase is what ForModel makes of given: the request and, one a line, what was changed.
type modelCase struct{ name, given, want, changes string }

func callOf(id string) string {
	return `{"type":"function_call","call_id":"` + id + `","name":"f","arguments":"{}"}`
}

func outputOf(id, text string) string {
	return `{"type":"function_call_output","call_id":"` + id + `","output":"` + text + `"}`
}

const stubText = "[no result: the call was interrupted]"

// responsesCases are given as items.
func responsesCases() []modelCase {
	long := strings.Repeat("0", 65)
	return []modelCase{
		{"nothing to change",
			`[{"role":"developer","content":"S"},{"role":"user","content":[{"type":"input_text","text":"a"},{"type":"input_image","image_url":"https://example.com/a.png","detail":"low"}]},` +
				callOf("a") + `,` + outputOf("a", "A") + `,{"role":"assistant","content":"ho"}]`,
			`[{"role":"developer","content":"S"},{"role":"user","content":[{"type":"input_text","text":"a"},{"type":"input_image","image_url":"https://example.com/a.png","detail":"low"}]},` +
				callOf("a") + `,` + outputOf("a", "A") + `,{"role":"assistant","content":"ho"}]`,
			``},
		{"an answer goes back without ids, with encrypted reasoning and phases",
			`[{"type":"message","role":"user","content":"hi"},{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA"},{"type":"message","id":"msg_1","role":"assistant","status":"completed","phase":"commentary",` +
				`"content":[{"type":"output_text","text":"Let me see.","annotations":[],"logprobs":[]}]},` +
				`{"type":"function_call","id":"fc_1","status":"completed","call_id":"a","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"a","output":"A"},` +
				`{"type":"message","id":"msg_2","role":"assistant","phase":"final_answer","content":[{"type":"output_text","text":"a","annotations":[]},{"type":"output_text","text":"b","annotations":[]}]}]`,
			`[{"role":"user","content":"hi"},{"type":"reasoning","encrypted_content":"gAAA","summary":[]},{"role":"assistant","content":"Let me see.","phase":"commentary"},` + callOf("a") + `,` + outputOf("a", "A") +
				`,{"role":"assistant","content":[{"type":"output_text","text":"a"},{"type":"output_text","text":"b"}],"phase":"final_answer"}]`,
			``},
		{"a call's namespace goes back, who made it does not",
			`[{"role":"user","content":"hi"},{"type":"function_call","id":"fc_1","status":"completed","call_id":"a","namespace":"math","name":"f","arguments":"{}"},` +
				`{"type":"custom_tool_call","call_id":"b","name":"sh","namespace":"a b","input":"ls"},` +
				`{"type":"function_call","call_id":"c","name":"f","namespace":null,"arguments":"{}","caller":{"type":"program","caller_id":"p"}},` +
				outputOf("a", "A") + `,{"type":"custom_tool_call_output","call_id":"b","output":"B"},` + outputOf("c", "C") + `]`,
			`[{"role":"user","content":"hi"},{"type":"function_call","call_id":"a","name":"f","namespace":"math","arguments":"{}"},` +
				`{"type":"custom_tool_call","call_id":"b","name":"sh","input":"ls"},` + callOf("c") + `,` +
				outputOf("a", "A") + `,{"type":"custom_tool_call_output","call_id":"b","output":"B"},` + outputOf("c", "C") + `]`,
			`messages[1].parts[1].extras left_out
messages[1].parts[2].extras left_out
messages[3].extras left_out`},
		{"reasoning that is not encrypted, and reasoning that nothing follows, is left out",
			`[{"role":"user","content":"hi"},{"type":"reasoning","id":"r","summary":[{"type":"summary_text","text":"s"}]},{"role":"assistant","content":"a"},{"type":"reasoning","summary":[{"type":"summary_text","text":"a"},{"type":"summary_text","text":"b"}],"encrypted_content":"g"},` +
				`{"role":"user","content":"go on"},{"type":"reasoning","summary":[{"type":"summary_text","text":"a"},{"type":"summary_text","text":"b"}],"encrypted_content":"g"},` + callOf("a") + `]`,
			`[{"role":"user","content":"hi"},{"role":"assistant","content":"a"},{"role":"user","content":"go on"},{"type":"reasoning","encrypted_content":"g","summary":[{"type":"summary_text","text":"a"},{"type":"summary_text","text":"b"}]},` +
				callOf("a") + `,` + outputOf("a", stubText) + `]`,
			`messages[1].parts[0] left_out
messages[1].parts[2] left_out
messages[3].parts[1] added`},
		{"what the server's tools did is left out, what stands for compacted items is not",
			`[{"role":"user","content":"hi"},{"type":"compaction","id":"c","encrypted_content":"g"},{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search"}},` +
				`{"type":"message","role":"assistant","content":[{"type":"refusal","refusal":"No."}]},{"type":"item_reference","id":"m"},{"type":"mcp_approval_response","approval_request_id":"r","approve":true}]`,
			`[{"role":"user","content":"hi"},{"type":"compaction","encrypted_content":"g"},{"role":"assistant","content":[{"type":"refusal","refusal":"No."}]},` +
				`{"role":"user","content":"[left out: mcp_approval_response]"}]`,
			`messages[1].parts[1] left_out
messages[1].parts[3] left_out
messages[2].parts[0] replaced by [left out: mcp_approval_response]`},
		{"calls of other tools are functions",
			`[{"type":"shell_call","id":"s","call_id":"a","action":{"commands":["ls"]}},{"type":"custom_tool_call","call_id":"b","name":"sh","input":"ls"},` +
				`{"type":"shell_call_output","call_id":"a","output":[{"stdout":"x"}]},{"type":"custom_tool_call_output","call_id":"b","output":"y"}]`,
			`[{"type":"function_call","call_id":"a","name":"shell","arguments":"{\"commands\":[\"ls\"]}"},{"type":"custom_tool_call","call_id":"b","name":"sh","input":"ls"},` +
				`{"type":"function_call_output","call_id":"a","output":"[left out: a part]"},{"type":"custom_tool_call_output","call_id":"b","output":"y"}]`,
			`messages[0].parts[0] replaced
messages[1].parts[0] replaced by [left out: a part]
messages[1].extras left_out
messages[2].extras left_out`},
		{"ids that are repeated or too long are renamed, names that are malformed too",
			`[` + callOf("a") + `,` + callOf("a") + `,{"type":"function_call","call_id":"` + long + `","name":"a.b","arguments":""}]`,
			`[` + callOf("a") + `,` + callOf("a_2") + `,{"type":"function_call","call_id":"` + long[:64] + `","name":"a_b","arguments":""},` +
				outputOf("a", stubText) + `,` + outputOf("a_2", stubText) + `,` + outputOf(long[:64], stubText) + `]`,
			`messages[0].parts[1].tool_call.id renamed from a to a_2
messages[0].parts[2].tool_call.id renamed from ` + long + ` to ` + long[:64] + `
messages[0].parts[2].tool_call.name renamed from a.b to a_b
messages[0].parts[0] added
messages[0].parts[1] added
messages[0].parts[2] added`},
		{"results that answer nothing, and messages without content, are left out",
			`[{"role":"user","content":"hi"},` + outputOf("a", "A") + `,{"role":"user","content":[]},{"role":"assistant","content":""}]`,
			`[{"role":"user","content":"hi"}]`,
			`messages[1] left_out
messages[2] left_out
messages[3] left_out`},
		{"media",
			`[{"role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,AAAA"},{"type":"input_image","image_url":"data:image/tiff;base64,AAAA"},` +
				`{"type":"input_file","filename":"a.pdf","file_data":"data:application/pdf;base64,AAAA"},{"type":"input_file","file_url":"https://example.com/a.pdf"},` +
				`{"type":"input_image","file_id":"file-1","detail":"high"},{"type":"input_file","file_id":"file-2"},{"type":"input_file","file_url":"ftp://example.com/a"}]},` +
				`{"role":"system","content":[{"type":"input_image","image_url":"https://example.com/a.png"},{"type":"input_text","text":"S"}]}]`,
			`[{"role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,AAAA","detail":"auto"},{"type":"input_text","text":"[left out: image/tiff]"},` +
				`{"type":"input_file","filename":"a.pdf","file_data":"data:application/pdf;base64,AAAA"},{"type":"input_file","file_url":"https://example.com/a.pdf"},` +
				`{"type":"input_image","file_id":"file-1","detail":"high"},{"type":"input_file","file_id":"file-2"},{"type":"input_text","text":"[left out: file]"}]},{"role":"system","content":"S"}]`,
			`messages[0].parts[1] replaced by [left out: image/tiff]
messages[0].parts[6] replaced by [left out: file]
messages[1].parts[0] left_out`},
		{"a result holds media",
			`[` + callOf("a") + `,{"type":"function_call_output","call_id":"a","output":[{"type":"input_text","text":"see"},{"type":"input_image","image_url":"https://example.com/a.png"}]}]`,
			`[` + callOf("a") + `,{"type":"function_call_output","call_id":"a","output":[{"type":"input_text","text":"see"},{"type":"input_image","image_url":"https://example.com/a.png","detail":"auto"}]}]`,
			``},
	}
}

// openaiCases are given as chat completions have them.
func openaiCases() []modelCase {
	return []modelCase{
		{"a conversation of chat completions",
			`[{"role":"system","content":"S"},{"role":"user","name":"ann","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"https://example.com/a.png","detail":"low"}},` +
				`{"type":"input_audio","input_audio":{"data":"AAAA","format":"wav"}}]},{"role":"assistant","reasoning_content":"hm","content":"x","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}},` +
				`{"id":"b","type":"custom","custom":{"name":"sh","input":"ls"}}]},{"role":"tool","tool_call_id":"b","name":"sh","content":"B"},{"role":"tool","tool_call_id":"a","content":"A","is_error":true}]`,
			`[{"role":"system","content":"S"},{"role":"user","content":[{"type":"input_text","text":"a"},{"type":"input_image","image_url":"https://example.com/a.png","detail":"low"},` +
				`{"type":"input_text","text":"[left out: audio/wav]"}]},{"role":"assistant","content":"x"},` + callOf("a") + `,{"type":"custom_tool_call","call_id":"b","name":"sh","input":"ls"},` +
				`{"type":"custom_tool_call_output","call_id":"b","output":"B"},` + outputOf("a", "A") + `]`,
			`messages[1].parts[1].extras left_out
messages[1].parts[2] replaced by [left out: audio/wav]
messages[1].name left_out
messages[2].parts[0] left_out
messages[3].name left_out
messages[4].is_error left_out`},
	}
}

// anthropicCases are given as the Messages API has them.
func anthropicCases() []modelCase {
	return []modelCase{
		{"a conversation with Anthropic",
			`{"system":"S","messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"x"},` +
				`{"type":"tool_use","id":"a","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}]},` +
				`{"type":"text","text":"and?"}]}]}`,
			`[{"role":"system","content":"S"},{"role":"user","content":"a"},{"role":"assistant","content":"x"},` + callOf("a") +
				`,{"type":"function_call_output","call_id":"a","output":[{"type":"input_image","image_url":"data:image/png;base64,AAAA","detail":"auto"}]},{"role":"user","content":"and?"}]`,
			`messages[2].parts[0] left_out`},
	}
}

type parseFunc func([]byte) ([]*transcriptv1.Message, responses.Report, error)

// sources are the cases by whose JSON they are given in.
func sources() map[string]struct {
	parse parseFunc
	cases []modelCase
} {
	return map[string]struct {
		parse parseFunc
		cases []modelCase
	}{
		"responses": {responses.Parse, responsesCases()},
		"openai":    {openai.Parse, openaiCases()},
		"anthropic": {anthropic.Parse, anthropicCases()},
	}
}

func TestForModel(t *testing.T) {
	for _, from := range sources() {
		for _, c := range from.cases {
			t.Run(c.name, func(t *testing.T) {
				messages, _, err := from.parse([]byte(c.given))
				if err != nil {
					t.Fatal(err)
				}
				given := make([]*transcriptv1.Message, len(messages))
				for i, m := range messages {
					given[i] = proto.CloneOf(m)
				}
				request, report, err := responses.ForModel(messages)
				if err := errors.Join(err, responsesapi.Check(request)); err != nil {
					t.Fatalf("%v: %s", err, request)
				}
				if !convtest.Equal([]byte(c.want), request) {
					t.Errorf("got  %s\nwant %s", request, c.want)
				}
				if got := changes(report); got != c.changes {
					t.Errorf("got changes\n%s\nwant\n%s", got, c.changes)
				}
				for i, m := range messages {
					if !proto.Equal(m, given[i]) {
						t.Errorf("messages[%d] was changed", i)
					}
				}
			})
		}
	}
}

// changes are those of a report, one a line.
func changes(report responses.Report) string {
	lines := make([]string, len(report.Changes))
	for i, c := range report.Changes {
		lines[i] = fmt.Sprintf("%s %s", c.Path, c.Kind)
		if c.From != "" {
			lines[i] += " from " + c.From
		}
		if c.To != "" && c.Kind == responses.Renamed {
			lines[i] += " to " + c.To
		} else if c.To != "" {
			lines[i] += " by " + c.To
		}
	}
	return strings.Join(lines, "\n")
}

func TestNothingToSend(t *testing.T) {
	messages, _, err := responses.Parse([]byte(`[{"role":"user","content":""}]`))
	if err != nil {
		t.Fatal(err)
	}
	if _, report, err := responses.ForModel(messages); !errors.Is(err, responses.ErrNoMessages) || len(report.Changes) != 1 {
		t.Errorf("%v, %v", report, err)
	}
}
