package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
)

var (
	// errStopped: the consumer of a stream wants no more.
	errStopped = errors.New("stopped")
	// errIdle is why a stream without frames ends.
	errIdle = errors.New("no frame in time")
)

// opener opens a stream.
type opener func(context.Context) (grpc.ClientStream, error)

// streamOnce yields a stream's frames; until the first came, it opens it again where the server is unavailable.
func streamOnce[T any](ctx context.Context, c *Client, open opener, yield func(*T) bool) error {
	begun := false
	may := func(err error) bool { return !begun && transient(err) }
	_, err := c.run(ctx, may, func() error {
		return receive(ctx, c, open, func(frame *T) error {
			begun = true
			if !yield(frame) {
				return errStopped
			}
			return nil
		})
	})
	return err
}

// receive opens a stream and gives each frame away until the stream ends, which is no error, or each fails. It leaves
// nothing running. No frame for the client's idle time is DEADLINE_EXCEEDED; time spent in each does not count.
func receive[T any](ctx context.Context, c *Client, open opener, each func(*T) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	idle := c.options.idle
	if idle <= 0 {
		idle = math.MaxInt64
	}
	timer := time.AfterFunc(idle, func() { cancel(errIdle) })
	defer timer.Stop()
	s, err := open(ctx)
	if err != nil {
		return c.streamError(ctx, err)
	}
	for {
		frame := new(T)
		if err := s.RecvMsg(frame); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return c.streamError(ctx, err)
		}
		timer.Stop()
		if err := each(frame); err != nil {
			return err
		}
		timer.Reset(idle)
	}
}

// streamError is a stream's error as an *Error.
func (c *Client) streamError(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), errIdle) {
		message := fmt.Sprintf("no frame for %v", c.options.idle)
		return &Error{Code: codes.DeadlineExceeded, Reason: ErrDeadlineExceeded, Message: message}
	}
	return of(err)
}
