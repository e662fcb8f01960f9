package reply

import (
	"context"
	"runtime"

	"google.golang.org/grpc"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/deadline"
	"github.com/transcriptd/transcriptd/server/internal/fair"
)

// newPlaces are as many as there are processors.
func newPlaces() *fair.Semaphore { return fair.NewSemaphore(int64(runtime.GOMAXPROCS(0))) }

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
// and all other calls would share the processors with each of them. Errors are ErrBusy shortly before the deadline, and that of the
// context.
func (o *Limiter) InTurn(ctx context.Context, req any, next grpc.UnaryHandler) (any, error) {
	early, cancel := deadline.Early(ctx)
	defer cancel()
	if err := o.Places.Acquire(early, 1); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, ErrBusy
	}
	defer o.Places.Release(1)
	return next(ctx, req)
}
