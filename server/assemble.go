package server

import (
	"context"
	"errors"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/chainview"
	"github.com/transcriptd/transcriptd/server/internal/transport"
	"github.com/transcriptd/transcriptd/server/internal/transport/reply"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

// Handlers are those of the methods whose replies have frames, which what is generated knows nothing of.
func (t *transcripts) Handlers() map[string]grpc.MethodHandler {
	return map[string]grpc.MethodHandler{"Assemble": transport.HandlerOf(transcriptv1.TranscriptService_Assemble_FullMethodName, t.assemble)}
}

// assemble lays a view into one reply.
func (t *transcripts) assemble(ctx context.Context, req *transcriptv1.AssembleRequest) (any, error) {
	a, err := chainview.Open(ctx, t.store, req)
	if err != nil {
		return nil, err
	}
	view := &transcriptv1.AssembleResponse{
		HeadId: a.HeadID(), BaseId: a.BaseID(), Etag: a.Etag, NotModified: a.NotModified, Counters: a.Counters(), Erasures: a.Erasures(),
		Report: &transcriptv1.Report{},
	}
	view.Begin, view.HasMoreBefore = a.Begin()
	if a.NotModified {
		return view, nil
	}
	f, report, err := t.whole(ctx, a)
	if errors.Is(err, chainview.ErrLarge) {
		return nil, errUseStream
	}
	if err != nil {
		return nil, err
	}
	view.Nodes, view.Report = f.Nodes, report
	if proto.Size(view)+f.Bytes > wire.MaxReply {
		f.Drop()
		return nil, errUseStream
	}
	return reply.Splice(view, f, nil), nil
}

// whole reads the view into one frame. Error: chainview.ErrLarge beyond wire.MaxReply.
func (t *transcripts) whole(ctx context.Context, a *chainview.Assembly) (*chainview.Frame, *transcriptv1.Report, error) {
	most, exactly, err := a.Expected(ctx, wire.MaxReply)
	if err != nil {
		return nil, nil, err
	}
	mayBeSmall := most <= smallFrame || !exactly && a.Least() <= smallFrame // then mostly it turns out to be
	if c := reply.CallOf(ctx); c != nil && mayBeSmall {
		f := t.replies.Frame(c.Held, most, exactly)
		report, err := a.Lay(ctx, f, smallFrame)
		if !errors.Is(err, chainview.ErrLarge) {
			return f, report, err
		}
	}
	bytes := int64(most) + reply.SmallReply - smallFrame
	if a.Describes() {
		bytes = wire.MaxReply // what is told of nodes is more than small ones have
	}
	h, err := t.replies.Expect(ctx, bytes)
	if err != nil {
		return nil, nil, err
	}
	f := t.replies.Frame(h, most, exactly)
	report, err := a.Lay(ctx, f, wire.MaxReply)
	return f, report, err
}

// smallFrame is the bytes of nodes in a small reply, most of all that there are in one.
const smallFrame = reply.SmallReply - 4<<10
