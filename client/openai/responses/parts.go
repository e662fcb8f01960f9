package responses

import (
	"strings"

	"github.com/transcriptd/transcriptd/client/internal/providerjson"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// Types of items of content.
const (
	inputText  = "input_text"
	outputText = "output_text"
	inputImage = "input_image"
	inputFile  = "input_file"
)

// The media types of what is kept by URL, as chat completions' converter has them.
const (
	typeImageURL = "image_url"
	typeFile     = "file"
)

// parseOutput makes a part of an item of what an assistant says. What is not text is a json part, whole.
func parseOutput(v *providerjson.Value) (*transcriptv1.Part, error) {
	if textOf(v.Member("type")) != outputText || !isString(v.Member("text")) || v.Member(itemMember) != nil {
		return providerjson.JSONPart(v)
	}
	return parseText(providerjson.Take(v))
}

func parseText(t *providerjson.Taker) (*transcriptv1.Part, error) {
	part := providerjson.TextPart(t.Look("text").Text)
	t.Take("type")
	t.Take("text")
	var err error
	part.Extras, err = t.Extras()
	return part, err
}

// parseInput makes a part of an item of what anybody else says, or a tool. What has not the form of a part that has a kind of its own is a json
// part, whole.
func parseInput(v *providerjson.Value) (*transcriptv1.Part, error) {
	t := providerjson.Take(v)
	var media *transcriptv1.Media
	switch kind := textOf(v.Member("type")); {
	case kind == inputText && isString(v.Member("text")):
		return parseText(t)
	case kind == inputImage && isString(v.Member("image_url")):
		t.Take("image_url")
		media = parseImage(v.Member("image_url").Text)
	case kind == inputFile && isString(v.Member("file_data")):
		t.Take("file_data")
		media = parseFileData(v.Member("file_data").Text)
	case kind == inputFile && isString(v.Member("file_url")) && v.Member("file_data") == nil:
		t.Take("file_url")
		media = byURI(typeFile, v.Member("file_url").Text)
	}
	if media == nil {
		return providerjson.JSONPart(v)
	}
	t.Take("type")
	extras, err := t.Extras()
	return providerjson.MediaPart(media, extras), err
}

func parseImage(url string) *transcriptv1.Media {
	if mediaType, data, ok := providerjson.DataURL(url); ok && strings.HasPrefix(mediaType, "image/") {
		return inline(mediaType, data)
	}
	return byURI(typeImageURL, url)
}

// parseFileData is nil where the data are no URL that tells the file from an image.
func parseFileData(url string) *transcriptv1.Media {
	mediaType, data, ok := providerjson.DataURL(url)
	if !ok || strings.HasPrefix(mediaType, "image/") {
		return nil
	}
	return inline(mediaType, data)
}

func inline(mediaType string, data []byte) *transcriptv1.Media {
	return &transcriptv1.Media{MediaType: mediaType, Source: &transcriptv1.Media_Inline{Inline: data}}
}

func byURI(mediaType, uri string) *transcriptv1.Media {
	return &transcriptv1.Media{MediaType: mediaType, Source: &transcriptv1.Media_Uri{Uri: uri}}
}

// formatPart is the item of content that a part stands for, of what a role says; extras are those that are the item's.
func formatPart(p *transcriptv1.Part, extras *providerjson.Value, role transcriptv1.Role, path string) (*providerjson.Node, error) {
	var n *providerjson.Node
	switch k := p.GetKind().(type) {
	case *transcriptv1.Part_Text:
		n = textItem(k.Text, role)
	case *transcriptv1.Part_Media:
		if n = mediaItem(k.Media); n == nil {
			n = textItem(providerjson.Placeholder(k.Media.GetMediaType()), role)
		}
	case *transcriptv1.Part_Json:
		return providerjson.JSONNode(p), nil
	default:
		return nil, providerjson.Errorf(path, "has no kind")
	}
	if extras != nil {
		n.Merge(extras)
	}
	return n, nil
}

// textItem is a text of what a role says.
func textItem(text string, role transcriptv1.Role) *providerjson.Node {
	kind := inputText
	if role == transcriptv1.Role_ROLE_ASSISTANT {
		kind = outputText
	}
	return typed(kind, "text", text)
}

func isImage(mediaType string) bool {
	return mediaType == typeImageURL || mediaType == "image" || strings.HasPrefix(mediaType, "image/")
}

// mediaItem is the item that OpenAI has for a piece of media; nil where it has none.
func mediaItem(m *transcriptv1.Media) *providerjson.Node {
	switch s := m.GetSource().(type) {
	case *transcriptv1.Media_Uri:
		if isImage(m.GetMediaType()) {
			return typed(inputImage, "image_url", s.Uri)
		}
		return typed(inputFile, "file_url", s.Uri)
	case *transcriptv1.Media_Inline:
		url := providerjson.MakeDataURL(m.GetMediaType(), s.Inline)
		if isImage(m.GetMediaType()) {
			return typed(inputImage, "image_url", url)
		}
		return typed(inputFile, "file_data", url)
	}
	return nil
}

// typed is {"type":KIND,MEMBER:TEXT}.
func typed(kind, member, text string) *providerjson.Node {
	return providerjson.NewObject().Set("type", providerjson.Text(kind)).Set(member, providerjson.Text(text))
}
