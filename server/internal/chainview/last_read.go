package chainview

import (
	"context"
	"slices"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// sum is what messages come to. estimates counts those whose tokens are estimated.
type sum struct{ messages, bytes, tokens, estimates int64 }

func (s *sum) add(length int, tokens int64, estimated bool) {
	s.messages++
	s.bytes += int64(length)
	s.tokens += tokens
	s.estimates += int64(boolToInt(estimated))
}

func (s sum) plus(t sum) sum {
	return sum{s.messages + t.messages, s.bytes + t.bytes, s.tokens + t.tokens, s.estimates + t.estimates}
}

func (s sum) minus(t sum) sum {
	return sum{s.messages - t.messages, s.bytes - t.bytes, s.tokens - t.tokens, s.estimates - t.estimates}
}

// shownMessage is a message that a view shows, or a stub.
type shownMessage struct {
	at runloop.Place
	id *chainstore.ID
	// before is what is shown before it, of the rows read with it.
	before sum
	// begins says that the part may begin here: it is no stub, and goes on no group.
	begins bool
}

// backward looks for the first message of a part, from the end of a view back. Rows are read in runs, the last first, each run in order.
type backward struct {
	*last
	chain  chainstore.Chain
	extent extent
	// behind is what is shown behind the rows of this run, through what these show so far; some are the messages of that, keep how many
	// there may be before it is looked whether the first can be forgotten.
	behind, through sum
	some            []shownMessage
	keep            int
	// first is the earliest message so far that the part can have by its limits, and size from there on; nil: none came. full says
	// that the one before it is over a limit, so that what begins the part is it, or lies before it. done says that begin, size and
	// more are known.
	first     *shownMessage
	firstSize sum
	full      bool
	done      bool
	// groups are those along the rows of this run; unanswered are the calls of the group without a result.
	groups     Groups
	unanswered int
	// endShown says that the part has stubs or messages of the row that it ends in.
	endShown bool
	h        chainstore.Header
}

// read reads a run of rows, which lie before those read so far.
func (b *backward) read(ctx context.Context, spans []chainstore.Span) error {
	b.some, b.keep, b.through, b.groups, b.unanswered = nil, keepMessages, sum{}, Groups{}, 0
	asked := make([]chainstore.Span, 0, 1+len(spans))
	from := spans[0].From
	leads := from > 0 && (b.extent.view == nil || b.extent.view.compaction.Seq != from)
	if leads {
		asked = append(asked, idSpan(from-1))
	}
	for _, s := range spans {
		s.HeadersOnly, s.WillReread = true, true
		asked = append(asked, s)
	}
	err := ReadAll(ctx, b.chain, asked, func(row *chainstore.Row) error {
		if leads {
			leads = false
			return b.lead(row)
		}
		return b.row(row)
	})
	if err != nil {
		return err
	}
	for i := len(b.some) - 1; i >= 0 && !b.done; i-- {
		b.back(&b.some[i], b.through.minus(b.some[i].before).plus(b.behind))
	}
	b.behind = b.behind.plus(b.through)
	return nil
}

// lead takes the group that the chain ends in at the row before a run.
func (b *backward) lead(row *chainstore.Row) error {
	if err := row.HeaderInto(&b.h); err != nil {
		return err
	}
	g := &b.h.State.Group
	b.groups, b.unanswered = Groups{Open: len(g.Calls) > 0, Results: g.Results}, g.Unanswered()
	return nil
}

// row adds what is shown of the next row of a run.
func (b *backward) row(row *chainstore.Row) error {
	p, hidden := b.extent.of(row)
	if p.ends && p.through >= row.Raw.MessageCount() {
		return badIndex()
	}
	if hidden || p.ends && b.extent.view != nil && !b.inView(row, p.through) {
		if p.ends {
			return ErrNotInView
		}
		return nil
	}
	if err := row.MessagesInto(&b.h); err != nil {
		return err
	}
	p.h = &b.h
	id := b.h.ID
	if p.ends {
		b.endShown = p.limit() > 0
	}
	for i, limit := 0, p.limit(); i < limit; i++ {
		b.slot(&p, i, &id)
	}
	if p.through == len(b.h.Messages) {
		b.groups.End(b.h.Outcome)
		if b.h.Outcome != runloop.NoOutcome {
			b.unanswered = 0
		}
	}
	if len(b.some) > b.keep {
		b.forget()
	}
	return nil
}

// inView tells whether the view shows the message of a row with an index, if repair does.
func (b *backward) inView(row *chainstore.Row, index int) bool {
	_, through := b.extent.view.parts(row)
	return index < through
}

// slot adds the stubs and the message of a slot.
func (b *backward) slot(p *slots, i int, id *chainstore.ID) {
	stubs, m := p.at(i)
	at := runloop.Place{Seq: p.h.Seq, Index: uint32(i)}
	for _, call := range stubs {
		b.some = append(b.some, shownMessage{at: at, id: id, before: b.through})
		length := runloop.StubLength(call)
		b.through.add(length, runloop.EstimateTokens(int64(length)), true)
	}
	if m == nil {
		return
	}
	goesOn := b.goesOn(m)
	if !p.shows(m) {
		return
	}
	b.some = append(b.some, shownMessage{at: at, id: id, before: b.through, begins: !goesOn})
	tokens, estimated := m.Tokens()
	b.through.add(m.Length, tokens, estimated)
}

// goesOn takes the next message, and tells whether it lies in the group before it: one that the effective view does not show does while
// a call of that is unanswered.
func (b *backward) goesOn(m *runloop.Brief) bool {
	begins := b.groups.Next(m)
	switch {
	case !m.Shown():
		return b.unanswered > 0
	case !b.groups.Open:
		b.unanswered = 0
		return false
	case m.Role == runloop.Tool:
		b.unanswered--
		return true
	case begins:
		b.unanswered = m.Calls
		return false
	default:
		b.unanswered += m.Calls
		return true
	}
}

// back takes the message before those taken so far, and what is shown from it on.
func (b *backward) back(m *shownMessage, size sum) {
	switch {
	case b.begin != nil:
		b.more, b.done = true, true
	case !b.full && (b.first == nil || size.messages <= b.messages && size.bytes <= b.bytes):
		first := *m
		b.first, b.firstSize = &first, size
	case !b.full && b.first.begins:
		b.start(b.first, b.firstSize)
		b.more, b.done = true, true
	default:
		b.full = true
		if m.begins {
			b.start(m, size)
		}
	}
}

func (b *backward) start(m *shownMessage, size sum) {
	at := m.at
	b.begin, b.beginID, b.size = &at, *m.id, size
}

// finish begins the part with the view where no message before it was found.
func (b *backward) finish() {
	if b.begin == nil && b.first != nil {
		b.start(b.first, b.firstSize)
	}
}

// keepMessages is how many messages of a run are kept before any are forgotten.
const keepMessages = 4 << 10

// forget forgets the messages of a run that come before the one that the part would begin with if nothing more came behind them, less
// one, which tells that there are some: more of them only let the part begin later.
func (b *backward) forget() {
	if l, would := *b.last, *b; !b.done {
		would.last = &l
		for i := len(b.some) - 1; i >= 0; i-- {
			if would.back(&b.some[i], b.through.minus(b.some[i].before).plus(b.behind)); would.done {
				b.some = slices.Clone(b.some[i:])
				break
			}
		}
	}
	b.keep = keepMessages + 2*len(b.some)
}
