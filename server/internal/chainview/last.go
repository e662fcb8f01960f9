package chainview

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

// ErrNotInView says that a view does not show the message before which a part of it is to end.
var ErrNotInView = errors.New("the view does not show that message")

// MaxLast is the most messages at the end of a view that can be asked for.
const MaxLast = 10_000

// last is a part of a view: the messages at its end, or before one of its messages. It is found by reading headers from the end back,
// so that it costs what it has.
type last struct {
	// messages and bytes are the most that the part has, before it grows to the first message of a group.
	messages, bytes int64
	// rows is how many rows are read first; each time after that there are twice as many.
	rows int64
	// before is the message that the part ends before, beforeID its node; nil: it ends with the view.
	before   *runloop.Place
	beforeID chainstore.ID
	// begin is the first message, beginID its node; nil where there is none. more says that the view has messages before it.
	begin   *runloop.Place
	beginID chainstore.ID
	more    bool
	// spans are the rows, once they are found, size what they show.
	found bool
	spans []chainstore.Span
	size  sum
}

// parseLast reads what part of a view is asked for; nil: all.
func parseLast(req Request) (*last, error) {
	messages, err := wire.Bounded("last_messages", req.GetLastMessages(), MaxLast, MaxLast)
	if err != nil {
		return nil, err
	}
	bytes, err := wire.Bounded("last_bytes", req.GetLastBytes(), math.MaxInt32, math.MaxInt32)
	if err != nil {
		return nil, err
	}
	asked := ""
	switch {
	case req.GetLastMessages() > 0:
		asked = "last_messages"
	case req.GetLastBytes() > 0:
		asked = "last_bytes"
	case req.GetBefore() != nil:
		return nil, wire.InvalidField("before", "must be absent without last_messages and last_bytes")
	default:
		return nil, nil
	}
	switch {
	case req.GetView() == transcriptv1.View_VIEW_CONVERSATION:
		return nil, wire.InvalidField(asked, "must be 0 with VIEW_CONVERSATION")
	case req.GetAfterId() != "":
		return nil, wire.InvalidField(asked, "must be 0 with after_id")
	}
	l := &last{messages: int64(messages), bytes: int64(bytes), rows: firstRows + int64(req.GetLastMessages())}
	return l, l.parseBefore(req.GetBefore())
}

func (l *last) parseBefore(p *transcriptv1.MessagePlace) (err error) {
	if p == nil {
		return nil
	}
	if p.MessageIndex < 0 {
		return badIndex()
	}
	l.before = &runloop.Place{Index: uint32(p.MessageIndex)}
	l.beforeID, err = wire.ParseID("before.node_id", p.NodeId)
	return err
}

func badIndex() error {
	return wire.InvalidField("before.message_index", "must be the place of a message in its node, from 0")
}

// appendKey appends what is asked for, in a form that is nobody else's; nothing for nil.
func (l *last) appendKey(b []byte) []byte {
	if l == nil {
		return b
	}
	b = fmt.Appendf(b, "last%d,%d", l.messages, l.bytes)
	if l.before != nil {
		b = fmt.Appendf(b, "before%s.%d", l.beforeID, l.before.Index)
	}
	return b
}

// firstRows is how many rows are read first, beside one for each message asked for, mostRows how many at a time.
const firstRows, mostRows = 32, 4 << 10

// find finds the part of a view that lies in spans. Errors: ErrNotInView, and where before is no message of its node.
func (l *last) find(ctx context.Context, a *Assembly) error {
	whole := a.spans()
	rest, err := l.cutBehind(whole)
	if err != nil {
		return err
	}
	b := backward{last: l, chain: a.Chain, extent: extent{full: a.Full, view: a.view, before: l.before}}
	end := rest
	for rows := min(l.rows, mostRows); len(rest) > 0 && !b.done; rows = min(2*rows, mostRows) {
		var some []chainstore.Span
		rest, some = cutFront(rest, uint32(rows))
		if err := b.read(ctx, some); err != nil {
			return err
		}
	}
	b.finish()
	l.found = true
	if l.begin != nil {
		l.spans = cutBefore(end, l.begin.Seq)
	}
	if l.before != nil && !b.endShown {
		l.spans = withoutRow(l.spans, l.before.Seq)
	}
	return nil
}

// cutBehind are the rows of the view through that of the message before which the part ends.
func (l *last) cutBehind(spans []chainstore.Span) ([]chainstore.Span, error) {
	if l.before == nil {
		return spans, nil
	}
	for i, s := range spans {
		if seq := l.before.Seq; s.From <= seq && seq <= s.Through {
			out := append([]chainstore.Span(nil), spans[:i+1]...)
			out[i].Through = seq
			return out, nil
		}
	}
	return nil, ErrNotInView
}

// cutFront parts spans into the last rows, so many at most, and those before.
func cutFront(spans []chainstore.Span, rows uint32) (rest, some []chainstore.Span) {
	rest = append([]chainstore.Span(nil), spans...)
	for n := len(rest); n > 0 && rows > 0; n = len(rest) {
		s := rest[n-1]
		switch {
		case s.From > s.Through:
			rest = rest[:n-1]
			continue
		case s.Through-s.From < rows:
			rest = rest[:n-1]
		default:
			s.From = s.Through - rows + 1
			rest[n-1].Through = s.From - 1
		}
		rows -= s.Through - s.From + 1
		some = append([]chainstore.Span{s}, some...)
	}
	return rest, some
}

// cutBefore are spans from a row on.
func cutBefore(spans []chainstore.Span, seq uint32) []chainstore.Span {
	for i, s := range spans {
		if s.From <= seq && seq <= s.Through {
			out := append([]chainstore.Span(nil), spans[i:]...)
			out[0].From = seq
			return out
		}
	}
	return spans
}

// withoutRow are spans, which end with a row, without it.
func withoutRow(spans []chainstore.Span, seq uint32) []chainstore.Span {
	n := len(spans)
	if n == 0 || spans[n-1].Through != seq {
		return spans
	}
	if spans[n-1].From == seq {
		return spans[:n-1]
	}
	spans[n-1].Through--
	return spans
}
