package gateway

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"sync"
	"time"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/test/bufconn" // a pipe with buffers and deadlines, in spite of its name

	"github.com/transcriptd/transcriptd/server/internal/fair"
	"github.com/transcriptd/transcriptd/server/internal/transport/receive"
)

const (
	// linkIdleFor is how long a link keeps its connection without a call: one takes little time to make, and memory.
	linkIdleFor = 15 * time.Second
	// ownBodies is what small bodies may have that come over one connection.
	ownBodies = 1 << 20
)

// listener is one in memory: it accepts the connections that links dial.
type listener struct {
	conns  chan net.Conn
	closed chan struct{}
	close  func()
}

func newListener() *listener {
	l := &listener{conns: make(chan net.Conn), closed: make(chan struct{})}
	l.close = sync.OnceFunc(func() { close(l.closed) })
	return l
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close has Accept and dials fail. Connections go on.
func (l *listener) Close() error {
	l.close()
	return nil
}

func (l *listener) Addr() net.Addr { return memory{} }

// memory is the address of a listener in memory.
type memory struct{}

func (memory) Network() string { return "memory" }
func (memory) String() string  { return "memory" }

// outer makes a link for each connection of a client.
type outer struct {
	net.Listener
	inner    *listener
	requests *receive.ByteQuota
}

func (o outer) Accept() (net.Conn, error) {
	conn, err := o.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l := &link{inner: o.inner, client: conn.RemoteAddr(), own: fair.NewSemaphore(ownBytes), bodies: o.requests.Own(ownBodies)}
	l.transport = &http.Transport{
		DialContext: l.dial, Protocols: new(http.Protocols), DisableCompression: true, IdleConnTimeout: linkIdleFor,
		// What a client may have over one connection, it has over one in there. It may have no more calls under way than that takes; those that come
		// before its settings wait for these.
		MaxConnsPerHost: 1,
		HTTP2: &http.HTTP2Config{
			StrictMaxConcurrentRequests: true, MaxReceiveBufferPerStream: 64 << 10, MaxReceiveBufferPerConnection: 1 << 20,
		},
	}
	l.transport.Protocols.SetUnencryptedHTTP2(true)
	return &linked{Conn: conn, link: l}, nil
}

// linked is a client's connection, with which its link ends.
type linked struct {
	net.Conn
	link *link
}

func (c *linked) Close() error {
	err := c.Conn.Close()
	c.link.end()
	return err
}

// link goes from a client's connection to the gRPC server: it has a connection there while calls are under way, and some time after.
type link struct {
	inner     *listener
	transport *http.Transport
	client    net.Addr
	// own is what small replies to the client may take, bodies what small bodies of its requests may.
	own    *fair.Semaphore
	bodies *receive.ByteQuota
	// certificate is the client's, by its handshake; nil: it showed none. It is set before the first dial.
	once        sync.Once
	certificate func() *x509.Certificate

	mu    sync.Mutex
	ended bool
	conns map[net.Conn]struct{}
}

// linkKey is the key of the link of a request's connection.
type linkKey struct{}

// connContext gives requests the link of their connection.
func (l *listener) connContext(ctx context.Context, conn net.Conn) context.Context {
	if t, ok := conn.(*tls.Conn); ok {
		conn = t.NetConn()
	}
	if c, ok := conn.(*linked); ok {
		ctx = context.WithValue(ctx, linkKey{}, c.link)
	}
	return ctx
}

func linkOf(ctx context.Context) *link {
	l, _ := ctx.Value(linkKey{}).(*link)
	return l
}

// shows says what certificate the client showed in the handshake of its connection, which is that of each of its requests.
func (l *link) shows(state *tls.ConnectionState, certificate func(*tls.ConnectionState) *x509.Certificate) {
	l.once.Do(func() {
		if state != nil && certificate != nil {
			l.certificate = func() *x509.Certificate { return certificate(state) }
		}
	})
}

// caller is what is known of the client.
func (l *link) caller() caller { return caller{certificate: l.certificate} }

// dial makes a connection to the gRPC server, which knows of it what it would know of the client's.
func (l *link) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far, err := pair(ctx)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	if l.ended {
		l.mu.Unlock()
		return nil, net.ErrClosed
	}
	if l.conns == nil {
		l.conns = map[net.Conn]struct{}{}
	}
	l.conns[near] = struct{}{}
	l.mu.Unlock()
	c := &inside{Conn: near, link: l}
	select {
	case l.inner.conns <- &Conn{Conn: far, client: l.client, info: l.caller()}:
		return c, nil
	case <-l.inner.closed:
		_ = c.Close()
		return nil, receive.ErrDraining
	case <-ctx.Done():
		_ = c.Close()
		return nil, ctx.Err()
	}
}

// pair makes a connection in memory, which holds a little in each direction: both ends begin by writing.
func pair(ctx context.Context) (near, far net.Conn, err error) {
	between := bufconn.Listen(pairBytes)
	accepted := make(chan net.Conn, 1)
	go func() {
		conn, _ := between.Accept() // nil once it is closed
		accepted <- conn
	}()
	defer func() { _ = between.Close() }()
	if near, err = between.DialContext(ctx); err != nil {
		return nil, nil, err
	}
	return near, <-accepted, nil
}

const pairBytes = 32 << 10

// end ends the link's connections, and so the calls of the client, which is gone.
func (l *link) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	for c := range l.conns {
		_ = c.Close()
	}
	l.conns = nil
}

// inside is a link's end of a connection to the gRPC server.
type inside struct {
	net.Conn
	link *link
}

func (c *inside) Close() error {
	err := c.Conn.Close()
	c.link.mu.Lock()
	defer c.link.mu.Unlock()
	delete(c.link.conns, c.Conn)
	return err
}

// Conn is the gRPC server's end of a connection in memory. What is known of the client comes with it, as a value: nothing that a client
// sends says who it is.
type Conn struct {
	net.Conn
	client net.Addr
	info   caller
}

// RemoteAddr is the client's.
func (c *Conn) RemoteAddr() net.Addr { return c.client }

// AuthInfo is what the handshake of the client's connection tells of it: it has been made, if there was one.
func (c *Conn) AuthInfo() credentials.AuthInfo { return c.info }

// caller is what is known of a client by its connection.
type caller struct {
	credentials.CommonAuthInfo
	certificate func() *x509.Certificate
}

func (caller) AuthType() string { return "http" }

// Certificate is the client's that is verified and good now; nil: none.
func (c caller) Certificate() *x509.Certificate {
	if c.certificate == nil {
		return nil
	}
	return c.certificate()
}

// overLink sends a request to the gRPC server over the link of its connection.
type overLink struct{}

func (overLink) RoundTrip(r *http.Request) (*http.Response, error) {
	l := linkOf(r.Context())
	if l == nil {
		return nil, net.ErrClosed
	}
	return l.transport.RoundTrip(r)
}
