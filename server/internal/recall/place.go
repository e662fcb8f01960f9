package recall

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	"github.com/transcriptd/transcriptd/server/internal/chainview"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

const (
	// minPlaceDigits is the fewest digits of a node's id in a place: those of a left-out result's line.
	minPlaceDigits = 12
	// maxPlaceNodes is the nodes beginning with the same digits that are looked at.
	maxPlaceNodes = 100
)

// placeName is NODE.I as a left-out result's line gives it: the first digits of a node's id, and the place of a message
// in that node.
type placeName struct {
	digits string
	index  uint32
}

// parsePlaceName reads NODE.I; nil for the empty string.
func parsePlaceName(field, s string) (*placeName, error) {
	if s == "" {
		return nil, nil
	}
	digits, number, _ := strings.Cut(s, ".")
	index, err := strconv.ParseUint(number, 10, 31)
	notHex := func(c rune) bool { return (c < '0' || c > '9') && (c < 'a' || c > 'f') }
	if err != nil || strconv.FormatUint(index, 10) != number || strings.ContainsFunc(digits, notHex) ||
		len(digits) < minPlaceDigits || len(digits) > 2*len(chainstore.ID{}) {
		return nil, wire.InvalidField(field, "must be 12 to 64 lower-case hex digits, a dot, and a number without sign or leading zeros")
	}
	return &placeName{digits: digits, index: uint32(index)}, nil
}

// findPlace finds the result, or the call, at the place that is named.
func (r *request) findPlace(ctx context.Context) (*recalled, error) {
	seq, err := r.findPlaceNode(ctx)
	if err != nil {
		return nil, err
	}
	at, end, err := r.readPlace(ctx, seq)
	switch {
	case err != nil:
		return nil, err
	case at == nil:
		return nil, ErrToolCallNotFound
	case at.brief().Role == runloop.Tool:
		return r.findResult(ctx, at)
	}
	return r.findCall(ctx, at, end)
}

// readPlace reads the call or result at the place named in a node; nil: there is none. Of a call, end is the Seq of the node in which
// its group ends, or the last one of the chain that has a part in it.
func (r *request) readPlace(ctx context.Context, seq uint32) (at *putPlace, end uint32, err error) {
	g := chainview.Groups{Open: true}
	spans := []chainstore.Span{{From: seq, Through: seq}, {From: seq + 1, Through: r.chain.Head().Seq, HeadersOnly: true}}
	err = chainview.ReadWhile(ctx, r.chain, spans, func(row *chainstore.Row) (bool, error) {
		h, err := row.Header()
		if err != nil {
			return false, err
		}
		from := 0
		if row.Seq == seq {
			if at, err = r.placeIn(h, row.Payload); err != nil || at == nil || at.brief().Role == runloop.Tool {
				return false, err
			}
			from, end = at.index+1, seq
		}
		return goesOn(&g, h, from, &end), nil
	})
	return at, end, err
}

// placeIn is the call or result that a node has at the place named; nil: it has none.
func (r *request) placeIn(h *chainstore.Header, payload []byte) (*putPlace, error) {
	if h.Covers.Present || int64(r.place.index) >= int64(len(h.Messages)) {
		return nil, nil
	}
	at := &putPlace{h: h, index: int(r.place.index)}
	if b := at.brief(); b.Role != runloop.Tool && b.Calls == 0 {
		return nil, nil
	}
	var err error
	at.message, err = chainview.DecodeMessage(h, at.index, payload)
	return at, err
}

// goesOn tells whether a group goes on behind a node, of which the messages from one on come next. Where one of these has a part in it,
// end is the node then.
func goesOn(g *chainview.Groups, h *chainstore.Header, from int, end *uint32) bool {
	if h.Covers.Present {
		return true
	}
	for i := from; i < len(h.Messages); i++ {
		m := &h.Messages[i]
		if begins := g.Next(m); begins || !g.Open {
			return false
		}
		if m.Shown() {
			*end = h.Seq
		}
	}
	g.End(h.Outcome)
	return g.Open
}

// findPlaceNode finds the Seq of the node of the chain that the place names.
func (r *request) findPlaceNode(ctx context.Context) (uint32, error) {
	ids, err := r.store.Find(ctx, r.namespace, r.place.digits, maxPlaceNodes)
	if err != nil {
		return 0, err
	}
	var found []uint32
	head := chainstore.Ref{ID: r.chain.Head().ID}
	for _, id := range ids {
		chain, err := r.store.Chain(ctx, r.namespace, head, &id)
		switch {
		case errors.Is(err, chainstore.ErrNotAncestor):
		case err != nil:
			return 0, err
		default:
			found = append(found, chain.After())
		}
	}
	switch {
	case len(found) > 1 || len(ids) == maxPlaceNodes:
		return 0, wire.InvalidField("place", "must have more digits: several nodes begin with these")
	case len(found) == 0:
		return 0, ErrToolCallNotFound
	}
	return found[0], nil
}

// findResult finds the call that the result at a place answers, if it answers any.
func (r *request) findResult(ctx context.Context, at *putPlace) (*recalled, error) {
	id := wire.Optional(at.message.ToolCallId)
	if r.byID && id != r.id {
		return nil, ErrToolCallNotFound
	}
	w := r.walk(id, at.h.Seq, at)
	if at.brief().Mark.LeftOut == runloop.Shown {
		found, err := w.pick(ctx, func(c *recalled) bool { return c.result != nil && c.result.same(at) }, r.later)
		if err != nil || found == nil {
			return nil, cmp.Or(err, w.broken(at))
		}
		found.result = at // which is read already
		return found, nil
	}
	found := &recalled{result: at}
	if r.later {
		return found, nil
	}
	var err error
	found.earlier, err = w.count(ctx)
	return found, err
}

// findCall finds the call in the message at a place that the request names, or the only one, and its result. What comes
// behind the end of the call's group has no part in it.
func (r *request) findCall(ctx context.Context, at *putPlace, end uint32) (*recalled, error) {
	calls := wire.CallsOf(at.message)
	nth := 0
	switch {
	case r.byID:
		for nth < len(calls) && wire.Optional(calls[nth].Id) != r.id {
			nth++
		}
	case len(calls) > 1:
		return nil, wire.InvalidField("tool_call_id", "must say which of the message's calls is meant")
	}
	if nth == len(calls) {
		return nil, ErrToolCallNotFound
	}
	w := r.walk(wire.Optional(calls[nth].Id), end, nil)
	found, err := w.pick(ctx, func(c *recalled) bool { return c.call.same(at) && c.nth == nth }, r.later)
	if err != nil || found == nil {
		return nil, cmp.Or(err, w.broken(at))
	}
	found.call = at // which is read already
	return found, nil
}
