package bench

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// What is waited for ends the row once nothing came for the while; time without a call, and calls that come one after the
// other, do not.
func TestWatchdog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const while = 10 * time.Second
		dog := new(watchdog)
		ctx, end := dog.watch(t.Context(), while)
		defer end()
		lasts := func(d time.Duration) {
			t.Helper()
			timer := time.NewTimer(d)
			defer timer.Stop()
			select {
			case <-timer.C:
			case <-ctx.Done():
				t.Fatalf("%v", context.Cause(ctx))
			}
		}
		lasts(time.Hour)
		for range 10 {
			came := dog.await()
			lasts(while)
			came()
		}
		other := dog.await() // one that hangs while others come
		for range 10 {
			came := dog.await()
			lasts(while / 2)
			came()
		}
		other()
		defer dog.await()()
		lasts(while)
		begin := time.Now()
		<-ctx.Done()
		if took := time.Since(begin); took > while/2 {
			t.Errorf("it took %s longer", took)
		}
		if err := context.Cause(ctx); !errors.Is(err, client.ErrDeadlineExceeded) || !strings.Contains(err.Error(), "10s") {
			t.Errorf("%v", err)
		}
	})
}

// Calls that end at their own deadline were answered by nobody: one after the other they end the row, with pauses between them
// too, unless something comes, be it of what is not counted.
func TestWatchdogHearsNoDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const while = 10 * time.Second
		dog := new(watchdog)
		ctx, end := dog.watch(t.Context(), while)
		defer end()
		silence := func(ctx context.Context, _ string, _, _ any, _ *grpc.ClientConn, _ ...grpc.CallOption) error {
			<-ctx.Done()
			return status.FromContextError(ctx.Err()).Err()
		}
		calls := func(n int) {
			for range n {
				own, cancel := context.WithTimeout(ctx, time.Second)
				if err := dog.unary(own, "", nil, nil, nil, silence); !errors.Is(err, client.ErrDeadlineExceeded) && ctx.Err() == nil {
					t.Errorf("%v", err)
				}
				cancel()
				_ = pause(ctx, 100*time.Millisecond)
			}
		}
		for range 20 {
			calls(5)
			dog.heard()
		}
		calls(5)
		_ = pause(ctx, time.Hour) // in which nothing is waited for
		if ctx.Err() != nil {
			t.Fatalf("%v", context.Cause(ctx))
		}
		if begun, ended := dog.begun.Load(), dog.ended.Load(); begun != 105 || ended != begun {
			t.Errorf("%d calls begun, %d ended", begun, ended)
		}
		calls(10)
		if err := context.Cause(ctx); !errors.Is(err, client.ErrDeadlineExceeded) || !strings.Contains(err.Error(), "nothing was answered") {
			t.Errorf("after %s of silence: %v", while, err)
		}
	})
}

// hanging answers nothing: puts never, and of a stream one frame.
type hanging struct {
	transcriptv1.UnimplementedTranscriptServiceServer
}

func (hanging) PutNodes(ctx context.Context, _ *transcriptv1.PutNodesRequest) (*transcriptv1.PutNodesResponse, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (hanging) StreamAssemble(_ *transcriptv1.StreamAssembleRequest, out grpc.ServerStreamingServer[transcriptv1.StreamAssembleResponse]) error {
	if err := out.Send(&transcriptv1.StreamAssembleResponse{}); err != nil {
		return err
	}
	<-out.Context().Done()
	return out.Context().Err()
}

// A row whose server answers nothing ends, whichever calls it makes, and says why.
func TestSilentServerEndsTheRow(t *testing.T) {
	for name, call := range map[string]func(context.Context, *server) error{
		"puts": func(ctx context.Context, s *server) error {
			_, err := s.fill(ctx, "some", 1, 1)
			return err
		},
		"streams": func(ctx context.Context, s *server) error {
			r, err := s.reader()
			if err != nil {
				return err
			}
			return r.stream(ctx, "some")
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, rowEnv(t), hanging{})
			s.e.Timeout = 20 * time.Millisecond
			var e *env
			r := row{9, "calls", func(ctx context.Context, own *env) ([]Figure, error) {
				e, s.e = own, own
				return nil, call(ctx, s)
			}, []claim{{"calls", atLeast(1)}}}
			_, err := s.e.figures(t.Context(), r, 0)
			if !errors.Is(err, client.ErrDeadlineExceeded) || !strings.Contains(err.Error(), "nothing was answered") {
				t.Errorf("%v", err)
			}
			if e.nothingLeft(err) {
				t.Error("a process of the row's own ends the run")
			}
			if e.Remote = "elsewhere"; !e.nothingLeft(err) {
				t.Error("a server elsewhere that is silent does not end the run")
			}
		})
	}
}

// Errors of calls are the SDK's.
func TestCallsErrors(t *testing.T) {
	e := rowEnv(t)
	s := serve(t, e, transcriptv1.UnimplementedTranscriptServiceServer{})
	_, err := s.fill(t.Context(), "some", 1, 1)
	if call, ok := errors.AsType[*client.Error](err); !ok || call.Code != codes.Unimplemented || status.Code(err) != codes.Unimplemented {
		t.Errorf("%v", err)
	}
	r, fault := s.reader()
	if fault != nil {
		t.Fatal(fault)
	}
	if call, ok := errors.AsType[*client.Error](r.stream(t.Context(), "some")); !ok || call.Code != codes.Unimplemented {
		t.Errorf("%v", err)
	}
}
