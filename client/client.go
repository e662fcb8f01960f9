package client

import (
	"context"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/transcriptd/transcriptd/client/internal/security"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// Client calls a transcriptd on behalf of one namespace. All its methods may run at once.
type Client struct {
	conn    grpc.ClientConnInterface
	closer  io.Closer
	rpc     transcriptv1.TranscriptServiceClient
	admin   transcriptv1.AdminServiceClient
	options options
	cache   *cache
	// info is what the server said that it is; nil until it was asked.
	info atomic.Pointer[transcriptv1.ServerInfoResponse]
	// unsure are what began threads, and compactions, that may have taken place.
	unsure ledger
	// closed is done from when Close is called, which calls end.
	closed context.Context
	end    context.CancelFunc
}

// options is what New and Dial were given.
type options struct {
	namespace      string
	deadline, idle time.Duration
	retry          Retry
	verify         bool
	deterministic  bool
	cacheBytes     int64
	credentials    credentials.TransportCredentials
	insecure       bool
	files          security.Files
	token          func(context.Context) (string, error)
	tokenFile      bool // token is of a file
	dial           []grpc.DialOption
}

// Option changes how a Client works.
type Option func(*options)

// WithNamespace sets the namespace of every call: [a-z0-9._-], 1 to 64 characters; "default" without.
func WithNamespace(name string) Option { return func(o *options) { o.namespace = name } }

// WithDeadline sets how long a call may take, repeats included, where the caller's context has no deadline; 30 s without. It
// never shortens the caller's. 0: no deadline; then a call is repeated until the pauses between its attempts come to a minute.
func WithDeadline(d time.Duration) Option { return func(o *options) { o.deadline = d } }

// WithIdle sets how long a stream may go without a frame; 30 s without. The stream as a whole may take any time that
// the caller's context allows. 0: any time passes between frames too.
func WithIdle(d time.Duration) Option { return func(o *options) { o.idle = d } }

// WithRetry sets how calls are repeated that may be; without: the zero Retry.
func WithRetry(r Retry) Option { return func(o *options) { o.retry = r } }

// WithVerification recomputes the ids of whatever is put and assembled; see Query.Verify.
func WithVerification() Option { return func(o *options) { o.verify = true } }

// Deterministic leaves out the salts of appends: equal appends below one node are one node, and ids are those of their content. Of
// writers that put the same at once, one whose reply was lost may then take another's node for its own.
func Deterministic() Option { return func(o *options) { o.deterministic = true } }

// WithCacheBytes bounds what the Client's threads keep of what they assembled, all of them together; 64 MiB without,
// 0: nothing is kept. A view that is larger by itself is not kept.
func WithCacheBytes(n int64) Option { return func(o *options) { o.cacheBytes = n } }

// WithTLS makes Dial use these credentials; credentials.NewTLS(nil) trust whom the system trusts.
func WithTLS(c credentials.TransportCredentials) Option {
	return func(o *options) { o.credentials, o.insecure = c, false }
}

// WithInsecure makes Dial speak plain text to other machines too, and show them tokens so.
func WithInsecure() Option {
	return func(o *options) { o.credentials, o.insecure = insecure.NewCredentials(), true }
}

// WithCA makes Dial speak TLS, and trust servers whose certificates are signed by one in this file, in PEM, and no others. The file is read
// for each new connection; where it cannot be used then, what was read last is.
func WithCA(file string) Option { return func(o *options) { o.files.CA = file } }

// WithClientCertificate makes Dial speak TLS, and show the certificate of these files, in PEM. They are read for each new connection, as
// WithCA's is. Without WithCA servers are trusted whom the system trusts.
func WithClientCertificate(cert, key string) Option {
	return func(o *options) { o.files.Cert, o.files.Key = cert, key }
}

// WithToken makes Dial show a token with each call, that which the function gives; it is asked for each attempt, maybe by many at once, and
// its error is that of the call, which is not sent. Tokens do not go in plain text to another machine, unless WithInsecure is given.
func WithToken(token func(context.Context) (string, error)) Option {
	return func(o *options) { o.token, o.tokenFile = token, false }
}

// WithTokenFile is WithToken with what a file holds, but for blanks around it. The file is looked at again once a second at most, as calls
// are made; while there is no token in it, the last one goes on being shown. Dial fails where there is none at first.
func WithTokenFile(name string) Option {
	return func(o *options) { o.token, o.tokenFile = (&security.TokenFile{Name: name}).Token, true }
}

// WithDialOptions gives Dial further options for the connection. Options that make gRPC itself repeat calls break the
// promises of this package.
func WithDialOptions(d ...grpc.DialOption) Option {
	return func(o *options) { o.dial = append(o.dial, d...) }
}

func newOptions(opts []Option) options {
	o := options{
		deadline:   30 * time.Second,
		idle:       30 * time.Second,
		cacheBytes: 64 << 20,
	}
	for _, opt := range opts {
		opt(&o)
	}
	return o
}

// Dial makes a Client for a server at a gRPC target, such as "127.0.0.1:7420". It does not connect: the first call does.
// Loopback and unix sockets are spoken to in plain text; anything else needs WithTLS, WithCA, WithClientCertificate or WithInsecure, else
// ErrInsecure. Close ends the connection.
func Dial(target string, opts ...Option) (*Client, error) {
	o := newOptions(opts)
	conn, err := o.connect(target)
	if err != nil {
		return nil, err
	}
	c := newClient(conn, o)
	c.closer = conn
	return c, nil
}

// Connect makes the connection that Dial would, for who makes calls with the generated code too. Its errors are those of Dial.
func Connect(target string, opts ...Option) (*grpc.ClientConn, error) {
	o := newOptions(opts)
	return o.connect(target)
}

func (o *options) connect(target string) (*grpc.ClientConn, error) {
	if !addressed(target) {
		return nil, fault(ErrBadTarget, "the target must be HOST:PORT, such as 127.0.0.1:7420, or unix:///PATH, of what serves gRPC")
	}
	secured, err := o.secured(target)
	if err != nil {
		return nil, err
	}
	conn, err := grpc.NewClient(target, append(append(DialOptions(), secured...), o.dial...)...)
	if err != nil {
		return nil, fault(ErrBadTarget, err.Error())
	}
	return conn, nil
}

// secured is what a connection to a target is made with, so that neither transcripts nor tokens go in plain text to another machine.
func (o *options) secured(target string) ([]grpc.DialOption, error) {
	local, by := loopback(target), o.credentials
	switch {
	case by != nil && o.files != security.Files{}:
		return nil, fault(ErrBadTarget, "WithCA and WithClientCertificate exclude WithTLS and WithInsecure")
	case by != nil:
	case o.files != security.Files{}:
		var err error
		if by, err = o.files.Credentials(); err != nil {
			return nil, fault(ErrBadTarget, err.Error())
		}
	case local:
		by = insecure.NewCredentials()
	default:
		return nil, fault(ErrInsecure, "")
	}
	dial := []grpc.DialOption{grpc.WithTransportCredentials(by)}
	if o.token == nil {
		return dial, nil
	}
	if o.tokenFile {
		if _, err := o.token(context.Background()); err != nil {
			return nil, fault(ErrBadTarget, err.Error())
		}
	}
	return append(dial, grpc.WithPerRPCCredentials(security.Bearer{Token: o.token, Secure: !local && !o.insecure})), nil
}

// window is how much of a reply may be under way unread, for each stream: as much as Assemble replies at most. gRPC's own windows
// begin with 64 KiB and grow, from round trip to round trip, to 16 MiB: the first reply of a connection would take half a dozen of
// them. With this one a stream gets 4 MiB a round trip from the start and no more.
const window = 4 << 20

// DialOptions are the options that Dial makes connections with, but for credentials: for who makes a connection for New by other means than
// Connect.
func DialOptions() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithDisableServiceConfig(), // a resolver's config could repeat what may not be
		grpc.WithDisableRetry(),
		grpc.WithConnectParams(reconnect()),
		// A connection that is dead is given up after 15 s, also one that nobody uses, so that the next call finds a live one.
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 10 * time.Second, Timeout: 5 * time.Second, PermitWithoutStream: true}),
		grpc.WithStaticStreamWindowSize(window),
		grpc.WithStaticConnWindowSize(window),
	}
}

// reconnect tries again within a second: gRPC's own pauses grow to two minutes, for which a server that is back would
// seem to be gone.
func reconnect() grpc.ConnectParams {
	return grpc.ConnectParams{
		Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second},
		MinConnectTimeout: 5 * time.Second,
	}
}

// New makes a Client that uses a connection which stays the caller's. Options for dialling have no effect. gRPC must
// not repeat calls on it by itself: see DialOptions.
func New(conn grpc.ClientConnInterface, opts ...Option) *Client {
	return newClient(conn, newOptions(opts))
}

func newClient(conn grpc.ClientConnInterface, o options) *Client {
	c := &Client{
		conn:    conn,
		rpc:     transcriptv1.NewTranscriptServiceClient(conn),
		admin:   transcriptv1.NewAdminServiceClient(conn),
		options: o,
		cache:   newCache(o.cacheBytes),
	}
	c.closed, c.end = context.WithCancel(context.Background())
	return c
}

// In is a Client of another namespace, "" for the default one, with the same options on the same connection, which ends as that of c does.
func (c *Client) In(namespace string) *Client {
	o := c.options
	o.namespace = namespace
	return newClient(c.conn, o)
}

// Close ends the connection if Dial made it, and with it calls under way. They, and all calls from then on, fail with ErrClosed.
// Closing again does nothing; the error is always nil.
func (c *Client) Close() error {
	c.end()
	if c.closer != nil {
		// What it can say is that it was closed before.
		_ = c.closer.Close()
	}
	return nil
}

// bounded gives the context a deadline where it has none, and the client has one.
func (c *Client) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok || c.options.deadline <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, c.options.deadline)
}

// unary is the generated method of an rpc.
type unary[Req, Res any] func(context.Context, *Req, ...grpc.CallOption) (*Res, error)

// call sends a request until it succeeds, fails for good or may not be sent again, and tells whether an attempt that failed
// may have taken place.
func call[Req, Res any](
	ctx context.Context, c *Client, may func(error) bool, rpc unary[Req, Res], req *Req,
) (res *Res, unsure bool, err error) {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	unsure, err = c.run(ctx, may, func() (err error) {
		res, err = attempt(ctx, c, rpc, req)
		return err
	})
	if err != nil {
		return nil, unsure, c.explained(ctx, err, req)
	}
	return res, unsure, nil
}

// attempt sends a request once. On a connection of gRPC's own it knows of one that was not sent: no peer got it. Nor does gRPC tell the
// peer of a reply that came twice, which is Internal.
func attempt[Req, Res any](ctx context.Context, c *Client, rpc unary[Req, Res], req *Req) (*Res, error) {
	if _, ok := c.conn.(*grpc.ClientConn); !ok {
		res, err := rpc(ctx, req)
		return res, of(err)
	}
	var p peer.Peer
	res, err := rpc(ctx, req, grpc.Peer(&p))
	if err != nil && p.Addr == nil && status.Code(err) != codes.Internal {
		return res, undone(of(err))
	}
	return res, of(err)
}

// read is call for what only reads.
func read[Req, Res any](ctx context.Context, c *Client, rpc unary[Req, Res], req *Req) (*Res, error) {
	res, _, err := call(ctx, c, transient, rpc, req)
	return res, err
}

// addressed tells whether a target is no URL, and names its port where it is a host: gRPC would take 443.
func addressed(target string) bool {
	if scheme, rest, ok := strings.Cut(target, ":"); ok {
		switch scheme {
		case "http", "https":
			return false
		case "dns":
			target = rest[strings.LastIndexByte(rest, '/')+1:]
		}
	}
	if strings.Contains(target, "/") { // of another scheme
		return true
	}
	_, port, err := net.SplitHostPort(target)
	return err == nil && port != ""
}

// loopback tells whether a target is surely on this machine.
func loopback(target string) bool {
	if scheme, rest, ok := strings.Cut(target, ":"); ok {
		switch scheme {
		case "unix", "unix-abstract":
			return true
		case "dns", "passthrough":
			target = rest[strings.LastIndexByte(rest, '/')+1:]
		}
	}
	host, _, err := net.SplitHostPort(target)
	if err != nil {
		host = strings.Trim(target, "[]")
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
