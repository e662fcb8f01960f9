package runloop

// Place is a message's place in its chain: the number of its node's ancestors, and its index in the node from 0.
type Place struct {
	Seq   uint32
	Index uint32
}

// Before tells whether p comes before q on one chain.
func (p Place) Before(q Place) bool { return p.Seq < q.Seq || p.Seq == q.Seq && p.Index < q.Index }

// Totals are running sums over a chain's messages in one view.
type Totals struct {
	// Nodes is the nodes that are part of the view, Messages the messages shown.
	Nodes, Messages int64
	// Depth is the user and assistant messages, opaque ones aside.
	Depth int64
	// Loops is the run loops that a user began; the lead-in is not among them.
	Loops int64
	// Bytes is the encoded length of the messages shown, as entries of a payload.
	Bytes int64
	// Tokens is their tokens; Estimated, whether some of those are estimates.
	Tokens    int64
	Estimated bool
}

// add adds a message; deep says that the depth counts it.
func (t *Totals) add(deep bool, length int, tokens int64, estimated bool) {
	t.Messages++
	if deep {
		t.Depth++
	}
	t.Bytes += int64(length)
	t.Tokens += tokens
	t.Estimated = t.Estimated || estimated
}

// Phase is where the last run loop stands. Part of the storage format: must not change.
type Phase uint8

// The phases.
const (
	// None: no loop has begun.
	None Phase = 0
	// Asked: the user has spoken and nobody has answered.
	Asked Phase = 1
	// Working: an assistant or tool message came since.
	Working Phase = 2
	// Ended: an outcome ended it, and nothing came since that reopens it.
	Ended Phase = 3
)

// Outcome is how a run ended, as its agent says. Part of the storage format: must not change.
type Outcome uint8

// The outcomes.
const (
	NoOutcome Outcome = 0
	Replied   Outcome = 1
	Stopped   Outcome = 2
	Failed    Outcome = 3
	Cancelled Outcome = 4
)

// Loop is the state of the last run loop of a view.
type Loop struct {
	Phase Phase
	// LeadIn says that nobody asked for this loop: it comes before any user message.
	LeadIn bool
	// Start is the place of its first message; meaningful unless Phase is None.
	Start Place
	// Replied says that it has a final reply; ReplyLast, that no message but system messages came after it.
	Replied, ReplyLast bool
	// Unanswered says that a call of an ended group of the loop has no result, and no outcome behind it.
	Unanswered bool
	// Outcome is what ended it, where Phase is Ended; NoOutcome where that is not told: in a view whose loop was copied.
	Outcome Outcome
}

// Closed tells whether the loop is closed, as far as the chain goes.
func (l *Loop) Closed() bool { return l.Phase == Ended || !l.LeadIn && l.ReplyLast }

// Open tells whether there is a loop, and it is not closed, as far as the chain goes.
func (l *Loop) Open() bool { return l.Phase != None && !l.Closed() }

// Interrupted tells whether the loop, once closed, is interrupted: with neither a final reply nor an outcome, or with an
// unanswered call.
func (l *Loop) Interrupted() bool {
	return l.Phase != None && (l.Unanswered || !l.Replied && l.Phase != Ended)
}

// Group is the group of calls that a chain ends in: assistant messages with calls, no result between them, and the
// results directly after. No calls: the chain does not end in a group. Slices are never changed in place: copies of
// a Group may share them.
type Group struct {
	Calls []Call
	// Answered has an entry for each call.
	Answered []bool
	// Results says that a result was paired, so that a further assistant message begins a new group.
	Results bool
}

// Unanswered counts the calls without a result.
func (g *Group) Unanswered() int {
	n := 0
	for _, a := range g.Answered {
		if !a {
			n++
		}
	}
	return n
}

// Size is the bytes of the ids and names of the group's calls.
func (g *Group) Size() int {
	n := 0
	for i := range g.Calls {
		n += len(g.Calls[i].ID.Value) + len(g.Calls[i].Name.Value)
	}
	return n
}

// Limits on the group that a chain ends in, so that a State stays small. Part of the contract: may only grow.
const (
	MaxGroupCalls = 1024
	MaxGroupBytes = 128 << 10
)

// View is the fold of one view: its totals, its last loop, and its latest user.
type View struct {
	Totals
	Loop Loop
	// LatestUser is the latest time (Times.Of) of a user message shown, in milliseconds since the epoch; meaningful if
	// HasLatestUser.
	LatestUser    int64
	HasLatestUser bool
}

// State is everything a fold knows after a node; the zero State is that before a root. It is a plain value: copies
// share slices that are never changed in place.
type State struct {
	// Full counts every message ever put, opaque ones by number and bytes alone; its loops are found in repaired messages.
	Full View
	// Effective counts what the effective view shows: without opaque messages and results that answer nothing, with stubs.
	Effective View
	// Group is the group at the head. It has not ended: no stubs are due.
	Group Group
	// Repairs is the results left out of the effective view and the stubs added to it.
	Repairs int64
	// PreambleClosed says that the preamble has ended; PreambleEnd is the place of the first message behind it that
	// is not opaque and that repair does not leave out. Else all messages so far are the preamble.
	PreambleClosed bool
	PreambleEnd    Place
}
