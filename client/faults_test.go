package client_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/transcriptd/transcriptd/chainstore/memstore"
	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/testserver"
	"github.com/transcriptd/transcriptd/server"
)

var (
	faultAppends = flag.Int("faults.appends", 20_000, "how many appends TestFaultyNetwork makes")
	faultSeed    = flag.Uint64("faults.seed", rand.Uint64(), "what its faults are drawn from")
)

// faulty is a server behind a network on which everything befalls.
type faulty struct {
	*testserver.FaultyNetwork
	srv *server.Server

	mu       sync.Mutex
	random   *rand.Rand
	refused  int
	grpc     *grpc.Server
	served   chan error
	restarts int
}

func newFaulty(t *testing.T) *faulty {
	store := memstore.New(memstore.Options{})
	t.Cleanup(func() { ok(t, store.Close()) })
	f := &faulty{
		FaultyNetwork: testserver.NewFaultyNetwork(t, *faultSeed, testserver.Faults{
			LoseRequest: 2, LoseReply: 3, Late: 2, Cut: 1, Stall: 5, Delay: 5 * time.Millisecond,
		}),
		srv: server.New(store, server.Config{Version: "test"}), random: rand.New(rand.NewPCG(*faultSeed, 2)),
	}
	f.start(t)
	t.Cleanup(func() { f.kill(t) })
	return f
}

// start serves at an address of its own.
func (f *faulty) start(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ok(t, err)
	g, served := f.srv.GRPC(grpc.ChainUnaryInterceptor(f.overload)), make(chan error, 1)
	f.grpc, f.served = g, served
	go func() { served <- g.Serve(l) }()
	f.Lead(l.Addr().String())
}

// kill ends all connections, and the calls under way with them.
func (f *faulty) kill(t *testing.T) {
	f.Lead("")
	f.grpc.Stop()
	ok(t, <-f.served)
}

// overload refuses one write in a hundred.
func (f *faulty) overload(ctx context.Context, req any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	f.mu.Lock()
	refuse := info.FullMethod == putNode && f.random.IntN(100) == 0
	if refuse {
		f.refused++
	}
	f.mu.Unlock()
	if !refuse {
		return handle(ctx, req)
	}
	st, err := status.New(codes.ResourceExhausted, "too many writes wait").WithDetails(&errdetails.ErrorInfo{Domain: "transcript.v1", Reason: "OVERLOADED"})
	if err != nil {
		return nil, err
	}
	return nil, st.Err()
}

// restart kills the server again and again, and starts it after a while, until done.
func (f *faulty) restart(t *testing.T, done <-chan struct{}) {
	wait := func(d time.Duration) bool {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
			return true
		case <-done:
			return false
		}
	}
	for wait(500 * time.Millisecond) {
		f.kill(t)
		f.restarts++
		wait(50 * time.Millisecond)
		f.start(t)
	}
}

func (f *faulty) client(t *testing.T) *client.Client {
	retry := client.Retry{First: 2 * time.Millisecond, Max: 100 * time.Millisecond}
	c := must(client.Dial(f.Addr(), client.WithRetry(retry)))(t)
	t.Cleanup(func() { ok(t, c.Close()) })
	return c
}

// writes appends n messages to an alias, each until it is acknowledged, as docs/sdk.md says.
func (f *faulty) writes(ctx context.Context, c *client.Client, alias string, writer, n int, alone bool) error {
	var thread *client.Thread
	again := func(do func(context.Context) error) error {
		for {
			call, cancel := context.WithTimeout(ctx, 2*time.Second) // over which the outcome of some is not known
			err := do(call)
			cancel()
			var e *client.Error
			if err == nil || ctx.Err() != nil || !errors.As(err, &e) || e.Code != codes.Unavailable && e.Code != codes.DeadlineExceeded && e.Reason != client.ErrOverloaded {
				return err
			}
		}
	}
	open := func(ctx context.Context) (err error) {
		thread, err = c.Open(ctx, alias)
		return err
	}
	if err := again(open); err != nil {
		return err
	}
	for i := range n {
		said := client.User(fmt.Sprint(writer, " ", i))
		for {
			err := again(func(ctx context.Context) error { return thread.Append(ctx, said) })
			if err == nil {
				break
			}
			if !errors.Is(err, client.ErrAliasMoved) || alone {
				return fmt.Errorf("writer %d, message %d: %w", writer, i, err)
			}
			if err := again(thread.Refresh); err != nil {
				return err
			}
		}
	}
	return nil
}

// exact holds a chain to have each message of its writers once, in order.
func exact(t *testing.T, c *client.Client, alias string, writers, n int) {
	t.Helper()
	next, a := make([]int, writers), must(c.Assemble(t.Context(), client.ByAlias(alias), client.Query{View: transcriptv1.View_VIEW_FULL}))(t)
	for _, m := range must(a.Messages())(t)[1:] {
		var w, i int
		if _, err := fmt.Sscan(client.Text(m), &w, &i); err != nil || i != next[w] {
			t.Fatalf("%s: %q in place of writer %d's message %d", alias, client.Text(m), w, next[w])
		}
		next[w]++
	}
	for w := range next {
		if next[w] != n {
			t.Errorf("%s: writer %d put %d messages, %d are there", alias, w, n, next[w])
		}
	}
}

// Requests and replies that are lost, late, cut and stalled, refusals, and a server that is killed again and again: each append that was
// acknowledged is there once, in its writer's order, and the only writer of a chain is never told that another was first.
func TestFaultyNetwork(t *testing.T) {
	const chains, writers = 4, 4
	t.Logf("-faults.seed=%d", *faultSeed)
	f := newFaulty(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	each := max(1, *faultAppends/(chains+writers))
	c := f.client(t)
	aliases := []string{"shared"}
	for i := range chains {
		aliases = append(aliases, fmt.Sprint("alone/", i))
	}
	for _, alias := range aliases {
		must(c.Put(ctx, client.Node{Messages: messages{client.System(alias)}, Aliases: []client.AliasUpdate{{Name: alias, If: client.MustNotExist()}}}))(t)
	}
	done := make(chan struct{})
	var writing, restarting sync.WaitGroup
	restarting.Go(func() { f.restart(t, done) })
	write := func(alias string, writer int, alone bool) {
		own := f.client(t)
		writing.Go(func() {
			if err := f.writes(ctx, own, alias, writer, each, alone); err != nil {
				t.Error(err)
				cancel()
			}
		})
	}
	for i := range chains {
		write(aliases[1+i], 0, true)
	}
	for w := range writers {
		write("shared", w, false)
	}
	writing.Wait()
	close(done)
	restarting.Wait()
	for _, alias := range aliases[1:] {
		exact(t, c, alias, 1, each)
	}
	exact(t, c, "shared", writers, each)
	t.Logf("%d appends; lost %d, late %d, cut %d, stalled %d, refused %d, killed %d times", each*(chains+writers),
		f.Lost.Load(), f.Late.Load(), f.Cut.Load(), f.Stalled.Load(), f.refused, f.restarts)
	if f.Lost.Load() == 0 || f.Late.Load() == 0 || f.Cut.Load() == 0 || f.refused == 0 {
		t.Error("nothing befell")
	}
}
