package badgerdb

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/dgraph-io/badger/v4"
)

// What the database knows of its files is what they take, with logs alone, with tables, and opened again.
func TestDiskBytesAreWhatFilesTake(t *testing.T) {
	dir, small := t.TempDir(), Options{MemtableBytes: 1 << 20}
	d, err := Open(dir, small)
	if err != nil {
		t.Fatal(err)
	}
	atRest(t, d, dir, "empty")
	written := 0
	for _, megabytes := range []int{1, 3, 15} {
		written = fill(t, d, written, megabytes)
		atRest(t, d, dir, fmt.Sprint("with ", megabytes, " MB more"))
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if d, err = Open(dir, small); err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	atRest(t, d, dir, "opened again")
	s, tables, bytes := d.Shape(), int64(0), int64(0)
	for _, l := range s.Levels {
		tables, bytes = tables+l.Tables, bytes+l.Bytes
	}
	if inFiles, inBytes := tablesIn(dir); int64(inFiles) != tables || inBytes != bytes {
		t.Errorf("levels have %d tables of %d bytes, the directory %d of %d", tables, bytes, inFiles, inBytes)
	}
}

// atRest waits until Shape tells what the files take, within 3 % and a few blocks: merges may be under way.
func atRest(t *testing.T, d *DB, dir, when string) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for {
		told, taken := d.Shape().DiskBytes, filesTake(t, dir)
		if off := max(told-taken, taken-told); off <= taken*3/100+16<<10 {
			t.Logf("%s: %d bytes, %d told", when, taken, told)
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: files take %d bytes, %d are told", when, taken, told)
		}
	}
}

// filesTake is what du tells of the files of a directory.
func filesTake(t *testing.T, dir string) (total int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if e != nil && e.Type().IsRegular() {
			total += allocatedAt(path)
		}
		return nil // a table may be gone meanwhile
	})
	if err != nil {
		t.Fatal(err)
	}
	return total
}

// fill commits keys with values that do not compress, behind as many as were written before, and returns how many there are.
func fill(tb testing.TB, d *DB, written, megabytes int) int {
	tb.Helper()
	random, value := rand.NewChaCha8([32]byte{byte(written)}), make([]byte, 100_000)
	for range megabytes * 10 {
		_, _ = random.Read(value)
		commit(tb, d, fmt.Sprint(written), value)
		written++
	}
	return written
}

// The shape may be asked for while it changes, and once the database is closed.
func TestShapeMayBeAskedForAtAnyTime(t *testing.T) {
	d, err := Open(t.TempDir(), Options{MemtableBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	var asking sync.WaitGroup
	asking.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				_, _, _ = d.Shape(), d.Descriptors(), d.Maps()
			}
		}
	})
	fill(t, d, 0, 5)
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	close(done)
	asking.Wait()
	if s := d.Shape(); s.DiskBytes < 5_000_000 {
		t.Errorf("once it is closed it tells %+v", s)
	}
}

func TestWaitingBytes(t *testing.T) {
	levels := []badger.LevelInfo{
		{NumTables: 8, Size: 80}, {Size: 10, TargetSize: 10}, {Size: 30, TargetSize: 10}, {Size: 5, TargetSize: 10}, {Size: 1000, TargetSize: 900},
	}
	if n := waitingBytes(levels, 9); n != 20 {
		t.Errorf("%d bytes wait, want 20: what a level has beyond its target, but the last one", n)
	}
	levels[0].NumTables = 9
	if n := waitingBytes(levels, 9); n != 100 {
		t.Errorf("%d bytes wait with nine tables in level 0, want 100", n)
	}
}

func BenchmarkShape(b *testing.B) {
	d, err := Open(b.TempDir(), Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	fill(b, d, 0, 100)
	b.Run("Shape", func(b *testing.B) {
		for b.Loop() {
			_ = d.Shape()
		}
	})
	b.Run("Ready", func(b *testing.B) {
		for b.Loop() {
			if _, err := d.Ready(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// tablesIn counts the files of tables in a directory, and their bytes.
func tablesIn(dir string) (tables int, bytes int64) {
	_ = eachTable(dir, func(_ uint64, e fs.DirEntry) error {
		info, err := e.Info()
		if err == nil {
			tables++
			bytes += info.Size()
		}
		return err
	})
	return tables, bytes
}
