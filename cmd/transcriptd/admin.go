package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// admin is the HTTP side: metrics, health, profiles.
type admin struct {
	server *http.Server
	done   chan struct{}
}

// startAdmin serves on the listener until stop; ready tells whether new calls are taken.
func startAdmin(listener net.Listener, metrics prometheus.Gatherer, ready func() bool) *admin {
	a := &admin{
		server: &http.Server{Handler: adminRoutes(metrics, ready), ReadHeaderTimeout: 10 * time.Second},
		done:   make(chan struct{}),
	}
	go func() {
		defer close(a.done)
		// Serve ends with ErrServerClosed when stop is called; any other end leaves the gRPC side as it is.
		_ = a.server.Serve(listener)
	}()
	return a
}

func adminRoutes(metrics prometheus.Gatherer, ready func() bool) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !ready() {
			http.Error(w, "draining", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ready")
	})
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
}

// stop ends the HTTP side, giving running requests until ctx ends.
func (a *admin) stop(ctx context.Context) error {
	if a == nil {
		return nil
	}
	err := a.server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = a.server.Close()
	}
	<-a.done
	return err
}
