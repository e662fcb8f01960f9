package canonical

import (
	"slices"
	"strings"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// EncodePayload is the canonical encoding of messages, in a slice of exactly its size.
func EncodePayload(messages []*transcriptv1.Message) []byte {
	size := 0
	for _, m := range messages {
		size += bytesSize(messageSize(m))
	}
	return AppendPayload(make([]byte, 0, size), messages)
}

// AppendPayload appends the canonical encoding of Payload: the messages as entries, end to end. The messages must be
// valid.
func AppendPayload(dst []byte, messages []*transcriptv1.Message) []byte {
	for _, m := range messages {
		dst = AppendMessage(dst, m)
	}
	return dst
}

// AppendMessage appends m as an entry of a payload, that is with tag and length prefix. m must be valid.
func AppendMessage(dst []byte, m *transcriptv1.Message) []byte {
	dst = appendPrefix(dst, 1, messageSize(m))
	dst = appendEnum(dst, 1, int32(m.Role))
	for _, p := range m.Parts {
		dst = appendPart(appendPrefix(dst, 2, partSize(p)), p)
	}
	dst = appendOptional(dst, 3, m.ToolCallId)
	dst = appendBool(dst, 4, m.IsError)
	dst = appendOptional(dst, 5, m.Name)
	dst = appendEnum(dst, 6, int32(m.State))
	dst = appendEnum(dst, 7, int32(m.ContentForm))
	dst = appendBool(dst, 8, m.Joined)
	dst = appendEnum(dst, originNumber, int32(m.Origin))
	return appendNonEmpty(dst, 10, m.Extras)
}

func appendPart(dst []byte, p *transcriptv1.Part) []byte {
	dst = appendNonEmpty(dst, 1, p.Extras)
	switch k := p.Kind.(type) {
	case *transcriptv1.Part_Text:
		dst = appendString(dst, 8, k.Text)
	case *transcriptv1.Part_Reasoning:
		dst = appendReasoning(appendPrefix(dst, 9, reasoningSize(k.Reasoning)), k.Reasoning)
	case *transcriptv1.Part_Media:
		dst = appendMedia(appendPrefix(dst, 10, mediaSize(k.Media)), k.Media)
	case *transcriptv1.Part_Json:
		dst = appendString(dst, 11, k.Json)
	case *transcriptv1.Part_ToolCall:
		dst = appendToolCall(appendPrefix(dst, 12, toolCallSize(k.ToolCall)), k.ToolCall)
	case *transcriptv1.Part_Opaque:
		dst = appendOpaque(appendPrefix(dst, 13, opaqueSize(k.Opaque)), k.Opaque)
	}
	return dst
}

func appendReasoning(dst []byte, r *transcriptv1.Reasoning) []byte {
	dst = appendNonEmpty(dst, 1, r.Text)
	dst = appendNonEmpty(dst, 2, r.Signature)
	if len(r.RedactedData) > 0 {
		dst = appendBytes(dst, 3, r.RedactedData)
	}
	return dst
}

func appendMedia(dst []byte, m *transcriptv1.Media) []byte {
	dst = appendNonEmpty(dst, 1, m.MediaType)
	switch s := m.Source.(type) {
	case *transcriptv1.Media_Inline:
		dst = appendBytes(dst, 8, s.Inline)
	case *transcriptv1.Media_Uri:
		dst = appendString(dst, 9, s.Uri)
	case *transcriptv1.Media_BlobDigest:
		dst = appendBytes(dst, 10, s.BlobDigest)
	}
	return dst
}

func appendToolCall(dst []byte, c *transcriptv1.ToolCall) []byte {
	dst = appendOptional(dst, 1, c.Id)
	dst = appendOptional(dst, 2, c.Name)
	return appendNonEmpty(dst, 3, c.Arguments)
}

func appendOpaque(dst []byte, o *transcriptv1.Opaque) []byte {
	dst = appendNonEmpty(dst, 1, o.Type)
	if len(o.Data) > 0 {
		dst = appendBytes(dst, 2, o.Data)
	}
	return dst
}

// AppendMetadata appends the canonical encoding of Metadata: the entries sorted by the bytes of their keys, in
// whatever order they are given. Nothing without entries. The entries must be valid.
func AppendMetadata(dst []byte, entries []*transcriptv1.MetadataEntry) []byte {
	for _, e := range sorted(entries) {
		dst = appendPrefix(dst, 1, stringSize(e.Key)+stringSize(e.Value))
		dst = appendNonEmpty(dst, 1, e.Key)
		dst = appendNonEmpty(dst, 2, e.Value)
	}
	return dst
}

// sorted is entries in the order of their keys' bytes, which is Go's order of strings.
func sorted(entries []*transcriptv1.MetadataEntry) []*transcriptv1.MetadataEntry {
	byKey := func(a, b *transcriptv1.MetadataEntry) int { return strings.Compare(a.Key, b.Key) }
	if slices.IsSortedFunc(entries, byKey) {
		return entries
	}
	return slices.SortedFunc(slices.Values(entries), byKey)
}
