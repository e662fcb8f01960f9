package main

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	stdlog "log"
	"log/slog"
	"net"
	"net/http"
	"time"

	"golang.org/x/net/netutil"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/certs"
	"github.com/transcriptd/transcriptd/internal/hosts"
	"github.com/transcriptd/transcriptd/internal/mcpserver"
)

// mcpHTTPFlags say how callers come by HTTP.
type mcpHTTPFlags struct {
	HTTP         string   `name:"http" placeholder:"HOST:PORT" help:"Serve over HTTP at this address, under /mcp, in place of standard input and output."`
	HTTPHost     []string `name:"http-host" sep:"none" placeholder:"NAME" help:"A name by which callers reach the address of --http, besides localhost and addresses; may be repeated."`
	HTTPCert     string   `name:"http-cert" placeholder:"FILE" help:"Serve over HTTPS with the certificate in this file, in PEM. A new one is taken up while it runs."`
	HTTPKey      string   `name:"http-key" placeholder:"FILE" help:"The private key of --http-cert, in PEM."`
	HTTPInsecure bool     `name:"http-insecure" help:"Serve in plain text on an address that other machines reach: tokens and transcripts can be read on the way."`
}

const (
	// httpConnections is how many are open at once; others wait.
	httpConnections = 256
	// httpSlow is how long a request may take to come in, httpLongest how long its reply may take to be made and read.
	httpSlow, httpLongest = 10 * time.Second, 2 * time.Minute
)

// check refuses what does not go together.
func (c *mcpCommand) check(reach *reachFlags) error {
	switch {
	case c.HTTP == "" && (len(c.HTTPHost) > 0 || c.HTTPCert != "" || c.HTTPKey != "" || c.HTTPInsecure):
		return usagef("--http-host, --http-cert, --http-key and --http-insecure need --http")
	case (c.HTTPCert == "") != (c.HTTPKey == ""):
		return usagef("--http-cert and --http-key belong together: give both, or neither")
	case c.HTTPCert != "" && c.HTTPInsecure:
		return usagef("--http-insecure is plain text, and --http-cert is not: leave out one or the other")
	case c.HTTP != "" && reach.Cert != "":
		return usagef("--cert says who calls, and over --http each caller must say so with a token: leave out --cert, here or in the context")
	case c.HTTP == "":
		return nil
	}
	alone, err := c.loopback()
	if err == nil && !alone && c.HTTPCert == "" && !c.HTTPInsecure {
		return usagef("--http %s can be reached from other machines, and tokens would travel there in plain text; give --http-cert and --http-key, "+
			"or --http-insecure if the network between is trusted", c.HTTP)
	}
	return err
}

// loopback tells whether the address of --http is of this machine alone.
func (c *mcpCommand) loopback() (bool, error) {
	host, _, err := net.SplitHostPort(c.HTTP)
	if err != nil {
		return false, usagef("--http %s is no HOST:PORT, such as 127.0.0.1:7423", c.HTTP)
	}
	return hosts.Local(host), nil
}

// serveHTTP serves until a signal comes.
func (c *mcpCommand) serveHTTP(ctx context.Context, s *session, binding mcpserver.Binding) error {
	conn, err := s.connectWith(s.flags.anonymous())
	if err != nil {
		return err
	}
	server := mcpserver.New(c.config(s, transcriptv1.NewTranscriptServiceClient(conn), binding))
	err = c.serveWith(ctx, s, server)
	return errors.Join(err, conn.Close())
}

func (c *mcpCommand) serveWith(ctx context.Context, s *session, server *mcpserver.Server) error {
	alone, err := c.loopback()
	if err != nil {
		return err
	}
	if !alone {
		guarded, err := server.Guarded(ctx)
		if err != nil {
			return err
		}
		if !guarded {
			return usagef("--http %s can be reached from other machines, and this transcriptd serves everybody: start it with --principals, or serve on 127.0.0.1", c.HTTP)
		}
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", c.HTTP)
	if err != nil {
		return usagef("--http: %w", err)
	}
	defer func() { _ = listener.Close() }() // Shutdown has closed it
	scheme := "http"
	listener = netutil.LimitListener(listener, httpConnections)
	if c.HTTPCert != "" {
		shown, err := certs.Open(certs.Options{Files: certs.Files{Cert: c.HTTPCert, Key: c.HTTPKey}, MinVersion: tls.VersionTLS12,
			Log: slog.New(slog.NewTextHandler(s.notes, nil))})
		if err != nil {
			return usagef("--http-cert, --http-key: %w", err)
		}
		watched := make(chan struct{})
		watching, stop := context.WithCancel(ctx)
		go func() { defer close(watched); shown.Watch(watching) }()
		defer func() { stop(); <-watched }()
		scheme, listener = "https", tls.NewListener(listener, shown.Config(true, "http/1.1"))
	} else if !alone {
		s.remark("--http-insecure: tokens and transcripts travel in plain text; who can read the network between can read them")
	}
	s.remark("serving at %s://%s%s", scheme, listener.Addr(), mcpserver.Path)
	return serveUntil(ctx, listener, &http.Server{
		Handler:           server.Handler(mcpserver.HTTPConfig{Hosts: c.HTTPHost, RequireTokens: !alone}),
		ReadHeaderTimeout: httpSlow, ReadTimeout: httpSlow, WriteTimeout: httpLongest, IdleTimeout: time.Minute,
		MaxHeaderBytes: 32 << 10,
		ErrorLog:       stdlog.New(io.Discard, "", 0), // it would quote what strangers send
	})
}

// serveUntil serves until the context ends, and lets calls that run end.
func serveUntil(ctx context.Context, listener net.Listener, server *http.Server) error {
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), httpSlow)
	defer cancel()
	if server.Shutdown(last) != nil {
		_ = server.Close() // what still runs has had its time
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
