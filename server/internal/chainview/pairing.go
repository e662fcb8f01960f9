package chainview

import "github.com/transcriptd/transcriptd/compaction/runloop"

// pairing finds the calls that results answer, in messages that repair has put in order.
type pairing struct{ open []runloop.Call }

// next takes the next message, and returns the call that it answers; the zero call where it answers none.
func (p *pairing) next(f *runloop.Facts) runloop.Call {
	if f.Role == runloop.Tool {
		return p.answer(f.CallID)
	}
	p.open = append(p.open, f.Calls...)
	return runloop.Call{}
}

func (p *pairing) stub(c runloop.Call) { p.answer(c.ID) }

// answer answers the first open call with an id.
func (p *pairing) answer(id runloop.Optional) (call runloop.Call) {
	call, p.open, _ = TakeFirst(p.open, func(c runloop.Call) bool { return c.ID == id })
	return call
}

// TakeFirst takes the first that is right out of a list; the list stays the caller's as it was.
func TakeFirst[T any](open []T, right func(T) bool) (first T, rest []T, ok bool) {
	for i, one := range open {
		if right(one) {
			return one, append(open[:i:i], open[i+1:]...), true
		}
	}
	return first, open, false
}
