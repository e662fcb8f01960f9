package tests

import (
	"errors"
	"io"
	"net"
	"path"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// moment is a point in the work of an agent: before its call reaches the service, or after the service did what it asks for and before
// the agent is told.
type moment struct {
	call  int // from 1
	after bool
}

// gate passes an agent's calls on to the service, and tells of each moment before it goes on.
type gate struct {
	addr string

	mu    sync.Mutex
	calls []string // the methods, in order
	at    func(moment) (stop bool)
}

var errLost = status.Error(codes.Unavailable, "the connection broke")

// newGate is a gate to a daemon. at is called for each moment, one at a time; if it tells to stop, the call fails as if the
// connection had broken.
func newGate(t *testing.T, daemon func() string, at func(moment) (stop bool)) *gate {
	t.Helper()
	g := &gate{at: at}
	server := grpc.NewServer(grpc.ForceServerCodecV2(bytesCodec{}), grpc.UnknownServiceHandler(func(_ any, in grpc.ServerStream) error {
		return g.pass(in, daemon())
	}))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g.addr = listener.Addr().String()
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(listener)
	}()
	t.Cleanup(func() {
		server.Stop()
		<-served
	})
	return g
}

// pass passes a call on: one request, and replies.
func (g *gate) pass(in grpc.ServerStream, daemon string) error {
	method, _ := grpc.MethodFromServerStream(in)
	var request []byte
	if err := in.RecvMsg(&request); err != nil {
		return err
	}
	n := g.arrived(path.Base(method))
	if g.reached(moment{n, false}) {
		return errLost
	}
	conn, err := grpc.NewClient(daemon, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(bytesCodec{}), grpc.MaxCallRecvMsgSize(64<<20)))
	if err != nil {
		return err
	}
	defer conn.Close()
	sent, _ := metadata.FromIncomingContext(in.Context())
	out, err := conn.NewStream(metadata.NewOutgoingContext(in.Context(), sent), &grpc.StreamDesc{ServerStreams: true}, method)
	if err == nil {
		err = errors.Join(out.SendMsg(&request), out.CloseSend())
	}
	if err != nil {
		return errLost
	}
	for first := true; ; first = false {
		var reply []byte
		err := out.RecvMsg(&reply)
		if first && g.reached(moment{n, true}) {
			return errLost
		}
		if header, headerErr := out.Header(); first && headerErr == nil {
			_ = in.SetHeader(header)
		}
		if err != nil {
			in.SetTrailer(out.Trailer())
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if err := in.SendMsg(&reply); err != nil {
			return err
		}
	}
}

func (g *gate) arrived(method string) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.calls = append(g.calls, method)
	return len(g.calls)
}

func (g *gate) reached(m moment) (stop bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.at != nil && g.at(m)
}

// moments are those at which something can differ: before each call, and after each that writes.
func (g *gate) moments() []moment {
	g.mu.Lock()
	defer g.mu.Unlock()
	var all []moment
	for i, method := range g.calls {
		all = append(all, moment{i + 1, false})
		switch method {
		case "PutNode", "PutNodes", "Alias", "Compact":
			all = append(all, moment{i + 1, true})
		}
	}
	return all
}

// bytesCodec leaves messages as they are: *[]byte.
type bytesCodec struct{}

var _ encoding.CodecV2 = bytesCodec{}

func (bytesCodec) Name() string { return "proto" }

func (bytesCodec) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(*v.(*[]byte))}, nil
}

func (bytesCodec) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}
