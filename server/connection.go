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
	// share is the connection's of the room for replies, and ahead of what may be taken to read ahead. waiters are how many of its
	// calls wait for some.
	share, ahead *semaphore.Weighted
	waiters      atomic.Int64

	mu sync.Mutex
	// held are the rooms of replies that the client has not taken yet; nil once the connection is closed.
	held map[*held]struct{}
}

// Close gives back the room of what was not taken: gRPC forgets what it has not begun to send when a connection ends.
func (c *connection) Close() error {
	err := c.Conn.Close()
	c.giveBack()
	return err
}

// cut closes the connection; false: it was closed already.
func (c *connection) cut() bool {
	_ = c.Conn.Close() // the client's other end tells what there is to tell
	return c.giveBack()
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

// room and roomAhead are share and ahead; nil where the connection is not known.
func (c *connection) room() *semaphore.Weighted {
	if c == nil {
		return nil
	}
	return c.share
}

func (c *connection) roomAhead() *semaphore.Weighted {
	if c == nil {
		return nil
	}
	return c.ahead
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
		share: semaphore.NewWeighted(connectionBytes), ahead: semaphore.NewWeighted(connectionBytes / 2),
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
