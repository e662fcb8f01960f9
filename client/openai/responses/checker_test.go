package responses_test

import (
	"strings"
	"testing"

	"github.com/transcriptd/transcriptd/client/internal/convtest/responsesapi"
)

const (
	callA   = `{"type":"function_call","call_id":"a","name":"f","arguments":"{}"}`
	callB   = `{"type":"custom_tool_call","call_id":"b","name":"sh","input":"ls"}`
	outputA = `{"type":"function_call_output","call_id":"a","output":"4"}`
	outputB = `{"type":"custom_tool_call_output","call_id":"b","output":"4"}`
	thought = `{"type":"reasoning","summary":[],"encrypted_content":"gAAA"}`
	asked   = `{"role":"user","content":"x"}`
)

// The checker of the other tests refuses what the API refuses.
func TestCheckerRefuses(t *testing.T) {
	for name, input := range map[string]string{
		"no item":               `[]`,
		"no list":               `{}`,
		"unknown type":          `[{"type":"web_search_call"}]`,
		"unknown member":        `[{"role":"user","content":"x","name":"ann"}]`,
		"member of another":     `[{"role":"user","content":"x","call_id":"a"}]`,
		"id of a call":          `[{"type":"function_call","id":"fc_1","call_id":"a","name":"f","arguments":"{}"},` + outputA + `]`,
		"unknown role":          `[{"role":"tool","content":"x"}]`,
		"no role":               `[{"content":"x"}]`,
		"no content":            `[{"role":"user"}]`,
		"null content":          `[{"role":"user","content":null}]`,
		"empty content":         `[{"role":"user","content":""}]`,
		"empty list":            `[{"role":"user","content":[]}]`,
		"phase of a user":       `[{"role":"user","content":"x","phase":"commentary"}]`,
		"output of a user":      `[{"role":"user","content":[{"type":"output_text","text":"x"}]}]`,
		"input of assistant":    `[{"role":"assistant","content":[{"type":"input_text","text":"x"}]}]`,
		"image of the system":   `[{"role":"system","content":[{"type":"input_image","image_url":"https://example.com/a","detail":"auto"}]}]`,
		"empty text":            `[{"role":"user","content":[{"type":"input_text","text":""}]}]`,
		"text with another":     `[{"role":"user","content":[{"type":"input_text","text":"x","detail":"auto"}]}]`,
		"unknown part member":   `[{"role":"assistant","content":[{"type":"output_text","text":"x","annotations":[]}]}]`,
		"empty refusal":         `[{"role":"assistant","content":[{"type":"refusal","refusal":""}]}]`,
		"image without detail":  `[{"role":"user","content":[{"type":"input_image","image_url":"https://example.com/a"}]}]`,
		"image of two sources":  `[{"role":"user","content":[{"type":"input_image","image_url":"https://example.com/a","file_id":"f","detail":"auto"}]}]`,
		"image type":            `[{"role":"user","content":[{"type":"input_image","image_url":"data:image/tiff;base64,AAAA","detail":"auto"}]}]`,
		"image not base64":      `[{"role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,?","detail":"auto"}]}]`,
		"file without name":     `[{"role":"user","content":[{"type":"input_file","file_data":"data:application/pdf;base64,AAAA"}]}]`,
		"file of text":          `[{"role":"user","content":[{"type":"input_file","filename":"a","file_data":"data:text/plain;base64,AAAA"}]}]`,
		"call unanswered":       `[` + callA + `]`,
		"call interrupted":      `[` + callA + `,` + asked + `,` + outputA + `]`,
		"result alone":          `[` + outputA + `]`,
		"result repeated":       `[` + callA + `,` + outputA + `,` + outputA + `]`,
		"result of another":     `[` + callA + `,` + outputB + `]`,
		"result of a function":  `[` + callB + `,{"type":"function_call_output","call_id":"b","output":"4"}]`,
		"result null":           `[` + callA + `,{"type":"function_call_output","call_id":"a","output":null}]`,
		"result absent":         `[` + callA + `,{"type":"function_call_output","call_id":"a"}]`,
		"call id used again":    `[` + callA + `,` + outputA + `,` + callA + `,` + outputA + `]`,
		"call id empty":         `[` + renamed(callA, "") + `,` + renamed(outputA, "") + `]`,
		"call id malformed":     `[` + renamed(callA, "a|b") + `,` + renamed(outputA, "a|b") + `]`,
		"call id too long":      `[` + renamed(callA, strings.Repeat("a", 65)) + `,` + renamed(outputA, strings.Repeat("a", 65)) + `]`,
		"call without name":     `[{"type":"function_call","call_id":"a","arguments":"{}"},` + outputA + `]`,
		"call of another form":  `[{"type":"function_call","call_id":"a","name":"f","input":"{}"},` + outputA + `]`,
		"empty namespace":       `[{"type":"function_call","call_id":"a","name":"f","namespace":"","arguments":"{}"},` + outputA + `]`,
		"arguments an object":   `[{"type":"function_call","call_id":"a","name":"f","arguments":{}},` + outputA + `]`,
		"reasoning last":        `[` + asked + `,` + thought + `]`,
		"reasoning, a user":     `[` + thought + `,` + asked + `]`,
		"reasoning, a result":   `[` + callA + `,` + thought + `,` + outputA + `]`,
		"reasoning in clear":    `[{"type":"reasoning","summary":[]},{"role":"assistant","content":"x"}]`,
		"reasoning, no summary": `[{"type":"reasoning","encrypted_content":"gAAA"},{"role":"assistant","content":"x"}]`,
		"empty compaction":      `[{"type":"compaction","encrypted_content":""}]`,
	} {
		if responsesapi.Check([]byte(input)) == nil {
			t.Errorf("%s is not refused", name)
		}
	}
}

// renamed is a call or a result with another id.
func renamed(item, id string) string {
	return strings.Replace(item, `"call_id":"a"`, `"call_id":"`+id+`"`, 1)
}

// The checker of the other tests takes what the API takes, in each form that the converter writes.
func TestCheckerTakes(t *testing.T) {
	for name, input := range map[string]string{
		"a group":        `[` + asked + `,` + thought + `,` + callA + `,` + callB + `,` + outputB + `,` + outputA + `]`,
		"text with call": `[{"role":"assistant","content":"x","phase":"commentary"},` + callA + `,` + outputA + `]`,
		"empty result":   `[` + callA + `,{"type":"function_call_output","call_id":"a","output":""}]`,
		"image result":   `[` + callA + `,{"type":"function_call_output","call_id":"a","output":[{"type":"input_image","file_id":"f","detail":"high"}]}]`,
		"parts": `[{"role":"user","content":[{"type":"input_text","text":"x"},{"type":"input_image","image_url":"data:image/png;base64,AAAA","detail":"low"},` +
			`{"type":"input_file","filename":"a.pdf","file_data":"data:application/pdf;base64,AAAA"},{"type":"input_file","file_url":"https://example.com/a"}]}]`,
		"a refusal":    `[{"role":"assistant","content":[{"type":"output_text","text":"x"},{"type":"refusal","refusal":"no"}]}]`,
		"a compaction": `[{"type":"compaction","encrypted_content":"gAAA"},` + asked + `]`,
	} {
		if err := responsesapi.Check([]byte(input)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
