package recall

import (
	"encoding/json"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/redact"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

// maxGrowth is the bytes by which a text may grow when it is redacted, so that a reply with several texts can be sent.
const maxGrowth = 128 << 10

// redactedText is a text without secrets; a mark alone, as a JSON string if the text is JSON, where it would grow by too much.
func redactedText(s string) string {
	out := redact.Text(s)
	switch {
	case len(out) <= len(s)+maxGrowth:
		return out
	case json.Valid([]byte(s)):
		return `"` + redact.Mark + `"`
	default:
		return redact.Mark
	}
}

// redactedExtras are a JSON object without secrets; none where it would grow by too much.
func redactedExtras(s string) string {
	out := redact.Text(s)
	if len(out) > len(s)+maxGrowth {
		return ""
	}
	return out
}

// redactedBytes are bytes that are UTF-8 without secrets; others hold what is no text, and stay.
func redactedBytes(b []byte) []byte {
	if !utf8.Valid(b) {
		return b
	}
	return []byte(redactedText(string(b)))
}

// redactedCall is a copy of a call without secrets.
func redactedCall(c *transcriptv1.ToolCall) *transcriptv1.ToolCall {
	return &transcriptv1.ToolCall{
		Id: wire.RedactedName(c.Id), Name: wire.RedactedName(c.Name), Arguments: redactedText(c.Arguments),
	}
}

// redactedParts are copies of parts without secrets.
func redactedParts(parts []*transcriptv1.Part) []*transcriptv1.Part {
	out := make([]*transcriptv1.Part, len(parts))
	for i, p := range parts {
		out[i] = redactedPart(p)
	}
	return out
}

func redactedPart(p *transcriptv1.Part) *transcriptv1.Part {
	out := proto.CloneOf(p)
	out.Extras = redactedExtras(p.Extras)
	switch k := out.Kind.(type) {
	case *transcriptv1.Part_Text:
		k.Text = redactedText(k.Text)
	case *transcriptv1.Part_Json:
		k.Json = redactedText(k.Json)
	case *transcriptv1.Part_Reasoning:
		r := k.Reasoning
		r.Text, r.Signature, r.RedactedData = redactedText(r.Text), redactedText(r.Signature), redactedBytes(r.RedactedData)
	case *transcriptv1.Part_Media:
		redactMedia(k.Media)
	case *transcriptv1.Part_ToolCall:
		k.ToolCall = redactedCall(k.ToolCall)
	}
	return out
}

func redactMedia(m *transcriptv1.Media) {
	m.MediaType = redactedText(m.MediaType)
	switch source := m.Source.(type) {
	case *transcriptv1.Media_Inline:
		source.Inline = redactedBytes(source.Inline)
	case *transcriptv1.Media_Uri:
		source.Uri = redactedText(source.Uri)
	}
}
