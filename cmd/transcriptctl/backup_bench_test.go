package main

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/transcriptd/transcriptd/chainstore/badgerstore"
	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/turns"
)

// benchNamespaces are how many namespaces hold the real conversations.
const benchNamespaces = 4

// imports are the real conversations in several namespaces of a store on disk.
type imports struct {
	// server serves the store, which was closed and opened: it reads tables.
	server *stack
	// lines is what was imported, in bytes; stored is the store's files while it was closed.
	lines, stored int64
	took          time.Duration
}

func imported(b *testing.B) (i imports) {
	b.Helper()
	var files []string
	for _, file := range slices.Sorted(maps.Keys(realFiles())) {
		files = append(files, filepath.Join(realDir(b), file))
	}
	dir := b.TempDir()
	s := serveStore(b, openBench(b, dir))
	began := time.Now()
	for n := range benchNamespaces {
		s.must(append([]string{"import", "--workers", "8", "--namespace", fmt.Sprint("bench-", n)}, files...)...)
	}
	i.took = time.Since(began)
	s.stop()
	i.lines, i.stored, i.server = benchNamespaces*lineBytes(b, files), sizeOf(b, dir), serveStore(b, openBench(b, dir))
	return i
}

func openBench(b *testing.B, dir string) *badgerstore.Store {
	b.Helper()
	store, err := badgerstore.Open(dir, badgerstore.Options{})
	if err != nil {
		b.Fatal(err)
	}
	return store
}

// BenchmarkBackup writes a full backup of all real conversations, checks it, and restores it through a server and without one, which verifies
// the store behind it. Rates are in bytes of the imported lines, and beside them stands that of the import.
//
//	TRANSCRIPTS_DIR=DIR go test ./cmd/transcriptctl -run xxx -bench "Backup$" -benchtime 3x
func BenchmarkBackup(b *testing.B) {
	i := imported(b)
	s := i.server
	file := filepath.Join(b.TempDir(), "backup")
	took := map[string][]time.Duration{}
	measure := func(name string, do func()) {
		began := time.Now()
		do()
		took[name] = append(took[name], time.Since(began))
	}
	for n := 0; b.Loop(); n++ {
		measure("backup", func() { s.must("backup", "create", file, "--all") })
		measure("verify", func() { s.must("backup", "verify", file) })
		measure("restore-offline", func() { s.must("restore", file, "--store", "badger://"+filepath.Join(b.TempDir(), fmt.Sprint(n))) })
		other := serveStore(b, openBench(b, b.TempDir()))
		measure("restore", func() { other.must("restore", file) })
		other.stop()
		if err := os.Rename(file, file+".last"); err != nil {
			b.Fatal(err)
		}
	}
	for name, all := range took {
		b.ReportMetric(float64(i.lines)/1e6/medianOf(all).Seconds(), name+"-MB/s")
	}
	b.ReportMetric(float64(i.lines)/1e6/i.took.Seconds(), "import-MB/s")
	b.ReportMetric(float64(i.lines)/1e6, "lines-MB")
	b.ReportMetric(float64(sizeOf(b, file+".last"))/float64(i.lines), "archive/lines")
	b.ReportMetric(float64(i.stored)/float64(i.lines), "store/lines")
}

// BenchmarkPutsBesideBackup puts turns, one caller every 5 ms, alone and beside full backups, one of which follows the other, with a bound and
// without; the loads take turns. It reports the p99 of puts, in ms, the ratio to those alone, and the greatest of the ratios of p50.
//
//	TRANSCRIPTS_DIR=DIR go test ./cmd/transcriptctl -run xxx -bench PutsBesideBackup -benchtime 5x
func BenchmarkPutsBesideBackup(b *testing.B) {
	s := imported(b).server
	loads := []struct {
		name string
		rate string
	}{{"alone", ""}, {"bounded", "10000000"}, {"free", "0"}}
	puts := map[string][]time.Duration{}
	source := turns.NewSource("")
	for b.Loop() {
		for _, load := range loads {
			stop := s.backups(b, load.rate)
			puts[load.name] = append(puts[load.name], s.putsFor(b, source, 4*time.Second)...)
			stop()
		}
	}
	alone := puts["alone"]
	for _, load := range loads {
		b.ReportMetric(float64(quantile(puts[load.name], 0.5).Microseconds())/1000, load.name+"-p50-ms")
		b.ReportMetric(float64(quantile(puts[load.name], 0.99).Microseconds())/1000, load.name+"-p99-ms")
		b.ReportMetric(float64(quantile(puts[load.name], 0.99))/float64(quantile(alone, 0.99)), load.name+"/alone-p99")
	}
}

// backups makes one backup after the other until it is stopped, none without a rate.
func (s *stack) backups(b *testing.B, rate string) (stop func()) {
	if rate == "" {
		return func() {}
	}
	var ended atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		for !ended.Load() {
			if r := s.run("backup", "create", "-", "--all", "--rate", rate); r.code != exitOK {
				b.Errorf("backup: exit code %d, %s", r.code, r.notes)
				return
			}
		}
	}()
	return func() {
		ended.Store(true)
		<-done
	}
}

// putsFor puts turns at a steady pace, and tells how long each took from when it was due.
func (s *stack) putsFor(b *testing.B, source *turns.Source, long time.Duration) []time.Duration {
	b.Helper()
	end := time.Now().Add(long)
	return s.putsUntil(b, source, func() bool { return time.Now().After(end) })
}

func (s *stack) putsUntil(b *testing.B, source *turns.Source, over func() bool) []time.Duration {
	b.Helper()
	conn, err := client.Connect(s.addr)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	chain, rpc := source.Chain(), transcriptv1.NewTranscriptServiceClient(conn)
	return paced(b, over, func() error {
		_, err := chain.Put(b.Context(), rpc)
		return err
	})
}

// paced makes a call every 5 ms until it is over, and tells how long each took from when it was due.
func paced(b *testing.B, over func() bool, call func() error) (took []time.Duration) {
	b.Helper()
	for due := time.Now(); !over(); due = due.Add(5 * time.Millisecond) {
		<-time.After(time.Until(due))
		if err := call(); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(due))
	}
	return took
}

func medianOf(of []time.Duration) time.Duration { return quantile(of, 0.5) }

func quantile(of []time.Duration, q float64) time.Duration {
	slices.Sort(of)
	return of[int(q*float64(len(of)-1))]
}

// sizeOf is what a file, or the files of a folder, have.
func sizeOf(b *testing.B, path string) (n int64) {
	b.Helper()
	err := filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		n += info.Size()
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return n
}
