package openai_test

import (
	"flag"
	"testing"

	"github.com/transcriptd/transcriptd/client/internal/convtest"
	"github.com/transcriptd/transcriptd/client/openai"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

var update = flag.Bool("update", false, "write proto/testdata/openai.json anew")

func TestVectors(t *testing.T) {
	convtest.Vectors(t, "../../proto/testdata/openai.json", *update, append(vectorCases(), frameworkCases()...),
		func(provider []byte) ([]*transcriptv1.Message, error) {
			messages, _, err := openai.Parse(provider)
			return messages, err
		})
}

func TestVectorsAreLossless(t *testing.T) {
	for _, c := range vectorCases() {
		messages, report, err := openai.Parse([]byte(c.Provider))
		if err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		again, formatted, err := openai.Format(messages)
		if err != nil || len(formatted.Changes) > 0 {
			t.Errorf("%s: %v, %v", c.Name, formatted, err)
		}
		if len(report.Changes) == 0 && !convtest.Equal([]byte(c.Provider), again) {
			t.Errorf("%s: became %s", c.Name, again)
		}
	}
}

func vectorCases() []convtest.Case {
	return []convtest.Case{
		{Name: "a conversation", Provider: `[{"role":"system","content":"Be brief."},{"role":"user","content":"2+2?"},` +
			`{"role":"assistant","content":"4"}]`},
		{Name: "system", Provider: `[{"role":"system","content":"Be brief."}]`},
		{Name: "developer", Provider: `[{"role":"developer","content":"Be brief."}]`},
		{Name: "named user", Provider: `[{"role":"user","name":"ann","content":"hi"}]`},
		{Name: "name null", Provider: `[{"role":"user","name":null,"content":"hi"}]`},
		{Name: "name empty", Provider: `[{"role":"user","name":"","content":"hi"}]`},
		{Name: "content null", Provider: `[{"role":"assistant","content":null}]`},
		{Name: "content absent", Provider: `[{"role":"assistant"}]`},
		{Name: "content empty string", Provider: `[{"role":"assistant","content":""}]`},
		{Name: "content empty list", Provider: `[{"role":"assistant","content":[]}]`},
		{Name: "content a list of one text", Provider: `[{"role":"user","content":[{"type":"text","text":"hi"}]}]`},
		{Name: "content a list of two texts", Provider: `[{"role":"user","content":[{"type":"text","text":"a"},` +
			`{"type":"text","text":"b"}]}]`},
		{Name: "text with other members", Provider: `[{"role":"user","content":[{"type":"text","text":"hi",` +
			`"cache_control":{"type":"ephemeral"}}]}]`},
		{Name: "image by data URL", Provider: `[{"role":"user","content":[{"type":"image_url",` +
			`"image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}}]}]`},
		{Name: "image by data URL with detail", Provider: `[{"role":"user","content":[{"type":"image_url",` +
			`"image_url":{"url":"data:image/png;base64,iVBORw0KGgo=","detail":"low"}}]}]`},
		{Name: "image by data URL in another spelling", Provider: `[{"role":"user","content":[{"type":"image_url",` +
			`"image_url":{"url":"data:image/PNG;base64,iVBORw0KGgo="}}]}]`},
		{Name: "image by data URL without padding", Provider: `[{"role":"user","content":[{"type":"image_url",` +
			`"image_url":{"url":"data:image/png;base64,iVBORw0KGgo"}}]}]`},
		{Name: "image by URL", Provider: `[{"role":"user","content":[{"type":"text","text":"what?"},{"type":"image_url",` +
			`"image_url":{"url":"https://example.com/a.png"}}]}]`},
		{Name: "image without URL", Provider: `[{"role":"user","content":[{"type":"image_url","image_url":{}}]}]`},
		{Name: "audio", Provider: `[{"role":"user","content":[{"type":"input_audio",` +
			`"input_audio":{"data":"UklGRg==","format":"wav"}}]}]`},
		{Name: "audio not base64", Provider: `[{"role":"user","content":[{"type":"input_audio",` +
			`"input_audio":{"data":"UklGRg","format":"wav"}}]}]`},
		{Name: "audio of an unusual format", Provider: `[{"role":"user","content":[{"type":"input_audio",` +
			`"input_audio":{"data":"UklGRg==","format":"WAV"}}]}]`},
		{Name: "file with audio as data", Provider: `[{"role":"user","content":[{"type":"file",` +
			`"file":{"file_data":"data:audio/wav;base64,UklGRg=="}}]}]`},
		{Name: "file with data", Provider: `[{"role":"user","content":[{"type":"file",` +
			`"file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,JVBERi0="}}]}]`},
		{Name: "file with an image as data", Provider: `[{"role":"user","content":[{"type":"file",` +
			`"file":{"file_data":"data:image/png;base64,iVBORw0KGgo="}}]}]`},
		{Name: "file by id", Provider: `[{"role":"user","content":[{"type":"file","file":{"file_id":"file-1"}}]}]`},
		{Name: "part of an unknown type", Provider: `[{"role":"user","content":[{"type":"hologram","data":[1.0,1]}]}]`},
		{Name: "parts that are no objects", Provider: `[{"role":"user","content":["hi",null,7]}]`},
		{Name: "refusal part", Provider: `[{"role":"assistant","content":[{"type":"refusal","refusal":"No."}]}]`},
		{Name: "an answer with its nulls", Provider: `[{"role":"assistant","content":"4","refusal":null,"annotations":[]}]`},
		{Name: "one call", Provider: `[{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function",` +
			`"function":{"name":"add","arguments":"{\"a\": 2}"}}]}]`},
		{Name: "a call beside text", Provider: `[{"role":"assistant","content":"Let me see.","tool_calls":[{"id":"call_1",` +
			`"type":"function","function":{"name":"add","arguments":"{}"}}]}]`},
		{Name: "a call without content", Provider: `[{"role":"assistant","tool_calls":[{"id":"call_1","type":"function",` +
			`"function":{"name":"add","arguments":"{}"}}]}]`},
		{Name: "a call beside an empty list", Provider: `[{"role":"assistant","content":[],"tool_calls":[{"id":"call_1",` +
			`"type":"function","function":{"name":"add","arguments":"{}"}}]}]`},
		{Name: "calls with one id, and arguments that are no JSON", Provider: `[{"role":"assistant","content":null,` +
			`"tool_calls":[{"id":"c","type":"function","function":{"name":"add","arguments":"{"}},` +
			`{"id":"c","type":"function","function":{"name":"add","arguments":""}}]}]`},
		{Name: "call id null", Provider: `[{"role":"assistant","content":null,"tool_calls":[{"id":null,"type":"function",` +
			`"function":{"name":"add","arguments":"{}"}}]}]`},
		{Name: "call id absent", Provider: `[{"role":"assistant","content":null,"tool_calls":[{"type":"function",` +
			`"function":{"name":"add","arguments":"{}"}}]}]`},
		{Name: "call id empty", Provider: `[{"role":"assistant","content":null,"tool_calls":[{"id":"","type":"function",` +
			`"function":{"name":"add","arguments":"{}"}}]}]`},
		{Name: "call with other members", Provider: `[{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"c",` +
			`"type":"function","function":{"name":"add","arguments":"{}","strict":true},"thought":"x"}]}]`},
		{Name: "call without type", Provider: `[{"role":"assistant","content":null,"tool_calls":[{"id":"c",` +
			`"function":{"name":"add","arguments":"{}"}}]}]`},
		{Name: "call without arguments", Provider: `[{"role":"assistant","content":null,"tool_calls":[{"id":"c",` +
			`"type":"function","function":{"name":"add"}}]}]`},
		{Name: "call of a custom tool", Provider: `[{"role":"assistant","content":null,"tool_calls":[{"id":"c",` +
			`"type":"custom","custom":{"name":"sh","input":"ls -l"}}]}]`},
		{Name: "custom call with other members, without id", Provider: `[{"role":"assistant","content":null,"tool_calls":[` +
			`{"custom":{"input":"","name":null,"x":1},"type":"custom"}]}]`},
		{Name: "call of another type", Provider: `[{"role":"assistant","content":null,"tool_calls":[{"id":"c",` +
			`"type":"remote","function":{"name":"add","arguments":"{}"}}]}]`},
		{Name: "call with type null", Provider: `[{"role":"assistant","content":null,"tool_calls":[{"id":"c",` +
			`"type":null,"function":{"name":"add","arguments":"{}"}}]}]`},
		{Name: "call with a member named function_call", Provider: `[{"role":"assistant","content":null,"tool_calls":[` +
			`{"id":"c","type":"function","function":{"name":"add","arguments":"{}"},"function_call":{}}]}]`},
		{Name: "call with a member named tool_call", Provider: `[{"role":"assistant","content":null,"tool_calls":[` +
			`{"id":"c","type":"function","function":{"name":"add","arguments":"{}"},"tool_call":"untyped"}]}]`},
		{Name: "function_call, deprecated", Provider: `[{"role":"assistant","content":null,` +
			`"function_call":{"name":"add","arguments":"{}"}}]`},
		{Name: "function_call with other members", Provider: `[{"role":"assistant","content":null,` +
			`"function_call":{"name":"add","arguments":"{}","x":1}}]`},
		{Name: "function result, deprecated", Provider: `[{"role":"function","name":"add","content":"4"}]`},
		{Name: "tool_calls empty", Provider: `[{"role":"assistant","content":"4","tool_calls":[]}]`},
		{Name: "tool_calls null", Provider: `[{"role":"assistant","content":"4","tool_calls":null}]`},
		{Name: "tool_calls of a user", Provider: `[{"role":"user","content":"4","tool_calls":[{"id":"c"}]}]`},
		{Name: "result", Provider: `[{"role":"tool","tool_call_id":"call_1","content":"4"}]`},
		{Name: "result with name, empty", Provider: `[{"role":"tool","tool_call_id":"call_1","name":"add","content":""}]`},
		{Name: "result with id null", Provider: `[{"role":"tool","tool_call_id":null,"content":"4"}]`},
		{Name: "result without id", Provider: `[{"role":"tool","content":"4"}]`},
		{Name: "result that failed", Provider: `[{"role":"tool","tool_call_id":"call_1","content":"boom","is_error":true}]`},
		{Name: "is_error false", Provider: `[{"role":"tool","tool_call_id":"call_1","content":"4","is_error":false}]`},
		{Name: "result with an image", Provider: `[{"role":"tool","tool_call_id":"call_1","content":[{"type":"image_url",` +
			`"image_url":{"url":"https://example.com/a.png"}}]}]`},
		{Name: "reasoning", Provider: `[{"role":"assistant","reasoning_content":"two and two","content":"4"}]`},
		{Name: "reasoning empty, with call", Provider: `[{"role":"assistant","reasoning_content":"","content":null,` +
			`"tool_calls":[{"id":"c","type":"function","function":{"name":"add","arguments":"{}"}}]}]`},
		{Name: "reasoning null", Provider: `[{"role":"assistant","reasoning_content":null,"content":"4"}]`},
		{Name: "extras in source order, numbers as spelled", Provider: `[{"z":1.0,"role":"user","a":1e2,"content":"hi",` +
			`"b":{"y": -0, "x": [true , null]}}]`},
		{Name: "extras with escapes", Provider: `[{"role":"user","content":"hi","x":"\u00e9\u0001\/\ud83d\ude42\u2028"}]`},
		{Name: "U+0000 and a leading U+FEFF", Provider: `[{"role":"user","content":"\ufeffa\u0000b"}]`},
		{Name: "a lone surrogate becomes U+FFFD", Provider: `[{"role":"user","content":"a\ud800b"}]`},
		{Name: "text that normalisation would change", Provider: `[{"role":"user","content":"e\u0301 \r\n "}]`},
	}
}
