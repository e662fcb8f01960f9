package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/transcriptd/transcriptd/internal/certs"
)

// listen takes both addresses before anything else is done; the second is nil where the admin side is off.
func listen(cfg *config) (listener, adminListener net.Listener, err error) {
	if path, ok := socketPath(cfg.Listen); ok {
		listener, err = listenUnix(path)
	} else {
		listener, err = net.Listen("tcp", cfg.Listen)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("--listen %s: %w%s", cfg.Listen, err, whoElse(err))
	}
	if cfg.adminOff() {
		return listener, nil, nil
	}
	if adminListener, err = net.Listen("tcp", cfg.AdminListen); err != nil {
		return nil, nil, errors.Join(
			fmt.Errorf("--admin-listen %s: %w (give another address, or 'off')", cfg.AdminListen, err), listener.Close())
	}
	return listener, adminListener, nil
}

// whoElse asks who may have an address that is taken.
func whoElse(err error) string {
	if errors.Is(err, syscall.EADDRINUSE) {
		return " (is another transcriptd running?)"
	}
	return ""
}

// closeUnlessServed closes listeners that no server has closed; closing twice does no harm.
func closeUnlessServed(listeners ...net.Listener) {
	for _, l := range listeners {
		if l != nil {
			_ = l.Close()
		}
	}
}

// announce prints the one line that says where the server is and where its data lies.
func announce(stderr io.Writer, listener, adminListener net.Listener, served *certs.Server, place string) {
	over, scheme, where := "", "http", ""
	if served != nil {
		over, scheme = " over TLS", "https"
	}
	if adminListener != nil {
		where = fmt.Sprintf(", metrics and health on %s://%s", scheme, adminListener.Addr())
	}
	address := listener.Addr().String()
	if listener.Addr().Network() == "unix" {
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
