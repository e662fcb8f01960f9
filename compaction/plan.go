package compaction

import "github.com/transcriptd/transcriptd/compaction/runloop"

// Action is what becomes of a message.
type Action uint8

// The actions.
const (
	// Drop: it is not shown.
	Drop Action = iota
	// Keep: it is shown as it is.
	Keep
	// CutUser and CutReply: its text is cut (AppendCut) to MaxUserChars, MaxReplyChars.
	CutUser
	CutReply
	// Answer: of its calls those of Policy.ReplyTools stay, and its text is cut to MaxReplyChars (Policy.AppendAnswer).
	Answer
	// Line: its parts become a line (MakeLine). Only where Mark.LineLength is not 0.
	Line
	// Shorten: the arguments of its calls are shortened (Policy.AppendShort), but for those of Policy.ReplyTools.
	Shorten
)

// Size is what messages take. Tokens are the notes', else a quarter of the bytes, rounded up, and then Estimated is true.
type Size struct {
	Messages, Bytes, Tokens int64
	Estimated               bool
}

// Add adds a message.
func (s *Size) Add(bytes, tokens int64, estimated bool) {
	s.Messages++
	s.Bytes += bytes
	s.Tokens += tokens
	s.Estimated = s.Estimated || estimated
}

// Options are what a Planner plans.
type Options struct {
	Policy Policy
	// Preamble is the size of the preamble, whose messages are not added.
	Preamble Size
	// CondenseLast shows the last loop condensed too, if it is closed. Conversation only.
	CondenseLast bool
	// Compact, if not nil, asks for what a compaction at the last message added keeps, instead of a conversation.
	Compact *Compact
}

// Compact is what a compaction has beside its policy.
type Compact struct {
	// Summary is the size of the summary that the caller gives; nil: none. With one, the old summary goes, and the loop that
	// is open keeps its user and system messages only.
	Summary *Size
	// SummaryOnly keeps no closed loop.
	SummaryOnly bool
}

// Planned is a message before the first loop, with what becomes of it.
type Planned struct {
	At     runloop.Place
	Action Action
}

// Plan is what becomes of the messages that were added.
type Plan struct {
	// Early are the summary, the left-out line and the system messages before the first loop, in order.
	Early []Planned
	// HasLoops says that there is a loop to show; Start is then the place of the first message of the first of them, and
	// every message added before it, Early aside, and every stub due before it is not shown. (Of a lead-in whose work a
	// compaction's summary stands for, Actions may show nothing.)
	HasLoops bool
	Start    runloop.Place
	// Actions are those of the messages from Start on, in the order in which they were added: a message's stubs (but
	// not those due before Start) in their order, then the message itself if it is shown; the stubs of an
	// outcome where it stands. A stub is never cut nor made a line.
	Actions []Action
	// Starts are, of a compaction, the places of the first messages of the loops that it keeps, the lead-in's too; Phase is where the
	// last of them stands.
	Starts []runloop.Place
	Phase  runloop.Phase
	// LeftOut is the number of the left-out line that is to be made before Start, or behind Early where there are no loops; 0: none
	// is made, since none is due or one of Early that is kept says so already.
	LeftOut int64
	// Dropped, Condensed and Whole count loops, the lead-in aside: Whole has the last of a conversation and a compaction's
	// open loop, unless messages of it were dropped, which makes it Condensed. Dropped has what was passed over before
	// Planner.Skip.
	Dropped, Condensed, Whole int64
	// LeadIn says that the lead-in is shown: it is the last loop then, and the only one.
	LeadIn bool
	// LastBytes is the bytes that the last loop takes, where it is shown whole; 0 where it is not. A few too many where arguments are
	// shortened.
	LastBytes int64
	// LimitExceeded, of a conversation, says that what is always shown, the last loop whole, alone exceeds MaxBytes or
	// MaxTokens.
	LimitExceeded bool
}
