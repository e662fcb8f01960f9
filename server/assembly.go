package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
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
}

// assembly is a view of a chain, found but not read yet.
type assembly struct {
	chain chainstore.Chain
	// full says that it is the full view, else the effective one.
	full   bool
	detail transcriptv1.NodeDetail
	// base is the node behind which the reply begins; nil: it is the whole view.
	base *chainstore.ID
	// etag names the view of the head and what is told of nodes, and neither the reply nor its base: it is what the
	// caller holds once it has applied the reply, so a caller who asks for what comes after a node, and one who asks
	// for everything, are both told not_modified where they hold that already.
	etag        string
	notModified bool
}

// open judges the request and finds the chain. On both views of this version a longer chain only adds to what a
// shorter one shows, so after_id is always honoured.
func (t *transcripts) open(ctx context.Context, req assembleRequest) (*assembly, error) {
	head, err := parseRef("head", req.GetHead())
	if err != nil {
		return nil, err
	}
	a := &assembly{detail: req.GetNodeDetail(), full: req.GetView() == transcriptv1.View_VIEW_FULL}
	if err := checkOptions(req); err != nil {
		return nil, err
	}
	if req.GetAfterId() != "" {
		id, err := parseID("after_id", req.GetAfterId())
		if err != nil {
			return nil, err
		}
		a.base = &id
	}
	if a.chain, err = t.store.Chain(ctx, namespaceOf(req.GetNamespace()), head, a.base); err != nil {
		return nil, err
	}
	a.etag = etag(a.chain.Head().ID, a.full, a.detail)
	a.notModified = a.etag == req.GetIfNoneMatch()
	return a, nil
}

func checkOptions(req assembleRequest) error {
	if _, ok := transcriptv1.View_name[int32(req.GetView())]; !ok {
		return invalidField("view", "must be a declared value")
	}
	if _, ok := transcriptv1.NodeDetail_name[int32(req.GetNodeDetail())]; !ok {
		return invalidField("node_detail", "must be a declared value")
	}
	return nil
}

func etag(head chainstore.ID, full bool, detail transcriptv1.NodeDetail) string {
	view := byte('e')
	if full {
		view = 'f'
	}
	b := append([]byte("transcript.etag.v1\x00"), assemblerVersion, view, byte(detail))
	sum := sha256.Sum256(append(b, head[:]...))
	return hex.EncodeToString(sum[:16])
}

// first is the Seq of the first node of the reply; behind the head's where there is none.
func (a *assembly) first() uint32 {
	if a.base == nil {
		return 0
	}
	return a.chain.After() + 1
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
	if a.base == nil {
		return ""
	}
	return a.base.String()
}

func (a *assembly) counters() *transcriptv1.ChainCounters {
	s := &a.chain.Head().State
	return chainCounters(s.Full.Totals, s.Effective.Totals)
}

// splicer is a splicer for this view, whose frames room gives.
func (a *assembly) splicer(room func(need int) (*frame, error)) *splicer {
	return &splicer{full: a.full, detail: a.detail, parent: a.base, room: room}
}

// reached tells whether all rows of a span came; next is the Seq behind the last that did.
func reached(span chainstore.Span, next uint32) error {
	if next > span.Through {
		return nil
	}
	return fmt.Errorf("%w: a path ends before row %d, and has %d", chainstore.ErrCorrupt, next, span.Through)
}
