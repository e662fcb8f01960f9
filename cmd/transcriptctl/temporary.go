package main

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"

	"google.golang.org/grpc"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/memstore"
	"github.com/transcriptd/transcriptd/server"
)

// temporary is a session with a transcriptd of its own, which keeps everything in memory until the session is closed.
func (s *session) temporary(ctx context.Context) (*session, error) {
	return s.over(ctx, memstore.New(memstore.Options{}))
}

// over is a session with a transcriptd of its own over a store, which is closed with it, and at once where there is an error. Nobody else reaches it:
// its socket lies in a directory that only the user may open.
func (s *session) over(ctx context.Context, store chainstore.Store) (own *session, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, store.Close())
		}
	}()

	dir, err := os.MkdirTemp("", "transcriptctl-")
	if err != nil {
		return nil, err
	}
	socket := filepath.Join(dir, "s")
	listener, err := new(net.ListenConfig).Listen(ctx, "unix", socket)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	served, err := server.New(store, server.Config{Version: buildVersion()}).GRPC()
	if err != nil {
		return nil, errors.Join(err, listener.Close(), os.RemoveAll(dir))
	}
	ended := make(chan error, 1)
	go func() { ended <- served.Serve(listener) }()
	copied := *s
	own = &copied
	own.flags.reachFlags, own.trusts = reachFlags{Addr: "unix:" + socket, Namespace: s.flags.Namespace}, true
	stop := func() error {
		served.Stop()
		err := <-ended
		if errors.Is(err, grpc.ErrServerStopped) {
			err = nil
		}
		return errors.Join(err, os.RemoveAll(dir))
	}
	if own.Client, err = own.dial(); err != nil {
		return nil, errors.Join(err, stop())
	}
	own.stop = func() error { return errors.Join(stop(), store.Close()) }
	return own, nil
}

// within is the session in another namespace, unless one was given; that of a context does not count.
func (s *session) within(namespace string) (*session, error) {
	own := *s
	if !own.namespaceGiven {
		own.flags.Namespace = namespace
	}
	var err error
	own.Client, err = own.dial()
	return &own, err
}
