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
	"google.golang.org/grpc"

	"github.com/transcriptd/transcriptd/internal/heap"
	"github.com/transcriptd/transcriptd/server"
)

// run does what the command line says.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	cfg, err := parseConfig(args, stdout)
	if err != nil {
		return err
	}
	if cfg.command == commandRepair {
		return repair(cfg, stdout)
	}
	return serve(ctx, cfg, stderr)
}

// serve serves until ctx ends and then drains. It is the only place where the parts meet.
func serve(ctx context.Context, cfg *config, stderr io.Writer) (err error) {
	renderers, err := readRenderers(cfg.Templates)
	if err != nil {
		return err
	}
	if cfg.MemoryMiB > 0 {
		heap.Limit(cfg.MemoryMiB)
	}
	log := newLogger(cfg, stderr)
	cfg.warn(log)
	certificates, callers, stopAccess, err := openAccess(ctx, cfg, log)
	if err != nil {
		return err
	}
	defer stopAccess()
	listener, adminListener, err := listen(cfg)
	if err != nil {
		return err
	}
	defer closeUnlessServed(listener, adminListener)
	kept, closeAudit, err := openAudit(cfg, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAudit()) }() // last: everything else has ended by then, as for the store
	store, place, err := openStore(cfg, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	tracer, stopTracer, err := newTracer(ctx, cfg, log)
	if err != nil {
		return err
	}
	defer stopTracer()

	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	registerStore(registry, store)
	registerAudit(registry, kept)
	registerCerts(registry, certificates)
	service := server.New(store, server.Config{
		Version: buildVersion(), Logger: log, Registerer: registry, TracerProvider: tracer, Renderers: renderers,
		Credentials: grpcCredentials(certificates), Authenticator: callers, ClientCertificates: cfg.TLS.ClientCA != "",
		Audit: kept,
	})
	grpcServer, err := service.GRPC()
	if err != nil {
		return err
	}

	var draining atomic.Bool
	var http *admin
	if adminListener != nil {
		routes := adminRoutes(registry, func() bool { return !draining.Load() }, newDoor(callers, certificates, kept))
		http = startAdmin(overTLS(adminListener, certificates), cfg.adminHosts().only(routes), log)
	}
	served := make(chan error, 1)
	go func() { served <- grpcServer.Serve(spare(listener, store, log)) }()
	announce(stderr, listener, adminListener, certificates, place)
	select {
	case <-ctx.Done():
		draining.Store(true)
		service.Withdraw()
		log.Info("draining", "delay", cfg.DrainDelay, "timeout", cfg.DrainTimeout)
		err = delay(served, cfg.DrainDelay)
	case err = <-served:
		draining.Store(true)
	}
	service.Drain()
	drain(grpcServer, cfg.DrainTimeout)
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
