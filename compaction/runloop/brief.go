package runloop

import "slices"

// Brief is what is kept of a message once its node was folded: enough for every view to measure, choose and repair
// without decoding it.
type Brief struct {
	Role Role
	// The flags stand beside the role, where they take no room.
	Empty, Error, Summary, LeftOutLine, Partial, Made, Unnamed, Opaque bool
	// Was is the Length that the message had before it was erased, of which this is what is left; 0: it was not. Totals count that.
	Was int32
	// Length is the encoded size as an entry of the payload; messages lie in the payload end to end.
	Length int
	// TextOctets and TextPoints are UTF-8 bytes and code points over all text parts.
	TextOctets, TextPoints int
	// Calls is the number of tool calls.
	Calls int
	// Names are the names of the calls, in order; nil where there is none, or where they are not told: in a header of version 1, and
	// where Unnamed says that they are over MaxNamesBytes, so that only the message tells them.
	Names []Optional
	// Savings are what shorter arguments of the calls would save. In a header of version 1 they are not told: only the message tells them.
	Savings Savings
	// LeftOutLoops is what a left-out line says.
	LeftOutLoops int64
	Note         Note
	// Mark is what the folds say of it.
	Mark Mark
}

// MaxNamesBytes bounds the names of a message's calls that are kept, each counted once. Part of the storage format: must not change.
const MaxNamesBytes = 1 << 10

// BriefOf is what is kept of a message's facts and mark.
func BriefOf(f *Facts, mark Mark) Brief {
	b := Brief{
		Role: f.Role, Length: f.Length, Was: int32(f.Was), TextOctets: f.TextOctets, TextPoints: f.TextPoints, Calls: len(f.Calls),
		Empty: f.Empty, Error: f.Error, Summary: f.Summary, Partial: f.Partial, Made: f.Made, Savings: f.Savings,
		LeftOutLine: f.LeftOutLine, LeftOutLoops: f.LeftOutLoops, Opaque: f.Opaque, Note: f.Note, Mark: mark,
	}
	if b.Unnamed = sizeOfNames(f.Calls) > MaxNamesBytes; !b.Unnamed {
		b.Names = NamesOf(f.Calls)
	}
	return b
}

// NamesOf are the names of calls, in order; nil for none.
func NamesOf(calls []Call) []Optional {
	if len(calls) == 0 {
		return nil
	}
	names := make([]Optional, len(calls))
	for i := range calls {
		names[i] = calls[i].Name
	}
	return names
}

// sizeOfNames is the bytes of the names of calls, each counted once.
func sizeOfNames(calls []Call) (n int) {
	for i := range calls {
		if !slices.ContainsFunc(calls[:i], func(c Call) bool { return c.Name == calls[i].Name }) {
			n += len(calls[i].Name.Value)
		}
	}
	return n
}

// AsVersion1 is what a header of version 1 keeps of the same.
func (b Brief) AsVersion1() Brief {
	b.Names, b.Unnamed, b.Savings, b.Partial, b.Made, b.Mark.Answers = nil, false, nil, false, false, 0
	b.LeftOutLine, b.LeftOutLoops, b.Opaque = false, 0, false
	return b
}

// Aside tells whether the message stands for run loops that are not there, a summary or a left-out line: it is in none, and
// what it says was said by nobody.
func (b *Brief) Aside() bool { return b.Summary || b.LeftOutLine }

// Shown tells whether views other than the full one show the message: it is neither opaque nor left out by repair.
func (b *Brief) Shown() bool { return !b.Opaque && b.Mark.LeftOut == Shown }

// Tokens is the note's count, else a quarter of the encoded length, rounded up, and then estimated is true. An opaque message
// has none: no model reads it.
func (b *Brief) Tokens() (tokens int64, estimated bool) {
	if b.Opaque {
		return 0, false
	}
	return b.Note.tokens(b.Length)
}

// Counted are the bytes and tokens that totals count: those of the message as it was put.
func (b *Brief) Counted() (length int, tokens int64, estimated bool) {
	was := *b
	if b.Was > 0 {
		was.Length = int(b.Was)
	}
	tokens, estimated = was.Tokens()
	return was.Length, tokens, estimated
}

// SentAt is when the message was sent, else when its node was first put; milliseconds since the epoch. What ages are told
// from is Times.Of.
func (b *Brief) SentAt(firstPut int64) int64 {
	if b.Note.HasSentAt {
		return b.Note.SentAt
	}
	return firstPut
}

// Times are the times that a node's messages count with, in milliseconds since the epoch.
type Times struct {
	// FirstPut is when the node was first put.
	FirstPut int64
	// AsSent says that a message counts with the time that it was sent at also where that is later than FirstPut: in
	// compaction nodes, whose messages have the times that they counted with, and in nodes with a header of version 1.
	AsSent bool
}

// Of is the time that a message counts with: when it was sent, but not later than its node was first put; else when the node
// was first put.
func (t Times) Of(m *Brief) int64 {
	at := m.SentAt(t.FirstPut)
	if t.AsSent {
		return at
	}
	return min(at, t.FirstPut)
}
