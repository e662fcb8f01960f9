package server

import (
	"context"
	"fmt"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// message is a message of a row to which a plan says what becomes of it, or a stub due before it.
type message struct {
	// stub is not nil for a stub; then nothing else is set.
	stub   *runloop.Call
	brief  *runloop.Brief
	index  int
	action compaction.Action
	// bytes are the message as stored, an entry of a payload; borrowed from the row.
	bytes []byte
}

// eachMessage calls f with the stubs that a plan shows and with every message of a row that belongs to the view and that
// repair shows, dropped ones too. The row has its payload.
func eachMessage(h *chainstore.Header, r *viewRow, a *application, f func(*message) error) error {
	offset := 0
	for i := range h.Messages {
		b := &h.Messages[i]
		bytes, err := entry(r.Payload, offset, b.Length)
		if err != nil {
			return fmt.Errorf("node %s: %w", h.ID, err)
		}
		offset += b.Length
		if i < r.from || i >= r.through {
			continue
		}
		stubs, action := a.of(runloop.Place{Seq: h.Seq, Index: uint32(i)}, b)
		for k, stub := range stubs {
			if stub != compaction.Drop {
				if err := f(&message{stub: &b.Mark.Stubs[k]}); err != nil {
					return err
				}
			}
		}
		if b.Mark.LeftOut != runloop.Shown {
			continue
		}
		if err := f(&message{brief: b, index: i, action: action, bytes: bytes}); err != nil {
			return err
		}
	}
	return nil
}

// entry is a message of a payload.
func entry(payload []byte, offset, length int) ([]byte, error) {
	if length <= 0 || offset > len(payload)-length {
		return nil, fmt.Errorf("%w: the lengths in the header do not add up to the payload", chainstore.ErrCorrupt)
	}
	return payload[offset : offset+length], nil
}

// origins tells where the messages of a view were put first.
type origins struct {
	chain      chainstore.Chain
	compaction *chainstore.Header
	// prefixes has the ids of nodes that were looked up, as lines name them.
	prefixes map[uint32]string
}

// provenance is where message i of a node was put first.
func (o *origins) provenance(h *chainstore.Header, i int) chainstore.Provenance {
	if h.Covers.Present {
		return h.Provenance[i]
	}
	return chainstore.Provenance{Present: true, Place: runloop.Place{Seq: h.Seq, Index: uint32(i)}}
}

// source is the same as a line tells it.
func (o *origins) source(ctx context.Context, h *chainstore.Header, i int) (runloop.Source, error) {
	p := o.provenance(h, i)
	if !h.Covers.Present || !p.Present {
		return runloop.Source{Node: h.ID.Prefix(), Index: i}, nil
	}
	from := runloop.Source{Node: o.prefixes[p.Place.Seq], Index: int(p.Place.Index)}
	if from.Node != "" {
		return from, nil
	}
	put, err := chainstore.HeaderAt(ctx, o.chain, p.Place.Seq)
	if err != nil {
		return from, err
	}
	if o.prefixes == nil {
		o.prefixes = map[uint32]string{}
	}
	from.Node = put.ID.Prefix()
	o.prefixes[p.Place.Seq] = from.Node
	return from, nil
}

// line makes message i of a node, the result of a call, its line.
func (o *origins) line(ctx context.Context, h *chainstore.Header, i int, m *transcriptv1.Message, f *runloop.Facts, call runloop.Call) error {
	name := f.Name
	if !name.Present {
		name = call.Name
	}
	from, err := o.source(ctx, h, i)
	if err == nil {
		compaction.MakeLine(m, f, name, from)
	}
	return err
}

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
	call, p.open, ok = takeFirst(p.open, func(c runloop.Call) bool { return c.ID == id })
	return call, ok
}

// takeFirst takes the first that is right out of a list; the list stays the caller's as it was.
func takeFirst[T any](open []T, right func(T) bool) (first T, rest []T, ok bool) {
	for i, one := range open {
		if right(one) {
			return one, append(open[:i:i], open[i+1:]...), true
		}
	}
	return first, open, false
}
