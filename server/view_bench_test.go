//go:build unix

package server_test

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/chainstore/badgerstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// sample is what a call takes, on average: milliseconds that pass, and those of processors, the client's included.
type sample struct{ wall, cpu float64 }

// take makes a call for a while. It begins without garbage and pays for its own.
func take(b *testing.B, call func() []byte) sample {
	const while = 20 * time.Millisecond
	runtime.GC()
	calls := 0
	begin, cpu := time.Now(), processTime(b)
	for calls == 0 || time.Since(begin) < while {
		call()
		calls++
	}
	wall := time.Since(begin)
	per := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 / float64(calls) }
	return sample{per(wall), per(processTime(b) - cpu)}
}

func median(x []float64) float64 {
	slices.Sort(x)
	return x[len(x)/2]
}

// compare holds two calls, a and b, against each other in rounds, turn and turn about. It reports the medians of their
// milliseconds, of b/a round by round, also in time of processors, which tells more where other work goes on, and what
// either asks of the database. It returns the first two.
func (c *turns) compare(b *testing.B, first, second func() []byte) (msA, msB float64) {
	first() // finds the namespace's number, which is remembered
	readsA, readsB := c.reads(first), c.reads(second)
	var timesA, timesB, ratios, cpus []float64
	for b.Loop() {
		var x, y sample
		if len(ratios)%2 == 0 {
			x, y = take(b, first), take(b, second)
		} else {
			y, x = take(b, second), take(b, first)
		}
		timesA, timesB = append(timesA, x.wall), append(timesB, y.wall)
		ratios, cpus = append(ratios, y.wall/x.wall), append(cpus, y.cpu/x.cpu)
	}
	msA, msB = median(timesA), median(timesB)
	b.ReportMetric(median(ratios), "ratio")
	b.ReportMetric(median(cpus), "cpu-ratio")
	b.ReportMetric(msA, "ms_a")
	b.ReportMetric(msB, "ms_b")
	b.ReportMetric(readsA.sum(), "reads_a")
	b.ReportMetric(readsB.sum(), "reads_b")
	b.ReportMetric(0, "ns/op")
	return msA, msB
}

// BenchmarkCosts measures what docs/performance.md states: each of its parts compares b with a in one run. Chains are named
// after their turns.
func BenchmarkCosts(b *testing.B) {
	dir := b.TempDir()
	c := openTurns(b, dir, badgerstore.Options{})
	for _, n := range []int{10, 100, 1_000, 10_000} {
		c.grow(fmt.Sprint(n), n, 0, usual)
	}
	c.growCompacted("compacted once", 1, usual)
	c.growCompacted("compacted often", 40, usual)
	if err := c.store.Close(); err != nil {
		b.Fatal(err)
	}
	c = openTurns(b, dir, badgerstore.Options{})
	b.Run("window", c.benchmarkWindows)
	b.Run("max_bytes", c.benchmarkMaxBytes)
	b.Run("turns", c.benchmarkManyTurns)
	b.Run("compactions", c.benchmarkCompactions)
	b.Run("describe", c.benchmarkDescribe)
	b.Run("compact", c.benchmarkCompact)
}

// benchmarkWindows: a window of ten loops at the end of 100 turns, and of 10,000.
func (c *turns) benchmarkWindows(b *testing.B) {
	for _, x := range []struct {
		name   string
		policy *Policy
	}{{"max_run_loops", byLoops(10)}, {"whole where recent", wholeWhereRecent()}} {
		b.Run(x.name, func(b *testing.B) {
			c := c.in(b)
			c.compare(b, c.view("100", conversation, x.policy), c.view("10000", conversation, x.policy))
		})
	}
}

// benchmarkMaxBytes: the same with a limit of bytes, for which every header is read, and what each loop adds.
func (c *turns) benchmarkMaxBytes(b *testing.B) {
	c, p := c.in(b), byBytes(50_000)
	msA, msB := c.compare(b, c.view("100", conversation, p), c.view("10000", conversation, p))
	b.ReportMetric((msB-msA)*1000/9900, "us/loop")
}

// benchmarkManyTurns: conversations of 1,000 turns, and the full view of the same turns.
func (c *turns) benchmarkManyTurns(b *testing.B) {
	whole, uncut := byLoops(1000), byLoops(1000)
	whole.KeepWholeRunLoops = proto.Int32(1000)
	uncut.MaxUserChars, uncut.MaxReplyChars = proto.Int32(0), proto.Int32(0)
	for _, x := range []struct {
		name, alias string
		policy      *Policy
	}{
		{"unbounded", "1000", unbounded()},
		{"window of all", "1000", byLoops(1000)},
		{"window of the last", "10000", byLoops(1000)},
		{"window of the last, uncut", "10000", uncut},
		{"window of the last, whole", "10000", whole},
	} {
		b.Run(x.name, func(b *testing.B) {
			c := c.in(b)
			c.compare(b, c.view("1000", full, nil), c.view(x.alias, conversation, x.policy))
		})
	}
}

// benchmarkCompactions: what is assembled after one compaction, and after 40.
func (c *turns) benchmarkCompactions(b *testing.B) {
	for _, x := range []struct {
		name   string
		view   transcriptv1.View
		policy *Policy
	}{{"effective", effective, nil}, {"conversation", conversation, byLoops(10)}} {
		b.Run(x.name, func(b *testing.B) {
			c := c.in(b)
			once, often := c.view("compacted once", x.view, x.policy), c.view("compacted often", x.view, x.policy)
			if x, y := len(once()), len(often()); x*100 < y*99 || y*100 < x*99 {
				b.Fatalf("the views are of %d and %d bytes", x, y)
			}
			c.compare(b, once, often)
		})
	}
}

// benchmarkDescribe: the end of 10 turns, and of 10,000.
func (c *turns) benchmarkDescribe(b *testing.B) {
	for _, x := range []struct {
		name string
		mode transcriptv1.DescribeMode
	}{{"off", modeOff}, {"metadata", modeMetadata}, {"preview", modePreview}} {
		b.Run(x.name, func(b *testing.B) {
			c := c.in(b)
			c.compare(b, c.describe("10", x.mode), c.describe("10000", x.mode))
		})
	}
}

// benchmarkCompact: reading all of 10,000 turns once, and compacting them; with what either allocates, the client included,
// and what is written.
func (c *turns) benchmarkCompact(b *testing.B) {
	many := byLoops(250)
	many.KeepWholeRunLoops, many.OmitLeftOutLine = proto.Int32(250), true // as many messages as a node may have
	for _, x := range []struct {
		name   string
		policy *Policy
	}{{"default", nil}, {"max_bytes", byBytes(100_000)}, {"250 whole loops", many}} {
		b.Run(x.name, func(b *testing.B) {
			c := c.in(b)
			stream, compact := c.streamed(&transcriptv1.StreamAssembleRequest{Head: byAlias("10000"), View: full}), c.compacting("10000", x.policy)
			c.compare(b, stream, compact)
			b.ReportMetric(allocated(stream), "MB_a")
			var reply transcriptv1.CompactResponse
			b.ReportMetric(allocated(func() []byte {
				if err := proto.Unmarshal(compact(), &reply); err != nil || !reply.Written {
					b.Fatalf("%v, %v", &reply, err)
				}
				return nil
			}), "MB_b")
			b.ReportMetric(float64(reply.Report.BytesAfter)/1e6, "MB_written")
		})
	}
}

// allocated is what a call allocates, in MB.
func allocated(call func() []byte) float64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	call()
	runtime.ReadMemStats(&after)
	return float64(after.TotalAlloc-before.TotalAlloc) / 1e6
}
