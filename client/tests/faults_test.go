package client_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
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

// newFaulty is on a network so many times worse than a bad one.
func newFaulty(t *testing.T, worse int) *faulty {
	store := memstore.New(memstore.Options{})
	t.Cleanup(func() { ok(t, store.Close()) })
	f := &faulty{
		FaultyNetwork: testserver.NewFaultyNetwork(t, *faultSeed, testserver.Faults{
			LoseRequest: 2 * worse, LoseReply: 3 * worse, Late: 2 * worse, Cut: worse, Stall: 5 * worse, Delay: 5 * time.Millisecond,
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
	g, err := f.srv.GRPC(grpc.ChainUnaryInterceptor(f.overload))
	ok(t, err)
	served := make(chan error, 1)
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

// overload refuses one write in a hundred, and of as many what stands between says so, of which it did half.
func (f *faulty) overload(ctx context.Context, req any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	f.mu.Lock()
	fate := f.random.IntN(200)
	refuse := fate < 4 && (info.FullMethod == putNode || info.FullMethod == putNodes)
	if refuse {
		f.refused++
	}
	f.mu.Unlock()
	if !refuse {
		return handle(ctx, req)
	}
	if fate == 3 {
		if res, err := handle(ctx, req); err != nil {
			return res, err
		}
	}
	st := status.New(codes.ResourceExhausted, "too many writes wait")
	if fate >= 2 {
		return nil, st.Err()
	}
	st, err := st.WithDetails(&errdetails.ErrorInfo{Domain: "transcript.v1", Reason: "OVERLOADED"})
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

// again calls do until it succeeds or is refused, each time for so short that the outcome of some is not known.
func again(ctx context.Context, do func(context.Context) error) error {
	for {
		call, cancel := context.WithTimeout(ctx, 2*time.Second)
		err := do(call)
		cancel()
		e, _ := errors.AsType[*client.Error](err)
		notDone := e != nil && (e.Code == codes.Unavailable || e.Code == codes.DeadlineExceeded || e.Reason == client.ErrOverloaded)
		if e == nil || ctx.Err() != nil || !client.MayHaveHappened(err) && !notDone {
			return err
		}
	}
}

// utters appends a message until it is acknowledged, as docs/sdk.md says. The only writer of a chain is never overtaken.
func utters(ctx context.Context, thread *client.Thread, text string, alone bool) error {
	for {
		err := again(ctx, func(ctx context.Context) error { return thread.Append(ctx, client.User(text)) })
		if !errors.Is(err, client.ErrAliasMoved) || alone {
			return err
		}
		if err := again(ctx, thread.Refresh); err != nil {
			return err
		}
	}
}

// writes appends a writer's n messages to an alias.
func writes(ctx context.Context, c *client.Client, alias string, writer, n int, alone bool) error {
	var thread *client.Thread
	if err := again(ctx, func(ctx context.Context) (err error) {
		thread, err = c.Open(ctx, alias)
		return err
	}); err != nil {
		return err
	}
	for i := range n {
		if err := utters(ctx, thread, fmt.Sprint(writer, " ", i), alone); err != nil {
			return fmt.Errorf("writer %d, message %d: %w", writer, i, err)
		}
	}
	return nil
}

// exact holds a chain to have each message of its writers once, in order, and counts others that say one thing.
func exact(t *testing.T, c *client.Client, alias string, writers, n int, same ...string) (equal int) {
	t.Helper()
	next, a := make([]int, writers), must(c.Assemble(t.Context(), client.ByAlias(alias), client.Query{View: transcriptv1.View_VIEW_FULL}))(t)
	for _, m := range must(a.Messages())(t)[1:] {
		if slices.Contains(same, client.Text(m)) {
			equal++
			continue
		}
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
	return equal
}

// begun puts the roots of chains.
func (f *faulty) begun(t *testing.T, c *client.Client, aliases ...string) {
	for _, alias := range aliases {
		root := client.Node{Messages: messages{client.System(alias)}, Aliases: []client.AliasUpdate{{Name: alias, If: client.MustNotExist()}}}
		ok(t, again(t.Context(), func(ctx context.Context) error {
			_, err := c.Put(ctx, root)
			return err
		}))
	}
}

// Requests and replies that are lost, late, cut and stalled, refusals, and a server that is killed again and again: each append that was
// acknowledged is there once, in its writer's order, and the only writer of a chain is never told that another was first.
func TestFaultyNetwork(t *testing.T) {
	const chains, writers = 12, 4
	t.Logf("-faults.seed=%d", *faultSeed)
	f := newFaulty(t, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	each := max(1, *faultAppends/(chains+writers))
	c := f.client(t)
	aliases := []string{"shared"}
	for i := range chains {
		aliases = append(aliases, fmt.Sprint("alone/", i))
	}
	f.begun(t, c, aliases...)
	done := make(chan struct{})
	var writing, restarting sync.WaitGroup
	restarting.Go(func() { f.restart(t, done) })
	write := func(alias string, writer int, alone bool) {
		own := f.client(t)
		writing.Go(func() {
			if err := writes(ctx, own, alias, writer, each, alone); err != nil {
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

// Goroutines that share one Thread lose nothing and put nothing twice, also where they say the same, and whenever it is refreshed and read.
func TestFaultyNetworkUnderOneThread(t *testing.T) {
	const goroutines, each, same = 6, 150, "the same"
	t.Logf("-faults.seed=%d", *faultSeed)
	f := newFaulty(t, 10)
	c := f.client(t)
	f.begun(t, c, "shared")
	thread := must(c.Open(t.Context(), "shared"))(t)
	done := make(chan struct{})
	var writing, beside sync.WaitGroup
	beside.Go(func() { f.restart(t, done) })
	beside.Go(func() { disturbs(t, thread, done) })
	for g := range goroutines {
		writing.Go(func() {
			for i := range each {
				for _, text := range []string{fmt.Sprint(g, " ", i), same} {
					if err := utters(t.Context(), thread, text, false); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	writing.Wait()
	close(done)
	beside.Wait()
	equal := exact(t, c, "shared", goroutines, each, same)
	if equal != goroutines*each {
		t.Errorf("%d messages that are the same, want %d", equal, goroutines*each)
	}
	t.Logf("lost %d, late %d, cut %d, stalled %d, refused %d, killed %d times",
		f.Lost.Load(), f.Late.Load(), f.Cut.Load(), f.Stalled.Load(), f.refused, f.restarts)
}

// disturbs refreshes and reads a thread until done; what fails of that is of no interest.
func disturbs(t *testing.T, thread *client.Thread, done <-chan struct{}) {
	for {
		select {
		case <-done:
			return
		case <-time.After(time.Millisecond):
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			_ = thread.Refresh(ctx)
			_, _ = thread.Messages(ctx, nil)
			cancel()
		}
	}
}

// Of several workers that start one message exactly one is told that it is New, whatever it replies to and whoever is at work on that.
func TestFaultyNetworkUnderStart(t *testing.T) {
	const workers, each = 3, 150
	t.Logf("-faults.seed=%d", *faultSeed)
	f := newFaulty(t, 10)
	news := make([][workers]bool, each)
	f.befalls(t, workers, func(w int, c *client.Client) {
		for i := range each {
			replyTo := []string{"", fmt.Sprint("m", i-1), "unheard"}[i%3]
			var thread *client.Thread
			err := again(t.Context(), func(ctx context.Context) (err error) {
				thread, err = c.Start(ctx, turn(fmt.Sprint("m", i), replyTo, hello))
				return err
			})
			if errors.Is(err, client.ErrAliasExists) {
				continue // who was first went on with it
			}
			if news[i][w] = err == nil && thread.New(); news[i][w] {
				err = again(t.Context(), func(ctx context.Context) error { return thread.Append(ctx, answer) })
			}
			if err != nil {
				t.Error(err)
			}
		}
	})
	for i, of := range news {
		told := 0
		for _, is := range of {
			if is {
				told++
			}
		}
		if told != 1 {
			t.Errorf("message %d is new to %d workers", i, told)
		}
	}
	if f.Lost.Load() == 0 || f.refused == 0 {
		t.Error("nothing befell")
	}
}

// What is sent inside a run is at its end, whatever befell on the way.
func TestFaultyNetworkUnderSent(t *testing.T) {
	const workers, each = 3, 50
	t.Logf("-faults.seed=%d", *faultSeed)
	f := newFaulty(t, 10)
	f.befalls(t, workers, func(w int, c *client.Client) {
		for i := range each {
			if err := sends(t.Context(), c, fmt.Sprint(w, "-", i)); err != nil {
				t.Errorf("worker %d, run %d: %v", w, i, err)
			}
		}
	})
	if f.Lost.Load() == 0 || f.refused == 0 {
		t.Error("nothing befell")
	}
}

// befalls runs workers at once, each with a client of its own, while the server is killed and started again.
func (f *faulty) befalls(t *testing.T, workers int, work func(w int, c *client.Client)) {
	done := make(chan struct{})
	var working, beside sync.WaitGroup
	beside.Go(func() { f.restart(t, done) })
	for w := range workers {
		c := f.client(t)
		working.Go(func() { work(w, c) })
	}
	working.Wait()
	close(done)
	beside.Wait()
}

// sends is a run that sends a message in its midst and crashes behind it.
func sends(ctx context.Context, c *client.Client, id string) error {
	var thread *client.Thread
	var end, at *transcriptv1.ResolveAliasResponse
	for _, do := range []func(context.Context) error{
		func(ctx context.Context) (err error) {
			thread, err = c.Start(ctx, turn("m"+id, "", hello))
			return err
		},
		func(ctx context.Context) error { return thread.Append(ctx, asks) },
		func(ctx context.Context) error { return thread.Sent(ctx, "o"+id) },
		func(ctx context.Context) error { return thread.AppendResults(ctx, result) },
		func(ctx context.Context) (err error) {
			thread, err = c.Resume(ctx, "m"+id)
			return err
		},
		func(ctx context.Context) error { return thread.Append(ctx, asks) },
		func(ctx context.Context) error { return thread.Finish(ctx, client.Replied) },
		func(ctx context.Context) (err error) {
			end, err = c.Resolve(ctx, "msg/m"+id)
			return err
		},
		func(ctx context.Context) (err error) {
			at, err = c.Resolve(ctx, "msg/o"+id)
			return err
		},
	} {
		if err := again(ctx, do); err != nil {
			return err
		}
	}
	if at.Alias.NodeId != end.Alias.NodeId || end.Alias.NodeId != thread.Head() || len(end.Alias.Labels) != 0 || at.Counters.Full.Messages != 5 {
		return fmt.Errorf("msg/o%s is at %v, the run's end is %v", id, at, end)
	}
	return nil
}
