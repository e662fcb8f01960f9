package compaction_test

import (
	"bytes"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/compaction"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// TestAppendCut: stored bytes are cut to what CutModel makes of the message, and left alone where it does not.
func TestAppendCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawCut(t)
		points := canonical.Facts([]*transcriptv1.Message{m})[0].TextPoints
		if points <= len(compaction.CutMark)+1 {
			return
		}
		limit := rapid.IntRange(1, points-len(compaction.CutMark)-1).Draw(t, "limit")
		entry := canonical.EncodePayload([]*transcriptv1.Message{m})
		got, did := compaction.AppendCut([]byte("before"), entry, limit)
		does := compaction.CutModel(m, limit)
		want := []byte("before")
		if does {
			want = canonical.AppendMessage(want, m)
		}
		if did != does || !bytes.Equal(got, want) {
			t.Fatalf("cut to %d: %v, %q\nwant %v, %q", limit, did, got, does, want)
		}
	})
}

// TestAppendCutLeavesAlone what would be longer encoded.
func TestAppendCutLeavesAlone(t *testing.T) {
	for points, cuts := range map[int]bool{514: false, 515: false, 516: true} {
		m := &transcriptv1.Message{Role: transcriptv1.Role_ROLE_USER, Parts: []*transcriptv1.Part{{Kind: &transcriptv1.Part_Text{Text: strings.Repeat("x", points)}}}}
		entry := canonical.EncodePayload([]*transcriptv1.Message{m})
		if _, did := compaction.AppendCut(nil, entry, 500); did != cuts || compaction.CutModel(m, 500) != cuts {
			t.Errorf("%d characters: cut %t, want %t", points, did, cuts)
		}
	}
}

// TestAppendShort: stored bytes become what the rule makes of the message, and are left alone where it changes nothing.
func TestAppendShort(t *testing.T) {
	shortens := 0
	rapid.Check(t, func(t *rapid.T) {
		m := drawCut(t)
		for range rapid.IntRange(0, 3).Draw(t, "more") {
			call := &transcriptv1.ToolCall{Id: optional(t), Name: optional(t), Arguments: arguments(t)}
			p := &transcriptv1.Part{Kind: &transcriptv1.Part_ToolCall{ToolCall: call}}
			if rapid.IntRange(0, 2).Draw(t, "reasoning") == 0 {
				p.Kind = &transcriptv1.Part_Reasoning{Reasoning: &transcriptv1.Reasoning{Text: text(t), Signature: "s", RedactedData: []byte{1}}}
			}
			if rapid.IntRange(0, 3).Draw(t, "extra") == 0 {
				p.Extras = `{"b":1}`
			}
			m.Parts = append(m.Parts, p)
		}
		policy := compaction.Policy{ReplyTools: rapid.SampledFrom([][]string{nil, {"1"}, {"1", "3"}}).Draw(t, "reply_tools")}
		entry := canonical.AppendMessage(nil, m)
		before := bytes.Clone(entry)
		got, did := policy.AppendShort([]byte("before"), entry)
		want := []byte("before")
		short := asShort(policy, said{put: put{m: m}}).m
		if short != m {
			shortens++
			want = canonical.AppendMessage(want, short)
		}
		if did != (short != m) || !bytes.Equal(got, want) {
			t.Fatalf("shortened: %v, %q\nwant %q", did, got, want)
		}
		if !bytes.Equal(entry, before) {
			t.Fatalf("what was only read was changed: %x", entry)
		}
	})
	if shortens == 0 {
		t.Fatal("nothing was shortened")
	}
}

func drawCut(t *rapid.T) *transcriptv1.Message {
	m := &transcriptv1.Message{
		Role: transcriptv1.Role_ROLE_ASSISTANT, Joined: rapid.Bool().Draw(t, "joined"),
		State:  rapid.SampledFrom([]transcriptv1.MessageState{0, transcriptv1.MessageState_MESSAGE_STATE_PARTIAL}).Draw(t, "state"),
		Origin: rapid.SampledFrom([]transcriptv1.Origin{0, transcriptv1.Origin_ORIGIN_SHORTENED}).Draw(t, "origin"),
		Extras: rapid.SampledFrom([]string{"", `{"a":1}`}).Draw(t, "extras"),
	}
	if rapid.Bool().Draw(t, "named") {
		m.Name = new(string)
	}
	for range rapid.IntRange(1, 4).Draw(t, "parts") {
		text := strings.Repeat(rapid.SampledFrom([]string{"x", "é", "𝄞", "word ", ""}).Draw(t, "unit"), rapid.IntRange(0, 60).Draw(t, "units"))
		p := &transcriptv1.Part{Kind: &transcriptv1.Part_Text{Text: text}}
		if rapid.IntRange(0, 3).Draw(t, "kind") == 0 {
			p.Kind = &transcriptv1.Part_Json{Json: text}
		}
		if rapid.IntRange(0, 3).Draw(t, "extra") == 0 {
			p.Extras = `{"b":"` + text + `"}`
		}
		m.Parts = append(m.Parts, p)
	}
	if len(m.Parts) == 1 {
		m.ContentForm = rapid.SampledFrom([]transcriptv1.ContentForm{0, transcriptv1.ContentForm_CONTENT_FORM_PARTS}).Draw(t, "form")
	}
	return m
}

// FuzzAppendCut: bytes that are no message make it neither panic nor give what does not parse.
func FuzzAppendCut(f *testing.F) {
	long := &transcriptv1.Message{Role: transcriptv1.Role_ROLE_USER, Parts: []*transcriptv1.Part{{Kind: &transcriptv1.Part_Text{Text: strings.Repeat("é", 40)}}}}
	f.Add(canonical.EncodePayload([]*transcriptv1.Message{long}), 3)
	for _, odd := range [][]byte{nil, {0x0a}, {0x0a, 5, 1}, {0xff}, {0x08, 1}, {0x0a, 2, 0x12, 9}} {
		f.Add(odd, 1)
	}
	f.Fuzz(func(t *testing.T, entry []byte, limit int) {
		out, did := compaction.AppendCut(nil, entry, min(max(limit, 1), 1000))
		if !did && len(out) > 0 {
			t.Errorf("left as it is, and yet %x", out)
		}
		if _, err := canonical.CheckPayload(entry); err != nil || !did {
			return
		}
		if _, err := canonical.DecodePayload(out); err != nil {
			t.Errorf("of a message is made what is none: %v", err)
		}
	})
}

// FuzzAppendShort: bytes that are no message make it neither panic nor give what does not parse, or has changed but for arguments.
func FuzzAppendShort(f *testing.F) {
	m := &transcriptv1.Message{Role: roleAssistant, Extras: `{"n":1}`}
	for _, arguments := range []string{"{}", `{"a":"` + strings.Repeat("x", 300) + `"}`, strings.Repeat("[", 300)} {
		m.Parts = append(m.Parts, &transcriptv1.Part{Kind: &transcriptv1.Part_ToolCall{ToolCall: &transcriptv1.ToolCall{Arguments: arguments}}})
	}
	f.Add(canonical.AppendMessage(nil, m), "")
	f.Add(canonical.AppendMessage(nil, m), "reply")
	for _, odd := range [][]byte{nil, {0x0a}, {0x0a, 5, 1}, {0xff}, {0x08, 1}, {0x0a, 2, 0x12, 9}, {0x0a, 4, 0x12, 2, 0x62, 9}} {
		f.Add(odd, "1")
	}
	f.Fuzz(func(t *testing.T, entry []byte, tool string) {
		policy := compaction.Policy{ReplyTools: []string{tool}}
		out, did := policy.AppendShort(nil, entry)
		if !did && len(out) > 0 || did && len(entry)-len(out) < 190 {
			t.Errorf("%t: of %d bytes %d are left", did, len(entry), len(out))
		}
		was, err := canonical.DecodePayload(entry)
		if err != nil || len(was) != 1 || !bytes.Equal(entry, canonical.AppendMessage(nil, was[0])) {
			return
		}
		short := asShort(policy, said{put: put{m: was[0]}}).m
		if did != (short != was[0]) || did && !bytes.Equal(out, canonical.AppendMessage(nil, short)) {
			t.Errorf("%v became %x", was[0], out)
		}
	})
}

// cutText cuts a message as a plan would have it cut, and tells whether it did.
func cutText(m *transcriptv1.Message, limit int) bool {
	if limit <= 0 || canonical.FactsOf(m).TextPoints-len(compaction.CutMark) <= limit {
		return false // no plan cuts it
	}
	entry, cut := compaction.AppendCut(nil, canonical.EncodePayload([]*transcriptv1.Message{m}), limit)
	if !cut {
		return false
	}
	messages, err := canonical.DecodePayload(entry)
	if err != nil || len(messages) != 1 {
		return false
	}
	proto.Reset(m)
	proto.Merge(m, messages[0])
	return true
}
