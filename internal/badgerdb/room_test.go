package badgerdb

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dgraph-io/badger/v4"

	"github.com/transcriptd/transcriptd/chainstore"
)

// disk is one with so many bytes free, whatever is written to it.
type disk struct{ bytes atomic.Int64 }

func (d *disk) free(string) (int64, error) { return d.bytes.Load(), nil }

func diskOf(bytes int64) *disk {
	d := &disk{}
	d.bytes.Store(bytes)
	return d
}

// fakeRoom is one of a database with tables in level 6 that are there as files of the same sizes.
func fakeRoom(t *testing.T, d *disk, sizes ...int64) *room {
	t.Helper()
	r := &room{
		dir: t.TempDir(), free: d.free, logs: func() (int64, error) { return 100, nil },
		spare: 1000, forDeletes: 500, lookAfter: 200,
	}
	var tables []badger.TableInfo
	var all int64
	for i, size := range sizes {
		id := uint64(i + 1)
		r.writeTable(t, id, size)
		info := tableOf(6, 10*id, 10*id+9, uint32(size))
		info.ID = id
		tables, all = append(tables, info), all+size
	}
	r.tables = func() []badger.TableInfo { return tables }
	r.levels = func() []badger.LevelInfo { return []badger.LevelInfo{{}, {Level: 6, IsBaseLevel: true, Size: all}} }
	return r
}

func (r *room) writeTable(t *testing.T, id uint64, size int64) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, fmt.Sprintf("%06d.sst", id)), make([]byte, size), 0o600); err != nil {
		t.Fatal(err)
	}
}

// What is kept is the logs and all tables once more, with a sixty-fourth for what lies beside their rows; then come spare and what
// is for deletes.
func TestRoomIsKept(t *testing.T) {
	const kept = 100 + 6400 + 100 + 1000
	for free, want := range map[int64][2]bool{
		kept + 500: {true, true}, kept + 499: {false, true}, kept: {false, true}, kept - 1: {false, false},
	} {
		r := fakeRoom(t, diskOf(free), 6400)
		puts, deletes := r.check()
		if (puts == nil) != want[0] || (deletes == nil) != want[1] {
			t.Errorf("%d bytes are free: puts %v, deletes %v", free, puts, deletes)
		}
		for _, err := range []error{puts, deletes} {
			if err != nil && !errors.Is(err, chainstore.ErrDiskFull) {
				t.Errorf("the error is %v", err)
			}
		}
		if k, left, err := r.gauges(); k != kept+500 || left != max(0, free-kept-500) || err != nil {
			t.Errorf("%d bytes are free: kept are %d, left %d, %v", free, k, left, err)
		}
	}
}

// What is written counts before the tables are looked at again.
func TestRoomCountsWhatIsWritten(t *testing.T) {
	d := diskOf(100 + 1000 + 500 + 150)
	r := fakeRoom(t, d)
	logs := int64(100)
	r.logs = func() (int64, error) { return logs, nil }
	for i, full := range []bool{false, false, true} {
		if puts, _ := r.check(); (puts != nil) != full {
			t.Errorf("after %d bytes: %v", 100*i, puts)
		}
		r.wrote(100)
		logs += 100
	}
}

// What merges under way have written is theirs: it counts as free. A table that was the database's, and whose file a reader holds,
// does not.
func TestRoomOfMerges(t *testing.T) {
	d := diskOf(0)
	r := fakeRoom(t, d, 1<<20, 1<<20)
	need := int64(2<<20+2<<14) + 100 + r.spare + r.forDeletes
	d.bytes.Store(need - 1<<20)
	if puts, _ := r.check(); puts == nil {
		t.Fatal("a MiB is missing, and puts are taken")
	}
	r.writeTable(t, 7, 1<<20)
	r.looked = time.Time{}
	if puts, _ := r.check(); puts != nil {
		t.Errorf("a merge has written what is missing: %v", puts)
	}
	tables := r.tables()
	r.tables = func() []badger.TableInfo { return tables[1:] } // the other one was merged into it; somebody reads that one
	r.levels = func() []badger.LevelInfo { return []badger.LevelInfo{{}, {Level: 6, IsBaseLevel: true, Size: 1 << 20}} }
	if err := os.Remove(filepath.Join(r.dir, "000007.sst")); err != nil {
		t.Fatal(err)
	}
	d.bytes.Store(int64(1<<20+1<<14) + 100 + r.spare + r.forDeletes - 1)
	for range 2 {
		r.looked = time.Time{}
		if puts, _ := r.check(); puts == nil {
			t.Error("a table that a reader holds counts as free")
		}
	}
}

// Where merges take less than all tables, only so much is kept.
func TestRoomForTheLargestMerge(t *testing.T) {
	var tables []badger.TableInfo
	for i := range uint64(100) { // level 5 covers a tenth of level 6
		tables = append(tables, tableOf(6, 10*i, 10*i+9, 640))
		if i < 10 {
			tables = append(tables, tableOf(5, 10*i, 10*i+9, 640))
		}
	}
	r := fakeRoom(t, diskOf(0))
	r.tables = func() []badger.TableInfo { return tables }
	r.levels = func() []badger.LevelInfo {
		return []badger.LevelInfo{{}, {Level: 5, IsBaseLevel: true, Size: 6400}, {Level: 6, Size: 64000}}
	}
	r.check()
	// All of level 5 with level 0, and beside it a table of level 5 with two of level 6.
	const merges = 6400 + 3*640
	if kept, _, _ := r.gauges(); kept != 100+merges+merges/64+r.spare+r.forDeletes {
		t.Errorf("%d bytes are kept", kept)
	}
}

// Being full is told once, and that it is over, too.
func TestRoomTellsOnce(t *testing.T) {
	var out strings.Builder
	d := diskOf(0)
	r := fakeRoom(t, d)
	r.log = slog.New(slog.NewTextHandler(&out, nil))
	for _, free := range []int64{1 << 20, 0, 0, 1 << 20, 1 << 20, 0} {
		d.bytes.Store(free)
		r.check()
	}
	if s := out.String(); strings.Count(s, "the disk is full") != 2 || strings.Count(s, "has room again") != 1 {
		t.Errorf("the log is %s", s)
	}
}

// openOn opens a database on a disk, with memtables of a MiB.
func openOn(t *testing.T, dir string, d *disk) (*DB, error) {
	t.Helper()
	return Open(dir, Options{MemtableBytes: 1 << 20, freeBytes: d.free})
}

// filled is the directory of a database with some tables, which was killed: its last writes are in a log.
func filled(t *testing.T, tables int) (dir string, size int64) {
	t.Helper()
	dir, live := t.TempDir(), t.TempDir()
	db, err := openOn(t, live, diskOf(1<<40))
	if err != nil {
		t.Fatal(err)
	}
	random := rand.NewChaCha8([32]byte{1})
	value := make([]byte, 100<<10)
	for i := 0; db.level0() < tables; i++ {
		_, _ = random.Read(value)
		commit(t, db, fmt.Sprint("key ", i), value)
	}
	commit(t, db, "last", nil)
	waitUntil(t, func() bool { // no log is being written as a table
		logs := 0
		err := eachFile(live, walSuffix, func(string, fs.DirEntry) error { logs++; return nil })
		return err == nil && logs == 1
	})
	copyDirectory(t, live, dir)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	err = eachTable(dir, func(_ uint64, e fs.DirEntry) error { return addAllocated(&size, e) })
	if err != nil {
		t.Fatal(err)
	}
	return dir, size
}

// waitUntil polls for half a minute.
func waitUntil(t *testing.T, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !ok(); {
		if time.Now().After(deadline) {
			t.Fatal("what is waited for does not come")
		}
		time.Sleep(time.Millisecond) // polls
	}
}

// copyDirectory copies the files of a directory, as a kill would leave them; holes stay holes.
func copyDirectory(t *testing.T, from, to string) {
	t.Helper()
	entries, err := os.ReadDir(from)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(from, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		end := len(strings.TrimRight(string(b), "\x00"))
		path := filepath.Join(to, e.Name())
		if err := errors.Join(os.WriteFile(path, b[:end], 0o600), os.Truncate(path, int64(len(b)))); err != nil {
			t.Fatal(err)
		}
	}
}

// Opening is refused where the logs would not fit as tables, with what is needed; tables that the MANIFEST does not name count as
// free, since Badger deletes them.
func TestOpenOnAFullDisk(t *testing.T) {
	dir, _ := filled(t, 1)
	d := diskOf(64 << 10)
	if _, err := openOn(t, dir, d); !errors.Is(err, chainstore.ErrDiskFull) || !strings.Contains(err.Error(), "MiB are free") {
		t.Fatalf("error is %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "000999.sst"), make([]byte, 8<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := openOn(t, dir, d)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "000999.sst")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the table that nobody names: %v", err)
	}
	d.bytes.Store(1 << 40)
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}

// On a disk that takes the logs but no merge, a database opens without merges, serves reads, and takes puts once there is room.
func TestOpenWithoutRoomToMerge(t *testing.T) {
	dir, size := filled(t, mergedTables-1)
	d := diskOf(size / 2)
	db, err := openOn(t, dir, d)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if n := db.Opts().NumLevelZeroTables; db.merging || n <= stalledTables {
		t.Fatalf("with room for half of the tables, %d are merged at a time", n)
	}
	if puts, deletes := db.Ready(); !errors.Is(puts, chainstore.ErrDiskFull) || !errors.Is(deletes, chainstore.ErrDiskFull) {
		t.Errorf("puts: %v, deletes: %v", puts, deletes)
	}
	if versions(db.DB, []byte("key 0")) != 1 {
		t.Error("what is there cannot be read")
	}
	waitUntil(t, func() bool { return db.level0() >= mergedTables }) // the log was written as one
	d.bytes.Store(1 << 40)
	db.room.looked = time.Time{}
	if puts, _ := db.Ready(); puts != nil {
		t.Errorf("with room again: %v", puts)
	}
	commit(t, db, "later", nil)
}

// A database that cannot write its memory as a table when it is closed leaves it in the log.
func TestCloseOnAFullDisk(t *testing.T) {
	dir, copied, d := t.TempDir(), t.TempDir(), diskOf(1<<40)
	db, err := openOn(t, dir, d)
	if err != nil {
		t.Fatal(err)
	}
	commit(t, db, "key", make([]byte, 100<<10))
	d.bytes.Store(0)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	copyDirectory(t, dir, copied) // the lock lasts as long as the process
	if again, err := openOn(t, copied, diskOf(1<<40)); err != nil || versions(again.DB, []byte("key")) != 1 {
		t.Errorf("it is lost: %v", err)
	} else if err := again.Close(); err != nil {
		t.Error(err)
	}
	if err := db.DB.Close(); err != nil {
		t.Error(err)
	}
}
