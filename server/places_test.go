package server

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/transcriptd/transcriptd/chainstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/transport/reply"
)

// openedStore has reads of rows wait until it is opened, and counts them.
type openedStore struct {
	chainstore.Store
	opened  chan struct{}
	reading atomic.Int64
}

func (s *openedStore) Chain(ctx context.Context, namespace string, ref chainstore.Ref, after *chainstore.ID) (chainstore.Chain, error) {
	chain, err := s.Store.Chain(ctx, namespace, ref, after)
	if err != nil {
		return nil, err
	}
	return &openedChain{chain, s}, nil
}

func (s *openedStore) ChainNamed(ctx context.Context, namespace string, ref chainstore.Ref, limit int) (chainstore.Chain, []string, bool, error) {
	chain, names, more, err := s.Store.ChainNamed(ctx, namespace, ref, limit)
	if err != nil {
		return nil, nil, false, err
	}
	return &openedChain{chain, s}, names, more, nil
}

type openedChain struct {
	chainstore.Chain
	store *openedStore
}

func (c *openedChain) Rows(ctx context.Context, spans []chainstore.Span, yield func(*chainstore.Row) error) error {
	c.store.reading.Add(1)
	defer c.store.reading.Add(-1)
	<-c.store.opened
	return c.Chain.Rows(ctx, spans, yield)
}

// lookThrough calls each method that looks through messages.
func lookThrough(ctx context.Context, client transcriptv1.TranscriptServiceClient, head string) map[string]func() error {
	return map[string]func() error{
		"Search": func() error {
			_, err := client.Search(ctx, &transcriptv1.SearchRequest{
				Scope: &transcriptv1.SearchRequest_Head{Head: idRef(head)}, Pattern: &transcriptv1.SearchRequest_Text{Text: "1"},
			})
			return err
		},
		"ReplayTools": func() error {
			_, err := client.ReplayTools(ctx, &transcriptv1.ReplayToolsRequest{Head: idRef(head)})
			return err
		},
		"Describe": func() error {
			_, err := client.Describe(ctx, &transcriptv1.DescribeRequest{Head: idRef(head)})
			return err
		},
		"ListRunLoops": func() error {
			_, err := client.ListRunLoops(ctx, &transcriptv1.ListRunLoopsRequest{Head: idRef(head)})
			return err
		},
	}
}

// Of calls that look through messages a few run at once, and the others wait until shortly before their deadline.
func TestCallsThatLookThroughMessagesTakeTurns(t *testing.T) {
	replying(t, func(c *crowd) {
		store := &openedStore{Store: c.store.Store, opened: make(chan struct{})}
		c.store.Store = store
		head, most := c.chainOf(2, 1000), int64(runtime.GOMAXPROCS(0))
		var told atomic.Bool
		for range 4 {
			client, leave := c.another(&told)
			defer leave()
			for name, call := range lookThrough(c.Context(), client, head) {
				for range 20 {
					c.running.Go(func() {
						if err := call(); err != nil {
							t.Errorf("%s: %v", name, err)
						}
					})
				}
			}
			synctest.Wait()
			if got := store.reading.Load(); got > most || got == 0 {
				t.Errorf("%d calls read at once, at most %d may", got, most)
			}
		}
		ctx, cancel := context.WithTimeout(c.Context(), time.Second)
		defer cancel()
		if err := lookThrough(ctx, c.TranscriptServiceClient, head)["Search"](); status.Code(err) != codes.ResourceExhausted || !strings.Contains(err.Error(), "turn") {
			t.Errorf("before its deadline a call is told %v", err)
		}
		ctx, cancel = context.WithCancel(c.Context())
		cancel()
		if _, err := c.server.transport.Replies.InTurn(ctx, nil, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("a call that was given up is told %v", err)
		}
		close(store.opened)
		c.running.Wait()
	})
}

// A connection with many calls that wait for a turn does not keep another waiting for all of them.
func TestTurnsAreOfConnections(t *testing.T) {
	search := func(ctx context.Context, client transcriptv1.TranscriptServiceClient, head string) error {
		return lookThrough(ctx, client, head)["Search"]()
	}
	assemble := func(ctx context.Context, client transcriptv1.TranscriptServiceClient, head string) error {
		_, err := client.Assemble(ctx, &transcriptv1.AssembleRequest{Head: idRef(head)})
		return err
	}
	stream := func(ctx context.Context, client transcriptv1.TranscriptServiceClient, head string) error {
		s, err := client.StreamAssemble(ctx, &transcriptv1.StreamAssembleRequest{Head: idRef(head)})
		for err == nil {
			_, err = s.Recv()
		}
		return err
	}
	for name, call := range map[string]func(context.Context, transcriptv1.TranscriptServiceClient, string) error{
		"Search": search, "Assemble": assemble, "StreamAssemble": stream,
	} {
		t.Run(name, func(t *testing.T) { turnsOfConnections(t, call) })
	}
}

func turnsOfConnections(t *testing.T, call func(ctx context.Context, client transcriptv1.TranscriptServiceClient, head string) error) {
	replying(t, func(c *crowd) {
		store := &openedStore{Store: c.store.Store, opened: make(chan struct{})}
		c.store.Store = store
		head := c.chainOf(2, 1000)
		client, leave := c.another(new(atomic.Bool))
		defer leave()
		for range 200 {
			c.running.Go(func() { _ = call(c.Context(), client, head) })
		}
		synctest.Wait()
		ended := make(chan error, 1)
		c.running.Go(func() { ended <- call(c.Context(), c.TranscriptServiceClient, head) })
		synctest.Wait()
		for reads := 0; len(ended) == 0; reads++ {
			if reads == 100 {
				t.Error("another connection waits for all calls of the first")
				break
			}
			store.opened <- struct{}{}
			synctest.Wait()
		}
		close(store.opened)
		c.running.Wait()
	})
}

// Who waits for a turn, or for room for what it has found, keeps no turn.
func TestTurnsAreNotKeptByThoseThatWait(t *testing.T) {
	replying(t, func(c *crowd) {
		head := c.chainOf(100, 300)
		o := c.server.transport.Replies
		if !o.Small.TryAcquire(reply.SmallBytes) {
			t.Fatal("there is no room")
		}
		var told atomic.Bool
		for range 4 {
			client, leave := c.another(&told)
			told.Store(true)
			for range 100 {
				c.running.Go(func() { _ = lookThrough(c.Context(), client, head)["Search"]() })
			}
			synctest.Wait()
			told.Store(false)
			defer leave()
		}
		if n := c.metric("transcriptd_server_replies_waiting"); n == 0 {
			t.Error("no call waits for room")
		}
		if !o.Places.TryAcquire(int64(runtime.GOMAXPROCS(0))) {
			t.Error("calls that wait for room keep places")
		}
		o.Places.Release(int64(runtime.GOMAXPROCS(0)))
		o.Small.Release(reply.SmallBytes)
	})
}

// A read that waits for the room of a large reply leaves its place to others, and has one again when it goes on.
func TestPlacesOfReadsAreNotKeptByThoseThatWait(t *testing.T) {
	replying(t, func(c *crowd) {
		head := c.chainOf(300, 1000)
		o, all := c.server.transport.Replies, 8*int64(runtime.GOMAXPROCS(0))
		if !o.Free.TryAcquire(reply.RepliesBytes) {
			t.Fatal("there is no room")
		}
		for range 2 * all {
			c.running.Go(func() {
				if _, err := c.Assemble(c.Context(), &transcriptv1.AssembleRequest{Head: idRef(head)}); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		if n := c.metric("transcriptd_server_replies_waiting"); n == 0 {
			t.Error("no call waits for room")
		}
		if !o.Running.TryAcquire(all) {
			t.Fatal("calls that wait for room keep places")
		}
		o.Free.Release(reply.RepliesBytes)
		o.Running.Release(all)
		c.running.Wait()
		if !o.Running.TryAcquire(all) {
			t.Error("places were not given back")
		}
		o.Running.Release(all)
	})
}
