package openai

import (
	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/client/internal/providerjson"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// opaqueMember is the member of a message in a line that holds an opaque message's state.
const opaqueMember = "opaque"

// FormatLine writes one message for files, as transcriptctl export has it: as FormatMessage, but with the members of a framework, and
// an opaque message as {"role":ROLE,"opaque":{"type":TYPE,"data":BASE64}}. ParseMessage of it gives the same message. Paths begin
// "message".
func FormatLine(m *transcriptv1.Message) ([]byte, Report, error) {
	var report Report
	if !canonical.IsOpaque(m) {
		out, err := appendMessage(nil, m, "message", &report)
		return out, report, err
	}
	n := providerjson.NewObject()
	if err := formatRole(n, m, nil, "message"); err != nil {
		return nil, Report{}, err
	}
	state := m.GetParts()[0].GetOpaque()
	n.Set(opaqueMember, providerjson.NewObject().
		Set("type", providerjson.Text(state.GetType())).
		Set("data", providerjson.Text(providerjson.EncodeBase64(state.GetData()))))
	return n.Append(nil), report, nil
}

// parseOpaque makes an opaque message of an object that has just the members of one; nil of any other.
func parseOpaque(v *providerjson.Value) *transcriptv1.Message {
	role, state := v.Member("role"), v.Member(opaqueMember)
	if role == nil || role.Kind != providerjson.String || state == nil || len(v.Members) != 2 || len(state.Members) != 2 {
		return nil
	}
	kind, text := state.Member("type"), state.Member("data")
	if kind == nil || kind.Kind != providerjson.String || text == nil || text.Kind != providerjson.String {
		return nil
	}
	data, ok := []byte(nil), text.Text == ""
	if !ok {
		data, ok = providerjson.Base64(text.Text)
	}
	m := &transcriptv1.Message{Role: roles()[role.Text], Parts: []*transcriptv1.Part{{
		Kind: &transcriptv1.Part_Opaque{Opaque: &transcriptv1.Opaque{Type: kind.Text, Data: data}},
	}}}
	if !ok || providerjson.Check(m, "") != nil {
		return nil
	}
	return m
}
