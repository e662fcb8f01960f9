package responses_test

import (
	"flag"
	"testing"

	"github.com/transcriptd/transcriptd/client/internal/convtest"
	"github.com/transcriptd/transcriptd/client/openai/responses"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

var update = flag.Bool("update", false, "write proto/testdata/responses.json and responses_conversions.json anew")

func TestVectors(t *testing.T) {
	convtest.Vectors(t, "../../../proto/testdata/responses.json", *update, append(vectorCases(), frameworkCases()...),
		func(provider []byte) ([]*transcriptv1.Message, error) {
			messages, _, err := responses.Parse(provider)
			return messages, err
		})
}

func TestVectorsAreLossless(t *testing.T) {
	for _, c := range vectorCases() {
		messages, report, err := responses.Parse([]byte(c.Provider))
		if err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		again, formatted, err := responses.Format(messages)
		if err != nil || len(formatted.Changes) > 0 {
			t.Errorf("%s: %v, %v", c.Name, formatted, err)
		}
		if len(report.Changes) == 0 && !convtest.Equal([]byte(c.Provider), again) {
			t.Errorf("%s: became %s", c.Name, again)
		}
	}
}

// A message that all providers have alike is one node, whichever of them it came from.
func TestPlainMessagesAreThoseOfOthers(t *testing.T) {
	messages, _, err := responses.Parse([]byte(`[{"role":"user","content":"hi"},{"role":"assistant","content":"ho"}]`))
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range []string{"hi", "ho"} {
		m := messages[i]
		if m.GetExtras() != "" || len(m.GetParts()) != 1 || m.GetParts()[0].GetExtras() != "" || m.GetParts()[0].GetText() != text {
			t.Errorf("%v", m)
		}
	}
}

func vectorCases() []convtest.Case {
	return []convtest.Case{
		{Name: "a conversation", Provider: `[{"role":"system","content":"Be brief."},{"role":"user","content":"2+2?"},{"role":"assistant","content":"4"}]`},
		{Name: "a developer", Provider: `[{"role":"developer","content":"Be brief."}]`},
		{Name: "a user's message with its type", Provider: `[{"type":"message","role":"user","content":"hi"}]`},
		{Name: "a user's message as an answer has it", Provider: `[{"type":"message","id":"msg_1","status":"completed","role":"user","content":[{"type":"input_text","text":"hi"}]}]`},
		{Name: "content null", Provider: `[{"role":"user","content":null}]`},
		{Name: "content absent", Provider: `[{"role":"user"}]`},
		{Name: "content empty", Provider: `[{"role":"user","content":""}]`},
		{Name: "content an empty list", Provider: `[{"role":"user","content":[]}]`},
		{Name: "content a list of two texts", Provider: `[{"role":"user","content":[{"type":"input_text","text":"a"},{"type":"input_text","text":"b"}]}]`},
		{Name: "a text with other members", Provider: `[{"role":"user","content":[{"type":"input_text","text":"a","x":1.0}]}]`},
		{Name: "a text of the assistant's kind from a user", Provider: `[{"role":"user","content":[{"type":"output_text","text":"a"}]}]`},
		{Name: "images by URL, by data and by id", Provider: `[{"role":"user","content":[{"type":"input_image","image_url":"https://example.com/a.png","detail":"low"},` +
			`{"type":"input_image","image_url":"data:image/png;base64,iVBORw0KGgo="},{"type":"input_image","file_id":"file-1","detail":"auto"},` +
			`{"type":"input_image","image_url":null,"file_id":"file-1"},{"type":"input_image","image_url":"data:image/PNG;base64,iVBORw0KGgo="}]}]`},
		{Name: "files by data, by URL and by id", Provider: `[{"role":"user","content":[{"type":"input_file","filename":"a.pdf","file_data":"data:application/pdf;base64,JVBERi0="},` +
			`{"type":"input_file","file_url":"https://example.com/a.pdf"},{"type":"input_file","file_id":"file-1"},` +
			`{"type":"input_file","file_data":"JVBERi0=","filename":"a.pdf"},{"type":"input_file","file_data":"data:image/png;base64,AAAA"},` +
			`{"type":"input_file","file_data":null,"file_url":"https://example.com/a.pdf"},{"type":"input_file","file_data":"data:audio/wav;base64,AAAA"}]}]`},
		{Name: "content of an unknown type", Provider: `[{"role":"user","content":[{"type":"hologram","data":[1.0,1]},"hi",null,7]}]`},
		{Name: "an answer", Provider: `[{"type":"message","id":"msg_1","status":"completed","role":"assistant","content":[{"type":"output_text","text":"4","annotations":[],"logprobs":[]}]}]`},
		{Name: "an answer of two texts", Provider: `[{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"4"},{"type":"output_text","text":"5","annotations":[]}]}]`},
		{Name: "two answers in a row", Provider: `[{"role":"assistant","content":"a"},{"role":"assistant","content":"b"}]`},
		{Name: "two answers as lists in a row", Provider: `[{"role":"assistant","content":[{"type":"output_text","text":"a"}]},{"role":"assistant","content":[{"type":"output_text","text":"b"}]}]`},
		{Name: "an answer as a list without other members", Provider: `[{"role":"assistant","content":[{"type":"output_text","text":"a"}]}]`},
		{Name: "an answer as a string with its phase", Provider: `[{"role":"assistant","content":"a","phase":"final_answer"}]`},
		{Name: "an answer as a string with its type, then another", Provider: `[{"type":"message","role":"assistant","content":"a"},{"role":"assistant","content":"b"}]`},
		{Name: "an empty answer", Provider: `[{"role":"assistant","content":""}]`},
		{Name: "answers without content", Provider: `[{"role":"assistant","content":[]},{"role":"assistant","content":null},{"role":"assistant"},{"type":"message","role":"assistant","content":7}]`},
		{Name: "a refusal", Provider: `[{"type":"message","id":"m","role":"assistant","content":[{"type":"refusal","refusal":"No."},{"type":"output_text","text":"a"},{"type":"refusal","refusal":"Never."}]}]`},
		{Name: "a text with a member named item", Provider: `[{"role":"assistant","content":[{"type":"output_text","text":"a","item":{}}]}]`},
		{Name: "a text with a member named json", Provider: `[{"role":"assistant","content":[{"type":"output_text","text":"a","json":"item"}]}]`},
		{Name: "an answer with a member named item", Provider: `[{"role":"assistant","content":"a","item":{"content":""}}]`},
		{Name: "a call", Provider: `[{"type":"function_call","call_id":"call_1","name":"add","arguments":"{\"a\": 2}"}]`},
		{Name: "a call as an answer has it", Provider: `[{"type":"function_call","id":"fc_1","status":"completed","call_id":"call_1","name":"add","arguments":"","namespace":"math"}]`},
		{Name: "an answer with reasoning, text and two calls is one message", Provider: `[{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA"},` +
			`{"type":"message","id":"msg_1","role":"assistant","status":"completed","phase":"commentary","content":[{"type":"output_text","text":"Let me see.","annotations":[]}]},` +
			`{"type":"function_call","id":"fc_1","call_id":"a","name":"add","arguments":"{}"},{"type":"function_call","id":"fc_2","call_id":"b","name":"add","arguments":"{}"},` +
			`{"type":"function_call_output","call_id":"b","output":"4"},{"type":"function_call_output","call_id":"a","output":"5"},{"role":"assistant","content":"9"}]`},
		{Name: "reasoning between calls", Provider: `[{"type":"function_call","call_id":"a","name":"f","arguments":"{}"},{"type":"reasoning","id":"r","summary":[]},` +
			`{"type":"function_call","call_id":"b","name":"f","arguments":"{}"}]`},
		{Name: "a call of another form", Provider: `[{"type":"function_call","call_id":null,"name":"add","arguments":"{}"},{"type":"function_call","call_id":"a","name":"add"},` +
			`{"type":"function_call","call_id":"a","arguments":"{}"},{"type":"custom_tool_call","call_id":"a","name":"sh","input":{}}]`},
		{Name: "a call of a custom tool and its result", Provider: `[{"type":"custom_tool_call","id":"ctc_1","call_id":"c","name":"sh","input":"ls -l"},{"type":"custom_tool_call_output","call_id":"c","output":"a"}]`},
		{Name: "a local shell", Provider: `[{"type":"local_shell_call","id":"lsh_1","call_id":"c","status":"completed","action":{"type":"exec","command":["ls","-l"],"env":{},"timeout_ms":1e3}},` +
			`{"type":"local_shell_call_output","call_id":"c","output":"{\"stdout\":\"a\"}"}]`},
		{Name: "a shell", Provider: `[{"type":"shell_call","call_id":"c","action":{"commands":["ls"]}},` +
			`{"type":"shell_call_output","call_id":"c","max_output_length":100,"output":[{"stdout":"a","stderr":"","outcome":{"type":"exit","exit_code":0}}]}]`},
		{Name: "a computer", Provider: `[{"type":"computer_call","id":"cc_1","call_id":"c","action":{"type":"click","x":1,"y":2},"pending_safety_checks":[],"status":"completed"},` +
			`{"type":"computer_call_output","call_id":"c","output":{"type":"computer_screenshot","image_url":"data:image/png;base64,AAAA"}}]`},
		{Name: "a computer with actions", Provider: `[{"type":"computer_call","call_id":"c","actions":[{"type":"wait"}]}]`},
		{Name: "a patch", Provider: `[{"type":"apply_patch_call","call_id":"c","operation":{"type":"delete_file","path":"a"}},{"type":"apply_patch_call_output","call_id":"c","status":"completed"}]`},
		{Name: "a search of tools by the caller and by the server", Provider: `[{"type":"tool_search_call","call_id":"c","execution":"client","arguments":{"queries":["rate"]},"status":"completed"},` +
			`{"type":"tool_search_output","call_id":"c","execution":"client","tools":[{"name":"rate","type":"function"}]},` +
			`{"type":"tool_search_call","call_id":null,"execution":"server","arguments":{"paths":["a"]}},{"type":"tool_search_output","call_id":null,"execution":"server","tools":[]}]`},
		{Name: "arguments that are no object", Provider: `[{"type":"shell_call","call_id":"c","action":"ls"},{"type":"shell_call","call_id":"d","action":null}]`},
		{Name: "result empty, with its id and status", Provider: `[{"type":"function_call_output","id":"fco_1","status":"completed","call_id":"c","output":""}]`},
		{Name: "result of a list", Provider: `[{"type":"function_call_output","call_id":"c","output":[{"type":"input_text","text":"see"},{"type":"input_image","image_url":"https://example.com/a.png"}]}]`},
		{Name: "result null, absent, of another kind", Provider: `[{"type":"function_call_output","call_id":"c","output":null},{"type":"function_call_output","call_id":"c"},` +
			`{"type":"function_call_output","call_id":"c","output":{"a":1.0}},{"type":"function_call_output","call_id":"c","output":7},{"type":"function_call_output","call_id":"c","output":[]}]`},
		{Name: "result without a call's id", Provider: `[{"type":"function_call_output","output":"4"},{"type":"function_call_output","call_id":7,"output":"4"}]`},
		{Name: "reasoning with a summary", Provider: `[{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"two and two"}]}]`},
		{Name: "reasoning with two summaries", Provider: `[{"type":"reasoning","summary":[{"type":"summary_text","text":"a"},{"type":"summary_text","text":"b"}],"encrypted_content":null}]`},
		{Name: "reasoning with an empty summary text", Provider: `[{"type":"reasoning","summary":[{"type":"summary_text","text":""}]}]`},
		{Name: "reasoning with its content", Provider: `[{"type":"reasoning","id":"r","summary":[],"content":[{"type":"reasoning_text","text":"two and two"}]}]`},
		{Name: "reasoning with both", Provider: `[{"type":"reasoning","id":"r","summary":[{"type":"summary_text","text":"a"}],"content":[{"type":"reasoning_text","text":"b"}]}]`},
		{Name: "reasoning with content of no item", Provider: `[{"type":"reasoning","id":"r","summary":[],"content":[]}]`},
		{Name: "reasoning of another form", Provider: `[{"type":"reasoning","id":"r"},{"type":"reasoning","summary":null},{"type":"reasoning","summary":["a"]},` +
			`{"type":"reasoning","summary":[{"type":"summary_text","text":"a","x":1}]}]`},
		{Name: "tools of the server", Provider: `[{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"a"}},` +
			`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"b","annotations":[{"type":"url_citation","url":"https://example.com","start_index":0}]}]}]`},
		{Name: "MCP and its approval", Provider: `[{"type":"mcp_list_tools","server_label":"s","tools":[]},{"type":"mcp_approval_request","id":"mcpr_1","name":"f","arguments":"{}","server_label":"s"},` +
			`{"type":"mcp_approval_response","approval_request_id":"mcpr_1","approve":true},{"type":"mcp_call","id":"mcp_1","name":"f","arguments":"{}","output":"x"}]`},
		{Name: "tools that a developer adds", Provider: `[{"type":"additional_tools","role":"developer","tools":[{"name":"f"}]},{"role":"user","content":"hi"}]`},
		{Name: "references and compacted items", Provider: `[{"type":"item_reference","id":"msg_1"},{"id":"msg_2"},{"type":"compaction","id":"cmp_1","encrypted_content":"gAAA"},{"type":null,"role":"user"}]`},
		{Name: "extras in source order, numbers as spelled", Provider: `[{"z":1.0,"role":"user","a":1e2,"content":"hi","b":{"y": -0, "x": [true , null]}}]`},
		{Name: "U+0000 and a leading U+FEFF", Provider: `[{"role":"assistant","content":"\ufeffa\u0000b"}]`},
		{Name: "a lone surrogate becomes U+FFFD", Provider: `[{"role":"user","content":"a\ud800b"}]`},
	}
}
