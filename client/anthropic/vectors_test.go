package anthropic_test

import (
	"flag"
	"testing"

	"github.com/transcriptd/transcriptd/client/anthropic"
	"github.com/transcriptd/transcriptd/client/internal/convtest"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

var update = flag.Bool("update", false, "write proto/testdata/anthropic.json anew")

func TestVectors(t *testing.T) {
	convtest.Vectors(t, "../../proto/testdata/anthropic.json", *update, append(vectorCases(), frameworkCases()...),
		func(provider []byte) ([]*transcriptv1.Message, error) {
			messages, _, err := anthropic.Parse(provider)
			return messages, err
		})
}

func TestVectorsAreLossless(t *testing.T) {
	for _, c := range vectorCases() {
		messages, report, err := anthropic.Parse([]byte(c.Provider))
		if err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		again, formatted, err := anthropic.Format(messages)
		if err != nil || len(formatted.Changes) > 0 {
			t.Errorf("%s: %v, %v", c.Name, formatted, err)
		}
		if len(report.Changes) == 0 && !convtest.Equal([]byte(c.Provider), again) {
			t.Errorf("%s: became %s", c.Name, again)
		}
	}
}

// user and assistant are requests with one message that has this content.
func user(content string) string {
	return `{"messages":[{"role":"user","content":` + content + `}]}`
}

func assistant(content string) string {
	return `{"messages":[{"role":"assistant","content":` + content + `}]}`
}

func vectorCases() []convtest.Case {
	return []convtest.Case{
		{Name: "a conversation", Provider: `{"system":"Be brief.","messages":[{"role":"user","content":"2+2?"},` +
			`{"role":"assistant","content":[{"type":"text","text":"4"}]}]}`},
		{Name: "system a string", Provider: `{"system":"Be brief.","messages":[]}`},
		{Name: "system a list", Provider: `{"system":[{"type":"text","text":"Be brief."}],"messages":[]}`},
		{Name: "system with cache_control", Provider: `{"system":[{"type":"text","text":"Be brief.",` +
			`"cache_control":{"type":"ephemeral"}}],"messages":[]}`},
		{Name: "system null", Provider: `{"system":null,"messages":[]}`},
		{Name: "system empty", Provider: `{"system":"","messages":[]}`},
		{Name: "system empty list", Provider: `{"system":[],"messages":[]}`},
		{Name: "system among the messages", Provider: `{"messages":[{"role":"system","content":"Be brief."}]}`},
		{Name: "system among the messages, with blocks", Provider: `{"messages":[{"role":"user","content":"hi"},` +
			`{"role":"system","content":[{"type":"tool_addition","tool":{"name":"x"}}]}]}`},
		{Name: "content a string", Provider: user(`"hi"`)},
		{Name: "content a list of one text", Provider: user(`[{"type":"text","text":"hi"}]`)},
		{Name: "content a list of two texts", Provider: user(`[{"type":"text","text":"a"},{"type":"text","text":"b"}]`)},
		{Name: "content null", Provider: user("null")},
		{Name: "content empty", Provider: user(`""`)},
		{Name: "content empty list", Provider: user("[]")},
		{Name: "content absent", Provider: `{"messages":[{"role":"user"}]}`},
		{Name: "blocks that are no objects", Provider: user(`["hi",null,7]`)},
		{Name: "text with citations null", Provider: assistant(`[{"type":"text","text":"4","citations":null}]`)},
		{Name: "image as base64", Provider: user(`[{"type":"image","source":{"type":"base64","media_type":"image/png",` +
			`"data":"iVBORw0KGgo="}}]`)},
		{Name: "image as base64 without padding", Provider: user(`[{"type":"image","source":{"type":"base64",` +
			`"media_type":"image/png","data":"iVBORw0KGgo"}}]`)},
		{Name: "image by URL", Provider: user(`[{"type":"image","source":{"type":"url","url":"https://example.com/a.png"}}]`)},
		{Name: "image by file id", Provider: user(`[{"type":"image","source":{"type":"file","file_id":"file_1"}}]`)},
		{Name: "document as base64", Provider: user(`[{"type":"document","title":"A","source":{"type":"base64",` +
			`"media_type":"application/pdf","data":"JVBERi0="},"citations":{"enabled":true}}]`)},
		{Name: "document by URL", Provider: user(`[{"type":"document","source":{"type":"url","url":"https://example.com/a"}}]`)},
		{Name: "document as text", Provider: user(`[{"type":"document","source":{"type":"text","media_type":"text/plain",` +
			`"data":"hello"}}]`)},
		{Name: "document that is an image", Provider: user(`[{"type":"document","source":{"type":"base64",` +
			`"media_type":"image/png","data":"iVBORw0KGgo="}}]`)},
		{Name: "source with other members", Provider: user(`[{"type":"image","source":{"type":"url",` +
			`"url":"https://example.com/a.png","x":1}}]`)},
		{Name: "thinking, signed", Provider: assistant(`[{"type":"thinking","thinking":"two and two","signature":"c2ln"},` +
			`{"type":"text","text":"4"}]`)},
		{Name: "thinking without signature", Provider: assistant(`[{"type":"thinking","thinking":"two and two"}]`)},
		{Name: "thinking with signature empty", Provider: assistant(`[{"type":"thinking","thinking":"","signature":""}]`)},
		{Name: "redacted thinking", Provider: assistant(`[{"type":"redacted_thinking","data":"AAECAw=="}]`)},
		{Name: "redacted thinking not base64", Provider: assistant(`[{"type":"redacted_thinking","data":"not base64"}]`)},
		{Name: "tool use", Provider: assistant(`[{"type":"text","text":"Let me see."},{"type":"tool_use","id":"toolu_1",` +
			`"name":"add","input":{"b": 2.0, "a": "\u00e9"}}]`)},
		{Name: "tool uses between texts", Provider: assistant(`[{"type":"tool_use","id":"toolu_1","name":"add","input":{}},` +
			`{"type":"text","text":"and"},{"type":"tool_use","id":"toolu_2","name":"add","input":{}}]`)},
		{Name: "tool use with caller", Provider: assistant(`[{"type":"tool_use","id":"toolu_1","name":"add","input":{},` +
			`"caller":{"type":"direct"}}]`)},
		{Name: "tool use with id null, without name and input", Provider: assistant(`[{"type":"tool_use","id":null}]`)},
		{Name: "tool use with input null", Provider: assistant(`[{"type":"tool_use","id":"toolu_1","name":"a","input":null}]`)},
		{Name: "tool use of a user", Provider: user(`[{"type":"tool_use","id":"toolu_1","name":"add","input":{}}]`)},
		{Name: "server tool use and result", Provider: assistant(`[{"type":"server_tool_use","id":"srvtoolu_1",` +
			`"name":"web_search","input":{"query":"x"}},{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1",` +
			`"content":[]},{"type":"text","text":"found","citations":[]}]`)},
		{Name: "result a string", Provider: user(`[{"type":"tool_result","tool_use_id":"toolu_1","content":"4"}]`)},
		{Name: "result a list", Provider: user(`[{"type":"tool_result","tool_use_id":"toolu_1",` +
			`"content":[{"type":"text","text":"4"}]}]`)},
		{Name: "result without content", Provider: user(`[{"type":"tool_result","tool_use_id":"toolu_1"}]`)},
		{Name: "result with content null", Provider: user(`[{"type":"tool_result","tool_use_id":"toolu_1","content":null}]`)},
		{Name: "result with an empty list", Provider: user(`[{"type":"tool_result","tool_use_id":"toolu_1","content":[]}]`)},
		{Name: "result with an image", Provider: user(`[{"type":"tool_result","tool_use_id":"toolu_1","content":[` +
			`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}}]}]`)},
		{Name: "result that failed", Provider: user(`[{"type":"tool_result","tool_use_id":"toolu_1","content":"boom",` +
			`"is_error":true}]`)},
		{Name: "result with is_error false", Provider: user(`[{"type":"tool_result","tool_use_id":"toolu_1",` +
			`"content":"4","is_error":false}]`)},
		{Name: "result with is_error null", Provider: user(`[{"type":"tool_result","tool_use_id":"toolu_1",` +
			`"content":"4","is_error":null}]`)},
		{Name: "result with id null", Provider: user(`[{"type":"tool_result","tool_use_id":null,"content":"4"}]`)},
		{Name: "result without id", Provider: user(`[{"type":"tool_result","content":"4"}]`)},
		{Name: "two results and a text, joined", Provider: user(`[{"type":"tool_result","tool_use_id":"toolu_1",` +
			`"content":"4"},{"type":"tool_result","tool_use_id":"toolu_2","content":"5"},{"type":"text","text":"go on"}]`)},
		{Name: "two messages of one result each", Provider: `{"messages":[{"role":"user","content":[{"type":"tool_result",` +
			`"tool_use_id":"toolu_1","content":"4"}]},{"role":"user","content":[{"type":"tool_result",` +
			`"tool_use_id":"toolu_2","content":"5"}]}]}`},
		{Name: "text, result, texts", Provider: user(`[{"type":"text","text":"first"},{"type":"tool_result",` +
			`"tool_use_id":"toolu_1","content":"4"},{"type":"text","text":"a"},{"type":"text","text":"b"}]`)},
		{Name: "result in a message with other members", Provider: `{"messages":[{"role":"user","id":"m1","content":[` +
			`{"type":"tool_result","tool_use_id":"toolu_1","content":"4","cache_control":{"type":"ephemeral"}}]}]}`},
		{Name: "result with a member named message", Provider: user(`[{"type":"tool_result","tool_use_id":"toolu_1",` +
			`"content":"4","message":1}]`)},
		{Name: "result in an assistant message", Provider: assistant(`[{"type":"tool_result","tool_use_id":"toolu_1"}]`)},
		{Name: "an answer with its other members", Provider: `{"messages":[{"id":"msg_1","type":"message",` +
			`"role":"assistant","model":"m","content":[{"type":"text","text":"4"}],"stop_reason":"end_turn",` +
			`"stop_sequence":null,"usage":{"input_tokens":10,"output_tokens":1}}]}`},
		{Name: "a misspelt member", Provider: `{"messages":[{"role":"user","contenst":[{"type":"text","text":"hi"}]}]}`},
		{Name: "U+0000 and a leading U+FEFF", Provider: user(`"\ufeffa\u0000b"`)},
		{Name: "a lone surrogate becomes U+FFFD", Provider: assistant(`[{"type":"tool_use","id":"t","name":"n",` +
			`"input":{"a":"\udc00"}}]`)},
	}
}
