package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/transcriptd/transcriptd/client"
)

// watchdog ends a row that waits for a server which answers nothing any more. Calls have neither a timer nor a deadline of
// its: they are counted, and what waits is looked at now and then.
type watchdog struct {
	// begun counts what was waited for, calls and frames of streams; ended, what is waited for no more. ended <= begun.
	begun, ended atomic.Int64
	// answers counts what came. What is given up since its own deadline passed is waited for no more, but did not come.
	answers atomic.Int64
}

// watch ends the context that it returns, for a cause that says so, once something was waited for for a while in all since
// something came last; 0: never. It watches until end.
func (d *watchdog) watch(ctx context.Context, while time.Duration) (watched context.Context, end func()) {
	watched, cancel := context.WithCancelCause(ctx)
	if while > 0 {
		go d.look(watched, cancel, while)
	}
	return watched, func() { cancel(nil) }
}

func (d *watchdog) look(ctx context.Context, cancel context.CancelCauseFunc, while time.Duration) {
	step := while / 10
	tick := time.NewTicker(max(step, time.Millisecond))
	defer tick.Stop()
	answers, last, waited := int64(0), time.Now(), time.Duration(0)
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			if n := d.answers.Load(); n != answers {
				answers, waited = n, 0
			} else if d.ended.Load() < d.begun.Load() {
				waited += now.Sub(last)
			}
			last = now
			if waited > while+step { // what waits may have begun a step later
				cancel(silent(while))
				return
			}
		}
	}
}

// silent says that nothing was answered for a while, as a call says that had a deadline.
func silent(while time.Duration) error {
	return &client.Error{
		Code: codes.DeadlineExceeded, Reason: client.ErrDeadlineExceeded, Message: fmt.Sprintf("nothing was answered for %s", while),
	}
}

// await counts something that is waited for until the function that it returns is called, when it has come.
func (d *watchdog) await() (came func()) {
	d.begun.Add(1)
	return func() {
		d.heard()
		d.ended.Add(1)
	}
}

// heard counts something that came and that nobody is counted to wait for.
func (d *watchdog) heard() { d.answers.Add(1) }

// end counts what a wait came to. The deadline of the caller's own context is no answer.
func (d *watchdog) end(ctx context.Context, err error) {
	if status.Code(err) != codes.DeadlineExceeded || !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		d.heard()
	}
	d.ended.Add(1)
}

// options make a connection's calls be counted, and their errors be the SDK's.
func (d *watchdog) options() []grpc.DialOption {
	return []grpc.DialOption{grpc.WithUnaryInterceptor(d.unary), grpc.WithStreamInterceptor(d.stream)}
}

func (d *watchdog) unary(
	ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, call grpc.UnaryInvoker, options ...grpc.CallOption,
) error {
	d.begun.Add(1)
	err := call(ctx, method, req, reply, conn, options...)
	d.end(ctx, err)
	return told(err)
}

func (d *watchdog) stream(
	ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, begin grpc.Streamer, options ...grpc.CallOption,
) (grpc.ClientStream, error) {
	d.begun.Add(1)
	stream, err := begin(ctx, desc, conn, method, options...)
	d.end(ctx, err)
	if err != nil {
		return nil, told(err)
	}
	return &watchedStream{stream, ctx, d}, nil
}

// watchedStream counts the frames that are waited for.
type watchedStream struct {
	grpc.ClientStream
	caller context.Context
	dog    *watchdog
}

// RecvMsg receives the next frame.
func (s *watchedStream) RecvMsg(m any) error {
	s.dog.begun.Add(1)
	err := s.ClientStream.RecvMsg(m)
	s.dog.end(s.caller, err)
	return told(err)
}

// told is a call's error as the SDK's; others, and the end of a stream, pass.
func told(err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	return client.Typed(err)
}
