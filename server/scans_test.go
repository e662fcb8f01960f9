package server

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/transcriptd/transcriptd/chainstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// slowChain takes a millisecond to read rows, and counts how many batches behind the first of a stream are read at once.
type slowChain struct {
	chainstore.Chain
	now, most *atomic.Int64
}

func (c slowChain) Rows(ctx context.Context, span chainstore.Span, yield func(*chainstore.Row) error) error {
	if span.From > 0 {
		now := c.now.Add(1)
		defer c.now.Add(-1)
		for most := c.most.Load(); now > most && !c.most.CompareAndSwap(most, now); most = c.most.Load() {
		}
	}
	<-time.After(time.Millisecond)
	return c.Chain.Rows(ctx, span, yield)
}

// However many streams read what is not in memory, a few batches are read at a time; all streams come to their end, and a caller
// who leaves waits for nothing.
func TestAFewBatchesAreReadAtATime(t *testing.T) {
	const streams, atATime, nodes = 10, 3, 40
	slowly(t, 16, func(c *crowd) {
		for i := range nodes {
			put := text(100 << 10)
			put.Messages[0].Parts[0].Kind = &transcriptv1.Part_Text{Text: fmt.Sprint(i) + strings.Repeat("x", 100<<10)}
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
		slow := slowChain{chain, new(atomic.Int64), new(atomic.Int64)}
		scans, pool := semaphore.NewWeighted(atATime), newBuffers()
		read := func(ctx context.Context) (bytes int, err error) {
			a := &assembly{chain: slow, full: true}
			last, _, err := a.readAll(ctx, pool, scans, func(full []*frame) error {
				for _, f := range full {
					bytes += f.size()
				}
				return nil
			})
			if err == nil {
				bytes += last.size()
			}
			return bytes, err
		}
		for range streams {
			c.running.Go(func() {
				if n, err := read(c.Context()); err != nil || n < nodes*100<<10 {
					c.Errorf("%d bytes, %v", n, err)
				}
			})
		}
		gone, leave := context.WithTimeout(c.Context(), 5*time.Millisecond)
		defer leave()
		if _, err := read(gone); err == nil {
			c.Error("who left has all")
		}
		c.running.Wait()
		if n := slow.most.Load(); n != atATime {
			c.Errorf("%d batches were read at a time, not %d", n, atATime)
		}
	})
}
