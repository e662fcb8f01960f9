package transport

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/access"
	"github.com/transcriptd/transcriptd/server/internal/transport/receive"
	"github.com/transcriptd/transcriptd/server/internal/transport/reply"
)

// statusStream is a call's stream that keeps the status with which the call was ended.
type statusStream struct {
	grpc.ServerTransportStream
	status *status.Status
}

func (s *statusStream) WriteStatus(st *status.Status) error {
	s.status = st
	return nil
}

// A request that has come just when its call was ended is refused, within the interceptors, too, as its caller was told, and
// nothing handles it.
func TestRequestsThatComeAsTheyAreEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := func(ctx context.Context, err error) error {
			return status.Error(codes.ResourceExhausted, reply.RequestID(ctx)+err.Error())
		}
		carrying := New(Config{
			Draining: t.Context(), Log: slog.New(slog.DiscardHandler), Guard: access.Anybody{}, Status: told, Overloaded: errors.New("overloaded"),
		})
		r, stream := carrying.Requests.Writes, &statusStream{}
		if _, err := r.Acquire(t.Context(), receive.WritesBytes-receive.MaxRequest); err != nil {
			t.Fatal(err)
		}
		ctx := grpc.NewContextWithServerTransportStream(t.Context(), stream)
		var seen []error
		interceptor := func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			_, err := next(ctx, req)
			seen = append(seen, told(ctx, err))
			return nil, err
		}
		g := &gate{method: access.Find(transcriptv1.TranscriptService_PutNode_FullMethodName), guard: access.Anybody{}, room: r, look: func(context.Context) {}}
		handle := g.unary(func(_ any, ctx context.Context, receive func(any) error, within grpc.UnaryServerInterceptor) (any, error) {
			req := &transcriptv1.PutNodeRequest{}
			if err := receive(req); err != nil {
				return nil, err
			}
			return within(ctx, req, nil, func(context.Context, any) (any, error) { return "handled", nil })
		})
		waiter := make(chan error)
		made, err := handle(nil, ctx, func(req any) error {
			go func() {
				_, err := r.Acquire(t.Context(), receive.MaxRequest)
				waiter <- err
			}()
			<-time.After(receive.Timeout + time.Millisecond)
			req.(*transcriptv1.PutNodeRequest).Namespace = "x"
			return nil
		}, interceptor)
		if err := <-waiter; err != nil {
			t.Fatal(err)
		}
		if made != nil || !errors.Is(err, receive.ErrSlow) || len(seen) != 1 {
			t.Fatalf("%v, %v; the interceptors saw %v", made, err, seen)
		}
		if !proto.Equal(stream.status.Proto(), status.Convert(seen[0]).Proto()) || stream.status.Message() == receive.ErrSlow.Error() {
			t.Errorf("the caller was told %v, the interceptors %v", stream.status, seen[0])
		}
	})
}
