// Package server is where the wire and the store meet: it judges requests, turns them into changes and reads of a
// chainstore.Store, and lays stored bytes into replies as they are. It knows no engine.
package server

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/transcriptd/transcriptd/server/internal/access"
	"github.com/transcriptd/transcriptd/server/internal/erasure"
	"github.com/transcriptd/transcriptd/server/internal/fair"
	"github.com/transcriptd/transcriptd/server/internal/fairstore"
	"github.com/transcriptd/transcriptd/server/internal/frames"
	"github.com/transcriptd/transcriptd/server/internal/retention"
	"github.com/transcriptd/transcriptd/server/internal/transport"
	"github.com/transcriptd/transcriptd/server/internal/transport/reply"
	"github.com/transcriptd/transcriptd/server/internal/wire"

	_ "google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/health"

	// for clients that ask for it; replies are compressed only to them

	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction"
	"github.com/transcriptd/transcriptd/internal/audit"
	"github.com/transcriptd/transcriptd/internal/identity"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// Config is what a Server is told beside its store. The zero Config is ready to use.
type Config struct {
	// Version is what ServerInfo gives as the server's version.
	Version string
	// Logger gets a line for each call, and the causes of faults; nil: nothing is logged. Neither holds content,
	// metadata values, labels or names of aliases.
	Logger *slog.Logger
	// Registerer gets the metrics of the calls; nil: none are kept.
	Registerer prometheus.Registerer
	// TracerProvider gets a span for each call that is not refused by its head; nil: none are made.
	TracerProvider trace.TracerProvider
	// Now tells the time that ages are counted from; nil: time.Now.
	Now func() time.Time
	// Renderers make the text of the calls of tools, by name, for ReplayTools; a tool without one has compaction.Render.
	Renderers map[string]compaction.Renderer
	// Credentials speak TLS with clients; nil: plain text is spoken. Where what they tell of a caller has a method
	// Certificate() *x509.Certificate, each call of the caller goes by what that gives then, nil being none; else by the certificate that the
	// handshake has verified, until it expires.
	Credentials credentials.TransportCredentials
	// Authenticator tells who calls; nil: everybody may everything. Else the server refuses whoever is not known, but for health, and each
	// caller may do what its grants say and nothing else: docs/api.md has the role that each method needs.
	Authenticator identity.Authenticator
	// ClientCertificates says that the Authenticator takes certificates too: who is not known is told so.
	ClientCertificates bool
	// Grace is how long a node is kept after it was put, whatever refers to it, by collections that do not say: at most MaxGrace; 0: DefaultGrace.
	Grace time.Duration
	// Audit is told of what callers do, and of what they are refused; nil: none is. It is closed once the gRPC servers have stopped.
	Audit *audit.Log
	// Ungated are services, by full name, that a program registers with its gRPC server beside, after GRPC. They have no gate: who may call
	// them, and room for their requests, are the program's matter. Others that it registers are not served.
	Ungated []string
}

// Server serves TranscriptService, AdminService and health over one store. Its methods may run at once.
type Server struct {
	store     chainstore.Store
	version   string
	now       func() time.Time
	grace     time.Duration
	renderers map[string]compaction.Renderer
	health    *health.Server
	// log and registerer are those of the Config; log is not nil.
	log        *slog.Logger
	registerer prometheus.Registerer
	// draining is done from when Drain is called, which calls drain.
	draining  context.Context
	drain     context.CancelFunc
	transport *transport.Transport
	tokens    *wire.Tokens
	// receipts makes those of what is erased.
	receipts *erasure.Receipts
	// scans is of all streams, verifies of all calls of Verify, Backup, CollectGarbage and Erase.
	scans    *fair.Semaphore
	verifies *places
	keeper   *retention.Keeper
}

// New makes a server of a store, which the caller closes once the gRPC servers made by GRPC have stopped.
func New(store chainstore.Store, cfg Config) *Server {
	keeper := retention.NewKeeper(store)
	s := &Server{store: fairstore.New(keeper.Gated(store)), keeper: keeper, version: cfg.Version, now: cfg.Now, renderers: cfg.Renderers, health: health.NewServer()}
	log := cfg.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	if s.now == nil {
		s.now = time.Now
	}
	s.log, s.registerer, s.grace = log, cfg.Registerer, cmp.Or(cfg.Grace, DefaultGrace)
	s.tokens, s.receipts = wire.NewTokens(s.store, s.now), erasure.NewReceipts(s.store, s.now)
	s.draining, s.drain = context.WithCancel(context.Background())
	m := &mapper{rows: table(), log: log}
	if cfg.ClientCertificates {
		m.addCertificates()
	}
	s.transport = transport.New(transport.Config{
		Draining: s.draining, Log: log, Registerer: cfg.Registerer, Tracer: cfg.TracerProvider, Guard: access.GuardOf(cfg.Authenticator), Ungated: cfg.Ungated,
		Credentials: cfg.Credentials, Audit: cfg.Audit, Status: m.status, Overloaded: m.status(context.Background(), chainstore.ErrOverloaded),
	})
	s.scans, s.verifies = frames.NewPlaces(), newPlaces(m.status)
	for _, name := range serviceNames() {
		s.health.SetServingStatus(name, healthv1.HealthCheckResponse_SERVING)
	}
	return s
}

// serviceNames are the services whose health is told beside that of the whole server, "".
func serviceNames() []string {
	return []string{
		transcriptv1.TranscriptService_ServiceDesc.ServiceName,
		transcriptv1.AdminService_ServiceDesc.ServiceName,
	}
}

// GRPC makes a gRPC server with both services, health and reflection registered and all interceptors in place. extra
// may not change the codec, the credentials or the size of requests; its interceptors run outside of the server's, and see replies of
// Assemble and StreamAssemble without the messages of nodes, which are not decoded, and with a method Encode() ([]byte, error)
// that gives all of such a reply. Of a unary call whose request has not come, not whole, or is refused, they see an empty request. Of
// calls that are refused by their head, its interceptors see streams with a far deadline, and its stats handlers calls with one. Error: a method has
// no row in the table of methods. What its caller registers with the gRPC server beside is served only if Config.Ungated names it.
func (s *Server) GRPC(extra ...grpc.ServerOption) (*grpc.Server, error) {
	return s.transport.Serve(s.register, extra...)
}

// register registers what the server serves.
func (s *Server) register(services reflection.GRPCServer) {
	transcriptv1.RegisterTranscriptServiceServer(services, &transcripts{
		store: s.store, tokens: s.tokens, version: s.version, now: s.now, renderers: s.renderers, replies: s.transport.Replies,
		scans: s.scans, receipts: s.receipts, log: s.log, keeper: s.keeper,
	})
	transcriptv1.RegisterAdminServiceServer(services, &admin{
		store: s.store, version: s.version, now: s.now, grace: s.grace, tokens: s.tokens, receipts: s.receipts, verifies: s.verifies, keeper: s.keeper,
	})
	healthv1.RegisterHealthServer(services, s.health)
	reflection.Register(services)
}

// Transport are the options of gRPC itself, those that do not depend on what is served.
func Transport() []grpc.ServerOption { return transport.Options() }

// Withdraw tells, from now on, NOT_SERVING as the health of every service. Calls are taken as before, until Drain.
func (s *Server) Withdraw() { s.health.Shutdown() }

// Drain refuses, from now on, new calls as UNAVAILABLE with reason DRAINING, those too whose requests wait to be received or do
// not come promptly, and tells NOT_SERVING as the health of every service. Other calls under way go on.
func (s *Server) Drain() {
	s.drain()
	s.Withdraw()
}

// transcripts is TranscriptService: a method for each rpc, in a file of its own.
type transcripts struct {
	transcriptv1.UnimplementedTranscriptServiceServer
	store     chainstore.Store
	version   string
	now       func() time.Time
	renderers map[string]compaction.Renderer
	// tokens, replies, scans, receipts, log and keeper are the server's.
	tokens   *wire.Tokens
	replies  *reply.Limiter
	scans    *fair.Semaphore
	receipts *erasure.Receipts
	log      *slog.Logger
	keeper   *retention.Keeper
}

// BytesLaid is how many bytes of buffers replies were laid and encoded into so far, whether the buffers were new or used
// again. Interceptors outside of the server's find it at their call's server.
func (t *transcripts) BytesLaid() int64 {
	return t.replies.Buffers.Laid()
}

// admin is AdminService: a method for each rpc, in a file of its own.
type admin struct {
	transcriptv1.UnimplementedAdminServiceServer
	store chainstore.Store
	// version is what the server says that it is.
	version string
	now     func() time.Time
	grace   time.Duration
	// tokens, receipts, verifies and keeper are the server's.
	tokens   *wire.Tokens
	receipts *erasure.Receipts
	verifies *places
	keeper   *retention.Keeper
}
