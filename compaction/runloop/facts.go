// Package runloop holds what is read off a message without keeping it (Facts) and the folds over facts that find
// groups, run loops and totals (State). A longer chain continues the fold; nothing behind it changes, so a node's
// State is stored once and never computed again. Pure: standard library only, no clock, no store.
package runloop

// Role is who speaks. The numbers are those of the wire and part of the storage format: they must not change.
type Role uint8

// The roles.
const (
	System    Role = 1
	Developer Role = 2
	User      Role = 3
	Assistant Role = 4
	Tool      Role = 5
)

// Optional is a string that may be absent; absent and empty differ.
type Optional struct {
	Value   string
	Present bool
}

// Some returns the present string s.
func Some(s string) Optional { return Optional{Value: s, Present: true} }

// Call is what pairs a tool call with its result, and names it.
type Call struct {
	ID   Optional
	Name Optional
}

// Note is what is known of a message beside its content. It is not hashed.
type Note struct {
	// SentAt is in milliseconds since the epoch; meaningful if HasSentAt.
	SentAt    int64
	HasSentAt bool
	// Tokens is meaningful if HasTokens; Estimated needs HasTokens.
	Tokens    uint32
	HasTokens bool
	Estimated bool
}

// Facts is what one message tells by itself, without the messages around it.
type Facts struct {
	Role Role
	// Length is the encoded size of the message as an entry of its payload, tag and length prefix included.
	Length int
	// Was is the Length that the message had before it was erased, of which this is what is left; 0: it was not. Totals count that.
	Was int
	// PartsLength is the share of Length that its parts take, their tags and length prefixes included.
	PartsLength int
	// BareLength is the encoded size of the message, without tag and length prefix, had it neither parts nor
	// content form nor origin: what a line that replaces its parts keeps.
	BareLength int
	// TextOctets and TextPoints are UTF-8 bytes and code points over all text parts.
	TextOctets, TextPoints int
	// Empty says that there is no part other than reasoning, opaque parts and text of white space alone.
	Empty bool
	// Opaque says that the message is a framework's own state: only the full view shows it, and it begins, ends and reopens
	// nothing. It is no result and has neither text nor calls.
	Opaque bool
	// Error is a result's is_error.
	Error bool
	// Summary says that the message is a summary (origin SUMMARY).
	Summary bool
	// LeftOutLine says that the message tells how many run loops are not shown (origin LEFT_OUT), and LeftOutLoops how many:
	// 0 where its text does not tell.
	LeftOutLine  bool
	LeftOutLoops int64
	// Partial says that it did not come whole: it is no final reply.
	Partial bool
	// Made says that the server made it (origin STUB or SHORTENED): if it is a result, no line replaces it.
	Made bool
	// Name is the message's own name.
	Name Optional
	// Calls are the tool calls, in order. Assistant only.
	Calls []Call
	// Savings are what shorter arguments of these would save.
	Savings Savings
	// CallID is the id of the call that a result answers. Tool only.
	CallID Optional
	// Note is what was put beside the message.
	Note Note
}

// tokens is the note's count, else a quarter of the encoded length, rounded up, and then estimated is true.
func (n *Note) tokens(length int) (tokens int64, estimated bool) {
	if n.HasTokens {
		return int64(n.Tokens), n.Estimated
	}
	return EstimateTokens(int64(length)), true
}

// EstimateTokens is the tokens of so many bytes where nothing better is known: a quarter, rounded up.
func EstimateTokens(bytes int64) int64 { return (bytes + 3) / 4 }
