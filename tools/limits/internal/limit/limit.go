// Package limit has the servers that transcriptd is held against: the same service, as far as it is called, with transcriptd's
// gRPC options, and no more work than each kind names.
package limit

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

// The kinds of limits.
const (
	Canned    = "canned"    // answers a read of transcriptd's from memory, and puts with nothing
	Walk      = "walk"      // a row for each node under its id; a read follows parents
	Committer = "committer" // makes payloads durable, all that wait in one transaction
	Importing = "import"    // the same, with what an import asks for besides
	Beside    = "beside"    // transcriptd itself, with an echo beside its services
)

// service is a limit, open in a folder.
type service interface {
	transcriptv1.TranscriptServiceServer
	io.Closer
}

// open opens a limit of a kind in a folder, with its arguments.
func open(ctx context.Context, kind, dir string, args []string) (service, error) {
	switch kind {
	case Canned:
		return openCanned(ctx, args)
	case Walk:
		return openWalk(dir)
	case Committer:
		return openPuts(dir)
	case Importing:
		return OpenImport(dir)
	case Beside:
		return openBeside(dir)
	default:
		return nil, fmt.Errorf("there is no limit %q", kind)
	}
}

// memoryMiB is what transcriptd is to stay within where no flag says otherwise.
const memoryMiB = 512

// Serve serves a limit until ctx ends: args are its kind, its folder and its own arguments. It announces itself as transcriptd
// does.
func Serve(ctx context.Context, args []string, stderr io.Writer) (err error) {
	if len(args) < 2 {
		return errors.New("a limit needs a kind and a folder")
	}
	heap.Limit(memoryMiB)
	s, err := open(ctx, args[0], args[1], args[2:])
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	listener, err := listen(ctx)
	if err != nil {
		return err
	}
	g := grpcServer(s)
	defer context.AfterFunc(ctx, g.Stop)()
	fmt.Fprintf(stderr, "%s serves gRPC on %s; data in %s\n", args[0], listener.Addr(), args[1])
	return g.Serve(listener)
}

func listen(ctx context.Context) (net.Listener, error) {
	return new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
}

// grpcServer is the gRPC server of a limit: its own where it has one.
func grpcServer(s service) *grpc.Server {
	if own, ok := s.(interface{ grpcServer() *grpc.Server }); ok {
		return own.grpcServer()
	}
	g := grpc.NewServer(append(transcriptd.Transport(), grpc.ForceServerCodecV2(codec{encoding.GetCodecV2(proto.Name)}))...)
	transcriptv1.RegisterTranscriptServiceServer(g, s)
	return g
}

// codec is gRPC's for protobuf; but what a reply has as bytes, and nothing else, goes out from where it lies.
type codec struct{ encoding.CodecV2 }

func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	if m, ok := v.(protobuf.Message); ok {
		if ready := m.ProtoReflect().GetUnknown(); len(ready) > 0 {
			return mem.BufferSlice{mem.SliceBuffer(ready)}, nil
		}
	}
	return c.CodecV2.Marshal(v)
}
