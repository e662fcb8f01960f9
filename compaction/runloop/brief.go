package runloop

// Brief is what is kept of a message once its node was folded: enough for every view to measure, choose and repair
// without decoding it.
type Brief struct {
	Role Role
	// Length is the encoded size as an entry of the payload; messages lie in the payload end to end.
	Length int
	// TextOctets and TextPoints are UTF-8 bytes and code points over all text parts.
	TextOctets, TextPoints int
	// Calls is the number of tool calls.
	Calls                          int
	Empty, Error, Summary, Partial bool
	Note                           Note
	// Mark is what the folds say of it.
	Mark Mark
}

// BriefOf is what is kept of a message's facts and mark.
func BriefOf(f *Facts, mark Mark) Brief {
	return Brief{
		Role: f.Role, Length: f.Length, TextOctets: f.TextOctets, TextPoints: f.TextPoints, Calls: len(f.Calls),
		Empty: f.Empty, Error: f.Error, Summary: f.Summary, Partial: f.Partial, Note: f.Note, Mark: mark,
	}
}

// Tokens is the note's count, else a quarter of the encoded length, rounded up, and then estimated is true.
func (b *Brief) Tokens() (tokens int64, estimated bool) { return b.Note.tokens(b.Length) }

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
