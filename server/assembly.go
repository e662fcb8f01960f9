package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

// assemblerVersion names what views are made of; it is part of every etag, so that a server that makes them otherwise
// gives other etags.
const assemblerVersion = 1

// assembleRequest is what AssembleRequest and StreamAssembleRequest have in common.
type assembleRequest interface {
	GetNamespace() string
	GetHead() *transcriptv1.NodeRef
	GetView() transcriptv1.View
	GetAfterId() string
	GetIfNoneMatch() string
	GetNodeDetail() transcriptv1.NodeDetail
	GetPolicy() *transcriptv1.Policy
	GetCondenseLast() bool
}

// maxEtag is the most bytes of an etag that is asked with; ours have 32. A stream keeps its request, so that must be short.
const maxEtag = 256

// assembly is a view of a chain, found but not read yet.
type assembly struct {
	chain chainstore.Chain
	// full says that it is the full view. view is how another lies, nil where all its rows are shown whole;
	// conversation is not nil where one is asked for.
	full         bool
	view         *effective
	conversation *conversation
	detail       transcriptv1.NodeDetail
	// after is what the caller asks to go on from; base is the same where the reply does; else it is the whole view.
	after, base *chainstore.ID
	// etag names the view of the head and what is told of nodes, and neither the reply nor its base: it is what the
	// caller holds once it has applied the reply, so a caller who asks for what comes after a node, and one who asks
	// for everything, are both told not_modified where they hold that already.
	etag        string
	notModified bool
}

// open judges the request and finds the chain.
func (t *transcripts) open(ctx context.Context, req assembleRequest) (*assembly, error) {
	head, err := wire.ParseRef("head", req.GetHead())
	if err != nil {
		return nil, err
	}
	a := &assembly{detail: req.GetNodeDetail(), full: req.GetView() == transcriptv1.View_VIEW_FULL}
	if err := checkOptions(req); err != nil {
		return nil, err
	}
	if req.GetAfterId() != "" {
		id, err := wire.ParseID("after_id", req.GetAfterId())
		if err != nil {
			return nil, err
		}
		a.after = &id
	}
	now := t.now().UnixMilli()
	policy, err := wire.ParsePolicy("policy", req.GetPolicy(), compaction.Unbounded(), now)
	if err != nil {
		return nil, err
	}
	if a.chain, err = t.store.Chain(ctx, wire.Namespace(req.GetNamespace()), head, a.after); err != nil {
		return nil, wire.MissingFromChain("head", "after_id", err)
	}
	if req.GetView() == transcriptv1.View_VIEW_CONVERSATION {
		err = a.openConversation(ctx, policy, req.GetCondenseLast())
	} else {
		err = a.openWhole(ctx)
	}
	a.notModified = a.etag == req.GetIfNoneMatch()
	return a, err
}

func checkOptions(req assembleRequest) error {
	if _, ok := transcriptv1.View_name[int32(req.GetView())]; !ok {
		return wire.InvalidField("view", "must be a declared value")
	}
	if _, ok := transcriptv1.NodeDetail_name[int32(req.GetNodeDetail())]; !ok {
		return wire.InvalidField("node_detail", "must be a declared value")
	}
	conversation := req.GetView() == transcriptv1.View_VIEW_CONVERSATION
	switch {
	case len(req.GetIfNoneMatch()) > maxEtag:
		return wire.OverLimit("if_none_match", "must be the etag of a reply, at most %d bytes", maxEtag)
	case conversation && req.GetAfterId() != "":
		return wire.InvalidField("after_id", "must be empty with VIEW_CONVERSATION")
	case !conversation && req.GetPolicy() != nil:
		return wire.InvalidField("policy", "must be absent without VIEW_CONVERSATION")
	case !conversation && req.GetCondenseLast():
		return wire.InvalidField("condense_last", "must be false without VIEW_CONVERSATION")
	}
	return nil
}

// openWhole finds how the full or the effective view lies. Behind a compaction that the caller does not know, the
// effective view is another, and the whole of it is the reply.
func (a *assembly) openWhole(ctx context.Context) (err error) {
	a.etag = etag(a.chain.Head().ID, a.full, a.detail)
	link := a.chain.Head().Compaction
	if a.base = a.after; a.full || !link.Present || a.base != nil && link.Seq <= a.chain.After() {
		return nil
	}
	a.base = nil
	a.view, err = openEffective(ctx, a.chain)
	return err
}

func etag(head chainstore.ID, full bool, detail transcriptv1.NodeDetail) string {
	view := byte('e')
	if full {
		view = 'f'
	}
	return hashEtag(append([]byte{assemblerVersion, view, byte(detail)}, head[:]...))
}

func hashEtag(of []byte) string {
	sum := sha256.Sum256(append([]byte("transcript.etag.v1\x00"), of...))
	return hex.EncodeToString(sum[:16])
}

// spans are the rows of the reply, in its order.
func (a *assembly) spans() []chainstore.Span {
	switch {
	case a.conversation != nil:
		return a.conversation.spans
	case a.view != nil:
		return a.view.spans()
	case a.base != nil:
		return []chainstore.Span{{From: a.chain.After() + 1, Through: a.chain.Head().Seq}}
	default:
		return []chainstore.Span{{Through: a.chain.Head().Seq}}
	}
}

// totals are the chain's, in the view asked for.
func (a *assembly) totals(h *chainstore.Header) runloop.Totals {
	if a.full {
		return h.State.Full.Totals
	}
	return h.State.Effective.Totals
}

func (a *assembly) headID() string { return a.chain.Head().ID.String() }

func (a *assembly) baseID() string {
	base := a.base
	if a.notModified {
		base = a.after
	}
	if base == nil {
		return ""
	}
	return base.String()
}

func (a *assembly) counters() *transcriptv1.ChainCounters { return wire.HeadCounters(a.chain.Head()) }

// filler fills frames with rows.
type filler interface {
	add(ctx context.Context, row *chainstore.Row) error
}

// filler fills the frames that room gives with this view, and the report.
func (a *assembly) filler(room func(need int) (*frame, error)) (filler, *report) {
	s := &splicer{chain: a.chain, full: a.full, view: a.view, detail: a.detail, room: room}
	s.counted = a.base != nil || a.conversation != nil
	if a.base != nil {
		s.last = lastRow{true, a.chain.After(), *a.base}
	}
	if a.conversation != nil {
		return newShower(a.conversation, s), &s.report
	}
	return s, &s.report
}

// told is the report of a reply that is complete.
func (a *assembly) told(r *report) *transcriptv1.Report {
	switch totals := a.totals(a.chain.Head()); {
	case a.conversation != nil:
		a.conversation.complete(r)
	case a.base == nil:
		r.spend(totals.Tokens, totals.Estimated)
	}
	return r.proto()
}

// reached tells whether all rows of a span came; next is the Seq behind the last that did.
func reached(span chainstore.Span, next uint32) error {
	if next > span.Through {
		return nil
	}
	return fmt.Errorf("%w: a path ends before row %d, and has %d", chainstore.ErrCorrupt, next, span.Through)
}
