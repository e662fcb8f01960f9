package compaction

import "github.com/transcriptd/transcriptd/compaction/runloop"

// older are the left-out lines among the messages, which compactions wrote. One is there at most, before all loops, unless a
// node was made elsewhere.
type older struct {
	// loops is what all of them say together.
	loops int64
	// at is the place in Planner.early of the last that comes early, if there is one (early), and says what it says.
	early bool
	at    int
	says  int64
}

// tellsLeftOut tells whether a left-out line stands where loops were dropped. A compaction with a summary has none: the
// summary tells of them.
func (p *Planner) tellsLeftOut() bool { return !p.o.Policy.OmitLeftOutLine && !p.replacesSummary() }

// tell takes up a left-out line, before it is added.
func (p *Planner) tell(m *runloop.Brief) {
	if !m.LeftOutLine {
		return
	}
	p.older.loops += m.LeftOutLoops
	if !p.begun {
		p.older.early, p.older.at, p.older.says = true, len(p.early), m.LeftOutLoops
	}
}

// planLine plans the left-out line, for the loops that are dropped, and whether a limit is exceeded.
func (p *Planner) planLine(out *Plan) {
	var line size
	if says := min(p.older.loops+out.Dropped, runloop.MaxLeftOut); says > 0 && p.tellsLeftOut() {
		line = leftOutSize(says)
		if p.older.early && p.older.says == says {
			out.Early[p.older.at].Action = Keep
		} else {
			out.LeftOut = says
		}
	}
	out.LimitExceeded = p.o.Compact == nil && p.exceeds(line)
}
