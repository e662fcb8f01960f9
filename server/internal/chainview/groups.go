package chainview

import "github.com/transcriptd/transcriptd/compaction/runloop"

// Groups follows the groups of calls along the messages as they were put, by their headers alone. Messages of compaction
// nodes have no part in it.
type Groups struct {
	// Open says that the messages so far end in a group; results, that a result was paired in it.
	Open, Results bool
}

// End lets an outcome, if there is one, end the group behind a node's messages.
func (g *Groups) End(o runloop.Outcome) {
	if o != runloop.NoOutcome {
		*g = Groups{}
	}
}

// Next takes the next message. It tells whether that begins a group; if not, open tells whether the group before goes on.
// An opaque message, and a result that is left out, neither belongs to the group nor ends it.
func (g *Groups) Next(m *runloop.Brief) (begins bool) {
	switch {
	case !m.Shown():
	case m.Role == runloop.Tool:
		g.Results = true
	case m.Calls > 0:
		begins = !g.Open || g.Results
		*g = Groups{Open: true}
	default:
		*g = Groups{}
	}
	return begins
}
