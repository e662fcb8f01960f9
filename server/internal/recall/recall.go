// Package recall finds a tool call of a chain by its id or place, with its result, whole and as it was put.
package recall

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/chainview"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

const (
	defaultResultBytes = 256 << 10
	maxResultBytes     = 1 << 20
	// maxFirstCall is the bytes of arguments beside which a first page has parts.
	maxFirstCall = 256 << 10
	// maxEarlier is the earlier calls that are counted, maxEarlierRead the bytes that are read for it.
	maxEarlier     = 1000
	maxEarlierRead = 16 << 20
)

// ToolCall finds the call through the index of call ids, or by its place, and gives a page of its result. A token
// holds the head, so that an alias that moves on does not change which call is meant; each page finds the call again.
func ToolCall(ctx context.Context, store chainstore.Store, tokens *wire.Tokens, req *transcriptv1.RecallToolCallRequest) (*transcriptv1.RecallToolCallResponse, error) {
	r, err := parse(store, tokens, req)
	if err != nil {
		return nil, err
	}
	if err := r.open(ctx, req.PageToken); err != nil {
		return nil, err
	}
	found, err := r.find(ctx)
	if err != nil {
		return nil, err
	}
	return r.reply(ctx, found)
}

// ErrToolCallNotFound says that a chain has no such tool call.
var ErrToolCallNotFound = errors.New("the chain has no such tool call")

// request is a request to recall a call.
type request struct {
	store     chainstore.Store
	tokens    *wire.Tokens
	namespace string
	head      chainstore.Ref
	// id is the call's id; byID says that it was given.
	id   runloop.Optional
	byID bool
	// place is where to look; nil: anywhere.
	place      *placeName
	occurrence int
	room       int
	// redact says that secrets are taken out of what is given.
	redact bool
	page   wire.Page

	chain chainstore.Chain
	// part and offset are where the page begins in the result; later says that it is not the first page.
	part, offset int
	later        bool
}

func parse(store chainstore.Store, tokens *wire.Tokens, req *transcriptv1.RecallToolCallRequest) (*request, error) {
	r := &request{
		store: store, tokens: tokens, namespace: wire.Namespace(req.Namespace),
		id: wire.Optional(req.ToolCallId), byID: req.ToolCallId != nil, occurrence: int(req.Occurrence), redact: req.Redact,
	}
	var err error
	if r.head, err = wire.ParseRef("head", req.Head); err != nil {
		return nil, err
	}
	if r.place, err = parsePlaceName("place", req.Place); err != nil {
		return nil, err
	}
	switch {
	case req.Occurrence < 0:
		return nil, wire.InvalidField("occurrence", "must not be negative")
	case req.Occurrence > 0 && r.place != nil:
		return nil, wire.InvalidField("occurrence", "must not be set beside place")
	}
	if r.room, err = wire.Bounded("page_bytes", min(req.PageBytes, maxResultBytes), defaultResultBytes, maxResultBytes); err != nil {
		return nil, err
	}
	r.page = wire.Page{RPC: "RecallToolCall", Namespace: r.namespace, Scope: fmt.Sprintf(
		"%q %s %t %q %q %d", r.head.Alias, r.head.ID, r.byID, r.id.Value, req.Place, req.Occurrence)}
	if r.redact {
		r.page.Scope += " redacted"
	}
	return r, nil
}

// open finds the chain, and where the page begins.
func (r *request) open(ctx context.Context, token string) (err error) {
	cursor, err := r.tokens.Cursor(ctx, r.page, token)
	if err != nil {
		return err
	}
	if cursor == nil {
		r.chain, err = r.store.Chain(ctx, r.namespace, r.head, nil)
		return wire.MissingFrom("head", err)
	}
	head, part, offset, err := wire.ParseHeadCursor(cursor)
	if err != nil || part > canonical.MaxPayloadBytes || offset > canonical.MaxPayloadBytes {
		return wire.BadToken()
	}
	r.later, r.part, r.offset = true, int(part), int(offset)
	r.chain, err = wire.ChainAt(ctx, r.store, r.namespace, head)
	return err
}

func (r *request) find(ctx context.Context) (*recalled, error) {
	if r.place != nil {
		return r.findPlace(ctx)
	}
	return r.findID(ctx)
}

// findID finds the call that so many others of its id come after. Where the chain has no call with the id, that is the
// latest result with it.
func (r *request) findID(ctx context.Context) (*recalled, error) {
	w := r.walk(r.id, r.chain.Head().Seq, nil)
	found, err := w.pick(ctx, func(*recalled) bool {
		r.occurrence--
		return r.occurrence < 0
	}, r.later)
	if err != nil || found != nil {
		return found, err
	}
	if r.occurrence == 0 && !w.any && w.orphan != nil {
		return &recalled{result: w.orphan}, nil
	}
	return nil, ErrToolCallNotFound
}

// reply tells of what was found and lays a page of the result into it.
func (r *request) reply(ctx context.Context, found *recalled) (*transcriptv1.RecallToolCallResponse, error) {
	reply := &transcriptv1.RecallToolCallResponse{State: found.state(), EarlierOccurrences: wire.Count(found.earlier)}
	full := false
	if err := r.messages(ctx, found); err != nil {
		return nil, err
	}
	if c := found.call; c != nil {
		reply.CallPlace, reply.SentAt = wire.MessagePlace(c.h, c.index), c.at()
		if !r.later {
			call, err := r.call(ctx, c, found.nth)
			if err != nil {
				return nil, err
			}
			reply.Call, full = call, len(call.Arguments) > maxFirstCall
		}
	}
	if found.result == nil {
		if r.later {
			return nil, wire.BadToken()
		}
		return reply, nil
	}
	return reply, r.result(ctx, found.result, full, reply)
}

// result lays a page of the result into the reply; full: none of its parts.
func (r *request) result(ctx context.Context, at *putPlace, full bool, reply *transcriptv1.RecallToolCallResponse) error {
	m, err := r.message(ctx, at)
	if err != nil {
		return err
	}
	reply.ResultPlace, reply.SentAt = wire.MessagePlace(at.h, at.index), at.at()
	reply.LeftOut = at.brief().Mark.LeftOut != runloop.Shown
	reply.ResultBytes = int64(canonical.FactsOf(m).PartsLength)
	parts := m.Parts
	if r.redact {
		parts = redactedParts(parts)
	}
	p := partsPage{room: r.room, part: r.part, offset: r.offset}
	if r.later && !p.valid(parts) {
		return wire.BadToken()
	}
	if reply.Continues = p.offset > 0; !full {
		p.fill(parts)
	}
	reply.Parts = p.parts
	if p.part < len(parts) {
		reply.NextPageToken, err = r.tokens.Token(ctx, r.page, wire.HeadCursor(r.chain.Head().ID, uint32(p.part), uint32(p.offset)))
	}
	return err
}

// call reads the nth call of a message.
func (r *request) call(ctx context.Context, at *putPlace, nth int) (*transcriptv1.ToolCall, error) {
	m, err := r.message(ctx, at)
	if err != nil {
		return nil, err
	}
	if calls := wire.CallsOf(m); nth < len(calls) {
		if r.redact {
			return redactedCall(calls[nth]), nil
		}
		return calls[nth], nil
	}
	return nil, fmt.Errorf("%w: node %s has fewer calls than its header says", chainstore.ErrCorrupt, at.h.ID)
}

// messages reads what the reply is made of, at once.
func (r *request) messages(ctx context.Context, found *recalled) error {
	var wanted []*putPlace
	if found.call != nil && !r.later {
		wanted = append(wanted, found.call)
	}
	if found.result != nil {
		wanted = append(wanted, found.result)
	}
	wanted = slices.DeleteFunc(wanted, func(p *putPlace) bool { return p.message != nil })
	var spans []chainstore.Span
	for _, p := range wanted {
		if n := len(spans); n == 0 || spans[n-1].From != p.h.Seq {
			spans = append(spans, chainstore.Span{From: p.h.Seq, Through: p.h.Seq})
		}
	}
	if len(spans) == 0 {
		return nil
	}
	return chainview.ReadAll(ctx, r.chain, spans, func(row *chainstore.Row) (err error) {
		for _, p := range wanted {
			if p.h.Seq == row.Seq && err == nil {
				p.message, err = chainview.DecodeMessage(p.h, p.index, row.Payload)
			}
		}
		return err
	})
}

// message reads a message; the second time it is remembered.
func (r *request) message(ctx context.Context, at *putPlace) (*transcriptv1.Message, error) {
	if at.message != nil {
		return at.message, nil
	}
	var err error
	at.message, err = chainview.MessageAt(ctx, r.chain, runloop.Place{Seq: at.h.Seq, Index: uint32(at.index)})
	return at.message, err
}
