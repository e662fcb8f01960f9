package openai_test

import (
	"strings"
	"testing"

	"github.com/transcriptd/transcriptd/client/internal/convtest/openaiapi"
)

// The checker of the other tests refuses what the API refuses.
func TestCheckerRefuses(t *testing.T) {
	for name, request := range map[string]string{
		"no message":     `[]`,
		"unknown member": `[{"role":"user","content":"x","is_error":true}]`,
		"unknown role":   `[{"role":"model","content":"x"}]`,
		"null content":   `[{"role":"user","content":null}]`,
		"empty list":     `[{"role":"user","content":[]}]`,
		"image of assistant": `[{"role":"assistant","content":[{"type":"image_url",` +
			`"image_url":{"url":"https://example.com/a.png"}}]}]`,
		"malformed name":    `[{"role":"user","name":"a b","content":"x"}]`,
		"result alone":      `[{"role":"tool","tool_call_id":"a","content":"x"}]`,
		"no calls":          `[{"role":"assistant","content":"x","tool_calls":[]}]`,
		"call unanswered":   `[{"role":"assistant","content":null,"tool_calls":[` + callA + `]}]`,
		"call interrupted":  `[{"role":"assistant","content":null,"tool_calls":[` + callA + `]},{"role":"user","content":"x"}]`,
		"call id repeated":  `[{"role":"assistant","content":null,"tool_calls":[` + callA + `,` + callA + `]},` + stub("a") + `]`,
		"result repeated":   `[{"role":"assistant","content":null,"tool_calls":[` + callA + `]},` + stub("a") + `,` + stub("a") + `]`,
		"result of another": `[{"role":"assistant","content":null,"tool_calls":[` + callA + `]},` + stub("b") + `]`,
		"call id used again": `[{"role":"assistant","content":null,"tool_calls":[` + callA + `]},` + stub("a") +
			`,{"role":"assistant","content":null,"tool_calls":[` + callA + `]},` + stub("a") + `]`,
		"call id too long": `[{"role":"assistant","content":null,"tool_calls":[` + withID(strings.Repeat("a", 41)) + `]},` +
			stub(strings.Repeat("a", 41)) + `]`,
		"call id malformed":   `[{"role":"assistant","content":null,"tool_calls":[` + withID("a|b") + `]},` + stub("a|b") + `]`,
		"call id empty":       `[{"role":"assistant","content":null,"tool_calls":[` + withID("") + `]},` + stub("") + `]`,
		"calls of a user":     `[{"role":"user","content":"x","tool_calls":[` + callA + `]},` + stub("a") + `]`,
		"call id of a user":   `[{"role":"user","content":"x","tool_call_id":"a"}]`,
		"name of a result":    `[{"role":"assistant","content":null,"tool_calls":[` + callA + `]},{"role":"tool","tool_call_id":"a","name":"f","content":"x"}]`,
		"empty text":          `[{"role":"user","content":[{"type":"text","text":""}]}]`,
		"part of two kinds":   `[{"role":"user","content":[{"type":"text","text":"x","image_url":{"url":"https://example.com"}}]}]`,
		"part of another":     `[{"role":"user","content":[{"type":"text","refusal":"x"}]}]`,
		"unknown part member": `[{"role":"user","content":[{"type":"text","text":"x","cache_control":{}}]}]`,
		"image by file":       `[{"role":"user","content":[{"type":"image_url","image_url":{"url":"file-1"}}]}]`,
		"image type":          `[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/tiff;base64,AAAA"}}]}]`,
		"image not base64":    `[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,?"}}]}]`,
		"image detail":        `[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://example.com","detail":"x"}}]}]`,
		"audio format":        `[{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"AAAA","format":"ogg"}}]}]`,
		"file without name":   `[{"role":"user","content":[{"type":"file","file":{"file_data":"data:application/pdf;base64,AAAA"}}]}]`,
		"file of two sources": `[{"role":"user","content":[{"type":"file","file":{"file_id":"f","file_data":"data:application/pdf;base64,AAAA"}}]}]`,
		"call without name": `[{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function",` +
			`"function":{"arguments":""}}]},` + stub("a") + `]`,
	} {
		if openaiapi.Check([]byte(request)) == nil {
			t.Errorf("%s is not refused", name)
		}
	}
}

// withID is a call with an id.
func withID(id string) string { return strings.Replace(callA, `"a"`, `"`+id+`"`, 1) }

// The checker of the other tests takes what the API takes, in each form that the converter writes.
func TestCheckerTakes(t *testing.T) {
	for name, request := range map[string]string{
		"a group":      `[{"role":"assistant","content":null,"tool_calls":[` + callA + `,` + callB + `]},` + stub("b") + `,` + stub("a") + `]`,
		"groups":       `[{"role":"assistant","content":"x","tool_calls":[` + callA + `]},` + stub("a") + `,{"role":"assistant","content":null,"tool_calls":[` + callB + `]},` + stub("b") + `]`,
		"empty result": `[{"role":"assistant","content":null,"tool_calls":[` + callA + `]},{"role":"tool","tool_call_id":"a","content":""}]`,
		"parts": `[{"role":"user","name":"ann","content":[{"type":"text","text":"x"},` +
			`{"type":"image_url","image_url":{"url":"data:image/PNG;x=y;base64,iVBORw0KGgo","detail":"low"}},` +
			`{"type":"input_audio","input_audio":{"data":"AAAA","format":"wav"}},{"type":"file","file":{"file_id":"f"}},` +
			`{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,AAAA"}}]}]`,
		"a refusal": `[{"role":"assistant","content":[{"type":"refusal","refusal":"no"}]}]`,
	} {
		if err := openaiapi.Check([]byte(request)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
