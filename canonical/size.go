package canonical

import (
	"google.golang.org/protobuf/encoding/protowire"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// All fields are numbered below 16, so that a tag takes one byte. A test over the descriptors holds this.

// bytesSize is the size of a length-delimited field, tag and prefix included.
func bytesSize(length int) int { return 1 + protowire.SizeBytes(length) }

// stringSize is the size of a string field without presence.
func stringSize(s string) int {
	if s == "" {
		return 0
	}
	return bytesSize(len(s))
}

// presentSize is the size of an optional string field.
func presentSize(s *string) int {
	if s == nil {
		return 0
	}
	return bytesSize(len(*s))
}

func boolSize(b bool) int {
	if !b {
		return 0
	}
	return 2
}

func enumSize(n int32) int {
	if n == 0 {
		return 0
	}
	return 1 + protowire.SizeVarint(uint64(n))
}

// messageSize is the size of a message without tag and length prefix.
func messageSize(m *transcriptv1.Message) int { return bareSize(m) + partsSize(m) + madeSize(m) }

// bareSize is the share of messageSize that is neither parts nor content form nor origin.
func bareSize(m *transcriptv1.Message) int {
	return enumSize(int32(m.Role)) + presentSize(m.ToolCallId) + boolSize(m.IsError) + presentSize(m.Name) +
		enumSize(int32(m.State)) + boolSize(m.Joined) + stringSize(m.Extras)
}

// madeSize is the share of messageSize that content form and origin take.
func madeSize(m *transcriptv1.Message) int {
	return enumSize(int32(m.ContentForm)) + enumSize(int32(m.Origin))
}

// partsSize is the share of messageSize that the parts take, their tags and prefixes included.
func partsSize(m *transcriptv1.Message) int {
	n := 0
	for _, p := range m.Parts {
		n += bytesSize(partSize(p))
	}
	return n
}

func partSize(p *transcriptv1.Part) int {
	n := stringSize(p.Extras)
	switch k := p.Kind.(type) {
	case *transcriptv1.Part_Text:
		n += bytesSize(len(k.Text))
	case *transcriptv1.Part_Reasoning:
		n += bytesSize(reasoningSize(k.Reasoning))
	case *transcriptv1.Part_Media:
		n += bytesSize(mediaSize(k.Media))
	case *transcriptv1.Part_Json:
		n += bytesSize(len(k.Json))
	case *transcriptv1.Part_ToolCall:
		n += bytesSize(toolCallSize(k.ToolCall))
	case *transcriptv1.Part_Opaque:
		n += bytesSize(opaqueSize(k.Opaque))
	}
	return n
}

func reasoningSize(r *transcriptv1.Reasoning) int {
	n := stringSize(r.Text) + stringSize(r.Signature)
	if len(r.RedactedData) > 0 {
		n += bytesSize(len(r.RedactedData))
	}
	return n
}

func mediaSize(m *transcriptv1.Media) int {
	n := stringSize(m.MediaType)
	switch s := m.Source.(type) {
	case *transcriptv1.Media_Inline:
		n += bytesSize(len(s.Inline))
	case *transcriptv1.Media_Uri:
		n += bytesSize(len(s.Uri))
	case *transcriptv1.Media_BlobDigest:
		n += bytesSize(len(s.BlobDigest))
	}
	return n
}

func toolCallSize(c *transcriptv1.ToolCall) int {
	return presentSize(c.Id) + presentSize(c.Name) + stringSize(c.Arguments)
}

func opaqueSize(o *transcriptv1.Opaque) int {
	n := stringSize(o.Type)
	if len(o.Data) > 0 {
		n += bytesSize(len(o.Data))
	}
	return n
}
