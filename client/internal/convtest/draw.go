package convtest

import (
	"encoding/json"
	"slices"
	"strings"

	"pgregory.net/rapid"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// Text draws strings of all sorts: empty, blank, with quotes, controls and other planes, and long ones.
func Text() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.SampledFrom([]string{
			"", " ", "\n\t", "hello", "trailing \n", "<b>&\u2028", "\x00\x1f", "\ufeffmark", "日本語 🙂", "\ufffd", `"\`,
			strings.Repeat("long ", 40),
		}),
		rapid.String(),
	)
}

// JSON draws JSON texts, nested at most depth deep.
func JSON(depth int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		kinds := 6
		if depth == 0 {
			kinds = 4
		}
		switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
		case 0:
			return rapid.SampledFrom([]string{"null", "true", "false"}).Draw(t, "literal")
		case 1:
			return rapid.SampledFrom([]string{"0", "-0", "1.0", "1", "1e3", "1E+03", "12345678901234567890"}).Draw(t, "number")
		case 2, 3:
			return Quote(Text().Draw(t, "string"))
		case 4:
			return "[" + strings.Join(rapid.SliceOfN(JSON(depth-1), 0, 3).Draw(t, "items"), " , ") + "]"
		}
		return Object(rapid.MapOfN(Name(), JSON(depth-1), 0, 3).Draw(t, "members"), rapid.Bool().Draw(t, "reversed"))
	})
}

// Name draws names of members: those that the converters know, so that they turn up where they do not belong, and
// others.
func Name() *rapid.Generator[string] {
	return rapid.OneOf(rapid.SampledFrom([]string{
		"type", "text", "role", "content", "id", "name", "function", "arguments", "tool_call", "function_call", "message",
		"image_url", "url", "file", "source", "data", "cache_control", "index", "input", "custom", "is_error", "signature",
	}), Text())
}

// Object writes members in the order of their names or the reverse.
func Object(members map[string]string, reversed bool) string {
	names := make([]string, 0, len(members))
	for name := range members {
		names = append(names, name)
	}
	slices.Sort(names)
	if reversed {
		slices.Reverse(names)
	}
	var b strings.Builder
	b.WriteString("{")
	for i, name := range names {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(Quote(name) + " : " + members[name])
	}
	return b.String() + "}"
}

// Quote is a string as JSON.
func Quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		return `""`
	}
	return string(b)
}

// Maybe draws a value of g for the member, or leaves it out.
func Maybe(t *rapid.T, members map[string]string, name string, g *rapid.Generator[string]) {
	if rapid.Bool().Draw(t, name+"?") {
		members[name] = g.Draw(t, name)
	}
}

// Others adds members that the names know does not hold.
func Others(t *rapid.T, members map[string]string, known ...string) {
	for name, value := range rapid.MapOfN(Name(), JSON(2), 0, 2).Draw(t, "others") {
		taken := false
		for _, k := range known {
			taken = taken || k == name
		}
		if !taken {
			members[name] = value
		}
	}
}

// Messages draws what a chain may hold: any roles in any order, calls and results that fit or do not, and parts as
// both converters make them and as they do not.
func Messages() *rapid.Generator[[]*transcriptv1.Message] {
	return rapid.SliceOfN(rapid.Custom(message), 0, 12)
}

func message(t *rapid.T) *transcriptv1.Message {
	if rapid.IntRange(0, 11).Draw(t, "opaque") == 11 {
		return &transcriptv1.Message{
			Role:  transcriptv1.Role(rapid.IntRange(1, 4).Draw(t, "role")),
			Parts: []*transcriptv1.Part{{Kind: &transcriptv1.Part_Opaque{Opaque: &transcriptv1.Opaque{Type: "t", Data: []byte("state")}}}},
		}
	}
	m := &transcriptv1.Message{
		Role:   transcriptv1.Role(rapid.SampledFrom([]int{1, 2, 3, 3, 4, 4, 4, 5, 5, 5}).Draw(t, "role")),
		Parts:  rapid.SliceOfN(rapid.Custom(part), 0, 3).Draw(t, "parts"),
		Extras: extras().Draw(t, "extras"),
		Joined: rapid.Bool().Draw(t, "joined"),
		State:  transcriptv1.MessageState(rapid.IntRange(0, 2).Draw(t, "state")),
	}
	if rapid.IntRange(0, 3).Draw(t, "named") == 0 {
		m.Name = name(t)
	}
	if m.Role == transcriptv1.Role_ROLE_TOOL {
		m.ToolCallId = callID(t)
		m.IsError = rapid.Bool().Draw(t, "error")
	}
	if m.Role == transcriptv1.Role_ROLE_ASSISTANT {
		for range rapid.SampledFrom([]int{0, 0, 1, 2, 3}).Draw(t, "server blocks") {
			m.Parts = append(m.Parts, &transcriptv1.Part{Kind: &transcriptv1.Part_Json{Json: serverBlock().Draw(t, "block")}})
		}
		for range rapid.IntRange(0, 2).Draw(t, "calls") {
			m.Parts = append(m.Parts, call(t))
		}
	}
	return m
}

// serverBlock draws calls and results of Anthropic's server tools, as the API takes them and as it does not.
func serverBlock() *rapid.Generator[string] {
	return rapid.SampledFrom([]string{
		`{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}`,
		`{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}`,
		`{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]}`,
		`{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]}`,
		`{"type":"web_fetch_tool_result","tool_use_id":"srvtoolu_1","content":[]}`,
		`{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1"}`,
		`{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[],"x":1}`,
		`{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search"}`,
		`{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{},"x":1}`,
		`{"type":"server_tool_use","id":"srvtoolu_1","name":"advisor","input":{}}`,
		`{"type":"server_tool_use","id":"srvtoolu_-","name":"web_fetch","input":{}}`,
		`{"type":"web_fetch_tool_result","tool_use_id":"srvtoolu_-","content":{}}`,
		`{"type":"server_tool_use","id":"srvtoolu_2"}`,
	})
}

func callID(t *rapid.T) *string {
	id := rapid.SampledFrom([]string{"absent", "", "call_1", "call_1", "call_2", "call_1_2", "a|b", "srvtoolu_1", strings.Repeat("x", 70)}).
		Draw(t, "id")
	if id == "absent" {
		return nil
	}
	return &id
}

func name(t *rapid.T) *string {
	n := rapid.SampledFrom([]string{"", "read_file", "a.b/c", strings.Repeat("n", 200), "名前"}).Draw(t, "name")
	return &n
}

func call(t *rapid.T) *transcriptv1.Part {
	c := &transcriptv1.ToolCall{
		Id: callID(t),
		Arguments: rapid.SampledFrom([]string{
			"", " ", "{}", `{"a": 1}`, `{"a":1,"a":2}`, "not json", "[1]", `"text"`, `{"b":{"c":[null]}}`,
		}).Draw(t, "arguments"),
	}
	if rapid.IntRange(0, 4).Draw(t, "nameless") > 0 {
		c.Name = name(t)
	}
	return &transcriptv1.Part{
		Extras: rapid.SampledFrom([]string{
			"", "", `{"type":"custom"}`, `{"function_call":{}}`, `{"tool_call":{"id":1}}`, `{"caller":{"type":"direct"}}`,
		}).Draw(t, "extras"),
		Kind: &transcriptv1.Part_ToolCall{ToolCall: c},
	}
}

func part(t *rapid.T) *transcriptv1.Part {
	p := &transcriptv1.Part{Extras: extras().Draw(t, "extras")}
	switch rapid.IntRange(0, 5).Draw(t, "part") {
	case 0, 1:
		p.Kind = &transcriptv1.Part_Text{Text: Text().Draw(t, "text")}
	case 2:
		p.Kind = &transcriptv1.Part_Reasoning{Reasoning: &transcriptv1.Reasoning{
			Text:         rapid.SampledFrom([]string{"", "hm"}).Draw(t, "thinking"),
			Signature:    rapid.SampledFrom([]string{"", "sig"}).Draw(t, "signature"),
			RedactedData: []byte(rapid.SampledFrom([]string{"", "secret"}).Draw(t, "redacted")),
		}}
	case 3, 4:
		p.Kind = &transcriptv1.Part_Media{Media: media(t)}
	default:
		p.Kind = &transcriptv1.Part_Json{Json: rapid.SampledFrom([]string{
			"not json", "7", `"text"`, `{"type":"refusal","refusal":"no"}`, `{"type":"refusal","refusal":""}`,
			`{"type":"file","file":{"file_id":"f-1"}}`, `{"type":"tool_result","tool_use_id":"call_1"}`,
			`{"type":"document","source":{"type":"text","data":"plain"}}`,
			`{"type":"document","source":{"type":"file","file_id":"f"}}`, `{"type":"text","text":""}`,
		}).Draw(t, "json")}
	}
	return p
}

func media(t *rapid.T) *transcriptv1.Media {
	m := &transcriptv1.Media{MediaType: rapid.SampledFrom([]string{
		"", "image/png", "image/tiff", "image_url", "image", "file", "document", "application/pdf", "audio/wav", "audio/ogg",
		"text/plain", "日本",
	}).Draw(t, "type")}
	switch rapid.IntRange(0, 3).Draw(t, "source") {
	case 0, 1:
		m.Source = &transcriptv1.Media_Inline{Inline: []byte(rapid.SampledFrom([]string{"", "bytes", "\xff"}).Draw(t, "inline"))}
	case 2:
		m.Source = &transcriptv1.Media_Uri{Uri: rapid.SampledFrom([]string{
			"", "https://example.com/a", "data:image/png;base64,AAAA", "data:application/pdf;base64,AAAA", "file-1",
		}).Draw(t, "uri")}
	}
	return m
}

// extras draws extras that a server accepts, most often none.
func extras() *rapid.Generator[string] {
	return rapid.SampledFrom([]string{
		"", "", "", "", "", "", `{"cache_control":{"type":"ephemeral"}}`, `{"image_url":{"detail":"low"}}`,
		`{"file":{"filename":"a.pdf"}}`, `{"title":"T","context":" "}`, `{"refusal":"no"}`, `{"role":"system"}`,
		`{"role":"function"}`, `{"framework":{"adk":1}}`, `{"message":{"id":1,"framework":2},"framework":3}`, `{"message":{"id":1}}`, `{"content":[]}`, `{"type":1}`,
	})
}
