package tests

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/transcriptd/transcriptd/internal/lossy"
)

// newProxy is a proxy before a daemon, which holds calls as it is told.
func newProxy(t *testing.T, d *daemon, rules ...lossy.Rule) (p *lossy.Proxy, addr string) {
	t.Helper()
	p, err := lossy.New(d.addr)
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range rules {
		if err := p.Add(rule); err != nil {
			t.Fatal(err)
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = p.Serve(listener)
	}()
	t.Cleanup(func() {
		_ = p.Close()
		<-served
	})
	return p, listener.Addr().String()
}

// steps are the moments at which something may be killed: before each call of a run, and after each that writes and before the agent is
// told. At each the call is held, and then its connection breaks.
func steps(p *lossy.Proxy) []lossy.Rule {
	var all []lossy.Rule
	for method, calls := range p.State().Calls {
		points := []lossy.Point{lossy.Request}
		switch method {
		case "PutNode", "PutNodes", "Alias", "Compact":
			points = append(points, lossy.Reply)
		}
		for n := range calls {
			for _, at := range points {
				all = append(all, lossy.Rule{Methods: []string{method}, Skip: n, At: at, Hold: true, Then: lossy.Break})
			}
		}
	}
	return all
}

// held waits until a call is held; false: the agent ended before.
func held(t *testing.T, p *lossy.Proxy, agent *process) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	go func() {
		select {
		case <-agent.ended:
			cancel()
		case <-ctx.Done():
		}
	}()
	return p.AwaitHeld(ctx) == nil
}
