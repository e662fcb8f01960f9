package badgerdb

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dgraph-io/badger/v4"
)

var memoryOfTables = flag.Int64("tables.mib", 0, "badgerdb: how large the tables are of the last level that TestMemoryOfTables merges")

// TestMemoryOfTables tells how much anonymous memory merges take of tables of a size: 2 GB of words, in random order, that compress about
// three times, under the memory limit of a transcriptd with default flags.
func TestMemoryOfTables(t *testing.T) {
	if *memoryOfTables == 0 {
		t.Skip("it tells what merges of large tables take: give -tables.mib")
	}
	const limit = 448 << 20
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(limit))
	b, err := OpenBare(t.TempDir(), func(o badger.Options) badger.Options {
		return o.WithBaseTableSize(*memoryOfTables << 19) // of the level above, which is the first of such a store
	})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	most := mostAnonymous(t, func() {
		random, value := rand.New(rand.NewPCG(1, 2)), make([]byte, 0, 2000)
		for range 20_000 {
			batch := b.NewWriteBatch()
			for range 50 {
				for value = value[:0]; len(value) < 1980; {
					value = fmt.Appendf(value, "word%d ", random.IntN(4000))
				}
				if err := batch.Set(fmt.Appendf(nil, "%016x", random.Uint64()), append([]byte(nil), value...)); err != nil {
					t.Error(err)
				}
			}
			if err := batch.Flush(); err != nil {
				t.Error(err)
			}
		}
		if err := b.Flatten(2); err != nil {
			t.Error(err)
		}
	})
	last := b.Levels()[b.Opts().MaxLevels-1]
	t.Logf("%d MiB of anonymous memory at most; the last level has %d tables of %d MiB", most>>20, last.NumTables, last.Size>>20/int64(last.NumTables))
}

// mostAnonymous is the most anonymous memory that the process has while a call runs.
func mostAnonymous(t *testing.T, call func()) (most int64) {
	t.Helper()
	done := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				most = max(most, anonymous())
			}
		}
	})
	call()
	close(done)
	watching.Wait()
	return most
}

func anonymous() (bytes int64) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if _, err := fmt.Sscanf(line, "RssAnon: %d kB", &bytes); err == nil {
			return bytes << 10
		}
	}
	return 0
}
