package main

import (
	"context"
	"time"

	"google.golang.org/grpc"

	"github.com/transcriptd/transcriptd/internal/hosts"
	"github.com/transcriptd/transcriptd/server"
)

// calls are those that come over HTTP; nil: none do.
type calls struct{ server *server.HTTP }

// serveHTTP serves calls over HTTP, through the gRPC server, where that is asked for. served is told the error that ends it.
func (p *parts) serveHTTP(service *server.Server, through *grpc.Server, served chan<- error) (*calls, error) {
	if p.listeners.http == nil {
		return nil, nil
	}
	config := server.HTTPConfig{Hosts: hosts.Of(p.cfg.HTTPListen, p.cfg.HTTPHost).Has, Origins: p.cfg.HTTPOrigin}
	if p.certificates != nil {
		config.TLS, config.Certificate = p.certificates.Config(false, "h2", "http/1.1"), p.certificates.Certificate
	}
	http, err := service.HTTP(through, config)
	if err != nil {
		return nil, err
	}
	go func() {
		if err := http.Serve(spareAdmin(p.listeners.http, p.store, p.log)); err != nil {
			served <- err
		}
	}()
	return &calls{http}, nil
}

// drain lets calls over HTTP end, for as long as the timeout, while others do.
func (c *calls) drain(timeout time.Duration, others func()) error {
	if c == nil {
		others()
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- c.server.Shutdown(ctx) }()
	others()
	return <-ended
}
