package server

import (
	"context"
	"net"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/semaphore"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
)

// connection is a client's connection, and what replies to it hold.
type connection struct {
	net.Conn
	// share is the connection's of the room for replies, and batches of what streams may take of it. waiters are how many of its
	// calls wait for some.
	share, batches *semaphore.Weighted
	waiters        atomic.Int64
	// written is how many bytes were written to it.
	written atomic.Int64

	mu sync.Mutex
	// held are the rooms of replies that the client has not taken yet; nil once the connection is closed.
	held map[*held]struct{}
}

// Write counts what is written: see held.stalls.
func (c *connection) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.written.Add(int64(n))
	return n, err
}

// Close gives back the room of what was not taken: gRPC forgets what it has not begun to send when a connection ends.
func (c *connection) Close() error {
	err := c.Conn.Close()
	c.giveBack()
	return err
}

// cut closes the connection; false: it was closed already.
func (c *connection) cut() bool {
	first := c.giveBack() // before gRPC hears of it, and closes it too
	_ = c.Conn.Close()    // the client's other end tells what there is to tell
	return first
}

// giveBack releases all that is held; false: it was done before.
func (c *connection) giveBack() bool {
	c.mu.Lock()
	left := c.held
	c.held = nil
	c.mu.Unlock()
	for h := range left {
		h.release()
	}
	return left != nil
}

// room and roomForBatches are share and batches; nil where the connection is not known.
func (c *connection) room() *semaphore.Weighted {
	if c == nil {
		return nil
	}
	return c.share
}

func (c *connection) roomForBatches() *semaphore.Weighted {
	if c == nil {
		return nil
	}
	return c.batches
}

// add has h released when the connection is closed; false: it is closed.
func (c *connection) add(h *held) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held == nil {
		return false
	}
	c.held[h] = struct{}{}
	return true
}

func (c *connection) remove(h *held) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.held, h)
}

// connections are credentials that remember the connection that a call came over, for connectionOf.
type connections struct {
	credentials.TransportCredentials
}

func (c connections) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := c.TransportCredentials.ServerHandshake(raw)
	if err != nil {
		return nil, nil, err
	}
	own := &connection{
		Conn: conn, held: map[*held]struct{}{},
		share: semaphore.NewWeighted(connectionBytes), batches: semaphore.NewWeighted(connectionBytes / 2),
	}
	return own, connected{info, own}, nil
}

func (c connections) Clone() credentials.TransportCredentials {
	return connections{c.TransportCredentials.Clone()}
}

// connected is what is known of a caller, with its connection.
type connected struct {
	credentials.AuthInfo
	connection *connection
}

// connectionOf is the connection that a call came over; nil where it is not known.
func connectionOf(ctx context.Context) *connection {
	from, ok := peer.FromContext(ctx)
	if !ok {
		return nil
	}
	c, _ := from.AuthInfo.(connected)
	return c.connection
}
