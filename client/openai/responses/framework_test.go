package responses_test

import (
	"strings"
	"testing"

	"github.com/transcriptd/transcriptd/client/internal/convtest"
	"github.com/transcriptd/transcriptd/client/openai/responses"
)

// frameworkCases have what is a framework's own.
func frameworkCases() []convtest.Case {
	return []convtest.Case{
		{Name: "members of a framework", Provider: `[{"role":"user","content":"4","x":1,"framework":{"adk":{"author":"a"}}},{"role":"assistant","content":"5","framework":1,"phase":"final_answer"}]`,
			Sent: `[{"role":"user","content":"4","x":1},{"role":"assistant","content":"5","phase":"final_answer"}]`},
		{Name: "members of a framework alone", Provider: `[{"role":"user","content":[{"type":"input_text","text":"4","framework":null}]},{"role":"assistant","content":"5","framework":1}]`,
			Sent: `[{"role":"user","content":[{"type":"input_text","text":"4"}]},{"role":"assistant","content":"5"}]`},
		{Name: "members of a framework on a text, a call and reasoning", Provider: `[{"type":"reasoning","summary":[],"framework":1},{"role":"assistant","content":[{"type":"output_text","text":"4","framework":{"a":1}}]},` +
			`{"type":"function_call","call_id":"c","framework":2,"name":"add","arguments":"{}"}]`,
			Sent: `[{"type":"reasoning","summary":[]},{"role":"assistant","content":[{"type":"output_text","text":"4"}]},{"type":"function_call","call_id":"c","name":"add","arguments":"{}"}]`},
	}
}

// What is a framework's own is kept on the way in, and no provider is sent it.
func TestFrameworks(t *testing.T) {
	for _, c := range frameworkCases() {
		messages, report, err := responses.Parse([]byte(c.Provider))
		if err != nil || len(report.Changes) > 0 {
			t.Fatalf("%s: %v, %v", c.Name, report, err)
		}
		kept := false
		for _, m := range messages {
			kept = kept || strings.Contains(m.String(), "framework")
		}
		if !kept {
			t.Errorf("%s: is not kept", c.Name)
		}
		sent, report, err := responses.Format(messages)
		if err != nil || !convtest.FrameworksOnly(report) || !convtest.Equal([]byte(c.Sent), sent) {
			t.Errorf("%s: sent %s, %v, %v", c.Name, sent, report, err)
		}
		if request, _, err := responses.ForModel(messages); err == nil && strings.Contains(string(request), "framework") {
			t.Errorf("%s: the model is sent %s", c.Name, request)
		}
	}
}
