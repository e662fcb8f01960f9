package flood

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/turns"
)

// putter is a server whose puts are what a test makes of them.
type putter struct {
	transcriptv1.UnimplementedTranscriptServiceServer
	put func(context.Context, *transcriptv1.PutNodeRequest) (*transcriptv1.PutNodeResponse, error)
}

func (p *putter) PutNode(ctx context.Context, req *transcriptv1.PutNodeRequest) (*transcriptv1.PutNodeResponse, error) {
	return p.put(ctx, req)
}

// against is a flood of a server.
func against(t *testing.T, deadline time.Duration, put func(context.Context, *transcriptv1.PutNodeRequest) (*transcriptv1.PutNodeResponse, error)) (*Flood, *grpc.Server) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := grpc.NewServer(grpc.MaxConcurrentStreams(256))
	transcriptv1.RegisterTranscriptServiceServer(g, &putter{put: put})
	go func() { _ = g.Serve(listener) }() // until it is stopped
	f, err := New(listener.Addr().String(), "some", "", deadline)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		f.Close()
		g.Stop()
	})
	return f, g
}

// What the server gets is what a client of gRPC would send: chains of turns, each put on the node that the last one answered.
func TestPuts(t *testing.T) {
	var wrong atomic.Pointer[transcriptv1.PutNodeRequest]
	turn := proto.Size(&transcriptv1.PutNodeRequest{Messages: turns.Turn(0)})
	f, _ := against(t, time.Second, func(ctx context.Context, req *transcriptv1.PutNodeRequest) (*transcriptv1.PutNodeResponse, error) {
		until, ok := ctx.Deadline()
		last := req.GetParent().GetNodeId()
		call, answered := req.Messages[1].Parts[0].GetToolCall().GetId(), req.Messages[2].GetToolCallId()
		if req.Namespace != "some" || len(req.Messages) != turns.Messages || call != answered || len(req.Salt) != 16 || proto.Size(req) < turn/2 ||
			last != "" && last != string(req.Salt) || !ok || time.Until(until) > 1100*time.Millisecond {
			wrong.Store(req)
		}
		return &transcriptv1.PutNodeResponse{NodeId: string(req.Salt)}, nil // so that a put on another chain is seen
	})
	tally, err := f.Closed(t.Context(), 300, 1500*time.Millisecond)
	if err != nil || wrong.Load() != nil || tally.Begun < 300 || len(tally.Served.Took) == 0 || len(tally.Refused) > 0 {
		t.Errorf("%v, %v, %+v", err, wrong.Load(), tally.Refused)
	}
	if tally.Silent+len(tally.Served.Took) > tally.Begun || len(f.wires) != 2 {
		t.Errorf("%+v, on %d connections", tally, len(f.wires))
	}
}

// Puts of a flood begin whether or not earlier ones have ended, and each that ends is counted once, by how it does.
func TestEndings(t *testing.T) {
	var n atomic.Int64
	refusal, err := status.New(codes.ResourceExhausted, "too much").WithDetails(&errdetails.ErrorInfo{Reason: "OVERLOADED"})
	if err != nil {
		t.Fatal(err)
	}
	f, _ := against(t, 300*time.Millisecond, func(ctx context.Context, _ *transcriptv1.PutNodeRequest) (*transcriptv1.PutNodeResponse, error) {
		switch n.Add(1) % 4 {
		case 0:
			return &transcriptv1.PutNodeResponse{NodeId: "some"}, nil
		case 1:
			return nil, refusal.Err()
		case 2:
			return nil, status.Error(codes.Internal, "no reason")
		default:
			<-ctx.Done() // then gRPC's own reset comes, or nothing
			return nil, ctx.Err()
		}
	})
	tally, err := f.Open(t.Context(), 1000, 500*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	refused, unclear := tally.Refused["ResourceExhausted OVERLOADED"], tally.Refused["Internal"]
	if refused == 0 || unclear == 0 || tally.Unclear != unclear || tally.Silent+tally.Refused["DeadlineExceeded"] == 0 || tally.Unoffered != 0 ||
		tally.Begun < 100 || len(tally.Refused) > 3 {
		t.Errorf("%+v", tally)
	}
	if ended := refused + unclear + tally.Silent + tally.Refused["DeadlineExceeded"] + len(tally.Served.Took); ended > tally.Begun || ended < tally.Begun/2 {
		t.Errorf("%d of %d have ended: %+v", ended, tally.Begun, tally)
	}
}

// A connection that is lost ends the load, whose figures are worth nothing.
func TestLostConnection(t *testing.T) {
	began := make(chan struct{}, 1)
	f, g := against(t, time.Minute, func(ctx context.Context, _ *transcriptv1.PutNodeRequest) (*transcriptv1.PutNodeResponse, error) {
		select {
		case began <- struct{}{}:
		default:
		}
		<-ctx.Done()
		return nil, ctx.Err()
	})
	go func() {
		<-began
		g.Stop()
	}()
	if _, err := f.Closed(t.Context(), 2, time.Hour); err == nil {
		t.Error("no error")
	}
}

// A load ends with its context.
func TestLoadGivenUp(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	f, _ := against(t, 200*time.Millisecond, func(ctx context.Context, _ *transcriptv1.PutNodeRequest) (*transcriptv1.PutNodeResponse, error) {
		cancel()
		<-ctx.Done()
		return nil, ctx.Err()
	})
	if _, err := f.Open(ctx, 100, time.Hour); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
