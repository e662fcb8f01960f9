package server

import (
	"context"
	"errors"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/transcriptd/transcriptd/chainstore/memstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/transport/reply"
)

// What a call has of the room for replies comes back where an interceptor outside of the server's answers something else, and where
// the handler of a service without a gate fails.
func TestRoomOfRepliesThatAreNotSent(t *testing.T) {
	s := New(memstore.New(memstore.Options{}), Config{Ungated: []string{"later.Service"}})
	server, err := s.GRPC(grpc.ChainUnaryInterceptor(func(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		made, err := next(ctx, req)
		if _, reads := req.(*transcriptv1.GetNodeRequest); reads {
			made = &transcriptv1.GetNodeResponse{Ancestors: 7}
		}
		return made, err
	}))
	if err != nil {
		t.Fatal(err)
	}
	server.RegisterService(&grpc.ServiceDesc{
		ServiceName: "later.Service", HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{MethodName: "Call", Handler: failing}},
	}, nil)
	conn := serve(t, server)
	client := transcriptv1.NewTranscriptServiceClient(conn)
	put, err := client.PutNode(t.Context(), text(10<<10))
	if err != nil {
		t.Fatal(err)
	}
	free := func(after string) {
		t.Helper()
		if !s.transport.Replies.Small.TryAcquire(reply.SmallBytes) {
			t.Fatalf("%s: room was not given back", after)
		}
		s.transport.Replies.Small.Release(reply.SmallBytes)
	}
	got, err := client.GetNode(t.Context(), &transcriptv1.GetNodeRequest{Node: idRef(put.NodeId)})
	if err != nil || got.Ancestors != 7 {
		t.Fatalf("%v, %v", got, err)
	}
	free("another reply")
	if err := conn.Invoke(t.Context(), "/later.Service/Call", &emptypb.Empty{}, &emptypb.Empty{}); err == nil {
		t.Fatal("the call did not fail")
	}
	free("a failed call without a gate")
}

// failing handles a call as gRPC's generated code does, and fails.
func failing(_ any, ctx context.Context, decode func(any) error, interceptor grpc.UnaryServerInterceptor) (any, error) {
	req := &emptypb.Empty{}
	if err := decode(req); err != nil {
		return nil, err
	}
	return interceptor(ctx, req, &grpc.UnaryServerInfo{FullMethod: "/later.Service/Call"}, func(context.Context, any) (any, error) {
		return nil, errors.New("fails")
	})
}
