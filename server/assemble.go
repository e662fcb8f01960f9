package server

import (
	"context"

	"google.golang.org/grpc/mem"
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
	f, report, err := a.whole(ctx, t.buffers)
	if err != nil {
		return nil, err
	}
	reply.Nodes, reply.Report = f.nodes, a.told(report)
	reply.ProtoReflect().SetUnknown(f.messages)
	if proto.Size(reply) > maxReply {
		return nil, errUseStream
	}
	return reply, nil
}

// whole reads the view into one frame.
func (a *assembly) whole(ctx context.Context, pool mem.BufferPool) (*frame, *report, error) {
	room, err := a.reserve(ctx)
	if err != nil {
		return nil, nil, err
	}
	f := newFrame(pool, room)
	most := int(min(a.totals(a.chain.Head()).Bytes, maxReply))
	into, report := a.filler(func(need int) (*frame, error) {
		if f.size()+need > maxReply {
			return nil, errUseStream
		}
		f.grow(need, most)
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
			return nil, nil, err
		}
	}
	return f, report, nil
}

// reserve tells how much room the view takes, 0 where that is not known before, or that it will not fit before anything of
// it is read.
func (a *assembly) reserve(ctx context.Context) (room int, err error) {
	total := a.totals(a.chain.Head()).Bytes
	switch {
	case a.conversation != nil || total <= maxReply && a.base != nil:
		return 0, nil
	case a.base != nil:
		seen, err := a.baseBytes(ctx)
		if err != nil {
			return 0, err
		}
		total -= seen
	}
	if total > maxReply {
		return 0, errUseStream
	}
	return int(total), nil
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
