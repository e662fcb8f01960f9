// Command proxy is a gRPC proxy that loses requests and replies, for tests in any language.
//
//	go run ./internal/lossy/proxy -to 127.0.0.1:7233
//
// It prints one line, {"address": "127.0.0.1:PORT", "control": "http://127.0.0.1:PORT"}: where clients call, and where it is told what to do
// (lossy.Proxy.Control); with -http, the URL where the server has HTTP, a member "http" too: the URL where clients call so. It ends on SIGTERM, or when its standard input ends: give it a pipe, and it outlives no test.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/transcriptd/transcriptd/internal/lossy"
)

func main() {
	to := flag.String("to", "", "the address of the server, in plain text")
	web := flag.String("http", "", "the URL where the server has HTTP")
	flag.Parse()
	if *to == "" || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "proxy: name the server's address with -to, and nothing else")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // however it ends, it has ended
		stop()
	}()
	if err := run(ctx, *to, *web); err != nil {
		fmt.Fprintln(os.Stderr, "proxy:", err)
		os.Exit(1)
	}
}

// run serves until the context ends.
func run(ctx context.Context, to, web string) error {
	proxy, err := lossy.New(to)
	if err != nil {
		return err
	}
	calls, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return errors.Join(err, proxy.Close())
	}
	told, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return errors.Join(err, calls.Close(), proxy.Close())
	}
	control := &http.Server{Handler: proxy.Control(), ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan error, 3)
	go func() { ended <- proxy.Serve(calls) }()
	go func() { ended <- control.Serve(told) }()
	where := map[string]string{"address": calls.Addr().String(), "control": "http://" + told.Addr().String()}
	var overHTTP http.Server
	if web != "" {
		server, err := url.Parse(web)
		if err != nil {
			return err
		}
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		overHTTP.Handler, overHTTP.ReadHeaderTimeout = proxy.HTTP(server), 10*time.Second
		overHTTP.SetKeepAlivesEnabled(false)
		go func() { ended <- overHTTP.Serve(listener) }()
		where["http"] = "http://" + listener.Addr().String()
	}
	if err := json.NewEncoder(os.Stdout).Encode(where); err != nil {
		return err
	}
	select {
	case err = <-ended:
	case <-ctx.Done():
	}
	return errors.Join(err, overHTTP.Close(), control.Close(), proxy.Close())
}
