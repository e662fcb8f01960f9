// Package gateway serves over HTTP what a gRPC server serves: Connect and gRPC-Web, as Vanguard translates them, and JSON with lines or
// server-sent events for streams. A call goes on to the gRPC server over a connection in memory, one for each connection of a client, so that
// all that gRPC does of a call is done of this one too: its head is judged, its request and reply are bounded, it drains, it is counted,
// logged and audited. What comes before that, a body and a reply in JSON, is bounded here.
package gateway

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"time"

	"connectrpc.com/vanguard"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/transcriptd/transcriptd/server/internal/access"
	"github.com/transcriptd/transcriptd/server/internal/transport/receive"
)

const (
	// ownHead is what the way to the gRPC server adds to the headers of a request, at most.
	ownHead = 1 << 10
	// idleFor is how long a connection without a request is kept.
	idleFor = 2 * time.Minute
	// pingAfter is when a client of HTTP/2 that is silent is asked whether it is there, and pingWithin how long it may take to say so.
	pingAfter, pingWithin = 10 * time.Second, 5 * time.Second
)

// Config is what a gateway is told.
type Config struct {
	// Services are served; their calls go to the gRPC server behind Listener.
	Services []protoreflect.ServiceDescriptor
	// Guard knows who calls, by the head alone. The gRPC server asks again, and refuses: here those that are not known cost no more than that.
	Guard access.Guard
	// Certificate is that of a client that speaks TLS so, now; nil: none is asked for.
	Certificate func(*tls.ConnectionState) *x509.Certificate
	// Requests are the room for bodies.
	Requests *receive.ByteQuota
	// Status is an error as the caller may see it.
	Status func(context.Context, error) error
	// Hosts tells whether a Host header names this server.
	Hosts func(header string) bool
	// Origins are those of pages that browsers may let call, such as https://app.example; none: the server's own alone.
	Origins []string
	// MaxHead is the most bytes of a head, MaxStreams how many requests of one connection are under way at once.
	MaxHead, MaxStreams int
	Registerer          prometheus.Registerer
	Log                 *slog.Logger
}

// Gateway serves HTTP. Its methods may run at once.
type Gateway struct {
	inner    *listener
	server   *http.Server
	room     *room
	requests *receive.ByteQuota
}

// New makes a gateway. Error: an origin is none, or a service cannot be translated.
func New(cfg Config) (*Gateway, error) {
	g := &Gateway{inner: newListener(), room: newRoom(), requests: cfg.Requests}
	handler, err := g.handler(&cfg)
	if err != nil {
		return nil, err
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	g.server = &http.Server{
		Handler: handler, Protocols: protocols, ReadHeaderTimeout: headWithin, IdleTimeout: idleFor, MaxHeaderBytes: cfg.MaxHead,
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: cfg.MaxStreams, SendPingTimeout: pingAfter, PingTimeout: pingWithin, WriteByteTimeout: takenWithin,
			MaxReceiveBufferPerStream: 64 << 10, MaxReceiveBufferPerConnection: 1 << 20,
		},
		DisableGeneralOptionsHandler: true,
		ConnContext:                  g.inner.connContext,
		ErrorLog:                     log.New(httpLog{cfg.Log}, "", 0),
	}
	return g, nil
}

// Listener is where a gRPC server is to serve the gateway's calls. Once it is closed no more connections are made to it; those that are there go on.
func (g *Gateway) Listener() net.Listener { return g.inner }

// Serve serves on a listener until Shutdown, by TLS where there is a config. The error is nil after Shutdown.
func (g *Gateway) Serve(l net.Listener, config *tls.Config) error {
	l = outer{l, g.inner, g.requests}
	if config != nil {
		l = tls.NewListener(l, config)
	}
	if err := g.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Shutdown takes no more requests, and waits for those under way until the context ends, when they are ended.
func (g *Gateway) Shutdown(ctx context.Context) error {
	err := g.server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		err = g.server.Close()
	}
	return errors.Join(err, g.inner.Close())
}

// handler is what a request passes, outermost first.
func (g *Gateway) handler(cfg *Config) (http.Handler, error) {
	refusals := newRefusals(cfg.Registerer, cfg.Status)
	calls := &calls{methods: methodsOf(cfg.Services), guard: cfg.Guard, certificate: cfg.Certificate, requests: cfg.Requests, refusals: refusals, maxHead: cfg.MaxHead - ownHead}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = "http", "transcriptd", ""
		},
		Transport:      overLink{},
		FlushInterval:  -1,
		ErrorLog:       log.New(httpLog{cfg.Log}, "", 0),
		ErrorHandler:   refusals.unreachable,
		ModifyResponse: g.room.bound,
	}
	codec := func(types vanguard.TypeResolver) vanguard.Codec { return newJSON(types, refusals) }
	services := make([]*vanguard.Service, 0, len(cfg.Services))
	for _, s := range cfg.Services {
		services = append(services, vanguard.NewServiceWithSchema(s, proxy,
			vanguard.WithTargetProtocols(vanguard.ProtocolGRPC), vanguard.WithTargetCodecs(vanguard.CodecProto),
			vanguard.WithNoTargetCompression(), vanguard.WithMaxMessageBufferBytes(maxMessage)))
	}
	translated, err := vanguard.NewTranscoder(services, vanguard.WithCodec(codec))
	if err != nil {
		return nil, err
	}
	calls.next = translated
	return around(cfg.Hosts, cfg.Origins, refusals, calls)
}

// httpLog logs what net/http says, at debug: it is of handshakes and connections that failed, which anybody can make fail.
type httpLog struct{ log *slog.Logger }

func (l httpLog) Write(line []byte) (int, error) {
	l.log.Debug("HTTP", "error", string(line))
	return len(line), nil
}
