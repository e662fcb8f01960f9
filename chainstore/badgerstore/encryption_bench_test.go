package badgerstore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/internal/prose"
)

// BenchmarkEncryption tells how many times as long an encrypted store takes as one that is not, as medians of both in turns: for a change of one node
// (alone, and as one of 200), for a chain of 100 nodes that no cache of rows has, for a start.
func BenchmarkEncryption(b *testing.B) {
	plain, encrypted := Options{RowCacheBytes: -1, Now: paced()}, Options{RowCacheBytes: -1, Now: paced(), EncryptionKey: testKey(1)}
	sides := []*encryptionSide{fillSide(b, plain), fillSide(b, encrypted)}
	for name, run := range map[string]func(b *testing.B, s *encryptionSide, n int){
		"put a node": func(b *testing.B, s *encryptionSide, n int) { s.put(b, n, 1) },
		"put 200":    func(b *testing.B, s *encryptionSide, n int) { s.put(b, n, 200) },
		"read 100":   func(b *testing.B, s *encryptionSide, n int) { s.read(b, n) },
		"start":      func(b *testing.B, s *encryptionSide, _ int) { s.restart(b) },
	} {
		b.Run(name, func(b *testing.B) {
			var took [2][]time.Duration
			n := 0
			for b.Loop() {
				for i, s := range sides {
					begin := time.Now()
					run(b, s, n)
					took[i] = append(took[i], time.Since(begin))
				}
				n++
			}
			for i := range took {
				slices.Sort(took[i])
			}
			median := [2]time.Duration{took[0][n/2], took[1][n/2]}
			b.ReportMetric(float64(median[0].Microseconds()), "us/plain")
			b.ReportMetric(float64(median[1].Microseconds()), "us/encrypted")
			b.ReportMetric(float64(median[1])/float64(median[0]), "times")
		})
	}
}

// encryptionSide is a store with chains.
type encryptionSide struct {
	*Store
	dir   string
	o     Options
	heads []chainstore.ID
}

// fillSide makes a store of 300 chains of 100 nodes of 3.5 KB, in tables.
func fillSide(b *testing.B, o Options) *encryptionSide {
	s := &encryptionSide{dir: b.TempDir(), o: o}
	s.Store = openAt(b, s.dir, o)
	for i := range 300 {
		s.put(b, -1-i, 100)
	}
	s.restart(b)
	return s
}

// put puts a chain of nodes in one change.
func (s *encryptionSide) put(b *testing.B, seed, nodes int) {
	in := make([]chainstore.NewNode, nodes)
	for j := range in {
		in[j] = node(nil, fmt.Sprint(seed, nodes), prose.Words(rand.New(rand.NewPCG(uint64(seed), uint64(j))), 3500))
		if j > 0 {
			in[j].Parent = chainstore.Parent{Kind: chainstore.ParentPrevious}
		}
	}
	out := put(b, s, in...)
	if nodes == 100 {
		s.heads = append(s.heads, out[nodes-1].ID)
	}
}

func (s *encryptionSide) read(b *testing.B, n int) {
	c, err := s.Chain(context.Background(), testNamespace, chainstore.Ref{ID: s.heads[n*37%len(s.heads)]}, nil)
	if err != nil {
		b.Fatal(err)
	}
	rows := 0
	err = c.Rows(context.Background(), []chainstore.Span{{From: 0, Through: c.Head().Seq}}, func(*chainstore.Row) error { rows++; return nil })
	if err != nil || rows != 100 {
		b.Fatal(rows, err)
	}
}

func (s *encryptionSide) restart(b *testing.B) {
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	s.Store = openAt(b, s.dir, s.o)
}
