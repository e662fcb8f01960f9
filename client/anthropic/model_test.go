package anthropic_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/client/anthropic"
	"github.com/transcriptd/transcriptd/client/internal/convtest"
	"github.com/transcriptd/transcriptd/client/internal/convtest/anthropicapi"
	"github.com/transcriptd/transcriptd/client/openai"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// modelCase is what ForModel makes of given: the request and, one a line, what was changed.
type modelCase struct{ name, given, want, changes string }

func modelCases() []modelCase {
	return []modelCase{
		{"nothing to change",
			`{"system":"S","messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"thinking",` +
				`"thinking":"hm","signature":"s"},{"type":"tool_use","id":"t1","name":"f","input":{"a":1.0}}]},{"role":"user",` +
				`"content":[{"type":"tool_result","tool_use_id":"t1","content":"4","is_error":true},{"type":"text","text":"go"}]}]}`,
			`{"system":"S","messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"thinking",` +
				`"thinking":"hm","signature":"s"},{"type":"tool_use","id":"t1","name":"f","input":{"a":1.0}}]},{"role":"user",` +
				`"content":[{"type":"tool_result","tool_use_id":"t1","content":"4","is_error":true},{"type":"text","text":"go"}]}]}`,
			``},
		{"messages of one role in a row become one",
			`{"messages":[{"role":"user","content":"a"},{"role":"user","content":"b"},{"role":"assistant","content":"c"},` +
				`{"role":"assistant","content":"d"}]}`,
			`{"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},` +
				`{"role":"assistant","content":[{"type":"text","text":"c"},{"type":"text","text":"d"}]}]}`,
			"messages[1] joined\nmessages[3] joined"},
		{"what comes before the user's first message is left out",
			`{"system":"S","messages":[{"role":"assistant","content":"x"},{"role":"system","content":"T"},` +
				`{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"f","input":{}}]},{"role":"user","content":` +
				`[{"type":"tool_result","tool_use_id":"t1"}]},{"role":"user","content":"hi"}]}`,
			`{"system":[{"type":"text","text":"S"},{"type":"text","text":"T"}],"messages":[{"role":"user","content":"hi"}]}`,
			"messages[1] left_out\nmessages[3] left_out\nmessages[4] left_out"},
		{"the system in the middle speaks as the user, marked",
			`{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool_use","id":"t1",` +
				`"name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"4"}]},` +
				`{"role":"system","content":"Be brief."}]}`,
			`{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool_use","id":"t1",` +
				`"name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"4"},` +
				`{"type":"text","text":"<system>\nBe brief.\n</system>"}]}]}`,
			"messages[3] replaced"},
		{"thinking without signature, and at the end, is left out",
			`{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"thinking","thinking":"a"},` +
				`{"type":"text","text":"b"},{"type":"thinking","thinking":"c","signature":"s"},` +
				`{"type":"redacted_thinking","data":"AAAA"}]}]}`,
			`{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"b"}]}`,
			"messages[1].parts[0] left_out\nmessages[1].parts[3] left_out\nmessages[1].parts[2] left_out"},
		{"blank texts and empty messages are left out, the end is trimmed",
			`{"system":" ","messages":[{"role":"user","content":[{"type":"text","text":""},{"type":"text","text":"hi "}]},` +
				`{"role":"assistant","content":"\n"},{"role":"assistant","content":"ho \n"}]}`,
			`{"messages":[{"role":"user","content":"hi "},{"role":"assistant","content":"ho"}]}`,
			"messages[0].parts[0] left_out\nmessages[0] left_out\nmessages[2].parts[0] left_out\nmessages[2] left_out\n" +
				"messages[3].parts[0] replaced"},
		{"server tools' calls and results come in pairs",
			`{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[` +
				`{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}},` +
				`{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]},` +
				`{"type":"server_tool_use","id":"srvtoolu_2","name":"web_search","input":{}},` +
				`{"type":"mcp_tool_use","id":"m","name":"x"},{"type":"text","text":"found"}]}]}`,
			`{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[` +
				`{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}},` +
				`{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]},` +
				`{"type":"text","text":"found"}]}]}`,
			"messages[1].parts[3] left_out\nmessages[1].parts[2] left_out"},
		{"server tools' blocks that the API does not take, and ids that were used, are left out",
			`{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[` +
				`{"type":"server_tool_use","id":"srvtoolu_a-b","name":"web_fetch","input":{}},` +
				`{"type":"web_fetch_tool_result","tool_use_id":"srvtoolu_a-b","content":{}},` +
				`{"type":"server_tool_use","id":"srvtoolu_1","name":"advisor","input":{}},` +
				`{"type":"server_tool_use","id":"srvtoolu_2","name":"web_fetch","input":[]},` +
				`{"type":"server_tool_use","id":"srvtoolu_3","name":"web_fetch","input":{},"x":1},` +
				`{"type":"server_tool_use","id":"srvtoolu_4","name":"web_fetch","input":{}},` +
				`{"type":"web_search_tool_result","tool_use_id":"srvtoolu_4","content":[]},` +
				`{"type":"server_tool_use","id":"srvtoolu_5","name":"tool_search_tool_bm25","input":{}},` +
				`{"type":"tool_search_tool_result","tool_use_id":"srvtoolu_5","content":{}},{"type":"text","text":"x"}]},` +
				`{"role":"user","content":"again"},{"role":"assistant","content":[` +
				`{"type":"server_tool_use","id":"srvtoolu_5","name":"tool_search_tool_bm25","input":{}},` +
				`{"type":"tool_search_tool_result","tool_use_id":"srvtoolu_5","content":{}},{"type":"text","text":"y"}]}]}`,
			`{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[` +
				`{"type":"server_tool_use","id":"srvtoolu_5","name":"tool_search_tool_bm25","input":{}},` +
				`{"type":"tool_search_tool_result","tool_use_id":"srvtoolu_5","content":{}},{"type":"text","text":"x"}]},` +
				`{"role":"user","content":"again"},{"role":"assistant","content":"y"}]}`,
			"messages[1].parts[0] left_out\nmessages[1].parts[1] left_out\nmessages[1].parts[2] left_out\n" +
				"messages[1].parts[3] left_out\nmessages[1].parts[4] left_out\nmessages[3].parts[0] left_out\n" +
				"messages[1].parts[5] left_out\nmessages[1].parts[6] left_out\nmessages[3].parts[1] left_out"},
		{"results: none has blank content, one that failed holds text, unanswered calls get a stub",
			`{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[` +
				`{"type":"tool_use","id":"t1","name":"f","input":{}},{"type":"tool_use","id":"t2","name":"f","input":{}},` +
				`{"type":"tool_use","id":"t3","name":"f","input":{}},{"type":"tool_use","id":"t4","name":"f","input":{}}]},` +
				`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t4","content":""},` +
				`{"type":"tool_result","tool_use_id":"t3","is_error":true},{"type":"tool_result","tool_use_id":"t2",` +
				`"is_error":true,"content":[{"type":"image","source":{"type":"url","url":"https://example.com/a.png"}}]}]}]}`,
			`{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[` +
				`{"type":"tool_use","id":"t1","name":"f","input":{}},{"type":"tool_use","id":"t2","name":"f","input":{}},` +
				`{"type":"tool_use","id":"t3","name":"f","input":{}},{"type":"tool_use","id":"t4","name":"f","input":{}}]},` +
				`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t4"},` +
				`{"type":"tool_result","tool_use_id":"t3","is_error":true,"content":"[the call failed]"},` +
				`{"type":"tool_result","tool_use_id":"t2","is_error":true,"content":"[left out: image]"},` +
				`{"type":"tool_result","tool_use_id":"t1","content":"[no result: the call was interrupted]"}]}]}`,
			"messages[3] replaced to [the call failed]\nmessages[4].parts[0] replaced to [left out: image]\n" +
				"messages[1].parts[0] added"},
		{"media",
			`{"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/tiff",` +
				`"data":"AAAA"}},{"type":"image","source":{"type":"file","file_id":"f"}},{"type":"document","title":"T",` +
				`"cache_control":{},"source":{"type":"base64","media_type":"application/pdf","data":"AAAA"}},` +
				`{"type":"document","source":{"type":"text","media_type":"text/plain","data":"x"}}]}]}`,
			`{"messages":[{"role":"user","content":[{"type":"text","text":"[left out: image/tiff]"},` +
				`{"type":"text","text":"[left out: image]"},{"type":"document","source":{"type":"base64",` +
				`"media_type":"application/pdf","data":"AAAA"},"title":"T"},` +
				`{"type":"document","source":{"type":"text","media_type":"text/plain","data":"x"}}]}]}`,
			"messages[0].parts[0] replaced to [left out: image/tiff]\nmessages[0].parts[1] replaced to [left out: image]\n" +
				"messages[0].parts[2].extras left_out"},
	}
}

// ForModel of what Parse makes of given.
func TestForModel(t *testing.T) {
	for _, c := range modelCases() {
		t.Run(c.name, func(t *testing.T) {
			messages, _, err := anthropic.Parse([]byte(c.given))
			if err != nil {
				t.Fatal(err)
			}
			checkForModel(t, messages, c.want, c.changes)
		})
	}
}

const openaiCalls = `{"role":"user","content":"hi"},{"role":"assistant","content":null,"tool_calls":[`

func openaiCases() []modelCase {
	return []modelCase{
		{"system and developer go to the system prompt, a name is left out",
			`[{"role":"system","content":"S"},{"role":"developer","content":"D"},{"role":"user","name":"ann","content":"hi"}]`,
			`{"system":[{"type":"text","text":"S"},{"type":"text","text":"D"}],"messages":[{"role":"user","content":"hi"}]}`,
			"messages[2].name left_out"},
		{"a group of two messages is joined, an id used twice is renamed",
			`[` + openaiCalls + `{"id":"c","type":"function","function":{"name":"f","arguments":"{\"a\": 1}"}}]},` +
				`{"role":"assistant","reasoning_content":"hm","content":"x","tool_calls":[{"id":"c","type":"function",` +
				`"function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"1"},` +
				`{"role":"tool","tool_call_id":"c","content":"2"}]`,
			`{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[` +
				`{"type":"text","text":"x"},{"type":"tool_use","id":"c","name":"f","input":{"a":1}},` +
				`{"type":"tool_use","id":"c_2","name":"f","input":{}}]},{"role":"user","content":[` +
				`{"type":"tool_result","tool_use_id":"c","content":"1"},{"type":"tool_result","tool_use_id":"c_2","content":"2"}]}]}`,
			"messages[2].parts[2].tool_call.id renamed from c to c_2\nmessages[2].parts[0] left_out\nmessages[2] joined\n" +
				"messages[2].parts[1] moved"},
		{"an id used again later is renamed",
			`[` + openaiCalls + `{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},` +
				`{"role":"tool","tool_call_id":"c","content":"1"},{"role":"assistant","content":null,"tool_calls":[` +
				`{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},` +
				`{"role":"tool","tool_call_id":"c","content":"2"}]`,
			`{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[` +
				`{"type":"tool_use","id":"c","name":"f","input":{}}]},{"role":"user","content":[` +
				`{"type":"tool_result","tool_use_id":"c","content":"1"}]},{"role":"assistant","content":[` +
				`{"type":"tool_use","id":"c_2","name":"f","input":{}}]},{"role":"user","content":[` +
				`{"type":"tool_result","tool_use_id":"c_2","content":"2"}]}]}`,
			"messages[3].parts[0].tool_call.id renamed from c to c_2"},
		{"arguments that are no object are wrapped, names and ids cleaned",
			`[` + openaiCalls + `{"id":"a|b","type":"function","function":{"name":"n.m","arguments":"oops"}},` +
				`{"id":null,"type":"function","function":{"arguments":""}},` +
				`{"id":"c","type":"function","function":{"name":"f","arguments":"[1]"}}]}]`,
			`{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[` +
				`{"type":"tool_use","id":"a_b","name":"n_m","input":{"arguments":"oops"}},` +
				`{"type":"tool_use","id":"call","name":"unknown","input":{}},` +
				`{"type":"tool_use","id":"c","name":"f","input":{"arguments":"[1]"}}]},{"role":"user","content":[` +
				stub("a_b") + `,` + stub("call") + `,` + stub("c") + `]}]}`,
			`messages[1].parts[0].tool_call.id renamed from a|b to a_b
messages[1].parts[1].tool_call.id renamed to call
messages[1].parts[0].tool_call.name renamed from n.m to n_m
messages[1].parts[0].tool_call.arguments replaced
messages[1].parts[1].tool_call.name renamed to unknown
messages[1].parts[1].tool_call.arguments replaced
messages[1].parts[1].extras left_out
messages[1].parts[2].tool_call.arguments replaced
messages[1].parts[0] added
messages[1].parts[1] added
messages[1].parts[2] added`},
		{"media",
			`[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}},` +
				`{"type":"image_url","image_url":{"url":"https://example.com/a.png"}},` +
				`{"type":"input_audio","input_audio":{"data":"AAAA","format":"wav"}},` +
				`{"type":"file","file":{"file_data":"data:application/pdf;base64,AAAA"}},` +
				`{"type":"file","file":{"file_id":"f"}}]}]`,
			`{"messages":[{"role":"user","content":[` +
				`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}},` +
				`{"type":"image","source":{"type":"url","url":"https://example.com/a.png"}},` +
				`{"type":"text","text":"[left out: audio/wav]"},` +
				`{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"AAAA"}},` +
				`{"type":"text","text":"[left out: file]"}]}]}`,
			"messages[0].parts[2] replaced to [left out: audio/wav]\nmessages[0].parts[4] replaced to [left out: file]"},
	}
}

// ForModel of what openai.Parse makes of given.
func TestForModelOfOpenAIsMessages(t *testing.T) {
	for _, c := range openaiCases() {
		t.Run(c.name, func(t *testing.T) {
			messages, _, err := openai.Parse([]byte(c.given))
			if err != nil {
				t.Fatal(err)
			}
			checkForModel(t, messages, c.want, c.changes)
		})
	}
}

func stub(id string) string {
	return `{"type":"tool_result","tool_use_id":"` + id + `","content":"[no result: the call was interrupted]"}`
}

func checkForModel(t *testing.T, messages []*transcriptv1.Message, want, changes string) {
	t.Helper()
	request, report, err := anthropic.ForModel(messages)
	if err != nil {
		t.Fatal(err)
	}
	if !convtest.Equal(request, []byte(want)) {
		t.Errorf("got  %s\nwant %s", request, want)
	}
	if got := describe(report); got != changes {
		t.Errorf("got  %s\nwant %s", got, changes)
	}
	if err := anthropicapi.Check(request); err != nil {
		t.Error(err)
	}
}

func describe(report anthropic.Report) string {
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

func TestForModelErrors(t *testing.T) {
	for _, role := range []transcriptv1.Role{1, 2, 4, 5} {
		messages := []*transcriptv1.Message{{Role: role}}
		if _, _, err := anthropic.ForModel(messages); !errors.Is(err, anthropic.ErrNoMessages) {
			t.Errorf("%v: %v", messages, err)
		}
	}
	if _, _, err := anthropic.ForModel(nil); !errors.Is(err, anthropic.ErrNoMessages) {
		t.Error(err)
	}
	broken := &transcriptv1.Message{Role: transcriptv1.Role_ROLE_USER, Parts: []*transcriptv1.Part{{}}}
	for _, message := range []*transcriptv1.Message{{}, broken} {
		for _, write := range []func([]*transcriptv1.Message) ([]byte, anthropic.Report, error){
			anthropic.ForModel, anthropic.Format, anthropic.FormatMessage,
		} {
			if _, _, err := write([]*transcriptv1.Message{message}); !errors.Is(err, anthropic.ErrInvalid) {
				t.Errorf("%v: %v", message, err)
			}
		}
	}
}

// What only other providers have is named in the report of Format.
func inexactMessages() []*transcriptv1.Message {
	text := &transcriptv1.Part{Kind: &transcriptv1.Part_Text{Text: "x"}}
	call := &transcriptv1.Part{Kind: &transcriptv1.Part_ToolCall{ToolCall: &transcriptv1.ToolCall{
		Id: proto.String("c"), Name: proto.String("f"), Arguments: `{"a": 1}`,
	}}}
	return []*transcriptv1.Message{
		{Role: transcriptv1.Role_ROLE_DEVELOPER, Parts: []*transcriptv1.Part{text}},
		{Role: transcriptv1.Role_ROLE_USER, Parts: []*transcriptv1.Part{text}, Name: proto.String("ann")},
		{Role: transcriptv1.Role_ROLE_ASSISTANT, Parts: []*transcriptv1.Part{text, call}},
	}
}

func TestFormatReportsWhatIsInexact(t *testing.T) {
	out, report, err := anthropic.Format(inexactMessages())
	if err != nil {
		t.Fatal(err)
	}
	want := `{"messages":[{"role":"system","content":"x"},{"role":"user","content":"x"},{"role":"assistant","content":[` +
		`{"type":"text","text":"x"},{"type":"tool_use","id":"c","name":"f","input":{"a":1}}]}]}`
	if !convtest.Equal(out, []byte(want)) {
		t.Errorf("got %s, want %s", out, want)
	}
	wantChanges := "messages[0].role inexact\nmessages[0].extras inexact\nmessages[1].name inexact\n" +
		"messages[2].parts[1] inexact\nmessages[2].content_form inexact"
	if got := describe(report); got != wantChanges {
		t.Errorf("got %s, want %s", got, wantChanges)
	}
}
