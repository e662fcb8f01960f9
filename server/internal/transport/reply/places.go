package reply

import (
	"context"
	"runtime"

	"golang.org/x/sync/semaphore"
	"google.golang.org/grpc"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/deadline"
)

// newPlaces are as many as there are processors.
func newPlaces() *semaphore.Weighted { return semaphore.NewWeighted(int64(runtime.GOMAXPROCS(0))) }

// looksThrough tells whether calls of a method look through many messages, and take a processor for as long as that takes.
func looksThrough(method string) bool {
	switch method {
	case transcriptv1.TranscriptService_Search_FullMethodName, transcriptv1.TranscriptService_ReplayTools_FullMethodName,
		transcriptv1.TranscriptService_Describe_FullMethodName, transcriptv1.TranscriptService_ListRunLoops_FullMethodName,
		transcriptv1.TranscriptService_RecallToolCall_FullMethodName:
		return true
	default:
		return false
	}
}

// InTurn runs a call that looks through messages in a place, which it has until it has made its reply: more at once would not end sooner,
// and all other calls would share the processors with each of them. It waits first for a place of its connection, so that
// one connection does not keep all others waiting. Errors are ErrBusy shortly before the deadline, and that of the context.
func (o *Limiter) InTurn(ctx context.Context, req any, next grpc.UnaryHandler) (any, error) {
	c := connectionOf(ctx)
	if err := o.enter(ctx, c.places, o.Places); err != nil {
		return nil, err
	}
	defer c.places.Release(1)
	defer o.Places.Release(1)
	return next(ctx, req)
}

// enter takes a place of each.
func (o *Limiter) enter(ctx context.Context, of ...*semaphore.Weighted) error {
	early, cancel := deadline.Early(ctx)
	defer cancel()
	for n, places := range of {
		if places.Acquire(early, 1) == nil {
			continue
		}
		for _, taken := range of[:n] {
			taken.Release(1)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		return ErrBusy
	}
	return nil
}
