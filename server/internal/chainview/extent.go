package chainview

import (
	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// extent is what of its rows a view shows that is not condensed.
type extent struct {
	// full says that it is the full view; view is how another lies, nil where its rows are shown whole.
	full bool
	view *Effective
	// from is the message that the part asked for begins with, without the stubs due before it; before is the one before whose
	// place it ends, the stubs due before that included. nil: it begins, or ends, with the view.
	from, before *runloop.Place
}

// of tells what is shown of a row; the header is the caller's to add. hidden: it is a compaction node's that the view shows nothing of.
func (e *extent) of(row *chainstore.Row) (p slots, hidden bool) {
	p.put, p.through = e.full, row.Raw.MessageCount()
	if e.view != nil {
		_, p.through = e.view.parts(row)
	}
	if f := e.from; f != nil && f.Seq == row.Seq {
		p.from, p.bare = int(f.Index), true
	}
	if b := e.before; b != nil && b.Seq == row.Seq {
		p.through, p.ends = int(b.Index), true
	}
	return p, row.Raw.IsCompaction() && (e.view == nil || e.view.compaction.Seq != row.Seq)
}

// slots are the messages of a row from one through the one before another, each with the stubs due before it; in a slot of their own
// the stubs behind them.
type slots struct {
	h             *chainstore.Header
	from, through int
	// bare says that the stubs before the first message are not shown; ends, that those before the message behind the last are.
	bare, ends bool
	// put says that the messages are shown as they were put: without stubs, and with opaque ones and those that repair leaves out.
	put bool
}

// asPut are all messages of a row as they were put.
func asPut(h *chainstore.Header) slots { return slots{h: h, through: len(h.Messages), put: true} }

// limit is behind the last slot.
func (p *slots) limit() int {
	if !p.put && p.through >= p.from && (p.ends || p.through == len(p.h.Messages)) && len(p.stubs(p.through)) > 0 {
		return p.through + 1
	}
	return p.through
}

// at is slot i: the stubs that are shown, then the message, nil behind the last.
func (p *slots) at(i int) (stubs []runloop.Call, m *runloop.Brief) {
	if !p.put {
		stubs = p.stubs(i)
	}
	if i < p.through {
		m = &p.h.Messages[i]
	}
	return stubs, m
}

// stubs are the calls that got no result, whose stubs stand before message i or behind the last.
func (p *slots) stubs(i int) []runloop.Call {
	switch {
	case p.bare && i == p.from:
		return nil
	case i == len(p.h.Messages):
		return p.h.Stubs
	default:
		return p.h.Messages[i].Mark.Stubs
	}
}

// shows tells whether a message of the slots is shown.
func (p *slots) shows(m *runloop.Brief) bool { return p.put || m.Shown() }
