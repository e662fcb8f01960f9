package canonical_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// entrySize is the size of a message as an entry of a payload, by the ordinary runtime.
func entrySize(m *transcriptv1.Message) int {
	return proto.Size(&transcriptv1.Payload{Messages: []*transcriptv1.Message{m}})
}

// The sizes of the facts are those of the ordinary runtime, and the lengths add up to the payload's.
func TestFactsMeasure(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		messages := drawMessages(t, true)
		total := 0
		for i, f := range canonical.Facts(messages) {
			m := proto.CloneOf(messages[i])
			total += f.Length
			if want := entrySize(m); f.Length != want {
				t.Fatalf("Length %d, want %d", f.Length, want)
			}
			if want := proto.Size(&transcriptv1.Message{Parts: m.Parts}); f.PartsLength != want {
				t.Fatalf("PartsLength %d, want %d", f.PartsLength, want)
			}
			octets, points := 0, 0
			for _, p := range m.Parts {
				octets += len(p.GetText())
				points += len([]rune(p.GetText()))
			}
			if f.TextOctets != octets || f.TextPoints != points {
				t.Fatalf("text %d %d, want %d %d", f.TextOctets, f.TextPoints, octets, points)
			}
			m.Parts, m.ContentForm, m.Origin = nil, 0, 0
			if want := proto.Size(m); f.BareLength != want {
				t.Fatalf("BareLength %d, want %d", f.BareLength, want)
			}
		}
		if payload := canonical.EncodePayload(messages); total != len(payload) {
			t.Fatalf("lengths add up to %d of %d", total, len(payload))
		}
	})
}

func TestFactsTell(t *testing.T) {
	text := func(s string) *transcriptv1.Part { return &transcriptv1.Part{Kind: &transcriptv1.Part_Text{Text: s}} }
	reasoning := &transcriptv1.Part{Kind: &transcriptv1.Part_Reasoning{Reasoning: &transcriptv1.Reasoning{Text: "hm"}}}
	media := &transcriptv1.Part{Kind: &transcriptv1.Part_Media{Media: &transcriptv1.Media{}}}
	opaque := &transcriptv1.Part{Kind: &transcriptv1.Part_Opaque{Opaque: &transcriptv1.Opaque{Type: "t", Data: []byte("data")}}}
	json := &transcriptv1.Part{Kind: &transcriptv1.Part_Json{}}
	call := &transcriptv1.Part{Kind: &transcriptv1.Part_ToolCall{ToolCall: &transcriptv1.ToolCall{
		Id: proto.String(""), Arguments: "{}",
	}}}
	for name, c := range map[string]struct {
		parts []*transcriptv1.Part
		empty bool
	}{
		"no part":                  {nil, true},
		"empty text":               {[]*transcriptv1.Part{text("")}, true},
		"white space":              {[]*transcriptv1.Part{text(" \t\n\u0085\u00a0\u1680\u2000\u200a\u2028\u2029\u202f\u205f\u3000")}, true},
		"reasoning and blank":      {[]*transcriptv1.Part{reasoning, text("\v\f\r")}, true},
		"zero width space":         {[]*transcriptv1.Part{text("\u200b")}, false},
		"byte order mark":          {[]*transcriptv1.Part{text("\ufeff")}, false},
		"mongolian vowel":          {[]*transcriptv1.Part{text("\u180e")}, false},
		"separator that is none":   {[]*transcriptv1.Part{text("\x1c")}, false},
		"text behind blanks":       {[]*transcriptv1.Part{text(" "), text("a"), text(" ")}, false},
		"media":                    {[]*transcriptv1.Part{media}, false},
		"json":                     {[]*transcriptv1.Part{json}, false},
		"opaque":                   {[]*transcriptv1.Part{opaque}, true},
		"call":                     {[]*transcriptv1.Part{call}, false},
		"extras change nothing":    {[]*transcriptv1.Part{{Extras: `{"a":1}`, Kind: text("").Kind}}, true},
		"call, then reasoning":     {[]*transcriptv1.Part{call, reasoning}, false},
		"blank, then json is none": {[]*transcriptv1.Part{text(""), json}, false},
	} {
		m := &transcriptv1.Message{Role: transcriptv1.Role_ROLE_ASSISTANT, Parts: c.parts}
		if f := canonical.FactsOf(m); f.Empty != c.empty || f.Opaque != (name == "opaque") {
			t.Errorf("%s: Empty = %v, Opaque = %v", name, f.Empty, f.Opaque)
		}
	}

	m := &transcriptv1.Message{Role: transcriptv1.Role_ROLE_ASSISTANT, Name: proto.String("n"),
		Parts: []*transcriptv1.Part{call, text("x"), {Kind: &transcriptv1.Part_ToolCall{
			ToolCall: &transcriptv1.ToolCall{Name: proto.String("f")}}}}}
	f := canonical.FactsOf(m)
	if len(f.Calls) != 2 || f.Calls[0] != (runloop.Call{ID: runloop.Some("")}) ||
		f.Calls[1] != (runloop.Call{Name: runloop.Some("f")}) || f.Name != runloop.Some("n") || f.CallID.Present ||
		f.Role != runloop.Assistant || f.Error || f.Summary {
		t.Errorf("assistant: %+v", f)
	}
	f = canonical.FactsOf(&transcriptv1.Message{Role: transcriptv1.Role_ROLE_TOOL, ToolCallId: proto.String("c"), IsError: true})
	if f.Role != runloop.Tool || f.CallID != runloop.Some("c") || !f.Error || f.Name.Present || f.Calls != nil {
		t.Errorf("tool: %+v", f)
	}
	for origin := range transcriptv1.Origin_name {
		m := &transcriptv1.Message{Role: transcriptv1.Role_ROLE_USER, Origin: transcriptv1.Origin(origin)}
		if f := canonical.FactsOf(m); f.Summary != (m.Origin == transcriptv1.Origin_ORIGIN_SUMMARY) {
			t.Errorf("Summary = %v on origin %v", f.Summary, m.Origin)
		}
	}
	for name, c := range map[string]struct {
		m     *transcriptv1.Message
		line  bool
		loops int64
	}{
		"a left-out line":     {canonical.LeftOut(47), true, 47},
		"with another text":   {&transcriptv1.Message{Origin: transcriptv1.Origin_ORIGIN_LEFT_OUT, Parts: []*transcriptv1.Part{text("47")}}, true, 0},
		"without a text":      {&transcriptv1.Message{Origin: transcriptv1.Origin_ORIGIN_LEFT_OUT}, true, 0},
		"the same, by a user": {&transcriptv1.Message{Parts: canonical.LeftOut(47).Parts}, false, 0},
	} {
		if f := canonical.FactsOf(c.m); f.LeftOutLine != c.line || f.LeftOutLoops != c.loops {
			t.Errorf("%s: %v, %d", name, f.LeftOutLine, f.LeftOutLoops)
		}
	}
}

// What counts as blank is the property White_Space, code point by code point, and what unicode.IsSpace says.
func TestBlankIsWhiteSpace(t *testing.T) {
	count := 0
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if !utf8.ValidRune(r) {
			continue
		}
		blank := canonical.FactsOf(&transcriptv1.Message{Parts: []*transcriptv1.Part{{
			Kind: &transcriptv1.Part_Text{Text: string(r)}}}}).Empty
		if blank != unicode.Is(unicode.White_Space, r) || blank != unicode.IsSpace(r) {
			t.Errorf("%U: blank = %v", r, blank)
		}
		if blank {
			count++
		}
	}
	if count != 25 {
		t.Errorf("%d code points, want 25", count)
	}
}

func optionals() *rapid.Generator[runloop.Optional] {
	return rapid.Custom(func(t *rapid.T) runloop.Optional {
		if s := maybe(t, "value"); s != nil {
			return runloop.Some(*s)
		}
		return runloop.Optional{}
	})
}

func TestStub(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		call := runloop.Call{ID: optionals().Draw(t, "id"), Name: optionals().Draw(t, "name")}
		stub := canonical.AppendStub(nil, call)
		if len(stub) != runloop.StubLength(call) {
			t.Fatalf("%d bytes, StubLength %d", len(stub), runloop.StubLength(call))
		}
		messages, err := canonical.DecodePayload(stub)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := canonical.CheckPayload(stub); err != nil {
			t.Fatal(err)
		}
		m := messages[0]
		f := canonical.FactsOf(m)
		if len(messages) != 1 || f.Role != runloop.Tool || f.CallID != call.ID || f.Name != call.Name || f.Error ||
			m.Origin != transcriptv1.Origin_ORIGIN_STUB || len(m.Parts) != 1 || m.Parts[0].GetText() != runloop.StubText {
			t.Fatalf("%v", messages)
		}
	})
}

// A result's line, built as a message, is as long as the fold says; it is said only where it is shorter.
func TestLineLength(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		call, result := drawPair(t)
		at := rapid.IntRange(0, 120).Draw(t, "index")
		mark := foldPair(t, call, result, at)

		f := canonical.FactsOf(result)
		name := f.Name
		if !name.Present {
			name = canonical.FactsOf(call).Calls[0].Name
		}
		line := proto.CloneOf(result)
		line.ContentForm, line.Origin = 0, transcriptv1.Origin_ORIGIN_SHORTENED
		line.Parts = []*transcriptv1.Part{{Kind: &transcriptv1.Part_Text{
			Text: runloop.LineText(name, &f, runloop.Source{Node: prefix, Index: at})}}}
		made := canonical.AppendMessage(nil, line)
		want := len(made)
		if want >= f.Length {
			want = 0
		}
		if mark.LineLength != want {
			t.Fatalf("LineLength %d, want %d of %d", mark.LineLength, want, f.Length)
		}
		if _, err := canonical.CheckPayload(made); err != nil {
			t.Fatal(err)
		}
	})
}

const prefix = "0123456789ab"

// drawPair draws an assistant message with one call and a result that answers it.
func drawPair(t *rapid.T) (call, result *transcriptv1.Message) {
	result = drawMessage(t, false)
	result.Role = transcriptv1.Role_ROLE_TOOL
	result.Parts = append(drawMessage(t, false).Parts, &transcriptv1.Part{Kind: &transcriptv1.Part_Text{
		Text: strings.Repeat("z", rapid.IntRange(0, 300).Draw(t, "size"))}})
	for i := len(result.Parts) - 1; i >= 0; i-- {
		if result.Parts[i].GetToolCall() != nil {
			result.Parts = append(result.Parts[:i], result.Parts[i+1:]...)
		}
	}
	result.ToolCallId = maybe(t, "call id")
	result.ContentForm = rapid.SampledFrom(formsOf(result.Parts)).Draw(t, "form")
	call = &transcriptv1.Message{Role: transcriptv1.Role_ROLE_ASSISTANT, Parts: []*transcriptv1.Part{{
		Kind: &transcriptv1.Part_ToolCall{ToolCall: &transcriptv1.ToolCall{
			Id: result.ToolCallId, Name: maybe(t, "tool"),
		}}}}}
	return call, result
}

// foldPair puts result at an index of a node below that of call and returns its mark.
func foldPair(t *rapid.T, call, result *transcriptv1.Message, index int) runloop.Mark {
	var s runloop.State
	never := func(runloop.Optional) bool { return false }
	if _, _, err := s.Fold(runloop.Node{Messages: canonical.Facts([]*transcriptv1.Message{call})}, never); err != nil {
		t.Fatal(err)
	}
	orphan := &transcriptv1.Message{Role: transcriptv1.Role_ROLE_TOOL, ToolCallId: proto.String("answers nothing at all" +
		strings.Repeat("!", 1024))}
	messages := make([]*transcriptv1.Message, index, index+1)
	for i := range messages {
		messages[i] = orphan
	}
	marks, _, err := s.Fold(runloop.Node{Seq: 1, Prefix: prefix, Messages: canonical.Facts(append(messages, result))}, never)
	if err != nil {
		t.Fatal(err)
	}
	return marks[index]
}
