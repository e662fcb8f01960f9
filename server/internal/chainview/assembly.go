// Package chainview makes the views of a chain: how the rows of the effective view and of a conversation lie, what a plan shows of
// them, and frames of messages as they are stored. It also has the reads of rows that several rpcs share. Rows are borrowed: nothing
// here keeps one.
package chainview

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

// assemblerVersion names what views are made of; it is part of every etag, so that a server that makes them otherwise
// gives other etags.
const assemblerVersion = 3

// Request is what AssembleRequest and StreamAssembleRequest have in common.
type Request interface {
	GetNamespace() string
	GetHead() *transcriptv1.NodeRef
	GetView() transcriptv1.View
	GetAfterId() string
	GetAfterErasures() int64
	GetIfNoneMatch() string
	GetNodeDetail() transcriptv1.NodeDetail
	GetPolicy() *transcriptv1.Policy
	GetCondenseLast() bool
	GetNodeFacts() *transcriptv1.NodeFacts
	GetLastMessages() int32
	GetLastBytes() int32
	GetBefore() *transcriptv1.MessagePlace
}

// MaxEtag is the most bytes of an etag that is asked with; ours have 32. A stream keeps its request, so that must be short.
const MaxEtag = 256

// Assembly is a view of a chain, found but not read yet.
type Assembly struct {
	Chain chainstore.Chain
	// Full says that it is the full view. view is how another lies, nil where all its rows are shown whole;
	// conversation is not nil where one is asked for.
	Full         bool
	view         *Effective
	conversation *conversation
	detail       transcriptv1.NodeDetail
	facts        *wire.NodeFacts
	// last is not nil where a part is asked for.
	last *last
	// after is what the caller asks to go on from; base is the same where the reply does; else it is the whole view.
	after, base *chainstore.ID
	// erasures are those of the namespace, as of before the chain was found.
	erasures uint64
	// Etag names the view of the head and what is told of nodes, and neither the reply nor its base: it is what the
	// caller holds once it has applied the reply, so a caller who asks for what comes after a node, and one who asks
	// for everything, are both told not_modified where they hold that already.
	Etag        string
	NotModified bool
}

// Open judges a request and finds the chain.
func Open(ctx context.Context, store chainstore.Store, req Request) (*Assembly, error) {
	head, err := wire.ParseRef("head", req.GetHead())
	if err != nil {
		return nil, err
	}
	a := &Assembly{detail: req.GetNodeDetail(), Full: req.GetView() == transcriptv1.View_VIEW_FULL}
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
	policy, err := wire.ParsePolicy("policy", req.GetPolicy())
	if err != nil {
		return nil, err
	}
	if a.facts, err = wire.ParseNodeFacts("node_facts", req.GetNodeFacts()); err != nil {
		return nil, err
	}
	if a.last, err = parseLast(req); err != nil {
		return nil, err
	}
	namespace := wire.Namespace(req.GetNamespace())
	if a.erasures, err = store.Erasures(ctx, namespace); err != nil {
		return nil, err
	}
	if err := a.openChain(ctx, store, namespace, head); err != nil {
		return nil, err
	}
	if req.GetView() == transcriptv1.View_VIEW_CONVERSATION {
		err = a.openConversation(ctx, policy, req.GetCondenseLast())
	} else {
		a.openWhole(uint64(req.GetAfterErasures()) == a.erasures)
	}
	a.NotModified = a.Etag == req.GetIfNoneMatch()
	switch {
	case a.NotModified || err != nil:
	case a.conversation != nil:
		a.conversation.origins, err = a.conversation.view.origins(ctx, a.conversation.plan)
	case a.last != nil:
		err = a.last.find(ctx, a)
	}
	return a, err
}

// openChain finds the chain, and where on it the node lies that the request names beside its head.
func (a *Assembly) openChain(ctx context.Context, store chainstore.Store, namespace string, head chainstore.Ref) (err error) {
	named, field := a.after, "after_id"
	if a.last != nil && a.last.before != nil {
		named, field = &a.last.beforeID, "before.node_id"
	}
	if a.Chain, err = store.Chain(ctx, namespace, head, named); err != nil {
		return wire.MissingFromChain("head", field, err)
	}
	if a.last != nil && a.last.before != nil {
		a.last.before.Seq = a.Chain.After()
	}
	return nil
}

func checkOptions(req Request) error {
	if _, ok := transcriptv1.View_name[int32(req.GetView())]; !ok {
		return wire.InvalidField("view", "must be a declared value")
	}
	if _, ok := transcriptv1.NodeDetail_name[int32(req.GetNodeDetail())]; !ok {
		return wire.InvalidField("node_detail", "must be a declared value")
	}
	conversation := req.GetView() == transcriptv1.View_VIEW_CONVERSATION
	switch {
	case req.GetNodeFacts() != nil && req.GetNodeDetail() == transcriptv1.NodeDetail_NODE_DETAIL_UNSPECIFIED:
		return wire.InvalidField("node_facts", "must be absent without node_detail")
	case req.GetAfterErasures() < 0:
		return wire.InvalidField("after_erasures", "must not be negative")
	case len(req.GetIfNoneMatch()) > MaxEtag:
		return wire.OverLimit("if_none_match", "must be the etag of a reply, at most %d bytes", MaxEtag)
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
// effective view is another, and the whole of it is the reply. So it is where the caller may hold what was erased, which current denies.
func (a *Assembly) openWhole(current bool) {
	a.Etag = a.etag()
	link := a.Chain.Head().Compaction
	if current {
		a.base = a.after
	}
	if a.Full || !link.Present || a.base != nil && link.Seq <= a.Chain.After() {
		return
	}
	a.base, a.view = nil, OpenEffective(a.Chain)
}

// etag names the full or the effective view.
func (a *Assembly) etag() string {
	view := byte('e')
	if a.Full {
		view = 'f'
	}
	head := a.Chain.Head().ID
	b := append([]byte{assemblerVersion, view, byte(a.detail)}, head[:]...)
	return a.hashEtag(a.last.appendKey(a.facts.AppendKey(b)))
}

// hashEtag is an etag, which also names the erasures; mostly there are none.
func (a *Assembly) hashEtag(of []byte) string {
	if a.erasures > 0 {
		of = binary.AppendUvarint(append(of, "erasures"...), a.erasures)
	}
	sum := sha256.Sum256(append([]byte("transcript.etag.v1\x00"), of...))
	return hex.EncodeToString(sum[:16])
}

// Erasures are those of the namespace.
func (a *Assembly) Erasures() int64 { return int64(min(a.erasures, math.MaxInt64)) }

// spans are the rows of the reply, in its order.
func (a *Assembly) spans() []chainstore.Span {
	switch {
	case a.last != nil && a.last.found:
		return a.last.spans
	case a.conversation != nil:
		return a.conversation.spans
	case a.view != nil:
		return a.view.spans()
	case a.base != nil:
		return []chainstore.Span{{From: a.Chain.After() + 1, Through: a.Chain.Head().Seq}}
	default:
		return []chainstore.Span{{Through: a.Chain.Head().Seq}}
	}
}

// totals are the chain's, in the view asked for.
func (a *Assembly) totals(h *chainstore.Header) runloop.Totals {
	if a.Full {
		return h.State.Full.Totals
	}
	return h.State.Effective.Totals
}

// HeadID is the head of the chain.
func (a *Assembly) HeadID() string { return a.Chain.Head().ID.String() }

// BaseID is the node behind which the reply begins; empty where it is the whole view.
func (a *Assembly) BaseID() string {
	base := a.base
	if a.NotModified {
		base = a.after
	}
	if base == nil {
		return ""
	}
	return base.String()
}

// Begin is the place of the first message of a part of a view, nil without one; more says that the view has messages before it.
func (a *Assembly) Begin() (place *transcriptv1.MessagePlace, more bool) {
	if a.last == nil || a.last.begin == nil {
		return nil, false
	}
	return &transcriptv1.MessagePlace{NodeId: a.last.beginID.String(), MessageIndex: int32(a.last.begin.Index)}, a.last.more
}

// Counters are those of the chain.
func (a *Assembly) Counters() *transcriptv1.ChainCounters { return wire.HeadCounters(a.Chain.Head()) }

// Describes says that something is told of nodes.
func (a *Assembly) Describes() bool {
	return a.detail != transcriptv1.NodeDetail_NODE_DETAIL_UNSPECIFIED
}

const (
	// maxPartRows bounds the rows of a part whose messages are small; those of others are a multiple of partRows where that
	// is possible, since a store may keep rows in runs.
	maxPartRows, partRows = 4 << 10, 16
)

// Parts are spans of a view that can be read side by side, in order. A view whose rows are shown whole, and of which nothing
// is told, has parts of about so many bytes; any other is one part, since what is made of a row depends on those before.
func (a *Assembly) Parts(bytes int64) (parts [][]chainstore.Span) {
	spans := a.spans()
	if a.view != nil || a.base != nil || a.last != nil || a.conversation != nil || a.Describes() {
		return [][]chainstore.Span{spans}
	}
	totals := a.Chain.Head().State.Full.Totals
	rows := uint32(min(maxPartRows, 1+bytes*7/8*totals.Nodes/max(1, totals.Bytes)))
	if rows > partRows {
		rows -= rows % partRows
	}
	for _, span := range spans {
		for ; span.Through-span.From >= rows; span.From += rows {
			parts = append(parts, []chainstore.Span{{From: span.From, Through: span.From + rows - 1}})
		}
		parts = append(parts, []chainstore.Span{span})
	}
	return parts
}

// Writer fills frames with rows.
type Writer interface {
	// Add lays what the view shows of a row into a frame. It keeps nothing of the row, and asks nothing of the store.
	Add(row *chainstore.Row) error
	// Link writes down the links that no row told, of all nodes that the rows since the last Link told of. Until then they have a place
	// in their frames, which must not go out.
	Link(ctx context.Context) error
}

// Writer fills the frames that frame gives, each for the next need bytes, with this view, and the report.
func (a *Assembly) Writer(frame func(need int) (*Frame, error)) (Writer, *Report) {
	s := &splicer{chain: a.Chain, extent: extent{full: a.Full, view: a.view}, detail: a.detail, facts: a.facts, frame: frame}
	if a.last != nil {
		s.from, s.before = a.last.begin, a.last.before
	}
	s.counted = a.base != nil || a.conversation != nil
	if a.base != nil {
		s.last = lastRow{true, a.Chain.After(), *a.base}
	}
	if a.conversation != nil {
		return newConversationWriter(a.conversation, s), &s.report
	}
	return s, &s.report
}

// Report is the report of a reply that is complete.
func (a *Assembly) Report(r *Report) *transcriptv1.Report {
	switch totals := a.totals(a.Chain.Head()); {
	case a.conversation != nil:
		a.conversation.complete(r)
	case a.last != nil:
		r.spend(a.last.size.tokens, a.last.size.estimates > 0)
	case a.base == nil:
		r.spend(totals.Tokens, totals.Estimated)
	}
	return r.proto()
}
