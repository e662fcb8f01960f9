package badgerstore

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/internal/deadline"
)

var purgeMiB = flag.Int("purge.mib", 0, "TestFiguresOfPurges: make a store of so many MiB of messages, and measure erasures in it")

// TestFiguresOfPurges tells how long erasures of 1, 100 and 10,000 nodes take until they are out of the files, how much that writes, and what puts
// take beside, of four writers that each put 6 KB every 20 ms.
func TestFiguresOfPurges(t *testing.T) {
	if *purgeMiB == 0 {
		t.Skip("it takes minutes: -purge.mib 2500")
	}
	s := openAt(t, t.TempDir(), Options{purges: defaultPurgeTimes()})
	const chat, textBytes = 200, 4 << 10
	var ids []chainstore.ID
	for len(ids) < *purgeMiB<<20/textBytes {
		for from := 0; from < chat; from += 50 {
			change := &chainstore.Change{}
			for i := range 50 {
				n := node(nil, third(uint64(len(ids)+i), textBytes))
				switch {
				case i > 0:
					n.Parent = chainstore.Parent{Kind: chainstore.ParentPrevious}
				case from > 0:
					n.Parent = chainstore.Parent{Kind: chainstore.ParentID, ID: ids[len(ids)-1]}
				}
				change.Nodes = append(change.Nodes, n)
			}
			out, err := s.Commit(t.Context(), testNamespace, change)
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range out.Nodes {
				ids = append(ids, n.ID)
			}
		}
	}
	t.Logf("%d nodes, %d MB of files", len(ids), s.Metrics().Shape.DiskBytes>>20)
	erased := 0
	for _, n := range []int{1, 100, 10_000} {
		n = min(n, len(ids)/2)
		var gone []chainstore.ID
		for i := range n {
			gone = append(gone, ids[i*(len(ids)/n)+erased])
		}
		erased++
		alone := p99Of(t, s, func() { _ = deadline.Sleep(t.Context(), 3*time.Second) })
		wrote, begin, answered := writtenBytes(), time.Now(), time.Duration(0)
		beside := p99Of(t, s, func() {
			for some := range slices.Chunk(gone, chainstore.MaxErased) {
				erase(t, s, some...)
			}
			answered = time.Since(begin)
			for p := (chainstore.Purging{Nodes: 1}); p.Nodes > 0; _ = deadline.Sleep(t.Context(), 10*time.Millisecond) {
				var err error
				if p, err = s.Purging(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		})
		t.Logf("%d nodes: answered after %v, out of the files after %v, %d MB written, %d failures; puts' p99 %v before, %v beside", n, answered.Round(time.Millisecond),
			time.Since(begin).Round(10*time.Millisecond), (writtenBytes()-wrote)>>20, s.Metrics().PurgeFailures, alone, beside)
	}
}

// third is text that compresses to about a third.
func third(seed uint64, n int) string {
	return noiseOf(seed, n/2) + strings.Repeat("some words ", n/22)
}

// p99Of is that of puts beside f.
func p99Of(t *testing.T, s *Store, f func()) time.Duration {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	var mu sync.Mutex
	var took []time.Duration
	for w := range 4 {
		wg.Go(func() {
			var tip *chainstore.ID
			for i := 0; ctx.Err() == nil; i++ {
				begin := time.Now()
				id := put(t, s, node(tip, fmt.Sprint(begin, w, i), third(uint64(i), 6<<10)))[0].ID
				tip = &id
				mu.Lock()
				took = append(took, time.Since(begin))
				mu.Unlock()
				_ = deadline.Sleep(ctx, 20*time.Millisecond)
			}
		})
	}
	f()
	cancel()
	wg.Wait()
	slices.Sort(took)
	return took[len(took)*99/100].Round(time.Millisecond)
}

// writtenBytes is what the process has had written to devices; 0 where the system does not tell.
func writtenBytes() (n int64) {
	b, _ := os.ReadFile("/proc/self/io")
	if _, after, ok := strings.Cut(string(b), "\nwrite_bytes: "); ok {
		_, _ = fmt.Sscan(after, &n)
	}
	return n
}
