package client

import (
	"context"
	"io"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/protoadapt"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// fakeConn answers calls by functions in place of a server.
type fakeConn struct {
	invoke func(ctx context.Context, method string, req any) (proto.Message, error)
	// frames gives the frames of each stream that is opened, and how it ends (nil: well).
	frames  func(ctx context.Context, req any) ([]proto.Message, error)
	invoked int
	opened  int
}

func (f *fakeConn) Invoke(ctx context.Context, method string, req, reply any, _ ...grpc.CallOption) error {
	f.invoked++
	m, err := f.invoke(ctx, method, req)
	if err != nil {
		return err
	}
	return deliver(m, reply)
}

func (f *fakeConn) NewStream(
	ctx context.Context, _ *grpc.StreamDesc, _ string, _ ...grpc.CallOption,
) (grpc.ClientStream, error) {
	f.opened++
	return &fakeStream{ctx: ctx, conn: f}, nil
}

type fakeStream struct {
	ctx    context.Context
	conn   *fakeConn
	frames []proto.Message
	end    error
}

func (s *fakeStream) SendMsg(req any) error {
	s.frames, s.end = s.conn.frames(s.ctx, req)
	return nil
}

func (s *fakeStream) RecvMsg(reply any) error {
	if len(s.frames) > 0 {
		m := s.frames[0]
		s.frames = s.frames[1:]
		return deliver(m, reply)
	}
	if s.end == errHang {
		<-s.ctx.Done()
		return status.FromContextError(s.ctx.Err()).Err()
	}
	if s.end != nil {
		return s.end
	}
	return io.EOF
}

func (s *fakeStream) CloseSend() error             { return nil }
func (s *fakeStream) Context() context.Context     { return s.ctx }
func (s *fakeStream) Header() (metadata.MD, error) { return nil, nil }
func (s *fakeStream) Trailer() metadata.MD         { return nil }

// errHang makes a stream hang until its context ends.
var errHang = status.Error(codes.Unknown, "hang")

// deliver puts a reply where the client receives it.
func deliver(m proto.Message, reply any) error {
	b, err := proto.Marshal(m)
	if err != nil {
		return err
	}
	if raw, ok := reply.(*rawReply); ok {
		raw.bytes = b
		return nil
	}
	return proto.Unmarshal(b, reply.(proto.Message))
}

// refusal is a status as the server makes it.
func refusal(t *testing.T, code codes.Code, reason Reason, details ...protoadapt.MessageV1) error {
	t.Helper()
	info := &errdetails.ErrorInfo{Domain: domain, Reason: reason.Error()}
	s, err := status.New(code, "why").WithDetails(append(details, info)...)
	if err != nil {
		t.Fatal(err)
	}
	return s.Err()
}

// quick repeats without waiting.
func quick(attempts int) Option {
	return WithRetry(Retry{Attempts: attempts, First: time.Microsecond, Max: time.Microsecond})
}

func frame(messages ...*transcriptv1.Message) *transcriptv1.StreamAssembleResponse {
	return &transcriptv1.StreamAssembleResponse{Messages: messages}
}
