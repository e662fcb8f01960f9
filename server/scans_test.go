package server

import (
	"context"
	"errors"
	"io"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/transcriptd/transcriptd/chainstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/chainview"
	"github.com/transcriptd/transcriptd/server/internal/fair"
	"github.com/transcriptd/transcriptd/server/internal/frames"
)

// fewPlaces are fewer than the batches of a chain of so many nodes of 100 KiB.
const fewPlaces, longNodes = 3, 40

// long puts a chain, of which nothing is in memory.
func (c *crowd) long() chainstore.Chain {
	c.Helper()
	for i := range longNodes {
		put := text(100 << 10)
		put.Aliases = []*transcriptv1.AliasUpdate{{Name: "chat"}}
		if i > 0 {
			put.Parent = aliasRef("chat")
		}
		if _, err := c.PutNode(c.Context(), put); err != nil {
			c.Fatal(err)
		}
	}
	chain, err := c.server.store.Chain(c.Context(), "default", chainstore.Ref{Alias: "chat"}, nil)
	if err != nil {
		c.Fatal(err)
	}
	return chain
}

// watchedChain calls ahead before it reads rows behind the first batch.
type watchedChain struct {
	chainstore.Chain
	ahead func(context.Context) error
}

func (w watchedChain) Rows(ctx context.Context, spans []chainstore.Span, yield func(*chainstore.Row) error) error {
	if spans[0].From > 0 {
		if err := w.ahead(ctx); err != nil {
			return err
		}
	}
	return w.Chain.Rows(ctx, spans, yield)
}

// readChain reads a chain as a stream does, and tells how many bytes came; nil for send takes everything.
func readChain(ctx context.Context, chain chainstore.Chain, scans *fair.Semaphore, send func() error) (bytes int, err error) {
	a := &chainview.Assembly{Chain: chain, Full: true}
	last, _, err := frames.ReadAll(ctx, a, New(nil, Config{}).transport.Replies, scans, func(full []*chainview.Frame) error {
		for _, f := range full {
			bytes += f.Size()
		}
		if send == nil {
			return nil
		}
		return send()
	})
	if err == nil {
		bytes += last.Size()
	}
	return bytes, err
}

// Where a batch cannot be sent, whichever it is, its room is given back, and that of what was read ahead, also where sending panics.
func TestRoomOfWhatIsNotSent(t *testing.T) {
	c := newCrowd(t, 100)
	close(c.store.gate)
	chain := c.long()
	for name, fail := range map[string]func() error{"error": func() error { return io.ErrClosedPipe }, "panic": func() error { panic("not sent") }} {
		failed := 0
		for all := false; !all && failed < longNodes; failed++ {
			batch := 0
			func() {
				defer func() { _ = recover() }()
				a := &chainview.Assembly{Chain: chain, Full: true}
				last, _, err := frames.ReadAll(t.Context(), a, c.server.transport.Replies, fair.NewSemaphore(fewPlaces), func([]*chainview.Frame) error {
					if batch++; batch > failed {
						return fail()
					}
					return nil
				})
				last.Drop()
				all = err == nil
			}()
			if n := c.metric("transcriptd_server_replies_bytes"); n != 0 {
				t.Errorf("%s of batch %d: %g bytes are held", name, failed+1, n)
			}
		}
		if failed < 5 || failed == longNodes {
			t.Errorf("%d batches were sent", failed)
		}
	}
}

// However many streams read what is not in memory, a few batches are read at a time, and all streams come to their end.
func TestAFewBatchesAreReadAtATime(t *testing.T) {
	slowly(t, 16, func(c *crowd) {
		var now, most atomic.Int64
		chain := watchedChain{c.long(), func(context.Context) error {
			n := now.Add(1)
			defer now.Add(-1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			<-time.After(time.Millisecond)
			return nil
		}}
		scans := fair.NewSemaphore(fewPlaces)
		for range 10 {
			c.running.Go(func() {
				if n, err := readChain(c.Context(), chain, scans, nil); err != nil || n < longNodes*100<<10 {
					c.Errorf("%d bytes, %v", n, err)
				}
			})
		}
		c.running.Wait()
		if n := most.Load(); n != fewPlaces {
			c.Errorf("%d batches were read at a time, not %d", n, fewPlaces)
		}
	})
}

// The first batch is sent though all places are taken; a caller who leaves does not wait for one.
func TestWithoutAPlace(t *testing.T) {
	slowly(t, 16, func(c *crowd) {
		var batches atomic.Int64
		var ended atomic.Bool
		chain, scans := c.long(), fair.NewSemaphore(fewPlaces)
		if !scans.TryAcquire(fewPlaces) {
			c.Fatal("a place is taken")
		}
		ctx, leave := context.WithCancel(c.Context())
		c.running.Go(func() {
			if _, err := readChain(ctx, chain, scans, func() error { batches.Add(1); return nil }); !errors.Is(err, context.Canceled) {
				c.Errorf("who left is told %v", err)
			}
			ended.Store(true)
		})
		synctest.Wait()
		if n := batches.Load(); n != 1 || ended.Load() {
			c.Errorf("%d batches were sent, not the first; ended: %v", n, ended.Load())
		}
		leave()
		synctest.Wait()
		if !ended.Load() {
			c.Error("who left waits for a place")
		}
		scans.Release(fewPlaces)
		c.running.Wait()
	})
}

// A stream whose caller takes nothing has no place, and three batches beside the one that it sends.
func TestNoPlaceWhileSending(t *testing.T) {
	slowly(t, 16, func(c *crowd) {
		var ahead atomic.Int64
		chain := watchedChain{c.long(), func(context.Context) error { ahead.Add(1); return nil }}
		scans, sent, taken := fair.NewSemaphore(fewPlaces), 0, make(chan struct{})
		c.running.Go(func() {
			_, err := readChain(c.Context(), chain, scans, func() error {
				if sent++; sent == 3 {
					<-taken
				}
				return nil
			})
			if err != nil {
				c.Error(err)
			}
		})
		synctest.Wait()
		if beside := 1 + int(ahead.Load()) - sent; sent != 3 || beside != 3 {
			c.Errorf("batch %d is sent, %d are read beside", sent, beside)
		}
		if !scans.TryAcquire(fewPlaces) {
			c.Error("a place is held while a batch is sent")
		} else {
			scans.Release(fewPlaces)
		}
		close(taken)
		c.running.Wait()
	})
}

// However a stream ends, its places are given back.
func TestPlacesOfStreamsAreGivenBack(t *testing.T) {
	slowly(t, 16, func(c *crowd) {
		chain, no := c.long(), errors.New("no")
		well := func(context.Context) error { return nil }
		for how, does := range map[string]struct {
			ahead func(context.Context) error
			send  func() error
		}{
			"well":   {well, nil},
			"fails":  {func(context.Context) error { return no }, nil},
			"panics": {func(context.Context) error { panic("no") }, nil},
			"left":   {func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, nil},
			"unsent": {well, func() error { return no }},
		} {
			scans := fair.NewSemaphore(fewPlaces)
			ctx, leave := context.WithTimeout(c.Context(), time.Second)
			_, err := readChain(ctx, watchedChain{chain, does.ahead}, scans, does.send)
			leave()
			if (err == nil) != (how == "well") {
				c.Errorf("%s: ended with %v", how, err)
			}
			if !scans.TryAcquire(fewPlaces) {
				c.Errorf("%s: a place is not given back", how)
			}
		}
	})
}

// A server's streams share twice as many places as there are processors.
func TestAServersPlaces(t *testing.T) {
	slowly(t, 16, func(c *crowd) {
		c.long()
		all, scans := 2*int64(runtime.GOMAXPROCS(0)), c.server.scans
		if !scans.TryAcquire(all) || scans.TryAcquire(1) {
			c.Fatalf("a server has not %d places", all)
		}
		replies, err := c.StreamAssemble(c.Context(), &transcriptv1.StreamAssembleRequest{Head: aliasRef("chat")})
		if err != nil {
			c.Fatal(err)
		}
		came := 0
		c.running.Go(func() {
			for {
				f, err := replies.Recv()
				if err != nil {
					if !errors.Is(err, io.EOF) {
						c.Error(err)
					}
					return
				}
				came += len(f.Messages)
			}
		})
		synctest.Wait()
		if came == 0 || came == longNodes {
			c.Errorf("%d messages came while all places were taken", came)
		}
		scans.Release(all)
		c.running.Wait()
		if came != longNodes {
			c.Errorf("%d messages came", came)
		}
	})
}
