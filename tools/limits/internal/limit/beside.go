package limit

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/transcriptd/transcriptd/chainstore/badgerstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	transcriptd "github.com/transcriptd/transcriptd/server"
)

// The methods of the echo that is served beside transcriptd's: Record takes a BytesValue, which Echo answers from then on.
const (
	echoService = "transcriptd.limits.Beside"
	Echo        = "/" + echoService + "/Echo"
	Record      = "/" + echoService + "/Record"
)

// beside is transcriptd's own server over a store on disk, made as cmd/transcriptd makes it, with one service more: an echo that
// takes the request of Assemble and answers bytes that it was given. What holds up one holds up the other: the process, its
// collector, its gRPC server and interceptors, its connections.
type beside struct {
	transcriptv1.UnimplementedTranscriptServiceServer
	store *badgerstore.Store
	grpc  *grpc.Server
	reply atomic.Pointer[[]byte]
}

// openBeside opens a store with transcriptd's defaults.
func openBeside(dir string) (service, error) {
	store, err := badgerstore.Open(dir, badgerstore.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	b := &beside{store: store}
	served := transcriptd.New(store, transcriptd.Config{Registerer: prometheus.NewRegistry(), Ungated: []string{echoService}})
	if b.grpc, err = served.GRPC(); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	b.grpc.RegisterService(&grpc.ServiceDesc{
		ServiceName: echoService, HandlerType: (*any)(nil), Methods: []grpc.MethodDesc{
			{MethodName: "Echo", Handler: unary(Echo, b.echo)}, {MethodName: "Record", Handler: unary(Record, b.record)},
		},
	}, b)
	return b, nil
}

// Close closes the store.
func (b *beside) Close() error { return b.store.Close() }

func (b *beside) grpcServer() *grpc.Server { return b.grpc }

func (b *beside) record(_ context.Context, req *wrapperspb.BytesValue) (*emptypb.Empty, error) {
	b.reply.Store(&req.Value)
	return &emptypb.Empty{}, nil
}

// echo answers what was recorded, encoded as transcriptd encodes spliced bytes.
func (b *beside) echo(context.Context, *transcriptv1.AssembleRequest) (*transcriptv1.AssembleResponse, error) {
	ready := b.reply.Load()
	if ready == nil {
		return nil, errors.New("nothing was recorded")
	}
	reply := &transcriptv1.AssembleResponse{}
	reply.ProtoReflect().SetUnknown(*ready)
	return reply, nil
}

// unary is a method as gRPC's generated code has it.
func unary[Q, A any](name string, call func(context.Context, *Q) (*A, error)) grpc.MethodHandler {
	return func(srv any, ctx context.Context, decode func(any) error, interceptor grpc.UnaryServerInterceptor) (any, error) {
		req := new(Q)
		if err := decode(req); err != nil {
			return nil, err
		}
		handle := func(ctx context.Context, req any) (any, error) { return call(ctx, req.(*Q)) }
		return interceptor(ctx, req, &grpc.UnaryServerInfo{Server: srv, FullMethod: name}, handle)
	}
}
