package canonical

import (
	"unicode/utf8"

	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// Facts are the facts of each message, notes aside. The messages must be valid. The facts share the messages' strings.
func Facts(messages []*transcriptv1.Message) []runloop.Facts {
	facts := make([]runloop.Facts, len(messages))
	for i, m := range messages {
		facts[i] = FactsOf(m)
	}
	return facts
}

// FactsOf are the facts of one message, as Facts gives them.
func FactsOf(m *transcriptv1.Message) runloop.Facts {
	bare, parts := bareSize(m), partsSize(m)
	f := runloop.Facts{
		Role:        runloop.Role(m.Role),
		Length:      bytesSize(bare + parts + madeSize(m)),
		PartsLength: parts,
		BareLength:  bare,
		Empty:       true,
		Error:       m.IsError,
		Summary:     m.Origin == transcriptv1.Origin_ORIGIN_SUMMARY,
		LeftOutLine: m.Origin == transcriptv1.Origin_ORIGIN_LEFT_OUT,
		Partial:     m.State == transcriptv1.MessageState_MESSAGE_STATE_PARTIAL || m.State == transcriptv1.MessageState_MESSAGE_STATE_ABORTED,
		Made:        m.Origin == transcriptv1.Origin_ORIGIN_STUB || m.Origin == transcriptv1.Origin_ORIGIN_SHORTENED,
		Name:        optional(m.Name),
		CallID:      optional(m.ToolCallId),
	}
	if n := calls(m); n > 0 {
		f.Calls = make([]runloop.Call, 0, n)
	}
	f.Opaque = IsOpaque(m)
	for _, p := range m.Parts {
		addPart(&f, p)
	}
	if f.LeftOutLine && len(m.Parts) == 1 {
		f.LeftOutLoops = runloop.LeftOutIn(m.Parts[0].GetText())
	}
	return f
}

func addPart(f *runloop.Facts, p *transcriptv1.Part) {
	switch k := p.Kind.(type) {
	case *transcriptv1.Part_Text:
		f.TextOctets += len(k.Text)
		f.TextPoints += utf8.RuneCountInString(k.Text)
		f.Empty = f.Empty && blank(k.Text)
	case *transcriptv1.Part_Reasoning, *transcriptv1.Part_Opaque:
	case *transcriptv1.Part_ToolCall:
		f.Empty = false
		f.Calls = append(f.Calls, runloop.Call{ID: optional(k.ToolCall.Id), Name: optional(k.ToolCall.Name)})
		addSaving(f, k.ToolCall.Arguments)
	default:
		f.Empty = false
	}
}

// addSaving adds what shorter arguments of the last call save.
func addSaving(f *runloop.Facts, arguments string) {
	saves := runloop.SavingOf(arguments)
	if saves == 0 {
		return
	}
	if f.Savings == nil {
		f.Savings = make(runloop.Savings, cap(f.Calls))
	}
	f.Savings[len(f.Calls)-1] = saves
}

// calls counts the tool calls of a message.
func calls(m *transcriptv1.Message) int {
	n := 0
	for _, p := range m.Parts {
		if _, ok := p.Kind.(*transcriptv1.Part_ToolCall); ok {
			n++
		}
	}
	return n
}

func optional(s *string) runloop.Optional {
	if s == nil {
		return runloop.Optional{}
	}
	return runloop.Some(*s)
}

// blank tells whether s is made only of code points with the Unicode property White_Space.
func blank(s string) bool {
	for _, r := range s {
		if !whiteSpace(r) {
			return false
		}
	}
	return true
}

// whiteSpace is the Unicode property White_Space. It is written out because Facts.Empty is stored: the set must not
// change with the tables of a newer Go.
func whiteSpace(r rune) bool {
	switch {
	case r >= '\t' && r <= '\r', r == ' ', r == 0x85, r == 0xA0, r == 0x1680, r >= 0x2000 && r <= 0x200A,
		r == 0x2028, r == 0x2029, r == 0x202F, r == 0x205F, r == 0x3000:
		return true
	}
	return false
}
