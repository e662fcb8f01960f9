package server

import (
	"context"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sync/semaphore"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/transcriptd/transcriptd/chainstore/memstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// intakeFor makes an intake with room for n requests of the largest size, all of which is given back in the end.
func intakeFor(t *testing.T, n int64) *intake {
	t.Helper()
	server := New(memstore.New(memstore.Options{}), Config{Logger: slog.New(slog.DiscardHandler)})
	in := server.intake
	in.room = semaphore.NewWeighted(n * maxRequest)
	t.Cleanup(func() {
		if !in.room.TryAcquire(n * maxRequest) {
			t.Error("room was not given back")
		}
	})
	return in
}

// entered begins a write, and tells how long it waited for room.
func entered(t *testing.T, in *intake) <-chan time.Duration {
	t.Helper()
	began, waited := time.Now(), make(chan time.Duration, 1)
	go func() {
		p, err := in.enter(t.Context())
		if err != nil {
			t.Error(err)
			return
		}
		waited <- time.Since(began)
		p.leave()
	}()
	return waited
}

// Who sends nothing holds up others for two seconds, also where requests of others come meanwhile; what it sends in the end
// counts again.
func TestStalledSendersHoldUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := intakeFor(t, 2)
		first, err := in.enter(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(promptly / 2)
		second, err := in.enter(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		waited := entered(t, in)
		<-time.After(promptly / 4)
		if err := second.came(t.Context(), 1); err != nil {
			t.Error(err)
		}
		if got := <-waited; got != promptly/2 { // the first is late then
			t.Errorf("waited for %s", got)
		}
		blocking, err := in.enter(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		came := make(chan error)
		go func() { came <- first.came(t.Context(), maxRequest+1) }()
		synctest.Wait()
		select {
		case err := <-came:
			t.Errorf("a late request found room that another has: %v", err)
		default:
		}
		blocking.leave()
		if err := <-came; err != nil {
			t.Error(err)
		}
		first.leave()
		second.leave()
	})
}

// A server that drains says so, whether or not there is room.
func TestDrainingWinsOverRoom(t *testing.T) {
	c := newCrowd(t, 5)
	if err := c.server.intake.room.Acquire(t.Context(), intakeBytes); err != nil {
		t.Fatal(err)
	}
	c.server.Drain()
	if err := c.put(t.Context(), 0); status.Code(err) != codes.Unavailable {
		t.Errorf("draining: %v", err)
	}
}

// A write that never finds room hears OVERLOADED before its deadline; one whose caller leaves, that it has left.
func TestWritesWithoutRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := intakeFor(t, 1)
		large, err := in.enter(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := large.came(t.Context(), 1<<20); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := in.enter(ctx); status.Code(err) != codes.ResourceExhausted || ctx.Err() != nil {
			t.Errorf("without room: %v, and the context %v", err, ctx.Err())
		}
		ctx, leave := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, leave)
		if _, err := in.enter(ctx); status.Code(err) != codes.Canceled {
			t.Errorf("left: %v", err)
		}
		large.leave()
	})
}

// countingListener is a listener that counts the bytes that come.
type countingListener struct {
	net.Listener
	bytes atomic.Int64
}

func (l *countingListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	return &countedConn{conn, &l.bytes}, err
}

type countedConn struct {
	net.Conn
	bytes *atomic.Int64
}

func (c *countedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.bytes.Add(int64(n))
	return n, err
}

// Over the wire: of a write that waits for room no more comes than gRPC's window; reads do not wait; every kind of write
// does, and goes on once there is room.
func TestWritesAreReceivedAsThereIsRoom(t *testing.T) {
	c := newCrowd(t, 100)
	c.server.intake.room = semaphore.NewWeighted(maxRequest)
	text := func(n int) *transcriptv1.PutNodeRequest {
		return &transcriptv1.PutNodeRequest{Messages: []*transcriptv1.Message{{
			Role:  transcriptv1.Role_ROLE_USER,
			Parts: []*transcriptv1.Part{{Kind: &transcriptv1.Part_Text{Text: strings.Repeat("x", n)}}},
		}}}
	}
	outcomes := make(chan error, 1)
	c.running.Go(func() {
		_, err := c.PutNode(t.Context(), text(1<<20))
		outcomes <- err
	})
	<-c.store.came
	before := c.received.Load()
	calls := c.writes(func(ctx context.Context) error {
		_, err := c.PutNode(ctx, text(2<<20))
		return err
	})
	for name, call := range calls {
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		err := call(ctx)
		cancel()
		if c.refused(err); t.Failed() {
			t.Fatalf("%s was not refused", name)
		}
	}
	if n := c.received.Load() - before; n > streamWindow+16<<10 {
		t.Errorf("%d bytes came of writes that had no room", n)
	}
	if _, err := c.ResolveAlias(t.Context(), &transcriptv1.ResolveAliasRequest{Name: "nobody"}); status.Code(err) != codes.NotFound {
		t.Errorf("a read ended with %v", err)
	}
	if n := c.counted(); n != float64(len(calls)) {
		t.Errorf("%v refusals are counted, not %d", n, len(calls))
	}
	waiting := make(chan error, 1)
	c.running.Go(func() { waiting <- calls["PutNode"](t.Context()) })
	close(c.store.gate)
	for _, outcome := range []<-chan error{outcomes, waiting} {
		if err := <-outcome; err != nil {
			t.Errorf("with room: %v", err)
		}
	}
	c.empties()
	if !c.server.intake.room.TryAcquire(maxRequest) {
		t.Error("room was not given back")
	}
}
