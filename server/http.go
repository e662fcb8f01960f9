package server

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"

	"google.golang.org/grpc"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/reflect/protoreflect"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/gateway"
	"github.com/transcriptd/transcriptd/server/internal/transport"
)

// HTTPConfig is what a server of HTTP is told.
type HTTPConfig struct {
	// TLS is spoken as it says, by HTTP/1.1 and HTTP/2; nil: plain text is.
	TLS *tls.Config
	// Certificate is that of a client, by the handshake of its connection, which is verified and good at the time of the call; nil: none. It is nil
	// itself where no client shows one.
	Certificate func(*tls.ConnectionState) *x509.Certificate
	// Hosts tells whether the Host header of a request names this server; nil: any does.
	Hosts func(header string) bool
	// Origins are those of pages that browsers may let call, such as https://app.example, beside the server's own.
	Origins []string
}

// HTTP serves a Server's services over HTTP: Connect and gRPC-Web, in binary and in JSON, and streams as lines of JSON or as server-sent
// events. docs/http.md has it. Its methods may run at once.
type HTTP struct {
	gateway *gateway.Gateway
	tls     *tls.Config
}

// HTTP makes a server of HTTP. Calls go through a gRPC server that GRPC made, over connections in memory, so that they are judged, bounded, counted
// and audited as others are; who stops that one calls Shutdown first. Error: an origin is none.
func (s *Server) HTTP(through *grpc.Server, cfg HTTPConfig) (*HTTP, error) {
	if cfg.Hosts == nil {
		cfg.Hosts = func(string) bool { return true }
	}
	g, err := gateway.New(gateway.Config{
		Services: []protoreflect.ServiceDescriptor{
			transcriptv1.File_transcript_v1_transcript_service_proto.Services().Get(0),
			transcriptv1.File_transcript_v1_admin_service_proto.Services().Get(0),
			healthv1.File_grpc_health_v1_health_proto.Services().Get(0),
		},
		Guard: s.transport.Guard, Certificate: cfg.Certificate, Requests: s.transport.Requests.HTTP, Status: s.transport.Status,
		Hosts: cfg.Hosts, Origins: cfg.Origins, MaxHead: transport.MaxHead, MaxStreams: transport.MaxStreams,
		Registerer: s.registerer, Log: s.log,
	})
	if err != nil {
		return nil, fmt.Errorf("HTTP: %w", err)
	}
	go func() { _ = through.Serve(g.Listener()) }() // until Shutdown, or until it is stopped; calls fail from then on
	return &HTTP{gateway: g, tls: cfg.TLS}, nil
}

// Serve serves on a listener until Shutdown, after which the error is nil.
func (h *HTTP) Serve(l net.Listener) error { return h.gateway.Serve(l, h.tls) }

// Shutdown takes no more requests, and waits for those under way until the context ends, when they are ended.
func (h *HTTP) Shutdown(ctx context.Context) error { return h.gateway.Shutdown(ctx) }
