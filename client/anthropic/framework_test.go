package anthropic_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/transcriptd/transcriptd/client/anthropic"
	"github.com/transcriptd/transcriptd/client/internal/convtest"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// frameworkCases have what is a framework's own.
func frameworkCases() []convtest.Case {
	return []convtest.Case{
		{Name: "members of a framework", Provider: `{"messages":[{"role":"user","content":"2+2?","framework":{"adk":{"author":"a"}},"x":1}]}`,
			Sent: `{"messages":[{"role":"user","content":"2+2?","x":1}]}`},
		{Name: "members of a framework on blocks", Provider: `{"system":[{"type":"text","text":"s","framework":1}],"messages":[{"role":"assistant","content":` +
			`[{"type":"tool_use","id":"c","name":"f","input":{},"framework":2}]}]}`,
			Sent: `{"system":[{"type":"text","text":"s"}],"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"f","input":{}}]}]}`},
		{Name: "members of a framework on a result and its message", Provider: `{"messages":[{"role":"user","framework":3,"y":1,"content":` +
			`[{"type":"tool_result","tool_use_id":"c","content":"4","framework":4}]}]}`,
			Sent: `{"messages":[{"role":"user","y":1,"content":[{"type":"tool_result","tool_use_id":"c","content":"4"}]}]}`},
		{Name: "members of a framework on a result's message alone", Provider: `{"messages":[{"role":"user","framework":3,"content":` +
			`[{"type":"tool_result","tool_use_id":"c","content":"4"}]}]}`,
			Sent: `{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"4"}]}]}`},
	}
}

// What is a framework's own is kept on the way in, and no provider is sent it.
func TestFrameworks(t *testing.T) {
	state := &transcriptv1.Message{Role: transcriptv1.Role_ROLE_USER, Parts: []*transcriptv1.Part{{
		Kind: &transcriptv1.Part_Opaque{Opaque: &transcriptv1.Opaque{Type: "framework.state", Data: []byte("framework")}},
	}}}
	for _, c := range frameworkCases() {
		messages, report, err := anthropic.Parse([]byte(c.Provider))
		if err != nil || len(report.Changes) > 0 {
			t.Fatalf("%s: %v, %v", c.Name, report, err)
		}
		var with []*transcriptv1.Message
		for _, m := range messages {
			with = append(with, state, m)
		}
		for _, all := range [][]*transcriptv1.Message{messages, append(with, state)} {
			sent, report, err := anthropic.Format(all)
			if err != nil || !convtest.FrameworksOnly(report) || !convtest.Equal([]byte(c.Sent), sent) {
				t.Errorf("%s: sent %s, %v, %v", c.Name, sent, report, err)
			}
			if request, _, err := anthropic.ForModel(all); err == nil && strings.Contains(string(request), "framework") {
				t.Errorf("%s: the model is sent %s", c.Name, request)
			}
		}
	}
	if _, _, err := anthropic.FormatMessage([]*transcriptv1.Message{state}); err == nil {
		t.Error("an opaque message is one of the provider's")
	}
}

// A message stays joined to the one before across an opaque one.
func TestJoinedAcrossOpaque(t *testing.T) {
	const source = `{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"4"},{"type":"text","text":"and?"}]}]}`
	messages, _, err := anthropic.Parse([]byte(source))
	if err != nil {
		t.Fatal(err)
	}
	state := &transcriptv1.Message{Role: transcriptv1.Role_ROLE_ASSISTANT, Parts: []*transcriptv1.Part{{
		Kind: &transcriptv1.Part_Opaque{Opaque: &transcriptv1.Opaque{Type: "t"}},
	}}}
	sent, report, err := anthropic.Format([]*transcriptv1.Message{messages[0], state, messages[1]})
	if err != nil || len(report.Changes) != 1 || report.Changes[0].Path != "messages[1]" || !convtest.Equal([]byte(source), sent) {
		t.Errorf("sent %s, %v, %v", sent, report, err)
	}
}

// A message that is nil is refused, as one without a role is.
func TestNilMessage(t *testing.T) {
	none := []*transcriptv1.Message{nil}
	for name, write := range map[string]func([]*transcriptv1.Message) ([]byte, anthropic.Report, error){
		"Format": anthropic.Format, "FormatMessage": anthropic.FormatMessage, "ForModel": anthropic.ForModel,
	} {
		if _, _, err := write(none); !errors.Is(err, anthropic.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
