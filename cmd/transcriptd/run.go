package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction"
	"github.com/transcriptd/transcriptd/internal/audit"
	"github.com/transcriptd/transcriptd/internal/certs"
	"github.com/transcriptd/transcriptd/internal/heap"
	"github.com/transcriptd/transcriptd/internal/identity"
	"github.com/transcriptd/transcriptd/server"
)

// run does what the command line says.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	cfg, err := parseConfig(args, stdout)
	if err != nil {
		return err
	}
	return of(cfg.words, call(ctx, cfg, stdout, stderr))
}

func call(ctx context.Context, cfg *config, stdout, stderr io.Writer) error {
	switch cfg.command {
	case commandRepair:
		return repair(cfg, stdout)
	case commandVerify:
		return verifyFolder(ctx, cfg, stdout, stderr)
	case commandKeyCreate:
		return createKey(cfg, stdout)
	case commandKeyRotate:
		return rotateKey(cfg, stdout)
	default:
		return serve(ctx, cfg, stderr)
	}
}

// serve serves until ctx ends and then drains. Here and in parts.serve alone the parts meet.
func serve(ctx context.Context, cfg *config, stderr io.Writer) (err error) {
	p := &parts{cfg: cfg, log: newLogger(cfg, stderr), stderr: stderr}
	if p.renderers, err = readRenderers(cfg.Templates); err != nil {
		return err
	}
	if cfg.MemoryMiB > 0 {
		heap.Limit(cfg.MemoryMiB)
	}
	cfg.warn(p.log)
	var stopAccess, stopTracer func()
	if p.certificates, p.callers, stopAccess, err = openAccess(ctx, cfg, p.log); err != nil {
		return err
	}
	defer stopAccess()
	if p.listeners, err = listen(cfg); err != nil {
		return err
	}
	defer p.listeners.close()
	var closeAudit func() error
	if p.audit, closeAudit, err = openAudit(cfg, p.log); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAudit()) }() // last: everything else has ended by then, as for the store
	if p.store, p.place, err = openStore(cfg, p.log); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.store.Close()) }()
	if p.tracer, stopTracer, err = newTracer(ctx, cfg, p.log); err != nil {
		return err
	}
	defer stopTracer()
	return p.serve(ctx)
}

// parts are what a server is made of; who opened them closes them.
type parts struct {
	cfg       *config
	log       *slog.Logger
	stderr    io.Writer
	renderers map[string]compaction.Renderer
	// certificates are nil in plain text, callers where nobody is told apart, audit where none is kept.
	certificates *certs.Server
	callers      identity.Authenticator
	listeners    listeners
	audit        *audit.Log
	store        chainstore.Store
	// place says where the store lies.
	place  string
	tracer trace.TracerProvider
}

// serve serves until ctx ends and then drains.
func (p *parts) serve(ctx context.Context) error {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	registerStore(registry, p.store)
	registerAudit(registry, p.audit)
	registerCerts(registry, p.certificates)
	service := server.New(p.store, server.Config{
		Version: buildVersion(), Logger: p.log, Registerer: registry, TracerProvider: p.tracer, Renderers: p.renderers,
		Credentials: grpcCredentials(p.certificates), Authenticator: p.callers, ClientCertificates: p.cfg.TLS.ClientCA != "",
		Audit: p.audit, Grace: p.cfg.Collect.Grace,
	})
	grpcServer, err := service.GRPC()
	if err != nil {
		return err
	}

	if err := service.DrawReceiptKey(ctx); err != nil {
		p.log.Warn("the key that receipts of erasures are signed with could not be drawn: the first erasure draws it", "error", err)
	}
	stopScrubber := startScrubber(p.cfg.Scrub, service.Verify, registry, p.log)
	defer stopScrubber()
	stopCollector := startCollector(p.cfg.Collect, collecting{service.Collect, service.Reclaim}, registry, p.log)
	defer stopCollector()

	var draining atomic.Bool
	var http *admin
	if p.listeners.admin != nil {
		routes := adminRoutes(registry, func() bool { return !draining.Load() }, newDoor(p.callers, p.certificates, p.audit))
		http = startAdmin(overTLS(spareAdmin(p.listeners.admin, p.store, p.log), p.certificates), onlyOf(p.cfg.adminHosts(), routes), p.log)
	}
	served := make(chan error, 2)
	calls, err := p.serveHTTP(service, grpcServer, served)
	if err != nil {
		return err
	}
	go func() { served <- grpcServer.Serve(spare(p.listeners.grpc, p.store, p.log)) }()
	p.listeners.announce(p.stderr, p.certificates, p.place)
	notifySupervisor(stateReady, p.log)
	select {
	case <-ctx.Done():
		notifySupervisor(stateStopping, p.log)
		draining.Store(true)
		service.Withdraw()
		p.log.Info("draining", "delay", p.cfg.DrainDelay, "timeout", p.cfg.DrainTimeout)
		err = delay(served, p.cfg.DrainDelay)
	case err = <-served:
		draining.Store(true)
	}
	service.Drain()
	err = errors.Join(err, calls.drain(p.cfg.DrainTimeout, func() { drain(grpcServer, p.cfg.DrainTimeout) }))
	stopCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	return errors.Join(err, http.stop(stopCtx))
}

// delay waits, unless the server ends before.
func delay(served <-chan error, d time.Duration) error {
	if d == 0 {
		return nil
	}
	select {
	case <-time.After(d):
		return nil
	case err := <-served:
		return err
	}
}

// drain lets running calls end and ends them after the timeout.
func drain(s *grpc.Server, timeout time.Duration) {
	timer := time.AfterFunc(timeout, s.Stop)
	defer timer.Stop()
	s.GracefulStop()
}

func newLogger(cfg *config, stderr io.Writer) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(cfg.LogLevel)) // the flag's enum admits valid names only
	options := &slog.HandlerOptions{Level: level}
	if cfg.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(stderr, options))
	}
	return slog.New(slog.NewTextHandler(stderr, options))
}
