package badgerdb

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
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

func (d *disk) look(string) (diskSpace, error) {
	return diskSpace{bytes: d.bytes.Load(), inodes: math.MaxInt64}, nil
}

func diskOf(bytes int64) *disk {
	d := &disk{}
	d.bytes.Store(bytes)
	return d
}

// fakeRoom is one of a database with tables in level 6 that are there as files of the same sizes, and do not compress.
func fakeRoom(t *testing.T, d *disk, sizes ...int64) *room {
	t.Helper()
	r := &room{
		dir: t.TempDir(), free: d.free, logs: func() (int64, error) { return 100, nil },
		spare: 1000, forDeletes: 500, lookAfter: 200,
	}
	var tables []badger.TableInfo
	for i, size := range sizes {
		id := uint64(i + 1)
		r.writeTable(t, id, size)
		tables = append(tables, tableInfo(id, size))
	}
	r.tables = func() []badger.TableInfo { return tables }
	return r
}

func tableInfo(id uint64, size int64) badger.TableInfo {
	return badger.TableInfo{ID: id, Level: 6, OnDiskSize: uint32(size), UncompressedSize: uint32(size)}
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
	r.tables = func() []badger.TableInfo { return []badger.TableInfo{tableInfo(7, 1<<20)} } // of both, which somebody reads
	d.bytes.Store(int64(1<<20+1<<14) + 100 + r.spare + r.forDeletes - 1)
	for range 2 {
		r.looked = time.Time{}
		if puts, _ := r.check(); puts == nil {
			t.Error("tables that a reader holds count as free")
		}
	}
}

// A table that is being made stays one, though a later one is the database's before it; what was seen long ago tells nothing.
func TestRoomOfMergesBesideOthers(t *testing.T) {
	r := fakeRoom(t, diskOf(0), 100)
	merging := func() int64 {
		r.looked = time.Now()
		n, err := r.merging(r.tables())
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	r.writeTable(t, 5, 1<<20)
	if n := merging(); n != 1<<20 {
		t.Errorf("%d bytes are being made", n)
	}
	r.tables = func() []badger.TableInfo { return []badger.TableInfo{tableInfo(1, 100), tableInfo(6, 100)} }
	if n := merging(); n != 1<<20 {
		t.Errorf("%d bytes are being made beside a later table", n)
	}
	r.looked = time.Now().Add(-2 * soon)
	if n, _ := r.merging(r.tables()); n != 0 {
		t.Errorf("%d bytes are being made since long ago", n)
	}
}

// Tables are counted before compression: those of level 0, and the others up to a size.
func TestTableSizes(t *testing.T) {
	for _, c := range []struct {
		sizes tableSizes
		want  int64
	}{
		{tableSizes{raw0: 640, raw: 6400, rest: 1000}, 640 + 6400},
		{tableSizes{raw0: 640, raw: 2 * maxRaw, rest: 1000}, 640 + maxRaw},
		{tableSizes{raw: 20 * maxRaw, rest: 8 * maxRaw}, 10 * maxRaw},
		{tableSizes{raw: 9 * maxRaw, rest: 8 * maxRaw}, 9 * maxRaw},
	} {
		if n := c.sizes.merges(); n != c.want+c.want/64 {
			t.Errorf("%+v: %d, want %d and a sixty-fourth", c.sizes, n, c.want)
		}
	}
	s := sizesOf([]badger.TableInfo{
		{Level: 0, OnDiskSize: 10, UncompressedSize: 30, IndexSz: 1}, {Level: 5, OnDiskSize: 20, UncompressedSize: 15, IndexSz: 1},
	})
	if s != (tableSizes{raw0: 31, raw: 20, rest: 20}) {
		t.Errorf("%+v", s)
	}
}

// A merge that ends gives back what it took. Of what it had written, which counted as free before, nothing may count as free once its
// own tables are deleted: else each merge that ends lets puts in for which there is no room.
func TestRoomWhenAMergeEnds(t *testing.T) {
	d := diskOf(0)
	r := fakeRoom(t, d, 1<<20, 1<<20)
	need := int64(2<<20+2<<14) + 100 + r.spare + r.forDeletes
	r.writeTable(t, 7, 1<<20) // a merge of the first table has written all that it writes
	d.bytes.Store(need - 1 - 1<<20)
	if puts, _ := r.check(); puts == nil {
		t.Fatal("a byte is missing, and puts are taken")
	}
	tables := []badger.TableInfo{tableInfo(7, 1<<20), r.tables()[1]}
	r.tables = func() []badger.TableInfo { return tables }
	if err := os.Remove(filepath.Join(r.dir, "000001.sst")); err != nil {
		t.Fatal(err)
	}
	d.bytes.Store(need - 1) // as much is missing as before
	if puts, _ := r.check(); puts == nil {
		t.Error("as the merge has ended, puts are taken: a byte is missing as before")
	}
}

// Tables that readers hold do not count as written by merges, also where nobody looked while they were the database's.
func TestRoomOfTablesThatReadersHold(t *testing.T) {
	d := diskOf(1 << 40)
	db, err := openOn(t, t.TempDir(), d)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	random := rand.NewChaCha8([32]byte{2})
	value := make([]byte, 100<<10)
	write := func(tables int) {
		for i := 0; db.level0() < tables; i++ {
			_, _ = random.Read(value)
			commit(t, db, fmt.Sprintf("%d %d", tables, i), value)
		}
	}
	write(mergedTables - 1)
	txn := db.NewTransactionAt(db.MaxVersion(), false)
	defer txn.Discard()
	it := txn.NewIterator(badger.IteratorOptions{}) // a Verify
	defer it.Close()
	write(mergedTables)
	waitUntil(t, func() bool { return db.level0() < mergedTables && db.Levels()[6].NumTables > 0 })
	untilQuiet(t, db)
	d.bytes.Store(1 << 20)
	db.room.looked = time.Time{}
	_, _ = db.Ready()
	if n := db.room.merged; n != 0 {
		t.Errorf("no merge is under way, and %d bytes count as written by merges", n)
	}
}

// untilQuiet waits until Badger writes nothing by itself any more.
func untilQuiet(t *testing.T, db *DB) {
	t.Helper()
	var before string
	waitUntil(t, func() bool {
		entries, err := os.ReadDir(db.Opts().Dir)
		if err != nil {
			t.Fatal(err)
		}
		now := fmt.Sprint(entries)
		defer func() { before = now }()
		time.Sleep(300 * time.Millisecond) // polls
		return now == before && db.level0() < mergedTables
	})
}

// A commit that waits for room looks again while it waits, also where a look takes long.
func TestRoomLooksWhileACommitWaits(t *testing.T) {
	d := diskOf(0)
	r := fakeRoom(t, d, 1<<20)
	r.patience = 200 * time.Millisecond
	need := int64(1<<20+1<<14) + 100 + r.spare + r.forDeletes
	d.bytes.Store(need - 1<<19)
	begin := time.Now()
	tables := r.tables
	r.tables = func() []badger.TableInfo {
		time.Sleep(20 * time.Millisecond) // as of 20,000 tables, which it polls
		if time.Since(begin) < 50*time.Millisecond {
			return tables()
		}
		return nil
	}
	if puts, _ := r.check(); puts != nil {
		t.Errorf("there was room 50 ms after the commit began to wait for 200 ms: %v", puts)
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
		_, _ = r.check()
	}
	if s := out.String(); strings.Count(s, "the disk is full") != 2 || strings.Count(s, "has room again") != 1 {
		t.Errorf("the log is %s", s)
	}
}

// That puts are taken again is told also where there is only a little room, once nothing was refused for a while.
func TestRoomTellsWhenItIsQuiet(t *testing.T) {
	var out strings.Builder
	d := diskOf(0)
	r := fakeRoom(t, d)
	r.log = slog.New(slog.NewTextHandler(&out, nil))
	_, _ = r.check()
	d.bytes.Store(100 + r.spare + r.forDeletes + r.forDeletes/2)
	_, _ = r.check()
	if s := out.String(); strings.Contains(s, "has room again") {
		t.Errorf("the log is %s", s)
	}
	r.refused = r.refused.Add(-quiet)
	_, _ = r.check()
	d.bytes.Store(0)
	_, _ = r.check()
	if s := out.String(); strings.Count(s, "the disk is full") != 2 || strings.Count(s, "has room again") != 1 {
		t.Errorf("the log is %s", s)
	}
}

// openOn opens a database on a disk, with memtables of a MiB.
func openOn(t *testing.T, dir string, d *disk) (*DB, error) {
	t.Helper()
	return Open(dir, Options{MemtableBytes: 1 << 20, lookAtDisk: d.look})
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

// Opening is refused where the logs would not fit as tables, with what is needed. Tables that the MANIFEST does not name go first.
func TestOpenOnAFullDisk(t *testing.T) {
	dir, _ := filled(t, 1)
	used, err := diskUsage(dir)
	if err != nil {
		t.Fatal(err)
	}
	d := newSmallDisk(used + 64<<10)
	o := Options{MemtableBytes: 1 << 20, lookAtDisk: d.look}
	if _, err := Open(dir, o); !errors.Is(err, chainstore.ErrDiskFull) || !strings.Contains(err.Error(), "MiB are free") {
		t.Fatalf("error is %v", err)
	}
	unnamed := filepath.Join(dir, "000999.sst")
	if err := os.WriteFile(unnamed, make([]byte, 4<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	d.bytes.Add(4 << 20)
	db, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(unnamed); !errors.Is(err, os.ErrNotExist) {
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

// A merge of Badger may write more than it takes, though not more than that has uncompressed: rows that are alike and lie together are
// compressed less where others come between them. Conversations that begin with nearly the same prompt, and then go on, do so.
func TestAMergeWritesMoreThanItTakes(t *testing.T) {
	dir := t.TempDir()
	o := Options{MemtableBytes: 1 << 20}.complete()
	db, err := badger.OpenManaged(badgerOptions(dir, &o, 0))
	if err != nil {
		t.Fatal(err)
	}
	random := rand.NewChaCha8([32]byte{3})
	prompt := make([]byte, 6<<10)
	_, _ = random.Read(prompt)
	const conversations = 341 // two memtables of prompts, and four of replies
	for n := range uint64(3 * conversations) {
		value := prompt
		if n >= conversations {
			value = make([]byte, 6<<10)
			_, _ = random.Read(value)
		}
		txn := db.NewTransactionAt(n, true)
		key := fmt.Appendf(nil, "%04d %d", 37*n%conversations, n/conversations)
		if err := errors.Join(txn.Set(key, value), txn.CommitAt(n+1, nil)); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if db, err = badger.OpenManaged(badgerOptions(dir, &o, 0).WithCompactL0OnClose(true)); err != nil {
		t.Fatal(err)
	}
	before, uncompressed := tableFileBytes(t, dir), int64(0)
	for _, info := range db.Tables() {
		uncompressed += int64(info.UncompressedSize) + int64(info.IndexSz)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if after := tableFileBytes(t, dir); after < before+before/5 || after > uncompressed+uncompressed/64 {
		t.Errorf("%d KiB, %d uncompressed, were merged into %d KiB", before>>10, uncompressed>>10, after>>10)
	}
}

// A kill after a memtable was written as a table and before its log was deleted: the next start merges, for nobody else took room.
func TestKilledBeforeALogIsDeleted(t *testing.T) {
	dir, killed, disk := t.TempDir(), t.TempDir(), diskOf(1<<40)
	db, err := openOn(t, dir, disk)
	if err != nil {
		t.Fatal(err)
	}
	random := rand.NewChaCha8([32]byte{4})
	value := make([]byte, 100<<10)
	put := func(i int) {
		_, _ = random.Read(value)
		commit(t, db, fmt.Sprint("key ", i), value)
	}
	i := 0
	for ; db.level0() < 3; i++ {
		put(i)
	}
	for n := int64(0); n < 900<<10; i++ { // the newest log is nearly full
		put(i)
		n, err = fileBytes(db.wal.path(db.wal.last))
		if err != nil {
			t.Fatal(err)
		}
	}
	waitUntil(t, func() bool { n, err := db.wal.bytes(); return err == nil && n < 1<<20+200<<10 }) // the one before is gone
	db.room.looked = time.Time{}
	if puts, _ := db.Ready(); puts != nil {
		t.Fatal(puts)
	}
	free := db.room.forDeletes - db.room.of(0) // so much, and puts are just taken
	copyDirectory(t, dir, killed)
	control, err := openOn(t, killed, diskOf(free))
	if err != nil || !control.merging {
		t.Fatalf("killed before it is written as a table: it merges: %t, %v", err == nil && control.merging, err)
	}
	disk2 := diskOf(1 << 40)
	control.room.free = disk2.free
	if err := control.Close(); err != nil {
		t.Fatal(err)
	}
	log := db.wal.path(db.wal.last)
	kept, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	used, err := diskUsage(dir)
	if err != nil {
		t.Fatal(err)
	}
	alone := newSmallDisk(used + free)
	if err := db.Close(); err != nil { // writes the table
		t.Fatal(err)
	}
	kept = bytes.TrimRight(kept, "\x00")
	if err := os.WriteFile(log, append(kept, make([]byte, 64)...), 0o600); err != nil {
		t.Fatal(err)
	}
	again, err := Open(dir, Options{MemtableBytes: 1 << 20, lookAtDisk: alone.look})
	if err != nil {
		t.Fatal(err)
	}
	if !again.merging {
		t.Error("the store was alone on the disk, and it does not merge any more")
	}
	again.room.free = diskOf(1 << 40).free
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}

func fileBytes(path string) (int64, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	return allocated(info), nil
}

func tableFileBytes(t *testing.T, dir string) (n int64) {
	t.Helper()
	if err := eachTable(dir, func(_ uint64, e fs.DirEntry) error { return addAllocated(&n, e) }); err != nil {
		t.Fatal(err)
	}
	return n
}

// A start on a disk that half-written tables have filled to the last byte: Badger deletes them only after it has made a new log.
func TestOpenOnADiskThatTablesFilled(t *testing.T) {
	for kind, options := range map[string]string{"tmpfs": "size=64m", "ext4": "loop"} {
		t.Run(kind, func(t *testing.T) {
			disk, image := t.TempDir(), "none"
			if kind == "ext4" {
				image = filepath.Join(t.TempDir(), "image")
				out, err := exec.Command("sh", "-c", "truncate -s 64M "+image+" && mkfs.ext4 -q -m 0 -N 8192 "+image).CombinedOutput()
				if err != nil {
					t.Skipf("%v: %s", err, out)
				}
			}
			if out, err := exec.Command("mount", "-t", kind, "-o", options, image, disk).CombinedOutput(); err != nil {
				t.Skipf("needs root, to mount a small disk: %v: %s", err, out)
			}
			t.Cleanup(func() { _ = exec.Command("umount", "-l", disk).Run() })
			openFilled(t, disk)
		})
	}
}

func openFilled(t *testing.T, disk string) {
	from, _ := filled(t, 1)
	dir := filepath.Join(disk, "store")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	copyDirectory(t, from, dir)
	f, err := os.Create(filepath.Join(dir, "000999.sst"))
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	_ = f.Close()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("the process would have ended: %v\n%s", p, debug.Stack())
		}
	}()
	db, err := Open(dir, Options{MemtableBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}

// Conversations that begin and go on with the same texts, each text of all of them about a memtable, fill a disk until puts are
// refused. What Badger merges then fits.
func TestRoomForRowsThatAreAlike(t *testing.T) {
	dir, d := t.TempDir(), newSmallDisk(30<<20)
	o := Options{MemtableBytes: 1 << 20, lookAtDisk: d.look}.complete()
	opened, err := badger.OpenManaged(badgerOptions(dir, &o, 0).WithNumLevelZeroTables(1000).WithNumLevelZeroTablesStall(1001))
	raw, err := tune(opened, err, nil)
	if err != nil {
		t.Fatal(err)
	}
	fillWithAlike(t, raw.DB, newRoom(raw.DB, &o, func() (int64, error) { return logsOnDisk(dir) }))
	if err := raw.Close(); err != nil {
		t.Fatal(err)
	}
	d.low.Store(d.bytes.Load())
	db, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	if n := db.level0(); n < mergedTables || !db.merging {
		t.Fatalf("%d tables, and merging is %t", n, db.merging)
	}
	waitUntil(t, func() bool {
		_, _ = d.look(dir)
		return db.level0() == 0
	})
	if low := d.low.Load(); low < 0 {
		t.Errorf("of a disk of %d KiB Badger took %d KiB too much", d.bytes.Load()>>10, -low>>10)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}

// fillWithAlike puts texts of 128 conversations, each second one of which all have, until puts are refused.
func fillWithAlike(t *testing.T, db *badger.DB, r *room) {
	t.Helper()
	random := rand.NewChaCha8([32]byte{5})
	text := make([]byte, 8<<10)
	for n := 0; ; n++ {
		round, i := n/128, n%128
		if round%2 == 1 || i == 0 {
			text = make([]byte, 8<<10)
			_, _ = random.Read(text)
		}
		if puts, _ := r.check(); puts != nil {
			return
		}
		txn := db.NewTransactionAt(uint64(n), true)
		if err := errors.Join(txn.Set(fmt.Appendf(nil, "%03d %03d", i*37%128, round), text), txn.CommitAt(uint64(n+1), nil)); err != nil {
			t.Fatal(err)
		}
		r.wrote(8 << 10)
	}
}

// smallDisk is one of so many bytes, of which the files of a directory take what they take. It is never really full: low is the least
// that was free.
type smallDisk struct {
	bytes atomic.Int64
	low   atomic.Int64
}

func newSmallDisk(bytes int64) *smallDisk {
	d := new(smallDisk)
	d.bytes.Store(bytes)
	return d
}

func (d *smallDisk) look(dir string) (diskSpace, error) {
	used, err := diskUsage(dir)
	free := d.bytes.Load() - used
	for low := d.low.Load(); free < low && !d.low.CompareAndSwap(low, free); low = d.low.Load() {
	}
	return diskSpace{bytes: free, inodes: math.MaxInt64}, err
}

// diskUsage is what the files of a directory take on disk.
func diskUsage(dir string) (n int64, err error) {
	err = eachFile(dir, "", func(_ string, e fs.DirEntry) error { return addAllocated(&n, e) })
	return n, err
}
