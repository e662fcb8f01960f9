package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// putText puts what stands on standard input and gives the id of the node.
func (s *stack) putText(t *testing.T, text string, args ...string) string {
	t.Helper()
	r := s.runWith(t.Context(), text, append([]string{"put", "--output", "json"}, args...)...)
	var reply struct{ NodeID string }
	if err := json.Unmarshal([]byte(r.out), &reply); err != nil || r.code != exitOK {
		t.Fatalf("%s: exit code %d, %q, %v", text, r.code, r.notes, err)
	}
	return reply.NodeID
}

// TestPutForms: a message is the same node in whatever form it is written, and the form for people is known by its members.
func TestPutForms(t *testing.T) {
	s := newStack(t)
	const args = `{\"a\":2}`
	for _, same := range [][][]string{
		{
			{`{"role":"user","content":"hi"}`}, {`{"role":"user","text":"hi"}`}, {`[{"role":"user","text":"hi"}]`, "--form", "simple"},
			{`{"messages":[{"role":"user","text":"hi"}]}`}, {`{"role":"user","content":"hi"}`, "--form", "anthropic"},
			{`[{"role":"user","content":"hi"}]`, "--form", "anthropic"}, {`{"messages":[{"role":"user","content":"hi"}]}`, "--form", "anthropic"},
			{`{"role":"user","content":"hi"}`, "--form", "responses"}, {`{"items":[{"role":"user","content":"hi"}]}`, "--form", "responses"},
			{`{"messages":[{"role":"ROLE_USER","parts":[{"text":"hi"}]}]}`, "--form", "protojson"},
		},
		{
			{`[{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"` + args + `"}}]},` +
				`{"role":"tool","tool_call_id":"c1","content":"4"}]`},
			{`[{"role":"assistant","calls":[{"id":"c1","name":"f","arguments":{"a":2}}]},{"role":"tool","call_id":"c1","text":"4"}]`},
			{`[{"role":"assistant","text":"","calls":[{"id":"c1","name":"f","arguments":"` + args + `"}]},{"role":"tool","call_id":"c1","text":"4"}]`},
		},
	} {
		want := s.putText(t, same[0][0], same[0][1:]...)
		for _, other := range same[1:] {
			if got := s.putText(t, other[0], other[1:]...); got != want {
				t.Errorf("%v became another node than %v", other, same[0])
			}
		}
	}
}

// TestPutFormMistakes: what a form does not have is refused with its name, and nothing of a message is told.
func TestPutFormMistakes(t *testing.T) {
	s := newStack(t)
	for _, test := range []struct {
		text, want string
		args       []string
	}{
		{`{"role":"user","text":"canary","colour":"canary"}`, "message.colour is no member of a message of the role user, which has role, text, name", nil},
		{`[{"role":"user","text":"canary"},{"role":"user","content":"canary"}]`, "messages[1].content is no member of a message of the role user", nil},
		{`{"role":"tool","text":"canary"}`, "message.call_id is not there", nil},
		{`{"role":"user","content":"canary"}`, "message.content is no member", []string{"--form", "simple"}},
		{`{"messages":[{"role":"user","text":"canary"}],"model":"canary"}`, "no other member may stand", nil},
		{`{"role":"user","text":"canary","text":"canary"}`, "message.text stands twice", nil},
		{`{"role":"user","text":"canary"`, "malformed JSON", nil},
		{`{"role":"user","text":"canary"}`, "--form must be one of", []string{"--form", "xml"}},
	} {
		r := s.runWith(t.Context(), test.text, append([]string{"put"}, test.args...)...)
		if r.code != exitUsage || !strings.Contains(r.notes, test.want) || strings.Contains(r.notes, "canary") {
			t.Errorf("%s: exit code %d, %q", test.text, r.code, r.notes)
		}
	}
}
