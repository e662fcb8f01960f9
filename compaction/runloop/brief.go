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
	Calls                 int
	Empty, Error, Summary bool
	Note                  Note
	// Mark is what the folds say of it.
	Mark Mark
}

// BriefOf is what is kept of a message's facts and mark.
func BriefOf(f *Facts, mark Mark) Brief {
	return Brief{
		Role: f.Role, Length: f.Length, TextOctets: f.TextOctets, TextPoints: f.TextPoints, Calls: len(f.Calls),
		Empty: f.Empty, Error: f.Error, Summary: f.Summary, Note: f.Note, Mark: mark,
	}
}

// Tokens is the note's count, else a quarter of the encoded length, rounded up, and then estimated is true.
func (b *Brief) Tokens() (tokens int64, estimated bool) { return b.Note.tokens(b.Length) }

// SentAt is when the message was sent, else when its node was first put; milliseconds since the epoch.
func (b *Brief) SentAt(firstPut int64) int64 { return b.Note.sentAt(firstPut) }
