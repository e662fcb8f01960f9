package client

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
)

// Close ends calls under way, by a connection that Dial made, and pauses between attempts.
func TestCloseEndsCalls(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // which nobody serves
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	sent := make(chan struct{}, 1)
	note := func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		sent <- struct{}{}
		return invoke(ctx, method, req, reply, cc, opts...)
	}
	c, err := Dial(l.Addr().String(), WithDialOptions(grpc.WithUnaryInterceptor(note)))
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() {
		_, err := c.Resolve(t.Context(), "a")
		ended <- err
	}()
	<-sent
	for range 2 {
		if err := c.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	if err := <-ended; !errors.Is(err, ErrClosed) {
		t.Errorf("the call under way: %v", err)
	}
	for range c.Frames(t.Context(), ByID("x"), Query{}) {
		_, err = c.Stats(t.Context())
	}
	if !errors.Is(err, ErrClosed) || len(sent) > 0 {
		t.Errorf("a call after that: %v", err)
	}
}

func TestCloseEndsPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, began := New(away(t, time.Hour)), time.Now()
		time.AfterFunc(10*time.Second, func() { _ = c.Close() })
		_, err := c.Resolve(t.Context(), "a")
		e, ok := errors.AsType[*Error](err)
		if took := time.Since(began); !ok || e.Reason != ErrClosed || !e.Retried || took != 10*time.Second {
			t.Errorf("ended after %v: %#v", took, err)
		}
	})
}
