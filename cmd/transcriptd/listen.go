package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/transcriptd/transcriptd/internal/certs"
)

// listeners are those of a server; admin and http are nil where they are off.
type listeners struct{ grpc, admin, http net.Listener }

// listen takes all addresses before anything else is done.
func listen(cfg *config) (l listeners, err error) {
	if path, ok := socketPath(cfg.Listen); ok {
		l.grpc, err = listenUnix(path)
	} else {
		l.grpc, err = net.Listen("tcp", cfg.Listen)
	}
	if err != nil {
		return listeners{}, fmt.Errorf("--listen %s: %w%s", cfg.Listen, err, whoElse(err))
	}
	if !cfg.adminOff() {
		l.admin, err = listenTCP("--admin-listen", cfg.AdminListen)
	}
	if err == nil && !cfg.httpOff() {
		l.http, err = listenTCP("--http-listen", cfg.HTTPListen)
	}
	if err != nil {
		l.close()
		return listeners{}, err
	}
	return l, nil
}

// listenTCP takes the address of HTTP that a flag gives. Clients that are gone without a word are found out as those of gRPC are.
func listenTCP(flag, address string) (net.Listener, error) {
	config := net.ListenConfig{KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 10 * time.Second, Interval: 5 * time.Second, Count: 1}}
	l, err := config.Listen(context.Background(), "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w (give another address, or 'off')", flag, address, err)
	}
	return l, nil
}

// close closes those that no server has closed; closing twice does no harm.
func (l *listeners) close() {
	for _, one := range []net.Listener{l.grpc, l.admin, l.http} {
		if one != nil {
			_ = one.Close()
		}
	}
}

// whoElse asks who may have an address that is taken.
func whoElse(err error) string {
	if errors.Is(err, syscall.EADDRINUSE) {
		return " (is another transcriptd running?)"
	}
	return ""
}

// announce prints the one line that says where the server is and where its data lies.
func (l *listeners) announce(stderr io.Writer, served *certs.Server, place string) {
	over, scheme, where := "", "http", ""
	if served != nil {
		over, scheme = " over TLS", "https"
	}
	if l.admin != nil {
		where = fmt.Sprintf(", metrics and health on %s://%s", scheme, l.admin.Addr())
	}
	if l.http != nil {
		where += fmt.Sprintf(", calls over HTTP on %s://%s", scheme, l.http.Addr())
	}
	address := l.grpc.Addr().String()
	if l.grpc.Addr().Network() == "unix" {
		address = unixScheme + address
	}
	fmt.Fprintf(stderr, "transcriptd %s serves gRPC%s on %s%s; data in %s\n", buildVersion(), over, address, where, place)
}

const unixScheme = "unix://"

// socketPath is that of an address of a unix socket.
func socketPath(address string) (path string, ok bool) {
	return strings.CutPrefix(address, unixScheme)
}

// checkListen refuses an address that gRPC cannot be served on, or that other machines must not reach.
func (c *config) checkListen() error {
	address := c.Listen
	path, ok := socketPath(address)
	switch {
	case strings.HasPrefix(address, "/") || strings.HasPrefix(address, "unix:") && !ok:
		return usagef("--listen %s: a unix socket is %s and an absolute path, such as unix:///run/transcriptd/grpc.sock", address, unixScheme)
	case !ok:
		return c.checkReach("--listen", address)
	case !filepath.IsAbs(path):
		return usagef("--listen %s must be %s and an absolute path, such as unix:///run/transcriptd/grpc.sock", address, unixScheme)
	case len(path) > maxSocketPath:
		return usagef("--listen %s: the path of a unix socket has at most %d bytes, it has %d", address, maxSocketPath, len(path))
	}
	return nil
}
