package responses

import (
	"strings"

	"github.com/transcriptd/transcriptd/client/internal/providerjson"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// content gathers what one item is to hold.
type content struct {
	texts []string
	items *providerjson.Node
}

func (c *content) add(n *providerjson.Node) {
	if c.items == nil {
		c.items = providerjson.NewList()
	}
	c.items.Add(n)
}

func (c *content) text(text string, role transcriptv1.Role) {
	if text != "" {
		c.texts = append(c.texts, text)
		c.add(textItem(text, role))
	}
}

func (c *content) empty() bool { return c.items == nil }

// node is a string where all is one text, and where there is nothing; else a list.
func (c *content) node() *providerjson.Node {
	switch {
	case c.empty():
		return providerjson.Text("")
	case len(c.texts) == 1 && c.items.Len() == 1:
		return providerjson.Text(c.texts[0])
	}
	return c.items
}

// input is the content of a message that is not the assistant's.
func (m *model) input(i int) (*content, error) {
	message, c := m.messages[i], &content{}
	for j, p := range message.GetParts() {
		path := providerjson.Index(messagePath(i)+".parts", j)
		extras, err := providerjson.ReadExtras(p.GetExtras(), path+".extras")
		if err != nil {
			return nil, err
		}
		switch k := p.GetKind().(type) {
		case *transcriptv1.Part_Text:
			c.text(k.Text, message.GetRole())
			m.partExtras(path, extras, "")
		case *transcriptv1.Part_Reasoning:
			m.change(path, LeftOut, "only an assistant thinks")
		case *transcriptv1.Part_Media:
			n, kept := modelMedia(k.Media, extras)
			m.part(c, message.GetRole(), path, n, k.Media.GetMediaType())
			m.partExtras(path, extras, kept)
		case *transcriptv1.Part_Json:
			n, kind := uploaded(p)
			m.part(c, message.GetRole(), path, n, kind)
		case *transcriptv1.Part_ToolCall:
			m.change(path, LeftOut, "only an assistant calls tools")
		default:
			return nil, providerjson.Errorf(path, "has no kind")
		}
	}
	return c, nil
}

// part adds a part that is not text, or what stands for it: n is nil where the API has nothing for it.
func (m *model) part(c *content, role transcriptv1.Role, path string, n *providerjson.Node, kind string) {
	speaks := role == transcriptv1.Role_ROLE_USER || role == transcriptv1.Role_ROLE_TOOL
	switch {
	case n != nil && speaks:
		c.add(n)
	case speaks:
		text := providerjson.Placeholder(kind)
		m.report.Add(Change{Path: path, Kind: Replaced, To: text, Why: "the API has no such part"})
		c.text(text, role)
	default:
		m.change(path, LeftOut, "messages of this role hold only text")
	}
}

// partExtras reports a part's other members, unless it has just the one that is kept.
func (m *model) partExtras(path string, extras *providerjson.Value, kept string) {
	if extras == nil || kept != "" && len(extras.Members) == 1 && extras.Member(kept) != nil {
		return
	}
	m.change(path+".extras", LeftOut, "only documented members are written")
}

// modelMedia is the item that the API has for a piece of media, or nil, and which of its extras stands in it.
func modelMedia(media *transcriptv1.Media, extras *providerjson.Value) (n *providerjson.Node, kept string) {
	n = mediaItem(media)
	switch mediaClass(media) {
	case inputImage:
		return n.Set("detail", providerjson.Text(detail(extras))), "detail"
	case inputFile:
		if _, byURL := media.GetSource().(*transcriptv1.Media_Uri); byURL {
			return n, ""
		}
		name := textOf(extras.Member("filename"))
		if name == "" {
			name = "document.pdf"
		}
		return n.Set("filename", providerjson.Text(name)), "filename"
	}
	return nil, ""
}

// detail is how closely the model looks at an image.
func detail(extras *providerjson.Value) string {
	d := textOf(extras.Member("detail"))
	if d == "" {
		d = textOf(extras.Member(typeImageURL).Member("detail")) // of a message of chat completions
	}
	switch d {
	case "low", "high", "original":
		return d
	}
	return "auto"
}

// mediaClass is the type of item that holds a piece of media; "" where the API takes none of its type or source.
func mediaClass(media *transcriptv1.Media) string {
	switch s := media.GetSource().(type) {
	case *transcriptv1.Media_Inline:
		if len(s.Inline) == 0 {
			return ""
		}
		switch media.GetMediaType() {
		case "image/png", "image/jpeg", "image/gif", "image/webp":
			return inputImage
		case "application/pdf":
			return inputFile
		}
	case *transcriptv1.Media_Uri:
		if !strings.HasPrefix(s.Uri, "https://") && !strings.HasPrefix(s.Uri, "http://") {
			return ""
		}
		if isImage(media.GetMediaType()) {
			return inputImage
		}
		switch media.GetMediaType() {
		case typeFile, "document", "application/pdf":
			return inputFile
		}
	}
	return ""
}

// uploaded is the item of a json part that names a file by its id, or nil; and the part's own type.
func uploaded(p *transcriptv1.Part) (n *providerjson.Node, kind string) {
	v, err := providerjson.Read([]byte(p.GetJson()), "", &Report{})
	if err != nil {
		return nil, ""
	}
	kind = textOf(v.Member("type"))
	id := textOf(v.Member("file_id"))
	if id == "" || isWhole(p) || v.Member("image_url") != nil || v.Member("file_url") != nil || v.Member("file_data") != nil {
		return nil, kind
	}
	switch kind {
	case inputImage:
		return typed(inputImage, "file_id", id).Set("detail", providerjson.Text(detail(v))), kind
	case inputFile:
		return typed(inputFile, "file_id", id), kind
	}
	return nil, kind
}
