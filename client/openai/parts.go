package openai

import (
	"strings"

	"github.com/transcriptd/transcriptd/client/internal/providerjson"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// The media types of what is kept by URL: OpenAI's names of the parts.
const (
	typeImageURL = "image_url"
	typeFile     = "file"
	typeAudio    = "input_audio"
)

// parsePart makes a part of one item of a content list. What has not the form of a part that has a kind of its own
// is a json part, whole.
func parsePart(v *providerjson.Value) (*transcriptv1.Part, error) {
	kind := v.Member("type")
	if kind == nil || kind.Kind != providerjson.String {
		return providerjson.JSONPart(v)
	}
	t := providerjson.Take(v)
	t.Take("type")
	var part *transcriptv1.Part
	switch kind.Text {
	case "text":
		part = parseText(t)
	case typeImageURL:
		part = parseImage(t)
	case typeAudio:
		part = parseAudio(t)
	case typeFile:
		part = parseFile(t)
	}
	if part == nil {
		return providerjson.JSONPart(v)
	}
	var err error
	part.Extras, err = t.Extras()
	return part, err
}

func parseText(t *providerjson.Taker) *transcriptv1.Part {
	text := t.Look("text")
	if text == nil || text.Kind != providerjson.String {
		return nil
	}
	t.Take("text")
	return providerjson.TextPart(text.Text)
}

// inner is a string member of a member that is an object, and the rest of that object; nil where it is not there.
func inner(t *providerjson.Taker, object, member string) (*providerjson.Value, *providerjson.Taker) {
	o := t.Look(object)
	if o == nil || o.Member(member) == nil || o.Member(member).Kind != providerjson.String {
		return nil, nil
	}
	return o.Member(member), t.Sub(object)
}

func parseImage(t *providerjson.Taker) *transcriptv1.Part {
	url, image := inner(t, typeImageURL, "url")
	if url == nil {
		return nil
	}
	image.Take("url")
	mediaType, data, ok := providerjson.DataURL(url.Text)
	if ok && strings.HasPrefix(mediaType, "image/") {
		return inline(mediaType, data)
	}
	return uri(typeImageURL, url.Text)
}

func parseAudio(t *providerjson.Taker) *transcriptv1.Part {
	text, _ := inner(t, typeAudio, "data")
	format, audio := inner(t, typeAudio, "format")
	if text == nil || format == nil || !providerjson.IsMediaType("audio/"+format.Text) {
		return nil
	}
	data, ok := providerjson.Base64(text.Text)
	if !ok {
		return nil
	}
	audio.Take("data")
	audio.Take("format")
	return inline("audio/"+format.Text, data)
}

func parseFile(t *providerjson.Taker) *transcriptv1.Part {
	url, file := inner(t, typeFile, "file_data")
	if url == nil {
		return nil
	}
	file.Take("file_data")
	mediaType, data, ok := providerjson.DataURL(url.Text)
	if ok && !strings.HasPrefix(mediaType, "image/") && !strings.HasPrefix(mediaType, "audio/") {
		return inline(mediaType, data)
	}
	return uri(typeFile, url.Text)
}

func inline(mediaType string, data []byte) *transcriptv1.Part {
	return providerjson.MediaPart(&transcriptv1.Media{
		MediaType: mediaType, Source: &transcriptv1.Media_Inline{Inline: data},
	}, "")
}

func uri(mediaType, uri string) *transcriptv1.Part {
	return providerjson.MediaPart(&transcriptv1.Media{
		MediaType: mediaType, Source: &transcriptv1.Media_Uri{Uri: uri},
	}, "")
}

// formatPart is the item of a content list that a content part stands for.
func formatPart(p *transcriptv1.Part, path string) (*providerjson.Node, error) {
	extras, err := providerjson.ReadExtras(p.GetExtras(), path+".extras")
	if err != nil {
		return nil, err
	}
	var n *providerjson.Node
	switch k := p.GetKind().(type) {
	case *transcriptv1.Part_Text:
		n = textNode(k.Text)
	case *transcriptv1.Part_Media:
		n = mediaNode(k.Media)
	case *transcriptv1.Part_Json:
		return providerjson.JSONNode(p), nil
	default:
		return nil, providerjson.Errorf(path, "has no kind")
	}
	n.Merge(extras)
	return n, nil
}

func textNode(text string) *providerjson.Node {
	return providerjson.NewObject().Set("type", providerjson.Text("text")).Set("text", providerjson.Text(text))
}

// mediaNode is the part that OpenAI has for a piece of media; a text where it has none.
func mediaNode(m *transcriptv1.Media) *providerjson.Node {
	isImage := m.GetMediaType() == typeImageURL || m.GetMediaType() == "image" || strings.HasPrefix(m.GetMediaType(), "image/")
	format, isAudio := strings.CutPrefix(m.GetMediaType(), "audio/")
	switch s := m.GetSource().(type) {
	case *transcriptv1.Media_Uri:
		if isImage {
			return nested(typeImageURL, "url", s.Uri)
		}
		return nested(typeFile, "file_data", s.Uri)
	case *transcriptv1.Media_Inline:
		if isAudio {
			n := nested(typeAudio, "data", providerjson.EncodeBase64(s.Inline))
			n.Get(typeAudio).Set("format", providerjson.Text(format))
			return n
		}
		url := providerjson.MakeDataURL(m.GetMediaType(), s.Inline)
		if isImage {
			return nested(typeImageURL, "url", url)
		}
		return nested(typeFile, "file_data", url)
	}
	return textNode(providerjson.Placeholder(m.GetMediaType()))
}

// nested is {"type":KIND,KIND:{MEMBER:VALUE}}.
func nested(kind, member, value string) *providerjson.Node {
	return providerjson.NewObject().
		Set("type", providerjson.Text(kind)).
		Set(kind, providerjson.NewObject().Set(member, providerjson.Text(value)))
}
