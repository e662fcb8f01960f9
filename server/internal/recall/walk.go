package recall

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/chainview"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

const (
	// firstCallChunk is the nodes that the index is asked for at first, mostly a call and its result; maxCallChunk, later.
	firstCallChunk, maxCallChunk = 4, 32
)

// putPlace is where a message was put.
type putPlace struct {
	h     *chainstore.Header
	index int
	// message is what was put there, once it was read.
	message *transcriptv1.Message
}

func (p *putPlace) brief() *runloop.Brief { return &p.h.Messages[p.index] }

func (p *putPlace) place() runloop.Place {
	return runloop.Place{Seq: p.h.Seq, Index: uint32(p.index)}
}

func (p *putPlace) same(q *putPlace) bool { return p.place() == q.place() }

// at is when the message was sent, else first put.
func (p *putPlace) at() *timestamppb.Timestamp { return wire.Timestamp(p.brief().SentAt(p.h.FirstPut)) }

// recalled is a call and its result.
type recalled struct {
	// call is the message that has the call, nil for a result that answers none; nth counts its calls, of whatever id,
	// from 0.
	call *putPlace
	nth  int
	// result is nil where there is none.
	result *putPlace
	// earlier counts the calls of the same id before it.
	earlier int64
}

func (r *recalled) state() transcriptv1.ToolCallState {
	switch {
	case r.result == nil:
		return transcriptv1.ToolCallState_TOOL_CALL_STATE_UNANSWERED
	case r.result.brief().Error:
		return transcriptv1.ToolCallState_TOOL_CALL_STATE_ERROR
	default:
		return transcriptv1.ToolCallState_TOOL_CALL_STATE_OK
	}
}

// callWalk finds the calls of an id, latest first, each with its result. The index tells which messages have calls or
// results of the id, and nothing else has to be known of a group to pair them: its results come after its calls, and
// each answers the first unanswered call of its id, so that the nth result of the id answers the nth call of the id.
//
//	calls of x     a       b c             in groups [a] and [b c]
//	results of x     r         s           pairs: a-r, b-s; c has none
type callWalk struct {
	*request
	id runloop.Optional
	// from is the node that the walk begins in; upTo, if not nil, the last message there that it looks at.
	from uint32
	upTo *putPlace
	// any says that a call was found; orphan is the latest result that is left out.
	any    bool
	orphan *putPlace
	// read is the bytes of payloads that were read to tell which calls of a message have the id.
	read int
}

func (r *request) walk(id runloop.Optional, from uint32, upTo *putPlace) *callWalk {
	return &callWalk{request: r, id: id, from: from, upTo: upTo}
}

// pick finds the first call that a choice falls on, nil if it falls on none, and counts those before it unless told not to.
func (w *callWalk) pick(ctx context.Context, choose func(*recalled) bool, dontCount bool) (found *recalled, err error) {
	for c, err := range w.calls(ctx) {
		switch {
		case err != nil:
			return nil, err
		case found != nil:
			found.earlier++
		case choose(c):
			found, w.read = c, 0
		}
		if found != nil && (dontCount || w.counted(found.earlier)) {
			break
		}
	}
	return found, nil
}

// count counts the calls.
func (w *callWalk) count(ctx context.Context) (n int64, err error) {
	for _, err := range w.calls(ctx) {
		if err != nil {
			return 0, err
		}
		if n++; w.counted(n) {
			break
		}
	}
	return n, nil
}

// counted tells whether enough earlier calls were counted.
func (w *callWalk) counted(n int64) bool { return n == maxEarlier || w.read > maxEarlierRead }

// callGroup is what one group has of the calls and results of an id, latest first.
type callGroup struct {
	calls   []*recalled
	results []*putPlace
}

// pair gives the calls their results.
func (g *callGroup) pair() []*recalled {
	for k := range min(len(g.calls), len(g.results)) {
		g.calls[len(g.calls)-1-k].result = g.results[len(g.results)-1-k]
	}
	return g.calls
}

// calls yields the calls; after an error nothing.
func (w *callWalk) calls(ctx context.Context) iter.Seq2[*recalled, error] {
	return func(yield func(*recalled, error) bool) {
		var g callGroup
		end := func() bool {
			for _, c := range g.pair() {
				if !yield(c, nil) {
					return false
				}
			}
			g = callGroup{}
			return true
		}
		for p, err := range w.messages(ctx) {
			apart := false
			if err == nil {
				apart, err = w.apart(ctx, p, &g)
			}
			if err == nil && apart && !end() {
				return
			}
			if err == nil {
				err = w.add(ctx, p, &g)
			}
			if err != nil {
				yield(nil, err)
				return
			}
		}
		end()
	}
}

// messages yields the messages that have calls of the id or are shown results of it, latest first; after an error nothing.
func (w *callWalk) messages(ctx context.Context) iter.Seq2[*putPlace, error] {
	return func(yield func(*putPlace, error) bool) {
		through := w.from
		for limit := firstCallChunk; ; limit = min(4*limit, maxCallChunk) {
			nodes, err := w.chain.Calls(ctx, w.id, through, limit)
			if err != nil {
				yield(nil, err)
				return
			}
			for i := range nodes {
				if !w.node(nodes[i].Header, nodes[i].Messages, yield) {
					return
				}
			}
			if len(nodes) < limit || nodes[limit-1].Header.Seq == 0 {
				return
			}
			through = nodes[limit-1].Header.Seq - 1
		}
	}
}

// node yields the messages of a node; it tells whether yield wants more.
func (w *callWalk) node(h *chainstore.Header, messages []chainstore.CallMessage, yield func(*putPlace, error) bool) bool {
	for _, m := range slices.Backward(messages) {
		p := &putPlace{h: h, index: int(m.Index)}
		if p.index >= len(h.Messages) {
			yield(nil, w.broken(p))
			return false
		}
		switch {
		case w.upTo != nil && w.upTo.place().Before(p.place()):
		case m.Result && p.brief().Mark.LeftOut != runloop.Shown:
			if w.orphan == nil {
				w.orphan = p
			}
		case !yield(p, nil):
			return false
		}
	}
	return true
}

// add adds a message to the group that it is part of.
func (w *callWalk) add(ctx context.Context, p *putPlace, g *callGroup) error {
	if p.brief().Role == runloop.Tool {
		g.results = append(g.results, p)
		return nil
	}
	w.any = true
	if p.brief().Calls == 1 {
		g.calls = append(g.calls, &recalled{call: p})
		return nil
	}
	m, err := w.message(ctx, p)
	if err != nil {
		return err
	}
	p.message = nil // a group can have a thousand
	w.read += p.h.PayloadLength
	for nth, c := range slices.Backward(wire.CallsOf(m)) {
		if wire.Optional(c.Id) == w.id {
			g.calls = append(g.calls, &recalled{call: p, nth: nth})
		}
	}
	return nil
}

// apart tells whether a message lies before a group, and not in it. Between it and the group's first calls so far, those
// of the id have no result.
func (w *callWalk) apart(ctx context.Context, p *putPlace, g *callGroup) (apart bool, err error) {
	if len(g.calls) == 0 || p.brief().Role == runloop.Tool {
		return len(g.calls) > 0, nil
	}
	first := g.calls[len(g.calls)-1].call
	between := chainview.Groups{Open: true}
	span := chainstore.Span{From: p.h.Seq, Through: first.h.Seq, HeadersOnly: true}
	err = chainview.RowsWhile(ctx, w.chain, span, func(row *chainstore.Row) (bool, error) {
		h, err := row.Header()
		if err != nil || h.Covers.Present {
			return true, err
		}
		from, through := 0, len(h.Messages)
		if h.Seq == p.h.Seq {
			from = p.index + 1
		}
		if h.Seq == first.h.Seq {
			through = first.index + 1
		}
		for i := from; i < through && !apart; i++ {
			apart = between.Next(&h.Messages[i]) || !between.Open
		}
		if h.Seq < first.h.Seq && !apart {
			between.End(h.Outcome)
			apart = !between.Open
		}
		return !apart, nil
	})
	return apart, err
}

func (w *callWalk) broken(p *putPlace) error {
	return fmt.Errorf("%w: the index of calls and node %s differ", chainstore.ErrCorrupt, p.h.ID)
}
