package main

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/turns"
)

// BenchmarkCollect forgets all chats of every second namespace of real conversations, and collects. A caller puts turns and another reads the last messages
// of a chat, each every 5 ms: alone, beside collections that count, one after the other, beside the one that deletes, and beside one that gives space back. It
// reports their p99, in ms, the ratios to those alone, and how much the collection counts and deletes a second, in bytes of the imported lines.
//
//	TRANSCRIPTS_DIR=DIR go test ./cmd/transcriptctl -run xxx -bench "Collect$" -benchtime 3x
func BenchmarkCollect(b *testing.B) {
	source := turns.NewSource("")
	puts, reads := map[string][]time.Duration{}, map[string][]time.Duration{}
	var counting, deleting []time.Duration
	var lines, nodes int64
	for b.Loop() {
		i := imported(b)
		s := i.server
		lines = i.lines
		for n := 0; n < benchNamespaces; n += 2 {
			s.must("alias", "delete", "--all", "--yes", "--forget-history", "--namespace", fmt.Sprint("bench-", n))
		}
		beside := func(load string, do func()) {
			var over atomic.Bool
			var callers sync.WaitGroup
			var put, read []time.Duration
			callers.Go(func() { put = s.putsUntil(b, source, over.Load) })
			callers.Go(func() { read = s.readsUntil(b, over.Load) })
			do()
			over.Store(true)
			callers.Wait()
			puts[load], reads[load] = append(puts[load], put...), append(reads[load], read...)
		}
		beside("alone", func() { <-time.After(4 * time.Second) })
		beside("counting", func() {
			for end := time.Now().Add(4 * time.Second); time.Now().Before(end); {
				began := time.Now()
				s.must("collect", "--all", "--grace", "0s", "--dry-run")
				counting = append(counting, time.Since(began))
			}
		})
		beside("deleting", func() {
			began := time.Now()
			nodes = 0
			for n := 0; n < benchNamespaces; n += 2 { // the caller's turns have no alias
				var of int64
				if _, err := fmt.Sscanf(s.must("collect", "--namespace", fmt.Sprint("bench-", n), "--grace", "0s", "--yes"), "%d nodes", &of); err != nil {
					b.Fatal(err)
				}
				nodes += of
			}
			deleting = append(deleting, time.Since(began))
		})
		beside("reclaiming", func() { s.must("collect", "--all", "--yes", "--reclaim-space") })
		s.stop()
	}
	for what, took := range map[string]map[string][]time.Duration{"put": puts, "read": reads} {
		for _, load := range []string{"alone", "counting", "deleting", "reclaiming"} {
			b.ReportMetric(float64(quantile(took[load], 0.99).Microseconds())/1000, strings.Join([]string{what, load, "p99-ms"}, "-"))
			b.ReportMetric(float64(quantile(took[load], 0.99))/float64(quantile(took["alone"], 0.99)), strings.Join([]string{what, load}, "-")+"/alone-p99")
		}
	}
	b.ReportMetric(float64(lines)/1e6/medianOf(counting).Seconds(), "counting-MB/s")
	b.ReportMetric(float64(lines)/2/1e6/medianOf(deleting).Seconds(), "deleting-MB/s")
	b.ReportMetric(float64(nodes)/medianOf(deleting).Seconds(), "deleted-nodes/s")
}

// readsUntil reads the end of a chat that stays.
func (s *stack) readsUntil(b *testing.B, over func() bool) []time.Duration {
	b.Helper()
	conn, err := client.Connect(s.addr)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	c := client.New(conn, client.WithNamespace("bench-1"))
	chat := ""
	for a, err := range c.Aliases(b.Context(), client.AliasScope{}) {
		if err != nil {
			b.Fatal(err)
		}
		chat = a.GetName()
		break
	}
	query := client.Query{View: transcriptv1.View_VIEW_EFFECTIVE, LastMessages: 20}
	return paced(b, over, func() error {
		_, err := c.Assemble(b.Context(), client.ByAlias(chat), query)
		return err
	})
}
