package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	protobuf "google.golang.org/protobuf/proto"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/heap"
	transcriptd "github.com/transcriptd/transcriptd/server"
)

// limit is a server that transcriptd is held against: the same service as far as a row calls it, the same gRPC, and no more
// work than its kind names.
type limit interface {
	transcriptv1.TranscriptServiceServer
	io.Closer
}

// limits are the kinds, each opened in a folder with the arguments that follow it.
func limits() map[string]func(dir string, args []string) (limit, error) {
	return map[string]func(dir string, args []string) (limit, error){
		"beside":    openBeside,
		"committer": openCommitterLimit,
		"import":    openImportLimit,
		"memory":    openMemory,
		"txn":       openTransactionsLimit,
		"walk":      openWalk,
	}
}

// limitMiB is what transcriptd is to stay within where no flag says otherwise.
const limitMiB = 512

// ServeLimit is the other side of Options.Limit: it serves args[0], a kind, in the folder args[1] until ctx ends, on a free
// port of this machine that it prints as transcriptd does.
func ServeLimit(ctx context.Context, args []string, stderr io.Writer) (err error) {
	if len(args) < 2 {
		return errors.New("a limit needs a kind and a folder")
	}
	open, ok := limits()[args[0]]
	if !ok {
		return fmt.Errorf("there is no limit %q", args[0])
	}
	heap.Limit(limitMiB)
	service, err := open(args[1], args[2:])
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, service.Close()) }()
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	grpcServer := limitServer(service)
	defer context.AfterFunc(ctx, grpcServer.Stop)()
	fmt.Fprintf(stderr, "%s serves gRPC on %s; data in %s\n", args[0], listener.Addr(), args[1])
	return grpcServer.Serve(listener)
}

// limitServer is the gRPC server of a limit: its own where it has one.
func limitServer(service limit) *grpc.Server {
	if own, ok := service.(interface{ server() *grpc.Server }); ok {
		return own.server()
	}
	codec := readyCodec{encoding.GetCodecV2(proto.Name)}
	s := grpc.NewServer(append(transcriptd.Transport(), grpc.ForceServerCodecV2(codec))...)
	transcriptv1.RegisterTranscriptServiceServer(s, service)
	return s
}

// readyCodec is gRPC's codec for protobuf; but what a reply has as bytes, and nothing else, goes out from where it lies.
type readyCodec struct{ encoding.CodecV2 }

func (c readyCodec) Marshal(v any) (mem.BufferSlice, error) {
	if m, ok := v.(protobuf.Message); ok {
		if ready := m.ProtoReflect().GetUnknown(); len(ready) > 0 {
			return mem.BufferSlice{mem.SliceBuffer(ready)}, nil
		}
	}
	return c.CodecV2.Marshal(v)
}
