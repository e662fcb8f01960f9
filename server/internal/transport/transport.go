// Package transport carries calls between gRPC and their handlers: it admits them, receives their requests, asks who they are and what
// they may, logs and counts them, and bounds what their replies hold. It knows no store.
package transport

import (
	"context"
	"log/slog"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"

	"github.com/transcriptd/transcriptd/internal/audit"
	"github.com/transcriptd/transcriptd/server/internal/access"
	"github.com/transcriptd/transcriptd/server/internal/fair"
	"github.com/transcriptd/transcriptd/server/internal/transport/metrics"
	"github.com/transcriptd/transcriptd/server/internal/transport/receive"
	"github.com/transcriptd/transcriptd/server/internal/transport/reply"
)

const (
	// maxReceived is the most that is received at all: between the two a request is refused as LIMIT_EXCEEDED, above it
	// gRPC refuses it by itself, as RESOURCE_EXHAUSTED and without a reason.
	maxReceived = 8 << 20
	// MaxHead is the most bytes of a call's head, as HTTP/2 counts them (RFC 9113, 6.5.2); gRPC clients are told, and refuse a
	// call with a larger one themselves.
	MaxHead = 16 << 10
	// MaxStreams is the most calls of one connection that are under way at once; further ones wait at the client.
	MaxStreams = 256
	// StreamWindow is how much of a request comes before a handler receives it, gRPC's least; then all of it may come, a round
	// trip later. connectionWindow is how much of all of a connection's requests may be on their way.
	StreamWindow, connectionWindow = 64 << 10, 4 << 20
	// beginWithin is how long a client may take to begin HTTP/2 once it has connected. A server that stops waits for those that have not.
	beginWithin = 5 * time.Second
)

// keptAlive: calls of clients that are gone without a word, and may have no deadline, wait no longer than this.
func keptAlive() keepalive.ServerParameters {
	return keepalive.ServerParameters{Time: 10 * time.Second, Timeout: 5 * time.Second}
}

// maxAge is after what time a client of TLS is told to connect anew, so that both show the certificates that they have by now. Calls
// under way go on.
const maxAge = 10 * time.Minute

// Config is what a transport is told.
type Config struct {
	// Draining is done from when on no more calls are taken.
	Draining   context.Context
	Log        *slog.Logger
	Registerer prometheus.Registerer
	Tracer     trace.TracerProvider
	Guard      access.Guard
	// Status is an error as the caller may see it; a status stays as it is.
	Status func(context.Context, error) error
	// Ungated are services, by full name, that are served though they were registered without a gate.
	Ungated []string
	// Overloaded is the status of a write that is refused by its request headers.
	Overloaded error
	// Credentials speak TLS; nil: plain text is spoken.
	Credentials credentials.TransportCredentials
	// Audit is told of calls; nil: none is.
	Audit *audit.Log
}

// Transport carries calls: it has what bounds them, and the interceptors around their handlers.
type Transport struct {
	draining context.Context
	log      *slog.Logger
	tracer   trace.TracerProvider
	Guard    access.Guard
	ungated  []string
	// Status is an error as the caller may see it.
	Status    func(context.Context, error) error
	tls       credentials.TransportCredentials // nil: plain text
	metrics   *metrics.Calls
	callers   *prometheus.CounterVec
	strangers *strangers
	// rates are those of principals that have one, overRate counts what they are refused.
	rates     *fair.Rates
	overRate  *prometheus.CounterVec
	audit     *auditor // nil: none
	Admission *admission
	Requests  *receive.Limiter
	Replies   *reply.Limiter
	watchers  watchers
}

func New(cfg Config) *Transport {
	t := &Transport{
		draining: cfg.Draining, log: cfg.Log, tracer: cfg.Tracer, Guard: cfg.Guard, ungated: cfg.Ungated, Status: cfg.Status, tls: cfg.Credentials,
		metrics:   metrics.NewCalls(cfg.Registerer, cfg.Log),
		callers:   metrics.NewCallers(cfg.Registerer, cfg.Log),
		strangers: newStrangers(metrics.NewStrangers(cfg.Registerer, cfg.Log), cfg.Status, cfg.Log),
		rates:     fair.NewRates(), overRate: metrics.NewOverRate(cfg.Registerer, cfg.Log),
		Admission: newAdmission(cfg.Draining, metrics.NewRefused(cfg.Registerer, cfg.Log), cfg.Overloaded, cfg.Log),
		Requests:  receive.NewLimiter(cfg.Draining, metrics.NewRequests(cfg.Registerer, cfg.Log), cfg.Status),
		Replies:   reply.NewLimiter(reply.NewBuffers(), metrics.NewReplies(cfg.Registerer, cfg.Log), cfg.Log),
		watchers:  newWatchers(),
	}
	if cfg.Audit != nil {
		t.audit = &auditor{log: cfg.Audit, status: cfg.Status}
	}
	return t
}

// Serve makes a gRPC server of what register registers, with all interceptors in place. Error: a method has no row in the table of
// methods, or a wrong one.
func (t *Transport) Serve(register func(reflection.GRPCServer), extra ...grpc.ServerOption) (*grpc.Server, error) {
	unary, stream := t.chains()
	options := append(append(Options(), t.connections()...), extra...)
	if t.tracer != nil {
		options = append(options, grpc.StatsHandler(tracing{otelgrpc.NewServerHandler(otelgrpc.WithTracerProvider(t.tracer))}))
	}
	server := grpc.NewServer(append(options,
		grpc.InTapHandle(t.head),
		grpc.ForceServerCodecV2(reply.NewCodec(t.Requests.Requests, t.Replies.Buffers, t.log)),
		grpc.ChainUnaryInterceptor(unary...),
		grpc.ChainStreamInterceptor(stream...),
	)...)
	services := &registrar{Server: server, requests: t.Requests, guard: t.Guard, log: t.log, gated: map[string]bool{}}
	register(services)
	if err := services.check(); err != nil {
		return nil, err
	}
	t.metrics.Prepare(server)
	return server, nil
}

// connections are the options of connections, in plain text or by TLS.
func (t *Transport) connections() []grpc.ServerOption {
	if t.tls == nil {
		return []grpc.ServerOption{grpc.Creds(reply.Connections{TransportCredentials: insecure.NewCredentials()})}
	}
	kept := keptAlive()
	kept.MaxConnectionAge = maxAge
	return []grpc.ServerOption{grpc.Creds(reply.Connections{TransportCredentials: t.tls}), grpc.KeepaliveParams(kept)}
}

// Options are the options of gRPC itself, those that do not depend on what is served.
func Options() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.MaxRecvMsgSize(maxReceived),
		grpc.MaxHeaderListSize(MaxHead),
		grpc.MaxConcurrentStreams(MaxStreams),
		grpc.StaticStreamWindowSize(StreamWindow),
		grpc.StaticConnWindowSize(connectionWindow),
		grpc.ConnectionTimeout(beginWithin),
		grpc.KeepaliveParams(keptAlive()),
		// Clients ask as often, with a call or without; who asks more often than this loses its connection.
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second, PermitWithoutStream: true}),
		grpc.WaitForHandlers(true), // once it has stopped, nothing uses the store any more
		// A goroutine for each call would grow its stack anew each time. Calls beyond this many have one of their own.
		grpc.NumStreamWorkers(uint32(4 * runtime.GOMAXPROCS(0))),
	}
}
