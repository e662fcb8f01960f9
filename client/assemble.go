package client

import (
	"bytes"
	"context"
	"errors"
	"iter"

	"google.golang.org/grpc"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// Query is what to assemble of a chain. The zero Query is the whole effective view.
type Query struct {
	// View is what to make of the chain; zero: effective.
	View transcriptv1.View
	// Policy bounds a VIEW_CONVERSATION; absent fields, and nil, have the server's defaults.
	Policy *transcriptv1.Policy
	// CondenseLast shows a closed last run loop condensed too; only with VIEW_CONVERSATION.
	CondenseLast bool
	// After asks for what the view adds to that of this ancestor (the head itself is allowed); see Assembly.BaseID. Not
	// with VIEW_CONVERSATION. AfterErasures is the Assembly.Erasures that the view of that ancestor came with: where nodes of the namespace were
	// erased since, the whole view comes.
	After         string
	AfterErasures int64
	// LastMessages and LastBytes ask for the end of the view: at most so many messages and bytes, 0 for any number, but at least one
	// message, and no group of tool calls is parted; see Assembly.Begin and Back. At most 10,000 messages. Not with VIEW_CONVERSATION,
	// nor with After.
	LastMessages, LastBytes int32
	// Before asks, with LastMessages or LastBytes, for the end of what comes before a message of the view; nil: of all.
	Before *transcriptv1.MessagePlace
	// IfNoneMatch is the Etag of an Assembly that the caller holds; see Assembly.NotModified.
	IfNoneMatch string
	// Detail is what to tell of the nodes.
	Detail transcriptv1.NodeDetail
	// Facts asks for when each node was first put, and for its metadata of some keys; then Detail zero is NODE_DETAIL_IDS.
	Facts *transcriptv1.NodeFacts
	// Verify recomputes each node's id from the bytes received and follows the parents to the head, from the root or from
	// the base; a mismatch is ErrVerification. It implies NODE_DETAIL_ENVELOPES. What that proves, given the head's id (or
	// the base's content and the head's id):
	//
	//   - VIEW_FULL: these are the messages that were put in the head and its ancestors (behind the base), in order, all
	//     of them.
	//   - VIEW_EFFECTIVE: so are these, but for results that are left out and stubs, which are held to their exact text.
	//     Nodes that came repaired are read once more as they were put. Which results are left out, and which calls have
	//     a stub, is the server's word.
	//   - VIEW_EFFECTIVE behind a compaction: its node is the nearest compaction on the path to the head and has these
	//     messages; the nodes behind the last one that it covers are as above, none missing. What comes before it are
	//     system and developer messages of whole nodes, the last up to its first other message. That they are the
	//     beginning of this chain and all of it, and that the compaction's messages say what was said, is the server's
	//     word: a full view proves what was.
	//   - The end of VIEW_FULL: the nodes follow each other, without Before to the head, and those verbatim have these messages. Of
	//     the first node, which may have come in part, the id alone is proven, and with Before not that the last is where that is.
	//   - VIEW_CONVERSATION, and the end of VIEW_EFFECTIVE: each node named has that id, and those verbatim have these messages. Nothing binds them to the
	//     head, and nothing proves what was cut or not shown.
	//
	// Nothing proves where an alias points, nor counters, reports, notes and Facts.
	Verify bool
}

// Assembly is the messages of a chain, or of the part of it that was asked for. They are kept as they were received.
type Assembly struct {
	// HeadID is the node that the chain ends in.
	HeadID string
	// BaseID is Query.After where that was honoured: the messages are to be appended to what the caller holds. Empty: they
	// are the whole view and replace it, or the part of it that was asked for.
	BaseID string
	// Begin is where the messages begin, where the end of a view was asked for; nil without messages. MoreBefore says that the view has
	// messages before that.
	Begin      *transcriptv1.MessagePlace
	MoreBefore bool
	// Etag names the content, for Query.IfNoneMatch; NotModified tells that it is still right, and there are no messages.
	Etag        string
	NotModified bool
	// Erasures is a number that each erasure in the namespace changes, for Query.AfterErasures.
	Erasures int64
	// Counters are the chain's totals.
	Counters *transcriptv1.ChainCounters
	// Report tells what was found; nil where not modified.
	Report *transcriptv1.Report
	// Nodes are those of the messages, where asked for.
	Nodes []*transcriptv1.NodeInfo

	payloads [][]byte
}

// Messages decodes the messages, anew each time: the caller owns them. The error is an ErrBadReply.
func (a *Assembly) Messages() ([]*transcriptv1.Message, error) {
	var messages []*transcriptv1.Message
	for _, payload := range a.payloads {
		part, err := decodeMessages(payload)
		if err != nil {
			return nil, err
		}
		messages = append(messages, part...)
	}
	return messages, nil
}

// Encoded gives each message as received: an entry of the field `repeated Message messages = 1`, tag and length included.
// Equal messages are equal bytes. They belong to the Assembly. The error is an ErrBadReply.
func (a *Assembly) Encoded() ([][]byte, error) {
	var all [][]byte
	for _, payload := range a.payloads {
		for len(payload) > 0 {
			one, rest, err := cut(payload, 1)
			if err != nil {
				return nil, err
			}
			all, payload = append(all, one), rest
		}
	}
	return all, nil
}

// Bytes is the size of the messages as received.
func (a *Assembly) Bytes() int64 {
	n := 0
	for _, payload := range a.payloads {
		n += len(payload)
	}
	return int64(n)
}

// Assemble gives the messages of a chain of any length. Where the server goes away midway it begins again. Errors:
// ErrNodeNotFound, ErrAliasNotFound, ErrNotAnAncestor, ErrNotInView, ErrVerification and others.
func (c *Client) Assemble(ctx context.Context, head Ref, q Query) (*Assembly, error) {
	var whole *Assembly
	_, err := c.run(ctx, transient, func() error {
		whole = new(Assembly)
		frames := c.newFrames(head, q)
		err := receive(ctx, c, frames.open, func(raw *rawReply) error {
			frame, err := frames.next(ctx, raw)
			if err == nil {
				whole.add(frame)
			}
			return err
		})
		if err != nil {
			return err
		}
		return frames.end(ctx)
	})
	if err != nil {
		return nil, c.explained(ctx, err, c.newFrames(head, q).req)
	}
	return whole, nil
}

// Frames yields the same in parts of whole nodes of about 64 KiB, for chains too long to hold: the first frame has
// HeadID, BaseID, Etag, NotModified and Counters, the last the Report. An error ends it; what came before is then not
// all, and with Query.Verify only nodes that lead up to the head once all frames came are verified.
func (c *Client) Frames(ctx context.Context, head Ref, q Query) iter.Seq2[*Assembly, error] {
	return func(yield func(*Assembly, error) bool) {
		var bad error
		frames := c.newFrames(head, q)
		err := streamOnce(ctx, c, frames.open, func(raw *rawReply) bool {
			var frame *Assembly
			frame, bad = frames.next(ctx, raw)
			return bad == nil && yield(frame, nil)
		})
		switch {
		case bad != nil:
			err = bad
		case err == nil:
			err = frames.end(ctx)
		}
		if err != nil && !errors.Is(err, errStopped) {
			yield(nil, c.explained(ctx, err, frames.req))
		}
	}
}

// add appends a frame.
func (a *Assembly) add(frame *Assembly) {
	if a.HeadID == "" {
		a.HeadID, a.BaseID, a.Etag, a.Erasures = frame.HeadID, frame.BaseID, frame.Etag, frame.Erasures
		a.NotModified, a.Counters = frame.NotModified, frame.Counters
		a.Begin, a.MoreBefore = frame.Begin, frame.MoreBefore
	}
	if frame.Report != nil {
		a.Report = frame.Report
	}
	a.Nodes = append(a.Nodes, frame.Nodes...)
	a.payloads = append(a.payloads, frame.payloads...)
}

// frames reads one StreamAssemble.
type frames struct {
	c        *Client
	req      *transcriptv1.StreamAssembleRequest
	begun    bool
	ended    bool // the report came, or there is none to come
	verifier *verifier
	erasures int64 // as the first frame tells
}

func (c *Client) newFrames(head Ref, q Query) *frames {
	f := &frames{c: c, req: &transcriptv1.StreamAssembleRequest{
		Namespace: c.options.namespace, Head: head.ref, View: q.View, AfterId: q.After, AfterErasures: q.AfterErasures, IfNoneMatch: q.IfNoneMatch,
		NodeDetail: q.Detail, Policy: q.Policy, CondenseLast: q.CondenseLast, NodeFacts: q.Facts,
		LastMessages: q.LastMessages, LastBytes: q.LastBytes, Before: q.Before,
	}}
	if q.Facts != nil && q.Detail == transcriptv1.NodeDetail_NODE_DETAIL_UNSPECIFIED {
		f.req.NodeDetail = transcriptv1.NodeDetail_NODE_DETAIL_IDS
	}
	if q.Verify || c.options.verify {
		f.verifier = new(verifier)
		f.req.NodeDetail = transcriptv1.NodeDetail_NODE_DETAIL_ENVELOPES
	}
	return f
}

func (f *frames) open(ctx context.Context) (grpc.ClientStream, error) {
	return f.c.rpc.StreamAssemble(ctx, f.req, rawCall())
}

// next reads and judges a frame. The error is an ErrBadReply or an ErrVerification.
func (f *frames) next(ctx context.Context, raw *rawReply) (*Assembly, error) {
	payload, rest, err := raw.split()
	if err != nil {
		return nil, err
	}
	var m transcriptv1.StreamAssembleResponse
	if err := decode(rest, &m); err != nil {
		return nil, err
	}
	frame := &Assembly{
		HeadID: m.HeadId, BaseID: m.BaseId, Etag: m.Etag, NotModified: m.NotModified, Counters: m.Counters,
		Report: m.Report, Nodes: m.Nodes, Begin: m.Begin, MoreBefore: m.HasMoreBefore, Erasures: m.Erasures,
	}
	if len(payload) > 0 {
		frame.payloads = [][]byte{payload}
	}
	if !f.begun {
		if err := f.begin(&m); err != nil {
			return nil, err
		}
	}
	f.ended = f.ended || m.Report != nil || m.NotModified
	if f.verifier == nil || m.NotModified {
		return frame, nil
	}
	if err := f.verifier.frame(m.Nodes, payload); err != nil {
		return nil, err
	}
	return frame, f.settle(ctx, false)
}

// begin judges what the first frame says of the whole.
func (f *frames) begin(m *transcriptv1.StreamAssembleResponse) error {
	f.begun, f.erasures = true, m.Erasures
	switch {
	case m.HeadId == "":
		return fault(ErrBadReply, "no head")
	case m.BaseId != "" && m.BaseId != f.req.AfterId:
		return fault(ErrBadReply, "the base is not what was asked for")
	case m.NotModified && f.req.IfNoneMatch == "":
		return fault(ErrBadReply, "not modified, but nothing was held")
	case m.HasMoreBefore && m.Begin == nil:
		return fault(ErrBadReply, "there is more before nothing")
	}
	if f.verifier == nil {
		return nil
	}
	if id, ok := f.req.Head.GetRef().(*transcriptv1.NodeRef_NodeId); ok && id.NodeId != m.HeadId {
		return fault(ErrVerification, "the head is not the one asked for")
	}
	f.verifier.next, f.verifier.head = m.BaseId, m.HeadId
	f.verifier.view, f.verifier.based = f.req.View, m.BaseId != ""
	f.verifier.part, f.verifier.inner = f.req.LastMessages > 0 || f.req.LastBytes > 0, f.req.Before != nil
	f.verifier.off = m.NotModified
	return nil
}

// end judges a stream that has ended.
func (f *frames) end(ctx context.Context) error {
	if !f.ended {
		return fault(ErrBadReply, "the stream ended early")
	}
	if f.verifier == nil {
		return nil
	}
	if err := f.settle(ctx, true); err != nil {
		return err
	}
	return f.verifier.end()
}

// settle reads the nodes that came repaired as they were put, which is what a full view adds to that of the parent, and
// compares.
func (f *frames) settle(ctx context.Context, end bool) error {
	for _, d := range f.verifier.settled(end) {
		a, err := f.c.Assemble(ctx, ByID(d.id), Query{
			View: transcriptv1.View_VIEW_FULL, After: d.parent, AfterErasures: f.erasures, Verify: true,
		})
		if err != nil {
			return err
		}
		if a.Erasures != f.erasures {
			return mismatch(d.id, "nodes of the namespace were erased meanwhile, so that it cannot be compared: read the view again")
		}
		if a.BaseID != d.parent {
			return mismatch(d.id, "it did not come by itself")
		}
		if err := d.settle(bytes.Join(a.payloads, nil)); err != nil {
			return err
		}
	}
	return nil
}
