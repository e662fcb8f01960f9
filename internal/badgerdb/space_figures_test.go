package badgerdb

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

var (
	figuresMiB     = flag.Int("space.mib", 0, "TestFiguresOfSpace: make a store of so many MiB of values, and measure drops and Reclaim on it")
	figuresFlatten = flag.Bool("space.flatten", false, "TestFiguresOfSpace: Badger's Flatten instead of Reclaim")
)

// Figures: how long drops of one key, of 100 and of 1,000, and Reclaim of a store of which half was deleted, take, how much they write, and what
// commits take beside them, of four writers that each commit 6 KB every 20 ms.
func TestFiguresOfSpace(t *testing.T) {
	if *figuresMiB == 0 {
		t.Skip("it takes minutes: -space.mib 1024")
	}
	d := openCommitter(t, t.TempDir(), Options{})
	defer func() { fatal(t, d.Close()) }()
	const chat, valueBytes = 200, 4 << 10
	rows := *figuresMiB << 20 / valueBytes
	d.chats(t, rows, valueBytes, func(int) bool { return true })
	d.turn(t)
	t.Logf("%s", d.LevelsToString())
	for _, n := range []int{1, 100, 1000} {
		d.beside(t, fmt.Sprintf("drop %d keys", n), func(context.Context) {
			var keys [][]byte
			again := func(b *Batch) (err error) {
				for i := range n {
					err = errors.Join(err, b.Set(chatKey(i*rows/n), []byte("erased")))
				}
				return err
			}
			for i := range n {
				keys = append(keys, chatKey(i*rows/n))
			}
			fatal(t, d.write(again))
			log, before, release := d.keep(t, again)
			defer release()
			fatal(t, d.DropVersions(t.Context(), log, before, keys...))
		})
	}
	live := func(n int) bool { return n/chat%2 == 0 }
	for from := 0; from < rows; from += chat {
		if !live(from) {
			fatal(t, d.write(func(b *Batch) (err error) {
				for n := from; n < min(rows, from+chat); n++ {
					err = errors.Join(err, b.Delete(chatKey(n)), b.Delete(indexKey(n)))
				}
				return err
			}))
		}
	}
	d.turn(t)
	d.gauge(t)
	d.beside(t, "reclaim", func(context.Context) {
		d.turn(t)
		if *figuresFlatten {
			fatal(t, d.Flatten(2))
		} else {
			fatal(t, d.Reclaim(t.Context()))
		}
	})
	d.gauge(t)
	kept := tableBytesOf(d)
	f := openCommitter(t, t.TempDir(), Options{})
	f.chats(t, rows, valueBytes, live)
	f.turn(t)
	fatal(t, f.Reclaim(t.Context()))
	t.Logf("%d MB of tables are left; of a fresh store that has what lives, but for what was written beside, %d MB", kept>>20, tableBytesOf(f)>>20)
	fatal(t, f.Close())
}

func chatKey(n int) []byte { return binary.BigEndian.AppendUint64([]byte("S"), uint64(n)) }

// indexKey is that of a row anywhere among its like, as rows by digest are.
func indexKey(n int) []byte {
	digest := sha256.Sum256(chatKey(n))
	return append([]byte("I"), digest[:]...)
}

// chats writes rows of values that compress to a third, in commits of sixteen.
func (d *committer) chats(t testing.TB, rows, valueBytes int, live func(n int) bool) {
	t.Helper()
	for from := 0; from < rows; from += 16 {
		fatal(t, d.write(func(b *Batch) (err error) {
			for n := from; n < min(rows, from+16); n++ {
				if live(n) {
					err = errors.Join(err, b.Set(chatKey(n), thirdRandom(valueBytes)), b.Set(indexKey(n), chatKey(n)))
				}
			}
			return err
		}))
		d.Pace(t.Context())
	}
}

func thirdRandom(n int) []byte {
	value := make([]byte, n)
	randomize(value[:n/3])
	for i := n / 3; i < n; i++ {
		value[i] = "some words "[i%11]
	}
	return value
}

func (d *committer) gauge(t testing.TB) {
	t.Helper()
	begin := time.Now()
	s, err := d.Space(t.Context(), DefaultSpaceSamples)
	fatal(t, err)
	t.Logf("the gauge tells %d of %d MB in %v", s.Dead>>20, s.Tables>>20, time.Since(begin).Round(time.Millisecond))
}

// beside runs f beside writers, after these alone for a while.
func (d *committer) beside(t testing.TB, name string, f func(context.Context)) {
	t.Helper()
	const alone = 3 * time.Second
	before := d.writers(t, func(ctx context.Context) { sleep(ctx, alone) })
	wrote, begin := writtenBytes(), time.Now()
	during := d.writers(t, f)
	t.Logf("%s: %v, %d MB written; puts' p99 %v before, %v beside", name, time.Since(begin).Round(10*time.Millisecond), (writtenBytes()-wrote)>>20,
		p99(before), p99(during))
}

func (d *committer) writers(t testing.TB, f func(context.Context)) (took []time.Duration) {
	ctx, cancel := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	var mu sync.Mutex
	for range 4 {
		writers.Go(func() {
			for ctx.Err() == nil {
				begin := time.Now()
				err := d.write(func(b *Batch) error {
					d.others++
					return b.Set(binary.BigEndian.AppendUint64([]byte("T"), d.others), thirdRandom(6<<10))
				})
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				took = append(took, time.Since(begin))
				mu.Unlock()
				sleep(ctx, 20*time.Millisecond)
			}
		})
	}
	f(ctx)
	cancel()
	writers.Wait()
	return took
}

func p99(took []time.Duration) time.Duration {
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
