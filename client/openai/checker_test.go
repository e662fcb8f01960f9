package openai_test

import "testing"

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
		"call without name": `[{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function",` +
			`"function":{"arguments":""}}]},` + stub("a") + `]`,
	} {
		if checkRequest([]byte(request)) == nil {
			t.Errorf("%s is not refused", name)
		}
	}
}
