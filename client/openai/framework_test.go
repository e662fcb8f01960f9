package openai_test

import (
	"errors"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/client/internal/convtest"
	"github.com/transcriptd/transcriptd/client/openai"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// frameworkCases have what is a framework's own.
func frameworkCases() []convtest.Case {
	return []convtest.Case{
		{Name: "members of a framework", Provider: `[{"role":"assistant","content":"4","x":1,"framework":{"adk":{"author":"a"}}}]`,
			Sent: `[{"role":"assistant","content":"4","x":1}]`},
		{Name: "members of a framework alone, null", Provider: `[{"role":"user","content":"4","framework":null}]`,
			Sent: `[{"role":"user","content":"4"}]`},
		{Name: "members of a framework on a text and a call", Provider: `[{"role":"assistant","content":[{"type":"text","text":"4","framework":{"a":1}}],` +
			`"tool_calls":[{"id":"c","type":"function","framework":2,"function":{"name":"add","arguments":"{}"}}]}]`,
			Sent: `[{"role":"assistant","content":[{"type":"text","text":"4"}],` +
				`"tool_calls":[{"id":"c","type":"function","function":{"name":"add","arguments":"{}"}}]}]`},
		{Name: "an opaque message of a file", Provider: `[{"role":"user","content":"2+2?"},{"role":"user","opaque":{"type":"adk.state","data":"AAH/"}}]`,
			Sent: `[{"role":"user","content":"2+2?"}]`},
		{Name: "an opaque message of a file, without data", Provider: `[{"opaque":{"data":"","type":"t"},"role":"assistant"}]`, Sent: `[]`},
	}
}

// What is a framework's own is kept on the way in, and no provider is sent it.
func TestFrameworks(t *testing.T) {
	for _, c := range frameworkCases() {
		messages, report, err := openai.Parse([]byte(c.Provider))
		if err != nil || len(report.Changes) > 0 {
			t.Fatalf("%s: %v, %v", c.Name, report, err)
		}
		sent, report, err := openai.Format(messages)
		if err != nil || !convtest.FrameworksOnly(report) || !convtest.Equal([]byte(c.Sent), sent) {
			t.Errorf("%s: sent %s, %v, %v", c.Name, sent, report, err)
		}
		if request, _, err := openai.ForModel(messages); err == nil && strings.Contains(string(request), "framework") {
			t.Errorf("%s: the model is sent %s", c.Name, request)
		}
		for _, m := range messages {
			line, report, err := openai.FormatLine(m)
			if err != nil || len(report.Changes) > 0 {
				t.Errorf("%s: a line is %s, %v, %v", c.Name, line, report, err)
			}
			if again, _, err := openai.ParseMessage(line); err != nil || !proto.Equal(again, m) {
				t.Errorf("%s: a line is read as %v, %v", c.Name, again, err)
			}
			if one, _, err := openai.FormatMessage(m); (err != nil) != canonical.IsOpaque(m) {
				t.Errorf("%s: a message is %s, %v", c.Name, one, err)
			}
		}
	}
}

// What is nearly an opaque message is another one, whose members are kept.
func TestNearlyOpaque(t *testing.T) {
	for _, source := range []string{
		`{"role":"tool","opaque":{"type":"t","data":""}}`, `{"role":"user","opaque":{"type":"","data":""}}`,
		`{"role":"user","opaque":{"type":"t"}}`, `{"role":"user","opaque":{"type":"t","data":"A"}}`, `{"role":"user","opaque":{"type":"t","data":null}}`,
		`{"role":"user","opaque":{"type":"t","data":"","x":1}}`, `{"role":"user","content":null,"opaque":{"type":"t","data":""}}`,
		`{"role":"user","opaque":"t"}`, `{"role":"user","opaque":{"type":"` + strings.Repeat("t", 257) + `","data":""}}`,
	} {
		m, _, err := openai.ParseMessage([]byte(source))
		if err != nil || canonical.IsOpaque(m) || !strings.Contains(m.Extras, "opaque") {
			t.Errorf("%s became %v, %v", source, m, err)
		}
	}
}

// Any opaque message is read again as it was written in a line.
func TestLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		state := &transcriptv1.Opaque{Type: rapid.StringN(1, -1, 256).Draw(t, "type"), Data: rapid.SliceOf(rapid.Byte()).Draw(t, "data")}
		m := &transcriptv1.Message{Role: transcriptv1.Role(rapid.IntRange(1, 4).Draw(t, "role")),
			Parts: []*transcriptv1.Part{{Kind: &transcriptv1.Part_Opaque{Opaque: state}}}}
		line, _, err := openai.FormatLine(m)
		if err != nil {
			t.Fatal(err)
		}
		again, report, err := openai.ParseMessage(line)
		if err != nil || len(report.Changes) > 0 || string(canonical.AppendMessage(nil, again)) != string(canonical.AppendMessage(nil, m)) {
			t.Fatalf("%s is read as %v, %v", line, again, err)
		}
	})
}

// A message that is nil is refused, as one without a role is.
func TestNilMessage(t *testing.T) {
	none := []*transcriptv1.Message{nil}
	for name, write := range map[string]func() ([]byte, openai.Report, error){
		"Format":        func() ([]byte, openai.Report, error) { return openai.Format(none) },
		"FormatMessage": func() ([]byte, openai.Report, error) { return openai.FormatMessage(nil) },
		"FormatLine":    func() ([]byte, openai.Report, error) { return openai.FormatLine(nil) },
		"ForModel":      func() ([]byte, openai.Report, error) { return openai.ForModel(none) },
	} {
		if _, _, err := write(); !errors.Is(err, openai.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
