package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"

	"google.golang.org/grpc"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// limit is a server that transcriptd is held against: the same service as far as a row calls it, the same gRPC, and no more
// work than its kind names.
type limit interface {
	transcriptv1.TranscriptServiceServer
	io.Closer
}

// limits are the kinds, each opened in a folder with the arguments that follow it.
func limits() map[string]func(dir string, args []string) (limit, error) {
	return map[string]func(dir string, args []string) (limit, error){}
}

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
	service, err := open(args[1], args[2:])
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, service.Close()) }()
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	grpcServer := grpc.NewServer(grpc.MaxRecvMsgSize(8<<20), grpc.WaitForHandlers(true))
	transcriptv1.RegisterTranscriptServiceServer(grpcServer, service)
	defer context.AfterFunc(ctx, grpcServer.Stop)()
	fmt.Fprintf(stderr, "%s serves gRPC on %s; data in %s\n", args[0], listener.Addr(), args[1])
	return grpcServer.Serve(listener)
}
