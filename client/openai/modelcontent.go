package openai

import (
	"encoding/base64"
	"strings"

	"github.com/transcriptd/transcriptd/client/internal/providerjson"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// content gathers the content of one message to be written.
type content struct {
	// id is that of the call which a result answers; "" on other messages.
	id string
	// texts and items are the text parts' texts and all parts; a text that is empty is in neither.
	texts []string
	items *providerjson.Node
	// moved are the parts that a result cannot hold, after a text that says whose they are.
	moved []*providerjson.Node
}

func (c *content) text(s string) {
	if s != "" {
		c.texts = append(c.texts, s)
		c.add(textNode(s))
	}
}

func (c *content) add(n *providerjson.Node) {
	if c.items == nil {
		c.items = providerjson.NewList()
	}
	c.items.Add(n)
}

func (c *content) move(n *providerjson.Node) {
	if len(c.moved) == 0 {
		c.moved = append(c.moved, textNode("[media of the result of "+c.id+"]"))
	}
	c.moved = append(c.moved, n)
}

func (c *content) empty() bool { return c.items == nil }

// node is a string where all is one text; without content "" on a result and null on other messages; else a list.
func (c *content) node() *providerjson.Node {
	switch {
	case c.empty() && c.id != "":
		return providerjson.Text("")
	case c.empty():
		return providerjson.Raw("null")
	case len(c.texts) == 1 && c.items.Len() == 1:
		return providerjson.Text(c.texts[0])
	}
	return c.items
}

// content adds the content of a message.
func (m *model) content(i int, c *content) error {
	message := m.messages[i]
	for j, p := range message.GetParts() {
		path := providerjson.Index(messagePath(i)+".parts", j)
		extras, err := providerjson.ReadExtras(p.GetExtras(), path+".extras")
		if err != nil {
			return err
		}
		switch k := p.GetKind().(type) {
		case *transcriptv1.Part_Text:
			c.text(k.Text)
			m.partExtras(path, p, nil)
		case *transcriptv1.Part_Reasoning:
			m.change(path, LeftOut, "reasoning is not sent back")
		case *transcriptv1.Part_Media:
			m.part(c, message, path, mediaItem(k.Media, extras), k.Media.GetMediaType())
			m.partExtras(path, p, extras)
		case *transcriptv1.Part_Json:
			n, kind := jsonItem(p, message.GetRole())
			m.part(c, message, path, n, kind)
		case *transcriptv1.Part_ToolCall:
			if message.GetRole() != transcriptv1.Role_ROLE_ASSISTANT {
				m.change(path, LeftOut, "only an assistant calls tools")
			}
			m.partExtras(path, p, extras)
		default:
			return providerjson.Errorf(path, "has no kind")
		}
	}
	if len(message.GetParts()) == 0 {
		m.refusal(message, c)
	}
	return nil
}

// refusal adds what an answer that only refuses says.
func (m *model) refusal(message *transcriptv1.Message, c *content) {
	extras, err := providerjson.ReadExtras(message.GetExtras(), "")
	if err != nil || message.GetRole() != transcriptv1.Role_ROLE_ASSISTANT {
		return
	}
	if r := extras.Member("refusal"); r != nil && r.Text != "" {
		c.add(providerjson.NewObject().
			Set("type", providerjson.Text("refusal")).Set("refusal", providerjson.Text(r.Text)))
	}
}

// part adds a part that is not text, or what stands for it: n is nil where the API has nothing for it.
func (m *model) part(c *content, message *transcriptv1.Message, path string, n *providerjson.Node, kind string) {
	role := message.GetRole()
	switch {
	case n != nil && role == transcriptv1.Role_ROLE_TOOL:
		m.change(path, Moved, "results hold only text")
		c.move(n)
	case n != nil && (role == transcriptv1.Role_ROLE_USER || n.Get("refusal") != nil):
		c.add(n)
	case role == transcriptv1.Role_ROLE_USER || role == transcriptv1.Role_ROLE_TOOL:
		m.report.Add(Change{
			Path: path, Kind: Replaced, To: providerjson.Placeholder(kind), Why: "the API has no such part",
		})
		c.text(providerjson.Placeholder(kind))
	default:
		m.change(path, LeftOut, "messages of this role hold only text")
	}
}

// partExtras reports a part's other members, unless it has one and that is one that the API documents.
func (m *model) partExtras(path string, p *transcriptv1.Part, extras *providerjson.Value) {
	if p.GetExtras() == "" || extras != nil && len(extras.Members) == 1 && documented(p, extras) {
		return
	}
	m.change(path+".extras", LeftOut, "only documented members are written")
}

func documented(p *transcriptv1.Part, extras *providerjson.Value) bool {
	if p.GetToolCall() != nil {
		return extras.Member("type") != nil
	}
	image, file := extras.Member(typeImageURL), extras.Member(typeFile)
	return image != nil && len(image.Members) == 1 && detail(extras) != "" ||
		file != nil && len(file.Members) == 1 && filename(extras) != ""
}

// detail is how closely the model looks at an image, where the extras say so.
func detail(extras *providerjson.Value) string {
	switch d := innerString(extras, typeImageURL, "detail"); d {
	case "auto", "low", "high":
		return d
	}
	return ""
}

func filename(extras *providerjson.Value) string { return innerString(extras, typeFile, "filename") }

// innerString is a string of an object in extras, or "".
func innerString(extras *providerjson.Value, object, member string) string {
	if v := extras.Member(object).Member(member); v != nil {
		return v.Text
	}
	return ""
}

// mediaItem is the part that the API has for a piece of media, or nil.
func mediaItem(media *transcriptv1.Media, extras *providerjson.Value) *providerjson.Node {
	n := mediaNode(media)
	switch mediaClass(media) {
	case typeImageURL:
		if d := detail(extras); d != "" {
			n.Get(typeImageURL).Set("detail", providerjson.Text(d))
		}
	case typeFile:
		name := filename(extras)
		if name == "" {
			name = "document.pdf"
		}
		n.Get(typeFile).Set("filename", providerjson.Text(name))
	case typeAudio:
	default:
		return nil
	}
	return n
}

// mediaClass is the type of part that holds a piece of media; "" where the API takes none of its type or source.
func mediaClass(media *transcriptv1.Media) string {
	switch s := media.GetSource().(type) {
	case *transcriptv1.Media_Inline:
		if len(s.Inline) == 0 {
			return ""
		}
		switch media.GetMediaType() {
		case "image/png", "image/jpeg", "image/gif", "image/webp":
			return typeImageURL
		case "audio/wav", "audio/mp3":
			return typeAudio
		case "application/pdf":
			return typeFile
		}
	case *transcriptv1.Media_Uri:
		isWeb := strings.HasPrefix(s.Uri, "https://") || strings.HasPrefix(s.Uri, "http://")
		isImage := media.GetMediaType() == typeImageURL || media.GetMediaType() == "image" ||
			strings.HasPrefix(media.GetMediaType(), "image/")
		inline := inlineType(s.Uri)
		if isImage && (isWeb || strings.HasPrefix(inline, "image/")) {
			return typeImageURL
		}
		if media.GetMediaType() == typeFile && inline == "application/pdf" {
			return typeFile
		}
	}
	return ""
}

// inlineType is the type of a data: URL that the API takes, however it is spelled: in capitals, with parameters, without
// padding. "" for all others.
func inlineType(url string) string {
	rest, isData := strings.CutPrefix(url, "data:")
	head, text, isBase64 := strings.Cut(rest, ";base64,")
	if !isData || !isBase64 || strings.ContainsAny(text, "\r\n") {
		return ""
	}
	data, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(text, "="))
	if err != nil || len(data) == 0 {
		return ""
	}
	mediaType, _, _ := strings.Cut(strings.ToLower(head), ";")
	switch mediaType {
	case "image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf":
		return mediaType
	}
	return ""
}

// jsonItem is a json part that the API takes back, an uploaded file of a user or a refusal of an assistant, or nil;
// and the part's own type.
func jsonItem(p *transcriptv1.Part, role transcriptv1.Role) (n *providerjson.Node, kind string) {
	v, err := providerjson.Read([]byte(p.GetJson()), "", &Report{})
	if err != nil || v.Member("type") == nil {
		return nil, ""
	}
	kind = v.Member("type").Text
	switch {
	case kind == "refusal" && role == transcriptv1.Role_ROLE_ASSISTANT:
		if r := v.Member("refusal"); r != nil && r.Text != "" {
			n = providerjson.NewObject().
				Set("type", providerjson.Text("refusal")).Set("refusal", providerjson.Text(r.Text))
		}
	case kind == typeFile && role != transcriptv1.Role_ROLE_ASSISTANT && v.Member(typeFile) != nil:
		if id := v.Member(typeFile).Member("file_id"); id != nil && id.Text != "" {
			n = nested(typeFile, "file_id", id.Text)
		}
	}
	return n, kind
}
