package chainview

import "github.com/transcriptd/transcriptd/compaction/runloop"

// pairing finds the calls that results answer, in messages that repair has put in order.
type pairing struct{ open []runloop.Call }

// next takes the next message, and returns the call that it answers, if it is a result that answers one.
func (p *pairing) next(f *runloop.Facts) (call runloop.Call, ok bool) {
	switch {
	case f.Role == runloop.Tool:
		return p.answer(f.CallID)
	default:
		p.open = append(p.open, f.Calls...)
	}
	return call, false
}

func (p *pairing) stub(c runloop.Call) { p.answer(c.ID) }

// answer answers the first open call with an id.
func (p *pairing) answer(id runloop.Optional) (call runloop.Call, ok bool) {
	call, p.open, ok = TakeFirst(p.open, func(c runloop.Call) bool { return c.ID == id })
	return call, ok
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
