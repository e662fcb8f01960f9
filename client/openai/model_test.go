package openai_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/client/anthropic"
	"github.com/transcriptd/transcriptd/client/internal/convtest"
	"github.com/transcriptd/transcriptd/client/internal/convtest/openaiapi"
	"github.com/transcriptd/transcriptd/client/openai"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

const callA = `{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}`
const callB = `{"id":"b","type":"function","function":{"name":"f","arguments":"{}"}}`

// modelCase is what ForModel makes of given: the request and, one a line, what was changed.
type modelCase struct{ name, given, want, changes string }

func modelCases() []modelCase {
	return []modelCase{
		{"nothing to change",
			`[{"role":"system","content":"S"},{"role":"user","name":"ann","content":"hi"},{"role":"assistant","content":"ho"}]`,
			`[{"role":"system","content":"S"},{"role":"user","content":"hi","name":"ann"},{"role":"assistant","content":"ho"}]`,
			``},
		{"a group of two messages is joined",
			`[{"role":"assistant","content":"x","tool_calls":[` + callA + `]},{"role":"assistant","content":"y","tool_calls":[` +
				callB + `]},{"role":"tool","tool_call_id":"b","content":"B"},{"role":"tool","tool_call_id":"a","content":"A"}]`,
			`[{"role":"assistant","content":[{"type":"text","text":"x"},{"type":"text","text":"y"}],"tool_calls":[` + callA +
				`,` + callB + `]},{"role":"tool","tool_call_id":"b","content":"B"},` +
				`{"role":"tool","tool_call_id":"a","content":"A"}]`,
			`messages[1] joined`},
		{"unanswered calls get a stub, after the results",
			`[{"role":"assistant","content":null,"tool_calls":[` + callA + `,` + callB + `]},` +
				`{"role":"tool","tool_call_id":"b","content":""}]`,
			`[{"role":"assistant","content":null,"tool_calls":[` + callA + `,` + callB + `]},` +
				`{"role":"tool","tool_call_id":"b","content":""},` +
				`{"role":"tool","tool_call_id":"a","content":"[no result: the call was interrupted]"}]`,
			`messages[0].parts[0] added`},
		{"results that answer nothing are left out",
			`[{"role":"user","content":"hi"},{"role":"tool","tool_call_id":"a","content":"A"}]`,
			`[{"role":"user","content":"hi"}]`,
			`messages[1] left_out`},
		{"ids that are absent, null, repeated or too long are renamed",
			`[{"role":"assistant","content":null,"tool_calls":[{"type":"function","function":{"name":"f","arguments":""}},` +
				`{"id":null,"type":"function","function":{"name":"f","arguments":""}},` + callA + `,` + callA + `,` +
				`{"id":"` + strings.Repeat("0", 41) + `","type":"function","function":{"name":"f","arguments":""}}]}]`,
			`[{"role":"assistant","content":null,"tool_calls":[` +
				`{"id":"call","type":"function","function":{"name":"f","arguments":""}},` +
				`{"id":"call_2","type":"function","function":{"name":"f","arguments":""}},` + callA + `,` +
				`{"id":"a_2","type":"function","function":{"name":"f","arguments":"{}"}},` +
				`{"id":"` + strings.Repeat("0", 40) + `","type":"function","function":{"name":"f","arguments":""}}]},` +
				stub("call") + `,` + stub("call_2") + `,` + stub("a") + `,` + stub("a_2") + `,` + stub(strings.Repeat("0", 40)) + `]`,
			`messages[0].parts[1].extras left_out
messages[0].parts[0].tool_call.id renamed to call
messages[0].parts[1].tool_call.id renamed to call_2
messages[0].parts[3].tool_call.id renamed from a to a_2
messages[0].parts[4].tool_call.id renamed from ` + strings.Repeat("0", 41) + ` to ` + strings.Repeat("0", 40) + `
messages[0].parts[0] added
messages[0].parts[1] added
messages[0].parts[2] added
messages[0].parts[3] added
messages[0].parts[4] added`},
		{"an id that was used before is renamed, whatever was answered",
			`[{"role":"assistant","content":null,"tool_calls":[` + callA + `]},{"role":"tool","tool_call_id":"a","content":"A"},` +
				`{"role":"user","content":"again"},` +
				`{"role":"assistant","content":null,"tool_calls":[` + callA + `]},{"role":"tool","tool_call_id":"a","content":"B"}]`,
			`[{"role":"assistant","content":null,"tool_calls":[` + callA + `]},{"role":"tool","tool_call_id":"a","content":"A"},` +
				`{"role":"user","content":"again"},` +
				`{"role":"assistant","content":null,"tool_calls":[{"id":"a_2","type":"function","function":{"name":"f","arguments":"{}"}}]},` +
				`{"role":"tool","tool_call_id":"a_2","content":"B"}]`,
			`messages[3].parts[0].tool_call.id renamed from a to a_2`},
		{"names that are absent or malformed are renamed",
			`[{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"a.b","arguments":""}},` +
				`{"id":"b","type":"function","function":{"arguments":""}}]},` +
				`{"role":"tool","tool_call_id":"a","name":"a.b","content":"A"},{"role":"tool","tool_call_id":"b","content":"B"}]`,
			`[{"role":"assistant","content":null,"tool_calls":[` +
				`{"id":"a","type":"function","function":{"name":"a_b","arguments":""}},` +
				`{"id":"b","type":"function","function":{"name":"unknown","arguments":""}}]},` +
				`{"role":"tool","tool_call_id":"a","content":"A"},{"role":"tool","tool_call_id":"b","content":"B"}]`,
			`messages[0].parts[0].tool_call.name renamed from a.b to a_b
messages[0].parts[1].tool_call.name renamed to unknown
messages[1].name left_out`},
		{"what is not OpenAI's is left out",
			`[{"role":"user","content":[{"type":"text","text":"hi","x":1}],"y":2},` +
				`{"role":"assistant","reasoning_content":"hm","content":null,"tool_calls":[` + callA + `]},` +
				`{"role":"tool","tool_call_id":"a","content":"A","is_error":true}]`,
			`[{"role":"user","content":"hi"},{"role":"assistant","content":null,"tool_calls":[` + callA + `]},` +
				`{"role":"tool","tool_call_id":"a","content":"A"}]`,
			`messages[0].parts[0].extras left_out
messages[0].extras left_out
messages[1].parts[0] left_out
messages[2].is_error left_out`},
		{"messages without content are left out",
			`[{"role":"system","content":""},{"role":"user","content":[]},{"role":"assistant","content":null},` +
				`{"role":"assistant","reasoning_content":"hm"},{"role":"user","content":"hi"}]`,
			`[{"role":"user","content":"hi"}]`,
			`messages[0] left_out
messages[1] left_out
messages[2] left_out
messages[3].parts[0] left_out
messages[3] left_out`},
		{"a result's image moves to the user's message behind the results",
			`[{"role":"assistant","content":null,"tool_calls":[` + callA + `,` + callB + `]},` +
				`{"role":"tool","tool_call_id":"a","content":[{"type":"text","text":"see"},{"type":"image_url",` +
				`"image_url":{"url":"https://example.com/a.png"}}]},{"role":"tool","tool_call_id":"b","content":"B"}]`,
			`[{"role":"assistant","content":null,"tool_calls":[` + callA + `,` + callB + `]},` +
				`{"role":"tool","tool_call_id":"a","content":"see"},{"role":"tool","tool_call_id":"b","content":"B"},` +
				`{"role":"user","content":[{"type":"text","text":"[media of the result of a]"},{"type":"image_url",` +
				`"image_url":{"url":"https://example.com/a.png"}}]}]`,
			`messages[1].parts[1] moved`},
		{"media",
			`[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA","detail":"low"}},` +
				`{"type":"image_url","image_url":{"url":"file-1"}},` +
				`{"type":"input_audio","input_audio":{"data":"AAAA","format":"wav"}},` +
				`{"type":"input_audio","input_audio":{"data":"AAAA","format":"ogg"}},` +
				`{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,AAAA"}},` +
				`{"type":"file","file":{"file_id":"file-1"}},{"type":"hologram"}]}]`,
			`[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA","detail":"low"}},` +
				`{"type":"text","text":"[left out: image_url]"},` +
				`{"type":"input_audio","input_audio":{"data":"AAAA","format":"wav"}},` +
				`{"type":"text","text":"[left out: audio/ogg]"},` +
				`{"type":"file","file":{"file_data":"data:application/pdf;base64,AAAA","filename":"a.pdf"}},` +
				`{"type":"file","file":{"file_id":"file-1"}},{"type":"text","text":"[left out: hologram]"}]}]`,
			`messages[0].parts[1] replaced to [left out: image_url]
messages[0].parts[3] replaced to [left out: audio/ogg]
messages[0].parts[6] replaced to [left out: hologram]`},
		{"images by data: URL, spelled in other ways",
			`[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/PNG;x=y;base64,iVBORw0KGgo"}},` +
				`{"type":"image_url","image_url":{"url":"data:image/TIFF;base64,AAAA"}},` +
				`{"type":"image_url","image_url":{"url":"data:image/png;base64,?"}},` +
				`{"type":"image_url","image_url":{"url":"data:image/png;base64,="}},` +
				`{"type":"file","file":{"file_data":"data:application/PDF;base64,AAA"}},` +
				`{"type":"file","file":{"file_data":"data:application/pdf,AAAA"}}]}]`,
			`[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/PNG;x=y;base64,iVBORw0KGgo"}},` +
				`{"type":"text","text":"[left out: image_url]"},{"type":"text","text":"[left out: image_url]"},` +
				`{"type":"text","text":"[left out: image_url]"},` +
				`{"type":"file","file":{"file_data":"data:application/PDF;base64,AAA","filename":"document.pdf"}},` +
				`{"type":"text","text":"[left out: file]"}]}]`,
			`messages[0].parts[1] replaced to [left out: image_url]
messages[0].parts[2] replaced to [left out: image_url]
messages[0].parts[3] replaced to [left out: image_url]
messages[0].parts[5] replaced to [left out: file]`},
		{"a refusal is content",
			`[{"role":"assistant","content":null,"refusal":"No."}]`,
			`[{"role":"assistant","content":[{"type":"refusal","refusal":"No."}]}]`,
			`messages[0].extras left_out`},
		{"deprecated calls and results become calls and results",
			`[{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{}"}},` +
				`{"role":"function","name":"f","content":"4"}]`,
			`[{"role":"assistant","content":null,"tool_calls":[{"id":"call","type":"function",` +
				`"function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"call","content":"4"}]`,
			`messages[0].parts[0].extras left_out
messages[0].parts[0].tool_call.id renamed to call
messages[1].extras left_out
messages[1].name left_out`},
		{"a custom tool's call",
			`[{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"custom","custom":{"name":"sh","input":"ls"}}]},` +
				`{"role":"tool","tool_call_id":"c","content":"4"}]`,
			`[{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"custom","custom":{"name":"sh","input":"ls"}}]},` +
				`{"role":"tool","tool_call_id":"c","content":"4"}]`,
			``},
	}
}

// ForModel of what Parse makes of given.
func TestForModel(t *testing.T) {
	for _, c := range modelCases() {
		t.Run(c.name, func(t *testing.T) {
			messages, _, err := openai.Parse([]byte(c.given))
			if err != nil {
				t.Fatal(err)
			}
			request, report, err := openai.ForModel(messages)
			if err != nil {
				t.Fatal(err)
			}
			if !convtest.Equal(request, []byte(c.want)) {
				t.Errorf("got  %s\nwant %s", request, c.want)
			}
			if got := describe(report); got != c.changes {
				t.Errorf("got  %s\nwant %s", got, c.changes)
			}
			if err := openaiapi.Check(request); err != nil {
				t.Error(err)
			}
		})
	}
}

func stub(id string) string {
	return `{"role":"tool","tool_call_id":"` + id + `","content":"[no result: the call was interrupted]"}`
}

func describe(report openai.Report) string {
	var lines []string
	for _, c := range report.Changes {
		line := fmt.Sprintf("%s %s", c.Path, c.Kind)
		if c.From != "" {
			line += " from " + c.From
		}
		if c.To != "" {
			line += " to " + c.To
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func TestForModelOfAnthropicsMessages(t *testing.T) {
	messages, _, err := anthropic.Parse([]byte(`{"system":"S","messages":[{"role":"user","content":"hi"},{"role":"assistant",` +
		`"content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"x"},` +
		`{"type":"tool_use","id":"t1","name":"f","input":{"a":1}}]},{"role":"user","content":[{"type":"tool_result",` +
		`"tool_use_id":"t1","content":[{"type":"text","text":"r"},{"type":"image","source":{"type":"base64",` +
		`"media_type":"image/png","data":"AAAA"}}]},{"type":"text","text":"go on"}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	request, report, err := openai.ForModel(messages)
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"role":"system","content":"S"},{"role":"user","content":"hi"},{"role":"assistant","content":"x",` +
		`"tool_calls":[{"id":"t1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]},` +
		`{"role":"tool","tool_call_id":"t1","content":"r"},{"role":"user","content":[{"type":"text",` +
		`"text":"[media of the result of t1]"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]},` +
		`{"role":"user","content":"go on"}]`
	if !convtest.Equal(request, []byte(want)) {
		t.Errorf("got  %s\nwant %s", request, want)
	}
	if got, want := describe(report), "messages[2].parts[0] left_out\nmessages[3].parts[1] moved"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestForModelErrors(t *testing.T) {
	for _, messages := range [][]*transcriptv1.Message{nil, {{Role: transcriptv1.Role_ROLE_TOOL}}} {
		if _, _, err := openai.ForModel(messages); !errors.Is(err, openai.ErrNoMessages) {
			t.Errorf("%v: %v", messages, err)
		}
	}
	broken := &transcriptv1.Message{Role: transcriptv1.Role_ROLE_USER, Parts: []*transcriptv1.Part{{}}}
	for _, message := range []*transcriptv1.Message{{}, broken} {
		for _, write := range []func([]*transcriptv1.Message) ([]byte, openai.Report, error){openai.ForModel, openai.Format} {
			if _, _, err := write([]*transcriptv1.Message{message}); !errors.Is(err, openai.ErrInvalid) {
				t.Errorf("%v: %v", message, err)
			}
		}
	}
}

// What only other providers have is named in the report of Format.
func inexactMessages() []*transcriptv1.Message {
	text := &transcriptv1.Part{Kind: &transcriptv1.Part_Text{Text: "x"}}
	signed := &transcriptv1.Part{Kind: &transcriptv1.Part_Reasoning{
		Reasoning: &transcriptv1.Reasoning{Text: "hm", Signature: "s"},
	}}
	return []*transcriptv1.Message{
		{Role: transcriptv1.Role_ROLE_USER, Parts: []*transcriptv1.Part{text}, Joined: true},
		{Role: transcriptv1.Role_ROLE_ASSISTANT, Parts: []*transcriptv1.Part{text, signed}, Name: proto.String("n"),
			State: transcriptv1.MessageState_MESSAGE_STATE_PARTIAL},
	}
}

func TestFormatReportsWhatIsInexact(t *testing.T) {
	out, report, err := openai.Format(inexactMessages())
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"role":"user","content":"x"},{"role":"assistant","content":"x","reasoning_content":"hm","name":"n"}]`
	if !convtest.Equal(out, []byte(want)) {
		t.Errorf("got %s, want %s", out, want)
	}
	wantChanges := "messages[0].joined inexact\nmessages[1].parts[0] inexact\nmessages[1].parts[1] inexact\n" +
		"messages[1].state inexact"
	if got := describe(report); got != wantChanges {
		t.Errorf("got %s, want %s", got, wantChanges)
	}
}
