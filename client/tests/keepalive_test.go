package client_test

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/test/bufconn"

	"github.com/transcriptd/transcriptd/chainstore/memstore"
	"github.com/transcriptd/transcriptd/client"
	"github.com/transcriptd/transcriptd/server"
)

// silent is a connection that dies without a word once dead is set: it takes all and gives nothing.
type silent struct {
	net.Conn
	dead   *atomic.Bool
	once   sync.Once
	closed chan struct{}
}

func (c *silent) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.dead.Load() {
		<-c.closed
		return 0, net.ErrClosed
	}
	return n, err
}

func (c *silent) Write(b []byte) (int, error) {
	if c.dead.Load() {
		return len(b), nil
	}
	return c.Conn.Write(b)
}

func (c *silent) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

// wire is a server, and a network to it whose connections can die.
type wire struct {
	listener *bufconn.Listener
	dead     *atomic.Bool
	dials    int
}

func newWire(t *testing.T) *wire {
	w := &wire{listener: bufconn.Listen(1 << 20), dead: new(atomic.Bool)}
	g, err := server.New(memstore.New(memstore.Options{}), server.Config{Version: "test"}).GRPC()
	ok(t, err)
	served := make(chan error, 1)
	go func() { served <- g.Serve(w.listener) }()
	t.Cleanup(func() {
		g.Stop()
		ok(t, <-served)
	})
	return w
}

func (w *wire) client(t *testing.T, dial ...grpc.DialOption) *client.Client {
	dial = append(dial, grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
		w.dials++
		c, err := w.listener.DialContext(ctx)
		return &silent{Conn: c, dead: w.dead, closed: make(chan struct{})}, err
	}))
	c := must(client.Dial("passthrough:///transcriptd", client.WithInsecure(), client.WithDialOptions(dial...)))(t)
	t.Cleanup(func() { ok(t, c.Close()) })
	return c
}

// die kills the connections that there are.
func (w *wire) die() {
	w.dead.Store(true)
	w.dead = new(atomic.Bool)
}

// A connection that dies without a word is given up within 15 s, in the midst of a call and while none is under way, and its calls
// are served by another.
func TestAConnectionThatDiesSilentlyIsGivenUp(t *testing.T) {
	for name, idle := range map[string]time.Duration{"in use": 0, "idle": 5 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWire(t)
				thread := must(w.client(t).Chat(t.Context(), "1", system))(t)
				ok(t, thread.Append(t.Context(), hello))
				w.die()
				time.Sleep(idle) // on the fake clock
				began := time.Now()
				ok(t, thread.Append(t.Context(), answer))
				limit := 16 * time.Second
				if idle > 0 {
					limit = time.Second
				}
				if took := time.Since(began); took > limit || w.dials != 2 {
					t.Errorf("served after %v, by connection %d", took, w.dials)
				}
				shows(t, thread, system, hello, answer)
			})
		})
	}
}

// The server bears the pings of a client, ours and one that asks as often as it may, with and without calls.
func TestTheServerBearsPings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWire(t)
		often := keepalive.ClientParameters{Time: time.Second, Timeout: 5 * time.Second, PermitWithoutStream: true} // gRPC makes it 10 s
		for _, c := range []*client.Client{w.client(t), w.client(t, grpc.WithKeepaliveParams(often))} {
			before := w.dials
			thread := must(c.Chat(t.Context(), "1", system))(t)
			time.Sleep(10 * time.Minute) // on the fake clock
			ok(t, thread.Refresh(t.Context()))
			if w.dials != before+1 {
				t.Errorf("%d connections", w.dials-before)
			}
		}
	})
}
