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

// newRunning has eight times as many places as there are processors: so many reads that look through little run at once, of callers in
// turns, and the others wait. So a caller with a thousand calls gets no more of the processors than one with a few, and who waits for the
// disk keeps no processor idle.
func newRunning() *fair.Semaphore { return fair.NewSemaphore(8 * int64(runtime.GOMAXPROCS(0))) }

// InTurn runs a call that looks through messages in a place, which it has until it has made its reply: more at once would not end sooner,
// and all other calls would share the processors with each of them. Errors are ErrBusy shortly before the deadline, and that of the
// context.
func (o *Limiter) InTurn(ctx context.Context, req any, next grpc.UnaryHandler) (any, error) {
	if err := enter(ctx, o.Places); err != nil {
		return nil, err
	}
	defer o.Places.Release(1)
	return next(ctx, req)
}

// Turn takes a place among the reads that run, for who gives it back: Running.Release(1). Errors are those of InTurn.
func (o *Limiter) Turn(ctx context.Context) error { return enter(ctx, o.Running) }

// run is InTurn for a read that looks through little. Its place is the call's, who leaves it while it waits for room.
func (o *Limiter) run(ctx context.Context, c *Call, req any, next grpc.UnaryHandler) (any, error) {
	if err := c.enter(ctx, o.Running); err != nil {
		return nil, err
	}
	defer c.leave()
	return next(ctx, req)
}

// enter takes a place among those of running calls.
func (c *Call) enter(ctx context.Context, running *fair.Semaphore) error {
	err := enter(ctx, running)
	if err == nil {
		c.running = running
	}
	return err
}

// leave gives the call's place back, and returns where it was; nil: it had none.
func (c *Call) leave() *fair.Semaphore {
	if c == nil || c.running == nil {
		return nil
	}
	was := c.running
	c.running = nil
	was.Release(1)
	return was
}

func enter(ctx context.Context, places *fair.Semaphore) error {
	if places.TryAcquire(1) {
		return nil
	}
	early, cancel := deadline.Early(ctx)
	defer cancel()
	err := places.Acquire(early, 1)
	if err != nil && ctx.Err() == nil {
		return ErrBusy
	}
	return err
}
