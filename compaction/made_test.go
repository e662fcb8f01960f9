package compaction_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/compaction"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

const truncated = "...[truncated]"

func message(parts ...*transcriptv1.Part) *transcriptv1.Message {
	return &transcriptv1.Message{Role: roleUser, Parts: parts}
}

// TestCut: a worked example for each rule.
func TestCut(t *testing.T) {
	media := &transcriptv1.Part{Kind: &transcriptv1.Part_Media{Media: &transcriptv1.Media{MediaType: "image/png"}}}
	jsonPart := &transcriptv1.Part{Kind: &transcriptv1.Part_Json{Json: `{"a":[1,2]}`}}
	long := strings.Repeat("x", 40)
	for _, c := range []struct {
		rule  string
		parts []*transcriptv1.Part
		limit int
		want  []*transcriptv1.Part // nil: as it was
	}{
		{"one part", []*transcriptv1.Part{textPart("Tell me " + long)}, 7,
			[]*transcriptv1.Part{textPart("Tell me" + truncated)}},
		{"between code points", []*transcriptv1.Part{textPart("é😀" + long)}, 2,
			[]*transcriptv1.Part{textPart("é😀" + truncated)}},
		{"JSON is not cut", []*transcriptv1.Part{textPart("é😀" + long), jsonPart}, 2,
			[]*transcriptv1.Part{textPart("é😀" + truncated), jsonPart}},
		{"counted over all parts, later text goes, others stay",
			[]*transcriptv1.Part{textPart("abc"), media, textPart("def" + long), textPart("ghi"), media}, 5,
			[]*transcriptv1.Part{textPart("abc"), media, textPart("de" + truncated), media}},
		{"a part that fits exactly stays", []*transcriptv1.Part{textPart("abc"), textPart(""), textPart(long)}, 3,
			[]*transcriptv1.Part{textPart("abc"), textPart(""), textPart(truncated)}},
		{"14 more fit as well as the mark", []*transcriptv1.Part{textPart(long)}, 26, nil},
		{"15 more, but two bytes that say it is cut", []*transcriptv1.Part{textPart(long)}, 25, nil},
		{"16 more", []*transcriptv1.Part{textPart(long)}, 24, []*transcriptv1.Part{textPart(long[:24] + truncated)}},
		{"no limit", []*transcriptv1.Part{textPart(long)}, 0, nil},
		{"nothing to cut", []*transcriptv1.Part{media}, 1, nil},
		{"nothing at all", nil, 1, nil},
		{"a part's other members stay", []*transcriptv1.Part{{Extras: `{"a":1}`, Kind: &transcriptv1.Part_Text{Text: long}}}, 1,
			[]*transcriptv1.Part{{Extras: `{"a":1}`, Kind: &transcriptv1.Part_Text{Text: "x" + truncated}}}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			got := message(c.parts...)
			got.Name, got.Extras, got.Joined, got.State = proto.String("N"), `{"n":1}`, true, 1
			got.ContentForm = transcriptv1.ContentForm_CONTENT_FORM_PARTS
			want := proto.Clone(got).(*transcriptv1.Message)
			if c.want != nil {
				want.Parts, want.ContentForm, want.Origin = c.want, 0, transcriptv1.Origin_ORIGIN_SHORTENED
			}
			// Clearing the content form makes room for the origin.
			if c.rule == "15 more, but two bytes that say it is cut" {
				got.ContentForm, want.ContentForm = 0, 0
			}
			if cut := cutText(got, c.limit); cut != (c.want != nil) || !proto.Equal(got, want) {
				t.Errorf("%t, %v\nwant %v", cut, got, want)
			}
		})
	}
}

// TestMakeLine: the parts go, the text is LineText's, everything else stays, and the length is the one that was folded.
func TestMakeLine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := drawView(t)
		for i := range v.entries {
			e := &v.entries[i]
			if e.brief.Mark.LineLength == 0 {
				continue
			}
			m := proto.Clone(e.m).(*transcriptv1.Message)
			compaction.MakeLine(m, &e.facts, e.name, e.from)
			text := runloop.LineText(e.name, &e.facts, e.from)
			if encodedSize(m) != int64(e.brief.Mark.LineLength) || m.Parts[0].GetText() != text {
				t.Fatalf("%d bytes were promised: %v", e.brief.Mark.LineLength, m)
			}
			m.Parts, m.Origin, m.ContentForm = e.m.Parts, e.m.Origin, e.m.ContentForm
			if !proto.Equal(m, e.m) {
				t.Fatalf("%v became %v", e.m, m)
			}
		}
	})
}

func TestSummary(t *testing.T) {
	want := &transcriptv1.Message{
		Role: roleUser, Origin: transcriptv1.Origin_ORIGIN_SUMMARY, Parts: []*transcriptv1.Part{textPart("They spoke.")},
	}
	if got := compaction.Summary("They spoke."); !proto.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}

// checkCut holds what is promised of a cut on any message, whether it was cut or not.
func checkCut(t failer, was *transcriptv1.Message, limit int) {
	m := proto.Clone(was).(*transcriptv1.Message)
	cut := cutText(m, limit)
	text, before := textOf(m), textOf(was)
	switch {
	case !cut:
		if !proto.Equal(m, was) {
			t.Fatalf("not cut, but changed: %v", m)
		}
		return
	case encodedSize(m) > encodedSize(was):
		t.Fatalf("longer: %d bytes, not %d", encodedSize(m), encodedSize(was))
	case utf8.RuneCountInString(text) >= utf8.RuneCountInString(before):
		t.Fatalf("no shorter: %q", text)
	case text != string([]rune(before)[:limit])+truncated:
		t.Fatalf("%q was cut to %q", before, text)
	case m.Origin != transcriptv1.Origin_ORIGIN_SHORTENED || m.ContentForm != 0:
		t.Fatalf("it does not say that it was cut: %v", m)
	}
	others := func(m *transcriptv1.Message) *transcriptv1.Message {
		o := proto.Clone(m).(*transcriptv1.Message)
		o.Parts, o.Origin, o.ContentForm = nil, 0, 0
		for _, p := range m.Parts {
			if _, isText := p.Kind.(*transcriptv1.Part_Text); !isText {
				o.Parts = append(o.Parts, p)
			}
		}
		return o
	}
	if !proto.Equal(others(m), others(was)) {
		t.Fatalf("more than text was changed: %v became %v", was, m)
	}
	if cutText(m, limit) {
		t.Fatalf("it was cut again to the same: %v", m)
	}
}

func textOf(m *transcriptv1.Message) string {
	var b strings.Builder
	for _, p := range m.Parts {
		b.WriteString(p.GetText())
	}
	return b.String()
}

// TestCutPromises: on any message, at any limit.
func TestCutPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		checkCut(t, drawPut(t).m, rapid.IntRange(-1, 130).Draw(t, "limit"))
	})
}

// TestCutBound: what a plan counts for a cut message is never less than it takes, never more than the message takes whole,
// and little more where its text is ASCII. What it counted shows in the smallest max_bytes under which its loop stays.
func TestCutBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := message(textPart(text(t)), textPart(text(t)), textPart(text(t)))
		limit := rapid.IntRange(1, 130).Draw(t, "limit")
		answer := &transcriptv1.Message{Role: roleAssistant, Parts: []*transcriptv1.Part{textPart("yes")}}
		end := message(textPart(strings.Repeat("x", 5000))) // so that a limit is exceeded with it, or not at all
		v := viewOf(t, []node{{messages: []put{{m: m}, {m: answer}, {m: end}}}})
		counted := func(most int64) bool {
			policy := compaction.Policy{OmitLeftOutLine: true, MaxUserChars: limit, MaxBytes: most + encodedSize(answer) + encodedSize(end)}
			return v.plan(compaction.Options{Policy: policy}).Dropped == 0
		}
		cut := proto.Clone(m).(*transcriptv1.Message)
		cutText(cut, limit)
		switch f := canonical.FactsOf(m); {
		case counted(encodedSize(cut) - 1):
			t.Fatalf("%d bytes were counted as fewer", encodedSize(cut))
		case !counted(encodedSize(m)):
			t.Fatalf("%d bytes were counted as more than the %d of the whole", encodedSize(cut), encodedSize(m))
		case f.TextOctets == f.TextPoints && !counted(encodedSize(cut)+20):
			t.Fatalf("%d bytes of ASCII were counted as more than %d", encodedSize(cut), encodedSize(cut)+20)
		}
	})
}

// FuzzCut holds the promises over texts in three parts.
func FuzzCut(f *testing.F) {
	f.Add("", "", "", 0)
	f.Add(strings.Repeat("x", 40), "", "", 7)
	f.Add("é😀", strings.Repeat("é", 130), "c", 3)
	f.Add("abc", "", strings.Repeat("😀", 40), 3)
	f.Add(strings.Repeat("a", 114), strings.Repeat("b", 60), "c", 114)
	f.Add("\x00", strings.Repeat("\u0301", 30), " ", 1)
	f.Fuzz(func(t *testing.T, a, b, c string, limit int) {
		if !utf8.ValidString(a) || !utf8.ValidString(b) || !utf8.ValidString(c) {
			return // protobuf carries no such text
		}
		media := &transcriptv1.Part{Kind: &transcriptv1.Part_Json{Json: b}}
		m := message(textPart(a), media, textPart(b), textPart(c))
		m.Extras = `{"n":1}`
		checkCut(t, m, limit)
	})
}
