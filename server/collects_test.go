package server

import (
	"context"
	"errors"
	"flag"
	"sync"
	"testing"
	"time"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/internal/deadline"
	"github.com/transcriptd/transcriptd/server/internal/panics"
)

var collects = flag.Bool("server.collects", false, "server: collect every namespace without a grace, all the time, beside tests of callers and bounds")

// CollectsBeside collects what a server's store has until the test ends, where the flag says so: no promise of what callers are refused, are bounded by, and see of
// each other depends on it.
func CollectsBeside(t *testing.T, s *Server) {
	if !*collects {
		return
	}
	list := func(ctx context.Context) (names []string, err error) {
		err = panics.Guard(func() error {
			names, err = s.store.Namespaces(ctx, chainstore.NamespaceQuery{Limit: 1000})
			return err
		})
		return names, err
	}
	if _, err := list(t.Context()); err != nil {
		return // a store that nobody may touch
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		for deadline.Sleep(ctx, 2*time.Millisecond) == nil {
			names, err := list(ctx)
			for _, name := range names {
				err = errors.Join(err, s.store.Collect(ctx, name, chainstore.Collection{}, func(chainstore.Collected) error { return nil }))
			}
			if err != nil && ctx.Err() == nil && !errors.Is(err, chainstore.ErrClosed) {
				t.Errorf("a collection beside: %v", err)
				return
			}
		}
	})
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
}
