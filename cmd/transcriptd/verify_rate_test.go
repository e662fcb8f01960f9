//go:build unix

package main

import (
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore"
	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/turns"
	"github.com/transcriptd/transcriptd/server"
)

var (
	verifyNodes = flag.Int("verify.nodes", 400, "how many nodes TestVerifyTakesConstantMemory checks, of one message each, in chains of 200")
	verifyTurns = flag.Int("verify.rounds", 1, "how many times it checks them in both ways")
)

// TestVerifyTakesConstantMemory checks a store of many nodes, by sums and row by row, and tells how much each takes of the processor: other programs do not
// change that much. Neither takes more memory
// the more nodes there are.
func TestVerifyTakesConstantMemory(t *testing.T) {
	const chain = 200
	dir := filepath.Join(t.TempDir(), "store")
	p := startProcess(t, nil, badgerFlag(dir))
	address := p.addr
	c, err := client.Dial(address)
	if err != nil {
		t.Fatal(err)
	}
	for i := range (*verifyNodes + chain - 1) / chain {
		var nodes []client.Node
		for turn := range chain / 4 {
			for _, message := range turns.Turn(uint64(i*chain/4 + turn)) {
				nodes = append(nodes, client.Node{Messages: []*transcriptv1.Message{message}, Previous: len(nodes) > 0})
			}
		}
		nodes[len(nodes)-1].Aliases = []client.AliasUpdate{{Name: fmt.Sprint("chat/", i)}}
		if _, err := c.PutAll(t.Context(), nodes...); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	p.terminate(t)
	var sums, rows, ratios []float64
	for range *verifyTurns {
		bySums := rateOf(t, func(judge chainstore.Judge, report func(chainstore.VerifyReport) error) error {
			s, err := badgerstore.Open(dir, badgerstore.Options{})
			if err != nil {
				return err
			}
			return errors.Join(s.Verify(t.Context(), chainstore.Check{WholeStore: true}, judge, report), s.Close())
		})
		byRows := rateOf(t, func(judge chainstore.Judge, report func(chainstore.VerifyReport) error) error {
			return badgerstore.Rederive(t.Context(), dir, badgerstore.Options{}, chainstore.Check{WholeStore: true}, judge, report)
		})
		sums, rows, ratios = append(sums, bySums), append(rows, byRows), append(ratios, bySums/byRows)
	}
	slices.Sort(sums)
	slices.Sort(rows)
	slices.Sort(ratios)
	middle := len(ratios) / 2
	t.Logf("%d nodes: %.0f nodes a second of the processor by sums, %.0f row by row, %.2f times as many (%s)", *verifyNodes, sums[middle], rows[middle], ratios[middle],
		strings.Trim(fmt.Sprintf("%.2f", ratios), "[]"))
}

// rateOf is how many nodes a check has for a second of the processor, from the first node to the last report, which finds nothing.
func rateOf(t *testing.T, check func(chainstore.Judge, func(chainstore.VerifyReport) error) error) float64 {
	t.Helper()
	const mostBytes = 96 << 20
	before := liveBytes()
	var began, ended time.Duration
	judge := func(h *chainstore.Header, payload, metadata []byte, parent, covers *chainstore.ID) (chainstore.Judgement, error) {
		if began == 0 {
			began = processorTime(t)
		}
		return server.Judge(h, payload, metadata, parent, covers)
	}
	err := check(judge, func(r chainstore.VerifyReport) error {
		if ended = processorTime(t); len(r.Problems) > 0 {
			t.Errorf("%+v", r.Problems[0])
		}
		if now := liveBytes(); now > before+mostBytes {
			t.Errorf("it holds %d MiB more than before", (now-before)>>20)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return float64(*verifyNodes) / (ended - began).Seconds()
}

// processorTime is what the process has had of the processors.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// liveBytes is what is on the heap once garbage is gone.
func liveBytes() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
