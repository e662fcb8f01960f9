package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	stdlog "log"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// admin is the HTTP side: metrics, health, profiles.
type admin struct {
	server *http.Server
	done   chan struct{}
}

// longestAnswer is for how long an answer may be on its way; profiles take as long as their requests say, up to that.
const longestAnswer = 2 * time.Minute

// startAdmin serves routes on the listener until stop.
func startAdmin(listener net.Listener, routes http.Handler, log *slog.Logger) *admin {
	a := &admin{
		server: &http.Server{
			Handler: routes, ReadTimeout: 10 * time.Second, WriteTimeout: longestAnswer, IdleTimeout: time.Minute,
			ErrorLog: stdlog.New(httpErrors{log}, "", 0),
		},
		done: make(chan struct{}),
	}
	go func() {
		defer close(a.done)
		// Serve ends with ErrServerClosed when stop is called; any other end leaves the gRPC side as it is.
		_ = a.server.Serve(listener)
	}()
	return a
}

// httpErrors logs what the HTTP side has to say: handshakes that failed at debug, as those of gRPC are, since anybody can make them fail.
type httpErrors struct{ log *slog.Logger }

func (e httpErrors) Write(line []byte) (int, error) {
	level := slog.LevelWarn
	if bytes.HasPrefix(line, []byte("http: TLS handshake error")) {
		level = slog.LevelDebug
	}
	e.log.Log(context.Background(), level, "the HTTP side", "error", string(bytes.TrimSpace(line)))
	return len(line), nil
}

// adminRoutes are the HTTP side, but for probes behind a door; ready tells whether new calls are taken.
func adminRoutes(metrics prometheus.Gatherer, ready func() bool, behind door) http.Handler {
	inside := http.NewServeMux()
	inside.Handle("GET /metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{}))
	inside.HandleFunc("/debug/pprof/", pprof.Index)
	inside.HandleFunc("/debug/pprof/block", blockProfile)
	inside.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	inside.HandleFunc("/debug/pprof/profile", pprof.Profile)
	inside.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	inside.HandleFunc("/debug/pprof/trace", pprof.Trace)
	inside.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "here are /metrics, /healthz, /readyz and /debug/pprof/; calls are served over HTTP where --http-listen says", http.StatusNotFound)
	})
	mux := http.NewServeMux()
	mux.Handle("/", behind.only(inside))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !ready() {
			http.Error(w, "draining", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ready")
	})
	return mux
}

// blockRate is what a profile of blocking samples: one event in so many nanoseconds of waiting.
const blockRate = 10_000

// blockProfile tells where goroutines waited in the seconds that the request names. Only then is it recorded, since it
// costs; two such requests at once end with the first.
func blockProfile(w http.ResponseWriter, r *http.Request) {
	if r.FormValue("seconds") != "" {
		runtime.SetBlockProfileRate(blockRate)
		defer runtime.SetBlockProfileRate(0)
	}
	pprof.Handler("block").ServeHTTP(w, r)
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
