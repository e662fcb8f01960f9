//go:build linux

package badgerdb

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/dgraph-io/badger/v4"
)

var benchTables = flag.Int("start.tables", 100, "of how many tables of 1.5 MB BenchmarkStart makes a store")

// BenchmarkStart is what the checks take of a start over two full logs and one that was just begun, and over many tables that are in
// memory; and such a start as a whole where they are not in memory, with the checks and without.
func BenchmarkStart(b *testing.B) {
	o := Options{}.complete()
	b.Run("checks of logs", func(b *testing.B) {
		dir := b.TempDir()
		createStore(b, dir)
		createLogs(b, dir, 2*o.MemtableBytes)
		for b.Loop() {
			if _, err := settle(dir, &o); err != nil {
				b.Fatal(err)
			}
		}
	})
	dir := b.TempDir()
	createStore(b, dir)
	createTables(b, dir, 1, uint64(*benchTables), maxLevels-1)
	syscall.Sync() // what is not written cannot be dropped from memory
	b.Run("checks of tables", func(b *testing.B) {
		for b.Loop() {
			if _, err := settle(dir, &o); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("cold", func(b *testing.B) {
		benchCold(b, dir, func() (io.Closer, error) { return Open(dir, o) })
	})
	b.Run("cold without checks", func(b *testing.B) {
		benchCold(b, dir, func() (io.Closer, error) { return OpenBare(dir, func(o badger.Options) badger.Options { return o }) })
	})
}

// benchCold opens a store of which nothing is in memory, and tells how much of it is read from the disk.
func benchCold(b *testing.B, dir string, open func() (io.Closer, error)) {
	read := int64(0)
	for b.Loop() {
		b.StopTimer()
		forget(b, dir)
		before := bytesRead(b)
		b.StartTimer()
		d, err := open()
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		read += bytesRead(b) - before
		if err := d.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	b.ReportMetric(float64(read>>20)/float64(b.N), "MiB/op")
}

// forget drops the tables of a store from the system's memory.
func forget(b *testing.B, dir string) {
	const dontNeed = 4
	tables, err := filepath.Glob(filepath.Join(dir, "*"+tableSuffix))
	if err != nil {
		b.Fatal(err)
	}
	for _, path := range tables {
		f, err := os.Open(path)
		if err != nil {
			b.Fatal(err)
		}
		_, _, e := syscall.Syscall6(syscall.SYS_FADVISE64, f.Fd(), 0, 0, dontNeed, 0, 0)
		if err := f.Close(); e != 0 || err != nil {
			b.Fatal(e, err)
		}
	}
}

// bytesRead is what this process has caused to be read from disks.
func bytesRead(b *testing.B) (n int64) {
	text, err := os.ReadFile("/proc/self/io")
	if err != nil {
		b.Skipf("what is read from the disk cannot be told: %v", err)
	}
	for line := range strings.Lines(string(text)) {
		if _, err := fmt.Sscanf(line, "read_bytes: %d", &n); err == nil {
			return n
		}
	}
	b.Skip("what is read from the disk cannot be told")
	return 0
}

// createLogs makes two logs that are full and one of a transaction.
func createLogs(b *testing.B, dir string, size int64) {
	b.Helper()
	const each = 8000
	for n := range uint64(3) {
		last := (n + 1) * each
		if n == 2 {
			last = n*each + 1
		}
		log, ends := logBytes(n*each+1, last, 4000)
		path := filepath.Join(dir, logName(int(n)+1))
		if err := os.WriteFile(path, log[:ends[len(ends)-1]], 0o600); err != nil {
			b.Fatal(err)
		}
		if err := os.Truncate(path, size); err != nil {
			b.Fatal(err)
		}
	}
}

func createStore(b *testing.B, dir string) {
	b.Helper()
	d, err := Open(dir, Options{})
	if err != nil {
		b.Fatal(err)
	}
	if err := d.Close(); err != nil {
		b.Fatal(err)
	}
}
