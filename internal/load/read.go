package load

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/emptypb"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// read reads a chain whole. Its messages stay bytes: decoding them would be measured with it.
func (l *Load) read(ctx context.Context, c *calls, conn *grpc.ClientConn, head string) bool {
	ref := &transcriptv1.NodeRef{Ref: &transcriptv1.NodeRef_NodeId{NodeId: head}}
	return l.measure(ctx, c, func(ctx context.Context) (int, error) {
		if l.Mode == Assemble {
			return assemble(ctx, conn, &transcriptv1.AssembleRequest{Namespace: l.Namespace, Head: ref})
		}
		return stream(ctx, conn, &transcriptv1.StreamAssembleRequest{Namespace: l.Namespace, Head: ref})
	})
}

// assemble tells the bytes of a reply.
func assemble(ctx context.Context, conn *grpc.ClientConn, req *transcriptv1.AssembleRequest) (int, error) {
	reply := new(emptypb.Empty)
	err := conn.Invoke(ctx, transcriptv1.TranscriptService_Assemble_FullMethodName, req, reply, grpc.MaxCallRecvMsgSize(maxReply))
	return len(reply.ProtoReflect().GetUnknown()), err
}

// maxReply is more than any reply or frame has.
const maxReply = 16 << 20

// stream tells the bytes of all frames.
func stream(ctx context.Context, conn *grpc.ClientConn, req *transcriptv1.StreamAssembleRequest) (n int, err error) {
	s, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, transcriptv1.TranscriptService_StreamAssemble_FullMethodName,
		grpc.MaxCallRecvMsgSize(maxReply))
	if err != nil {
		return 0, err
	}
	if err := errors.Join(s.SendMsg(req), s.CloseSend()); err != nil && !errors.Is(err, io.EOF) { // io.EOF: RecvMsg tells why
		return 0, err
	}
	frame := new(emptypb.Empty)
	for {
		switch err := s.RecvMsg(frame); {
		case errors.Is(err, io.EOF):
			return n, nil
		case err != nil:
			return n, err
		}
		n += len(frame.ProtoReflect().GetUnknown())
	}
}
