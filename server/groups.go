package server

import "github.com/transcriptd/transcriptd/compaction/runloop"

// groups follows the groups of calls along the messages as they were put, by their headers alone. Messages of compaction
// nodes have no part in it.
type groups struct {
	// open says that the messages so far end in a group; results, that a result was paired in it.
	open, results bool
}

// next takes the next message. It tells whether that begins a group; if not, open tells whether the group before goes on.
// A result that is left out neither belongs to the group nor ends it.
func (g *groups) next(m *runloop.Brief) (begins bool) {
	switch {
	case m.Mark.LeftOut != runloop.Shown:
	case m.Role == runloop.Tool:
		g.results = true
	case m.Calls > 0:
		begins = !g.open || g.results
		*g = groups{open: true}
	default:
		*g = groups{}
	}
	return begins
}
