package reply

import (
	"context"
	"crypto/x509"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"

	"github.com/transcriptd/transcriptd/server/internal/fair"
)

// connection is a client's connection, and what replies to it hold.
type connection struct {
	net.Conn
	// share is how much the connection may take of the room for replies, batches of that for batches, and own is its alone, for small
	// replies.
	share, batches, own *fair.Semaphore
	// written is how many bytes were written to it; bytes is what replies to it hold.
	written, bytes atomic.Int64
	// known is when somebody who is known called over it last, as long after it was made; 0: nobody did.
	made  time.Time
	known atomic.Int64

	mu sync.Mutex
	// held are the rooms of replies that the client has not taken yet; nil once the connection is closed.
	held map[*Held]struct{}
}

func newConnection(conn net.Conn) *connection {
	return &connection{
		Conn: conn, made: time.Now(), held: map[*Held]struct{}{},
		share: fair.NewSemaphore(ConnectionBytes), batches: fair.NewSemaphore(ConnectionBytes / 2), own: fair.NewSemaphore(OwnBytes),
	}
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
		h.Release()
	}
	return left != nil
}

// add has h released when the connection is closed; false: it is closed.
func (c *connection) add(h *Held) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held == nil {
		return false
	}
	c.held[h] = struct{}{}
	return true
}

func (c *connection) remove(h *Held) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.held, h)
}

// Connections are credentials that remember the connection that a call came over, for connectionOf.
type Connections struct {
	credentials.TransportCredentials
}

// inMemory is a connection from within the process, over which a client's calls come whose handshake was made elsewhere.
type inMemory interface {
	AuthInfo() credentials.AuthInfo
}

func (cs Connections) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	if known, ok := raw.(inMemory); ok {
		c := newConnection(raw)
		return c, connected{known.AuthInfo(), c}, nil
	}
	conn, info, err := cs.TransportCredentials.ServerHandshake(raw)
	if err != nil {
		return nil, nil, err
	}
	c := newConnection(conn)
	return c, connected{info, c}, nil
}

func (cs Connections) Clone() credentials.TransportCredentials {
	return Connections{cs.TransportCredentials.Clone()}
}

// connected is what is known of a caller, with its connection.
type connected struct {
	credentials.AuthInfo
	connection *connection
}

// CertificateOf is the certificate of the client that a call comes from, which is verified and good now; nil: none.
func CertificateOf(ctx context.Context) *x509.Certificate {
	from, ok := peer.FromContext(ctx)
	if !ok {
		return nil
	}
	c, _ := from.AuthInfo.(connected)
	switch info := c.AuthInfo.(type) {
	case interface{ Certificate() *x509.Certificate }:
		return info.Certificate()
	case credentials.TLSInfo:
		if chains := info.State.VerifiedChains; len(chains) > 0 && time.Now().Before(chains[0][0].NotAfter) {
			return chains[0][0]
		}
	}
	return nil
}

// connectionOf is the connection that a call came over; where it is not known, one of the call alone, without a Conn.
func connectionOf(ctx context.Context) *connection {
	if from, ok := peer.FromContext(ctx); ok {
		if c, ok := from.AuthInfo.(connected); ok {
			return c.connection
		}
	}
	return newConnection(nil)
}

// Known notes that somebody who is known calls over the context's connection.
func Known(ctx context.Context) {
	c := connectionOf(ctx)
	c.known.Store(max(1, int64(time.Since(c.made))))
}

// knownFor is for how long a connection is one of those who are known, since one called over it.
const knownFor = time.Minute

// IsKnown tells whether somebody who is known called over the context's connection lately, which strangers may share: that of a proxy.
func IsKnown(ctx context.Context) bool {
	c := connectionOf(ctx)
	at := c.known.Load()
	return at > 0 && int64(time.Since(c.made))-at < int64(knownFor)
}
