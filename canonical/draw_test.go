package canonical_test

import (
	"strings"

	"pgregory.net/rapid"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// text draws strings that meet the corners of encodings: empty, blank, lengths at varint boundaries, NUL, BOM, non-BMP,
// combining marks.
func text() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.SampledFrom([]string{
			"", " ", "\u2003\n", "a", "\x00", "\ufeffbom", "😀", "e\u0301", "é", "\uffff", "\U00010000",
			strings.Repeat("x", 126), strings.Repeat("x", 127), strings.Repeat("x", 128), strings.Repeat("ä", 8192),
		}),
		rapid.String(),
	)
}

func extras() *rapid.Generator[string] {
	return rapid.SampledFrom([]string{"", "", "", `{"a":1}`, `{"a":{"b":[1.50,-0,1e5,null]},"":"\u0000\n€"}`})
}

func maybe(t *rapid.T, label string) *string {
	if !rapid.Bool().Draw(t, label+" present") {
		return nil
	}
	s := rapid.StringN(-1, -1, 1024).Draw(t, label)
	return &s
}

// drawMessages draws messages that Validate accepts, of which stored ones may have what clients may not put: an origin, a blob.
func drawMessages(t *rapid.T, stored bool) []*transcriptv1.Message {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) *transcriptv1.Message {
		return drawMessage(t, stored)
	}), 1, 6).Draw(t, "messages")
}

func drawMessage(t *rapid.T, stored bool) *transcriptv1.Message {
	if rapid.IntRange(0, 9).Draw(t, "opaque") == 0 {
		return drawOpaque(t)
	}
	m := &transcriptv1.Message{
		Role:   transcriptv1.Role(rapid.Int32Range(1, 5).Draw(t, "role")),
		Name:   maybe(t, "name"),
		State:  transcriptv1.MessageState(rapid.Int32Range(0, 2).Draw(t, "state")),
		Joined: rapid.Bool().Draw(t, "joined"),
		Extras: extras().Draw(t, "extras"),
	}
	if stored {
		m.Origin = transcriptv1.Origin(rapid.Int32Range(0, 3).Draw(t, "origin"))
	}
	if m.Role == transcriptv1.Role_ROLE_TOOL {
		m.ToolCallId = maybe(t, "tool_call_id")
		m.IsError = rapid.Bool().Draw(t, "is_error")
	}
	calls := m.Role == transcriptv1.Role_ROLE_ASSISTANT
	for range rapid.IntRange(0, 4).Draw(t, "parts") {
		m.Parts = append(m.Parts, drawPart(t, calls, stored))
	}
	m.ContentForm = rapid.SampledFrom(formsOf(m.Parts)).Draw(t, "content form")
	return m
}

// formsOf lists the content forms that parts leave open, by the words of the design: calls and reasoning aside, no part
// implies null, exactly one text part without extras a string, anything else a list.
func formsOf(parts []*transcriptv1.Part) []transcriptv1.ContentForm {
	var content []*transcriptv1.Part
	for _, p := range parts {
		if p.GetToolCall() == nil && p.GetReasoning() == nil {
			content = append(content, p)
		}
	}
	forms := []transcriptv1.ContentForm{transcriptv1.ContentForm_CONTENT_FORM_UNSPECIFIED}
	if len(content) == 0 {
		return append(forms, transcriptv1.ContentForm_CONTENT_FORM_PARTS, transcriptv1.ContentForm_CONTENT_FORM_ABSENT)
	}
	if _, isText := content[0].Kind.(*transcriptv1.Part_Text); isText && len(content) == 1 && content[0].Extras == "" {
		return append(forms, transcriptv1.ContentForm_CONTENT_FORM_PARTS)
	}
	return forms
}

func drawPart(t *rapid.T, calls, stored bool) *transcriptv1.Part {
	p := &transcriptv1.Part{Extras: extras().Draw(t, "part extras")}
	kinds := 4
	if calls {
		kinds = 5
	}
	switch rapid.IntRange(1, kinds).Draw(t, "kind") {
	case 1:
		p.Kind = &transcriptv1.Part_Text{Text: text().Draw(t, "text")}
	case 2:
		p.Kind = &transcriptv1.Part_Reasoning{Reasoning: &transcriptv1.Reasoning{
			Text:         text().Draw(t, "reasoning"),
			Signature:    text().Draw(t, "signature"),
			RedactedData: rapid.SliceOfN(rapid.Byte(), 0, 9).Draw(t, "redacted"),
		}}
	case 3:
		p.Kind = &transcriptv1.Part_Media{Media: drawMedia(t, stored)}
	case 4:
		p.Kind = &transcriptv1.Part_Json{Json: text().Draw(t, "json")}
	case 5:
		p.Kind = &transcriptv1.Part_ToolCall{ToolCall: &transcriptv1.ToolCall{
			Id: maybe(t, "id"), Name: maybe(t, "name"), Arguments: text().Draw(t, "arguments"),
		}}
	}
	return p
}

func drawOpaque(t *rapid.T) *transcriptv1.Message {
	return &transcriptv1.Message{
		Role: transcriptv1.Role(rapid.Int32Range(1, 4).Draw(t, "role")),
		Parts: []*transcriptv1.Part{{Kind: &transcriptv1.Part_Opaque{Opaque: &transcriptv1.Opaque{
			Type: rapid.StringN(1, -1, 256).Draw(t, "type"), Data: rapid.SliceOfN(rapid.Byte(), 0, 9).Draw(t, "data"),
		}}}},
	}
}

func drawMedia(t *rapid.T, stored bool) *transcriptv1.Media {
	m := &transcriptv1.Media{MediaType: text().Draw(t, "type")}
	sources := 2
	if stored {
		sources = 3 // a blob: refused from clients
	}
	switch rapid.IntRange(0, sources).Draw(t, "source") {
	case 1:
		m.Source = &transcriptv1.Media_Inline{Inline: rapid.SliceOfN(rapid.Byte(), 0, 9).Draw(t, "inline")}
	case 2:
		m.Source = &transcriptv1.Media_Uri{Uri: text().Draw(t, "uri")}
	case 3:
		m.Source = &transcriptv1.Media_BlobDigest{BlobDigest: rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "digest")}
	}
	return m
}

// drawMetadata draws metadata that Validate accepts, in any order.
func drawMetadata(t *rapid.T) []*transcriptv1.MetadataEntry {
	keys := rapid.SliceOfNDistinct(rapid.OneOf(
		rapid.SampledFrom([]string{"a", "b", "var/x", "var", "\ufffd", "\U00010000", "\x00"}),
		rapid.StringN(1, 20, 256),
	), 0, 8, rapid.ID[string]).Draw(t, "keys")
	var entries []*transcriptv1.MetadataEntry
	for _, k := range keys {
		value := rapid.StringN(-1, -1, 4096).Draw(t, "value")
		entries = append(entries, &transcriptv1.MetadataEntry{Key: k, Value: value})
	}
	return entries
}
