package anthropic

import (
	"strings"

	"github.com/transcriptd/transcriptd/client/internal/providerjson"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// The media types of what is kept by URL: Anthropic's names of the blocks.
const (
	typeImage    = "image"
	typeDocument = "document"
)

// blockParser makes parts of the blocks of a message of some role. A block that has not the form of a block that has
// a kind of its own is a json part, whole.
func blockParser(role transcriptv1.Role) func(*providerjson.Value) (*transcriptv1.Part, error) {
	return func(v *providerjson.Value) (*transcriptv1.Part, error) {
		kind := v.Member("type")
		if kind == nil || kind.Kind != providerjson.String {
			return providerjson.JSONPart(v)
		}
		t := providerjson.Take(v)
		t.Take("type")
		part, err := parseBlock(t, kind.Text, role)
		if err != nil {
			return nil, err
		}
		if part == nil {
			return providerjson.JSONPart(v)
		}
		part.Extras, err = t.Extras()
		return part, err
	}
}

// parseBlock is nil for a block without a kind of its own.
func parseBlock(t *providerjson.Taker, kind string, role transcriptv1.Role) (*transcriptv1.Part, error) {
	switch kind {
	case "text":
		if text := takeString(t, "text"); text != nil {
			return providerjson.TextPart(text.Text), nil
		}
	case "thinking":
		return parseThinking(t), nil
	case "redacted_thinking":
		return parseRedacted(t), nil
	case "tool_use":
		if role == transcriptv1.Role_ROLE_ASSISTANT {
			return parseCall(t)
		}
	case typeImage, typeDocument:
		return parseMedia(t, kind), nil
	}
	return nil, nil
}

// takeString takes a member that is a string; it returns nil and takes nothing where it is not.
func takeString(t *providerjson.Taker, name string) *providerjson.Value {
	v := t.Look(name)
	if v == nil || v.Kind != providerjson.String {
		return nil
	}
	t.Take(name)
	return v
}

func parseThinking(t *providerjson.Taker) *transcriptv1.Part {
	thinking := takeString(t, "thinking")
	if thinking == nil {
		return nil
	}
	r := &transcriptv1.Reasoning{Text: thinking.Text}
	if s := t.Look("signature"); s != nil && s.Text != "" {
		t.Take("signature")
		r.Signature = s.Text
	}
	return providerjson.ReasoningPart(r, "")
}

func parseRedacted(t *providerjson.Taker) *transcriptv1.Part {
	text := takeString(t, "data")
	if text == nil || text.Text == "" {
		return nil
	}
	data, ok := providerjson.Base64(text.Text)
	if !ok {
		return nil
	}
	return providerjson.ReasoningPart(&transcriptv1.Reasoning{RedactedData: data}, "")
}

// parseCall makes a call of a tool_use block. The arguments are the input as JSON text, empty where there is none.
func parseCall(t *providerjson.Taker) (*transcriptv1.Part, error) {
	call := &transcriptv1.ToolCall{}
	var err error
	if call.Id, err = t.String("id"); err != nil {
		return nil, err
	}
	if call.Name, err = t.String("name"); err != nil {
		return nil, err
	}
	if input := t.Look("input"); input != nil {
		t.Take("input")
		call.Arguments, err = providerjson.Compact(input.Source, input.Path())
	}
	return providerjson.CallPart(call, ""), err
}

// parseMedia makes media of an image or document with a source by URL, or as base64 of a type that tells the two
// kinds of block apart.
func parseMedia(t *providerjson.Taker, kind string) *transcriptv1.Part {
	source := t.Look("source")
	if source == nil || source.Member("type") == nil {
		return nil
	}
	rest := t.Sub("source")
	rest.Take("type")
	switch source.Member("type").Text {
	case "url":
		if url := takeString(rest, "url"); url != nil {
			return providerjson.MediaPart(&transcriptv1.Media{
				MediaType: kind, Source: &transcriptv1.Media_Uri{Uri: url.Text},
			}, "")
		}
	case "base64":
		mediaType, text := takeString(rest, "media_type"), takeString(rest, "data")
		if mediaType == nil || text == nil || !providerjson.IsMediaType(mediaType.Text) ||
			isImage(mediaType.Text) != (kind == typeImage) {
			return nil
		}
		if data, ok := providerjson.Base64(text.Text); ok {
			return providerjson.MediaPart(&transcriptv1.Media{
				MediaType: mediaType.Text, Source: &transcriptv1.Media_Inline{Inline: data},
			}, "")
		}
	}
	return nil
}

// isImage tells whether a media type is an image's; OpenAI's name for one by URL counts.
func isImage(mediaType string) bool {
	return mediaType == typeImage || mediaType == "image_url" || strings.HasPrefix(mediaType, "image/")
}

// formatBlock is the block that a part stands for.
func formatBlock(p *transcriptv1.Part, path string) (*providerjson.Node, error) {
	extras, err := providerjson.ReadExtras(p.GetExtras(), path+".extras")
	if err != nil {
		return nil, err
	}
	var n *providerjson.Node
	switch k := p.GetKind().(type) {
	case *transcriptv1.Part_Text:
		n = textBlock(k.Text)
	case *transcriptv1.Part_Reasoning:
		n = thinkingBlock(k.Reasoning)
	case *transcriptv1.Part_ToolCall:
		n = callBlock(k.ToolCall)
	case *transcriptv1.Part_Media:
		n = mediaBlock(k.Media)
	case *transcriptv1.Part_Json:
		return providerjson.JSONNode(p), nil
	default:
		return nil, providerjson.Errorf(path, "has no kind")
	}
	n.Merge(extras)
	return n, nil
}

func block(kind string) *providerjson.Node {
	return providerjson.NewObject().Set("type", providerjson.Text(kind))
}

func textBlock(text string) *providerjson.Node {
	return block("text").Set("text", providerjson.Text(text))
}

func thinkingBlock(r *transcriptv1.Reasoning) *providerjson.Node {
	if len(r.GetRedactedData()) > 0 && r.GetText() == "" && r.GetSignature() == "" {
		return block("redacted_thinking").Set("data", providerjson.Text(providerjson.EncodeBase64(r.GetRedactedData())))
	}
	n := block("thinking").Set("thinking", providerjson.Text(r.GetText()))
	if r.GetSignature() != "" {
		n.Set("signature", providerjson.Text(r.GetSignature()))
	}
	return n
}

func callBlock(call *transcriptv1.ToolCall) *providerjson.Node {
	n := block("tool_use")
	setOptional(n, "id", call.Id)
	setOptional(n, "name", call.Name)
	if call.GetArguments() == "" {
		return n
	}
	if _, err := providerjson.Compact([]byte(call.GetArguments()), ""); err != nil {
		return n.Set("input", providerjson.Text(call.GetArguments()))
	}
	return n.Set("input", providerjson.Raw(call.GetArguments()))
}

// mediaBlock is the block that Anthropic has for a piece of media; a text where it has none.
func mediaBlock(m *transcriptv1.Media) *providerjson.Node {
	kind := typeDocument
	if isImage(m.GetMediaType()) {
		kind = typeImage
	}
	source := providerjson.NewObject()
	switch s := m.GetSource().(type) {
	case *transcriptv1.Media_Uri:
		source.Set("type", providerjson.Text("url")).Set("url", providerjson.Text(s.Uri))
	case *transcriptv1.Media_Inline:
		source.Set("type", providerjson.Text("base64")).
			Set("media_type", providerjson.Text(m.GetMediaType())).
			Set("data", providerjson.Text(providerjson.EncodeBase64(s.Inline)))
	default:
		return textBlock(providerjson.Placeholder(m.GetMediaType()))
	}
	return block(kind).Set("source", source)
}

func setOptional(n *providerjson.Node, name string, value *string) {
	if value != nil {
		n.Set(name, providerjson.Text(*value))
	}
}
