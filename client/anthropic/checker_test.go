package anthropic_test

import (
	"testing"

	"github.com/transcriptd/transcriptd/client/internal/convtest/anthropicapi"
)

// The checker of the other tests refuses what the API refuses.
func TestCheckerRefuses(t *testing.T) {
	const hi = `{"messages":[{"role":"user","content":"hi"},`
	use := func(id string) string {
		return `{"type":"tool_use","id":"` + id + `","name":"f","input":{}}`
	}
	search := func(id string) string {
		return `{"type":"server_tool_use","id":"` + id + `","name":"web_search","input":{}}`
	}
	searched := func(id string) string {
		return `{"type":"web_search_tool_result","tool_use_id":"` + id + `","content":[]}`
	}
	result := `{"role":"user","content":[` + stub("a") + `]}`
	for name, request := range map[string]string{
		"no message":       `{"messages":[]}`,
		"assistant first":  assistant(`"x"`),
		"one role twice":   hi + `{"role":"user","content":"x"}]}`,
		"system inside":    hi + `{"role":"system","content":"x"}]}`,
		"blank system":     `{"system":" ","messages":[{"role":"user","content":"hi"}]}`,
		"blank text":       user(`[{"type":"text","text":"\n"}]`),
		"empty content":    user(`[]`),
		"unknown block":    user(`[{"type":"hologram"}]`),
		"image type":       user(`[{"type":"image","source":{"type":"base64","media_type":"image/tiff","data":"AAAA"}}]`),
		"white space last": hi + `{"role":"assistant","content":"x "}]}`,
		"thinking last":    hi + `{"role":"assistant","content":[{"type":"thinking","thinking":"x","signature":"s"}]}]}`,
		"thinking unsigned": hi + `{"role":"assistant","content":[{"type":"thinking","thinking":"x"},` +
			`{"type":"text","text":"x"}]}]}`,
		"result alone":     `{"messages":[` + result + `]}`,
		"call unanswered":  hi + `{"role":"assistant","content":[` + use("a") + `]}]}`,
		"call interrupted": hi + `{"role":"assistant","content":[` + use("a") + `]},{"role":"user","content":"x"}]}`,
		"text before the result": hi + `{"role":"assistant","content":[` + use("a") + `]},{"role":"user","content":[` +
			`{"type":"text","text":"x"},` + stub("a") + `]}]}`,
		"result of another": hi + `{"role":"assistant","content":[` + use("b") + `]},` + result + `]}`,
		"malformed id":      hi + `{"role":"assistant","content":[` + use("a|b") + `]},{"role":"user","content":[` + stub("a|b") + `]}]}`,
		"id used again": hi + `{"role":"assistant","content":[` + use("a") + `]},` + result +
			`,{"role":"assistant","content":[` + use("a") + `]},` + result + `]}`,
		"text behind a call": hi + `{"role":"assistant","content":[` + use("a") + `,{"type":"text","text":"x"}]},` + result + `]}`,
		"input no object": hi + `{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":[]}]},` +
			result + `]}`,
		"error without content": hi + `{"role":"assistant","content":[` + use("a") + `]},{"role":"user","content":[` +
			`{"type":"tool_result","tool_use_id":"a","is_error":true}]}]}`,
		"server call without result": hi + `{"role":"assistant","content":[` + search("srvtoolu_1") + `]}]}`,
		"server call without input": hi + `{"role":"assistant","content":[{"type":"server_tool_use","id":"srvtoolu_1",` +
			`"name":"web_search"},` + searched("srvtoolu_1") + `]}]}`,
		"server call of an unknown tool": hi + `{"role":"assistant","content":[{"type":"server_tool_use","id":"srvtoolu_1",` +
			`"name":"f","input":{}},` + searched("srvtoolu_1") + `]}]}`,
		"server call id":        hi + `{"role":"assistant","content":[` + search("a") + `,` + searched("a") + `]}]}`,
		"server result without": hi + `{"role":"assistant","content":[` + searched("srvtoolu_1") + `]}]}`,
		"server result of another": hi + `{"role":"assistant","content":[` + search("srvtoolu_1") +
			`,{"type":"web_fetch_tool_result","tool_use_id":"srvtoolu_1","content":{}}]}]}`,
		"server call id used again": hi + `{"role":"assistant","content":[` + search("srvtoolu_1") + `,` + searched("srvtoolu_1") + `,` +
			search("srvtoolu_1") + `,` + searched("srvtoolu_1") + `]}]}`,
		"unknown member":         `{"messages":[{"role":"user","content":"hi","name":"ann"}]}`,
		"unknown block member":   user(`[{"type":"text","text":"x","x":1}]`),
		"member of another type": user(`[{"type":"text","text":"x","id":"a"}]`),
		"image not base64":       user(`[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"?"}}]`),
		"image without source":   user(`[{"type":"image"}]`),
		"image by file":          user(`[{"type":"image","source":{"type":"url","url":"file-1"}}]`),
		"redacted without data": hi + `{"role":"assistant","content":[{"type":"redacted_thinking"},` +
			`{"type":"text","text":"x"}]}]}`,
		"result repeated": hi + `{"role":"assistant","content":[` + use("a") + `]},{"role":"user","content":[` + stub("a") + `,` + stub("a") + `]}]}`,
	} {
		if anthropicapi.Check([]byte(request)) == nil {
			t.Errorf("%s is not refused", name)
		}
	}
}
