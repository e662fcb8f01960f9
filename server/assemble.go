package server

import (
	"context"
	"errors"

	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/chainstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// maxReply is the most bytes of a unary reply.
const maxReply = 4<<20 - 64<<10

// Assemble lays a view into one reply.
func (t *transcripts) Assemble(ctx context.Context, req *transcriptv1.AssembleRequest) (*transcriptv1.AssembleResponse, error) {
	a, err := t.open(ctx, req)
	if err != nil {
		return nil, err
	}
	reply := &transcriptv1.AssembleResponse{
		HeadId: a.headID(), BaseId: a.baseID(), Etag: a.etag, NotModified: a.notModified, Counters: a.counters(),
		Report: &transcriptv1.Report{},
	}
	if a.notModified {
		return reply, nil
	}
	f, report, err := a.whole(ctx, t.outgoing)
	if err != nil {
		return nil, err
	}
	reply.Nodes, reply.Report = f.nodes, a.told(report)
	if proto.Size(reply)+f.bytes > maxReply {
		return nil, errUseStream
	}
	return reply, leave(ctx, f)
}

// whole reads the view into one frame.
func (a *assembly) whole(ctx context.Context, out *outgoing) (*frame, *report, error) {
	most, exactly, err := a.expected(ctx)
	if err != nil {
		return nil, nil, err
	}
	if c := callOf(ctx); c != nil && (!exactly || most <= smallFrame) { // mostly it turns out to be small
		f, report, err := a.lay(ctx, &frame{pool: c.held.pool(out.buffers), held: c.held, most: most, exactly: exactly}, smallFrame)
		if !errors.Is(err, errLarge) {
			return f, report, err
		}
	}
	h, err := out.expect(ctx, a.most(most))
	if err != nil {
		return nil, nil, err
	}
	return a.lay(ctx, &frame{pool: h.pool(out.buffers), held: h, most: most, exactly: exactly}, maxReply)
}

// most is how much a reply may have of which so many bytes are messages.
func (a *assembly) most(messages int) int64 {
	if a.detail != transcriptv1.NodeDetail_NODE_DETAIL_UNSPECIFIED {
		return maxReply // what is told of nodes is more than small ones have
	}
	return int64(messages) + smallReply - smallFrame
}

// smallFrame is the bytes of nodes in a small reply, most of all that there are in one.
const smallFrame = smallReply - 4<<10

// errLarge: a frame came to have more than it may. Who reads rows must not wait for room: as long as rows are read, the store keeps
// all that was written since.
var errLarge = errors.New("the reply needs more room")

// lay reads the view into a frame of so many bytes at most: errUseStream beyond maxReply, else errLarge.
func (a *assembly) lay(ctx context.Context, f *frame, most int) (*frame, *report, error) {
	into, report := a.filler(func(need int) (*frame, error) {
		switch size := f.size() + need; {
		case size > maxReply:
			return nil, errUseStream
		case size > most:
			return nil, errLarge
		}
		return f, nil
	})
	for _, span := range a.spans() {
		next := span.From
		err := a.chain.Rows(ctx, span, func(row *chainstore.Row) error {
			next++
			return into.add(ctx, row)
		})
		if err == nil && span.From <= span.Through {
			err = reached(span, next)
		}
		if err != nil {
			f.drop()
			return nil, nil, err
		}
	}
	return f, report, nil
}

// expected tells how many bytes of messages the view has at most, or exactly, or that they will not fit before anything of it
// is read.
func (a *assembly) expected(ctx context.Context) (most int, exactly bool, err error) {
	total := a.totals(a.chain.Head()).Bytes
	switch {
	case a.conversation != nil || total <= maxReply && a.base != nil:
		return int(min(total, maxReply)), false, nil
	case a.base != nil:
		seen, err := a.baseBytes(ctx)
		if err != nil {
			return 0, false, err
		}
		total -= seen
	}
	if total > maxReply {
		return 0, false, errUseStream
	}
	return int(total), true, nil
}

// baseBytes is the size of the view of the base.
func (a *assembly) baseBytes(ctx context.Context) (bytes int64, err error) {
	span := chainstore.Span{From: a.chain.After(), Through: a.chain.After(), HeadersOnly: true}
	err = a.chain.Rows(ctx, span, func(row *chainstore.Row) error {
		h, err := row.Header()
		if err != nil {
			return err
		}
		bytes = a.totals(h).Bytes
		return nil
	})
	return bytes, err
}
