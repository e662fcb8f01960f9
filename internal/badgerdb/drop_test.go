package badgerdb

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/internal/badgerdb/canary"
)

// committer writes commits in order, for several goroutines.
type committer struct {
	*DB
	mu   sync.Mutex
	last uint64
	// readers is held for reading by whoever has a snapshot.
	readers sync.RWMutex
	// others counts the rows of others.
	others uint64
}

func (d *committer) write(fill func(*Batch) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.writeLocked(fill)
}

func (d *committer) writeLocked(fill func(*Batch) error) error {
	err := d.Write(d.last+1, fill)
	if err == nil {
		d.last++
		d.Discard(d.last)
	}
	return err
}

// turn begins a new log, and waits until the ones before are tables.
func (d *committer) turn(t testing.TB) Log {
	t.Helper()
	d.mu.Lock()
	log, err := d.Turn([]byte("turn"), d.writeLocked)
	d.mu.Unlock()
	fatal(t, err)
	fatal(t, d.Flushed(t.Context(), log))
	return log
}

// keep begins a new log, writes rows again, and keeps it until release is called.
func (d *committer) keep(t testing.TB, again func(*Batch) error) (log Log, before uint64, release func()) {
	t.Helper()
	d.mu.Lock()
	_, err := d.Turn([]byte("turn"), d.writeLocked)
	err = errors.Join(err, d.writeLocked(again))
	before = d.last
	log, release = d.KeepLog()
	d.mu.Unlock()
	fatal(t, err)
	fatal(t, d.Flushed(t.Context(), log))
	d.waitForReaders()
	return log, before, release
}

// waitForReaders returns when all snapshots of before are closed.
func (d *committer) waitForReaders() {
	d.readers.Lock()
	defer d.readers.Unlock()
}

func fatal(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// levelled is a small store with several levels.
func levelled() Options {
	o := smallStore()
	o.levelBytes = 2 << 20
	return o
}

func openCommitter(t testing.TB, dir string, o Options) *committer {
	t.Helper()
	d, err := Open(dir, o)
	fatal(t, err)
	return &committer{DB: d, last: d.MaxVersion()}
}

const canaryText = "a canary that sings in the dark"

// rows of the test: each tenth is to be erased.
const (
	testRows  = 3000
	testValue = 1500
)

func rowKey(n int) []byte { return binary.BigEndian.AppendUint32([]byte("row"), uint32(n)) }

func isSecret(n int) bool { return n%10 == 3 }

// rowValue is the value of a row in a round. One of a secret row has the canary.
func rowValue(n, round int) []byte {
	value := make([]byte, testValue)
	randomize(value)
	text := fmt.Sprintf("%d of %d ", round, n)
	if isSecret(n) {
		text += canaryText
	}
	copy(value, text)
	return value
}

// fillRows writes all rows in so many rounds.
func (d *committer) fillRows(t testing.TB, rounds int) {
	t.Helper()
	for round := range rounds {
		for from := 0; from < testRows; from += 50 {
			fatal(t, d.write(func(b *Batch) (err error) {
				for n := from; n < from+50; n++ {
					err = errors.Join(err, b.Set(rowKey(n), rowValue(n, round)))
				}
				return err
			}))
		}
	}
}

// erase writes over every second secret row, and deletes the others. again writes the former ones again.
func (d *committer) erase(t testing.TB) (keys [][]byte, again func(*Batch) error) {
	t.Helper()
	fatal(t, d.write(func(b *Batch) (err error) {
		for n := range testRows {
			if !isSecret(n) {
				continue
			}
			keys = append(keys, rowKey(n))
			if n%20 == 3 {
				err = errors.Join(err, b.Set(rowKey(n), []byte("erased")))
			} else {
				err = errors.Join(err, b.Delete(rowKey(n)))
			}
		}
		return err
	}))
	return keys, func(b *Batch) (err error) {
		for n := 3; n < testRows; n += 20 {
			err = errors.Join(err, b.Set(rowKey(n), []byte("erased")))
		}
		return err
	}
}

// mustBeErased looks for what erase is to leave.
func (d *committer) mustBeErased(t testing.TB) {
	t.Helper()
	s := d.Snapshot(d.last)
	defer s.Close()
	for n := range testRows {
		var got []byte
		found, err := s.Get(rowKey(n), func(v []byte) error { got = bytes.Clone(v); return nil })
		fatal(t, err)
		switch {
		case !isSecret(n) && len(got) != testValue:
			t.Fatalf("row %d: %d bytes", n, len(got))
		case isSecret(n) && found != (n%20 == 3), isSecret(n) && found && string(got) != "erased":
			t.Fatalf("secret row %d: found %v: %q", n, found, got)
		}
	}
}

func hits(t testing.TB, d *committer) []canary.Hit {
	t.Helper()
	found, err := canary.Search(d.Opts().Dir, d.Opts().EncryptionKey, []byte(canaryText))
	fatal(t, err)
	return found
}

func mustNotHave(t testing.TB, d *committer) {
	t.Helper()
	if found := hits(t, d); len(found) > 0 {
		t.Errorf("%d canaries, as %v", len(found), found[0])
	}
}

func (d *committer) dropErased(t testing.TB) {
	t.Helper()
	keys, again := d.erase(t)
	log, before, release := d.keep(t, again)
	defer release()
	fatal(t, d.DropVersions(t.Context(), log, before, keys...))
}

// What keys had is found in all versions before it is dropped and in none after, in no table and no log; what they have is there, and the store
// opens again.
func TestDropVersions(t *testing.T) {
	encrypted := levelled()
	encrypted.EncryptionKey, encrypted.DataKeyRotation = testKey(1), time.Nanosecond
	for name, o := range map[string]Options{"plain": levelled(), "encrypted": encrypted} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			d := openCommitter(t, dir, o)
			d.fillRows(t, 2)
			aside := filepath.Join(dir, asideFolder)
			fatal(t, os.MkdirAll(aside, 0o700))
			fatal(t, os.WriteFile(filepath.Join(aside, tornPrefix+"x"), []byte(canaryText), 0o600))
			if found := hits(t, d); len(found) < testRows/10 {
				t.Fatalf("%d canaries before", len(found))
			}
			d.dropErased(t)
			mustNotHave(t, d)
			d.mustBeErased(t)
			fatal(t, d.Close())
			d = openCommitter(t, dir, o)
			mustNotHave(t, d)
			d.mustBeErased(t)
			fatal(t, d.Close())
		})
	}
}

// Without the private functions, Badger's own way drops as much, if nobody writes meanwhile; keys that are all deleted it does not, and that is told.
func TestDropVersionsByBadger(t *testing.T) {
	dir := t.TempDir()
	d := openCommitter(t, dir, levelled())
	d.fillRows(t, 1)
	d.private = nil
	if d.DropsBeside() {
		t.Error("it says that others may write")
	}
	keys, again := d.erase(t)
	log := d.turn(t)
	if err := d.DropVersions(t.Context(), log, d.last, rowKey(13)); !errors.Is(err, ErrNotDropped) {
		t.Errorf("a key that is deleted: %v", err)
	}
	fatal(t, d.write(func(b *Batch) (err error) {
		for _, key := range keys {
			err = errors.Join(err, b.Set(key, nil))
		}
		return err
	}))
	log = d.turn(t)
	fatal(t, d.DropVersions(t.Context(), log, d.last, keys...))
	fatal(t, d.write(func(b *Batch) (err error) {
		for n := 13; n < testRows; n += 20 {
			err = errors.Join(err, b.Delete(rowKey(n)))
		}
		return errors.Join(err, again(b))
	}))
	mustNotHave(t, d)
	d.mustBeErased(t)
	fatal(t, d.Close())
	d = openCommitter(t, dir, levelled())
	d.mustBeErased(t)
	fatal(t, d.Close())
}

// A log that is not kept any more is told before anything is dropped.
func TestDropVersionsOfAnotherLog(t *testing.T) {
	d := openCommitter(t, t.TempDir(), levelled())
	defer d.Close()
	d.fillRows(t, 1)
	keys, again := d.erase(t)
	log, before, release := d.keep(t, again)
	release()
	d.turn(t)
	if err := d.DropVersions(t.Context(), log, before, keys...); !errors.Is(err, ErrLogChanged) {
		t.Errorf("%v", err)
	}
	d.mustBeErased(t)
}

// A merge that fails, which Badger tells only to its log, is an error: here it is given up since another one has what it would take.
func TestDropVersionsTellsWhatIsLeft(t *testing.T) {
	d := openCommitter(t, t.TempDir(), levelled())
	defer d.Close()
	d.fillRows(t, 1)
	keys, again := d.erase(t)
	log, before, release := d.keep(t, again)
	defer release()
	if err := d.noneBefore(before, keys); !errors.Is(err, ErrNotDropped) {
		t.Errorf("versions are there, and it tells %v", err)
	}
	if err := d.DropVersions(t.Context(), log, before, keys[1:]...); err != nil {
		t.Error(err)
	}
	if err := d.noneBefore(before, keys); !errors.Is(err, ErrNotDropped) {
		t.Errorf("versions of one are there, and it tells %v", err)
	}
	fatal(t, d.DropVersions(t.Context(), log, before, keys...))
	mustNotHave(t, d)
}

// An iterator that is open holds what was merged. That is waited for, or told; once it is closed, nothing is left.
func TestDropVersionsHeld(t *testing.T) {
	d := openCommitter(t, t.TempDir(), levelled())
	defer d.Close()
	d.fillRows(t, 1)
	keys, again := d.erase(t)
	log, before, release := d.keep(t, again)
	defer release()
	s := d.Snapshot(d.last)
	it := s.Iterator([]byte("row"), false)
	it.Seek([]byte("row"))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- d.DropVersions(ctx, log, before, keys...) }()
	waitUntil(t, func() bool { return d.noneBefore(before, keys) == nil })
	if len(hits(t, d)) == 0 {
		t.Error("nothing is held")
	}
	cancel()
	if err := <-ended; !errors.Is(err, ErrHeld) || !errors.Is(err, context.Canceled) {
		t.Errorf("while an iterator holds the tables: %v", err)
	}
	go func() { ended <- d.DropVersions(t.Context(), log, before, keys...) }()
	for n := range testRows {
		if isSecret(n) && n%20 != 3 {
			continue
		}
		if !it.Valid() || !bytes.Equal(it.Key(), rowKey(n)) {
			t.Fatalf("the iterator has lost row %d", n)
		}
		it.Next()
	}
	it.Close()
	s.Close()
	fatal(t, <-ended)
	mustNotHave(t, d)
	d.mustBeErased(t)
}

// An iterator of the memtable holds its log.
func TestFlushedHeld(t *testing.T) {
	d := openCommitter(t, t.TempDir(), smallStore())
	defer d.Close()
	fatal(t, d.write(func(b *Batch) error { return b.Set([]byte("key"), []byte(canaryText)) }))
	s := d.Snapshot(d.last)
	it := s.Iterator(nil, false)
	log, err := d.Turn([]byte("turn"), d.write)
	fatal(t, err)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.Flushed(over, log); !errors.Is(err, ErrHeld) {
		t.Errorf("while an iterator is open: %v", err)
	}
	if err := d.DropVersions(t.Context(), log, d.last, []byte("key")); !errors.Is(err, ErrHeld) {
		t.Errorf("what lies in a log is dropped: %v", err)
	}
	it.Close()
	s.Close()
	fatal(t, d.Flushed(t.Context(), log))
	found := hits(t, d)
	if len(found) != 1 || !strings.HasSuffix(found[0].File, tableSuffix) {
		t.Errorf("it lies in %v", found)
	}
}

// The number of the last commit before a log stays in a table, whatever is dropped and merged away: else the next start would miss commits.
func TestTurnKeepsTheNumber(t *testing.T) {
	dir := t.TempDir()
	d := openCommitter(t, dir, smallStore())
	var keys [][]byte
	for n := range 40 {
		keys = append(keys, rowKey(n))
		fatal(t, d.write(func(b *Batch) error { return b.Set(rowKey(n), rowValue(n, 0)) }))
	}
	log := d.turn(t)
	fatal(t, d.DropVersions(t.Context(), log, d.last, keys...))
	fatal(t, d.write(func(b *Batch) error { return b.Set([]byte("a"), nil) }))
	image := copyStore(t, dir)
	fatal(t, d.Close())
	d = openCommitter(t, image, smallStore())
	if d.last < 42 {
		t.Errorf("it is at %d", d.last)
	}
	fatal(t, d.Close())
}

// Where a log is kept, a commit that would fill it waits, and goes on once it is not.
func TestKeepLog(t *testing.T) {
	for name, size := range map[string]int{"bytes": 50_000, "rows": 1} {
		t.Run(name, func(t *testing.T) {
			d := openCommitter(t, t.TempDir(), smallStore())
			defer d.Close()
			d.turn(t)
			log, release := d.KeepLog()
			const commits, rows = 400, 60
			each := mostOf(int64(rows*(7+size)), rows)
			if size > 1 {
				each = mostOf(int64(7+size), 1)
			}
			written := make(chan error, 1)
			go func() {
				var err error
				for n := 0; n < commits && err == nil; n++ {
					err = d.write(func(b *Batch) (err error) {
						for m := range rows {
							if m == 0 || size == 1 {
								value := make([]byte, size)
								randomize(value)
								err = errors.Join(err, b.Set(rowKey(n*rows+m), value))
							}
						}
						return err
					})
				}
				written <- err
			}()
			looks := 0
			waitUntil(t, func() bool { // it stays so
				d.logFill.mu.Lock()
				defer d.logFill.mu.Unlock()
				if looks++; d.logFill.most+each < d.logFill.capacity {
					looks = 0
				}
				return looks == 50
			})
			select {
			case err := <-written:
				t.Fatalf("all was written: %v", err)
			default:
			}
			if _, err := os.Stat(d.wal.path(log.number + 1)); err == nil || d.logFill.newest() != log.number {
				t.Error("another log was begun")
			}
			release()
			release()
			fatal(t, <-written)
			if d.logFill.newest() == log.number {
				t.Error("no other log was begun after it")
			}
		})
	}
}

// Beside writers at full speed rows that are committed again stay, no reader of them or of others meets a gap, and nothing else is left of what was
// erased.
func TestDropVersionsBeside(t *testing.T) {
	d := openCommitter(t, t.TempDir(), levelled())
	defer d.Close()
	d.fillRows(t, 1)
	keys, again := d.erase(t)
	ctx, cancel := context.WithCancel(t.Context())
	var beside sync.WaitGroup
	beside.Go(func() { d.writeOthers(ctx, t) })
	for range 2 {
		beside.Go(func() { d.readRows(ctx, t) })
	}
	for range 5 {
		log, before, release := d.keep(t, again)
		err := d.DropVersions(ctx, log, before, keys...)
		release()
		if err != nil {
			t.Error(err)
		}
		mustNotHave(t, d)
	}
	cancel()
	beside.Wait()
	d.mustBeErased(t)
}

// writeOthers writes rows that nobody drops, until the context ends.
func (d *committer) writeOthers(ctx context.Context, t *testing.T) {
	for n := 0; ctx.Err() == nil; n++ {
		err := d.write(func(b *Batch) error { return b.Set([]byte("other"+strconv.Itoa(n%500)), rowValue(0, n)) })
		if err != nil {
			t.Error(err)
			return
		}
		d.mu.Lock()
		d.Pace(ctx)
		d.mu.Unlock()
	}
}

// readRows reads rows as of the last commit, until the context ends: by key, and in order.
func (d *committer) readRows(ctx context.Context, t *testing.T) {
	for n := 0; ctx.Err() == nil; n = (n + 7) % testRows {
		d.readers.RLock()
		d.mu.Lock()
		s := d.Snapshot(d.last)
		d.mu.Unlock()
		if found, err := s.Get(rowKey(n), func([]byte) error { return nil }); err != nil || found != (!isSecret(n) || n%20 == 3) {
			t.Errorf("row %d: found %v, %v", n, found, err)
			cancelled, stop := context.WithCancel(ctx)
			stop()
			ctx = cancelled
		}
		if n%50 == 0 {
			it, rows := s.Iterator([]byte("row"), false), 0
			for it.Seek([]byte("row")); it.Valid(); it.Next() {
				rows++
			}
			it.Close()
			if rows != testRows-testRows/20 {
				t.Errorf("%d rows in order", rows)
				n = testRows
			}
		}
		s.Close()
		d.readers.RUnlock()
	}
}

// killedChild is the folder of a store in which a test's own program drops until it is killed.
const killedChild = "BADGERDB_DROP_UNTIL_KILLED"

// TestDropUntilKilled is the program of TestDropVersionsKilled.
func TestDropUntilKilled(t *testing.T) {
	dir := os.Getenv(killedChild)
	if dir == "" {
		t.Skip("it is run by TestDropVersionsKilled")
	}
	d := openCommitter(t, dir, levelled())
	keys, again := d.erase(t)
	for {
		log, before, release := d.keep(t, again)
		fmt.Println("drops")
		fatal(t, d.DropVersions(t.Context(), log, before, keys...))
		fmt.Println("dropped")
		release()
		for n := 3; n < testRows; n += 20 { // something to drop
			fatal(t, d.write(func(b *Batch) error { return b.Set(rowKey(n), rowValue(n, 1)) }))
		}
		fatal(t, d.write(again))
	}
}

// A process that is killed while it drops leaves all that was committed, and a store that opens, in which the rest is dropped then.
func TestDropVersionsKilled(t *testing.T) {
	dir := t.TempDir()
	d := openCommitter(t, dir, levelled())
	d.fillRows(t, 1)
	fatal(t, d.Close())
	for cycle := range 8 {
		program := exec.Command(os.Args[0], "-test.run=^TestDropUntilKilled$")
		program.Env = append(os.Environ(), killedChild+"="+dir)
		out, err := program.StdoutPipe()
		fatal(t, err)
		fatal(t, program.Start())
		lines := bufio.NewScanner(out)
		for drops := 0; drops <= cycle%3 && lines.Scan(); {
			switch lines.Text() {
			case "drops":
				drops++
			case "dropped":
			default:
				t.Error(lines.Text())
			}
		}
		killLater(program, cycle)
		for lines.Scan() {
			if !strings.HasPrefix(lines.Text(), "drop") {
				t.Error(lines.Text())
			}
		}
		_ = program.Wait() // it was killed
		d := openCommitter(t, dir, levelled())
		fatal(t, d.write(func(b *Batch) (err error) { // it may have been killed between two commits
			for n := 3; n < testRows; n += 20 {
				found, getErr := d.present(rowKey(n))
				if err = errors.Join(err, getErr); !found {
					t.Errorf("cycle %d: row %d is lost", cycle, n)
				}
				err = errors.Join(err, b.Set(rowKey(n), []byte("erased")))
			}
			return err
		}))
		d.mustBeErased(t)
		d.dropErased(t)
		mustNotHave(t, d)
		d.mustBeErased(t)
		fatal(t, d.Close())
	}
}

func (d *committer) present(key []byte) (bool, error) {
	s := d.Snapshot(d.last)
	defer s.Close()
	return s.Get(key, func([]byte) error { return nil })
}

// killLater kills a program within some milliseconds, which is how long a drop takes here.
func killLater(program *exec.Cmd, cycle int) {
	time.AfterFunc(time.Duration(cycle*7)*time.Millisecond, func() { _ = program.Process.Kill() })
}

// Badger's own merges rest while a drop is under way, and go on as before behind it.
func TestDropVersionsRestsCompactors(t *testing.T) {
	compactors := func(d *committer) int {
		stacks := make([]byte, 4<<20)
		return strings.Count(string(stacks[:runtime.Stack(stacks, true)]), fmt.Sprintf("runCompactor(%p", d.private.levels))
	}
	d := openCommitter(t, t.TempDir(), levelled())
	defer d.Close()
	waitUntil(t, func() bool { return compactors(d) == 2 })
	log := d.turn(t)
	for range 3 {
		fatal(t, d.DropVersions(t.Context(), log, d.last, []byte("row")))
	}
	looks := 0
	waitUntil(t, func() bool { // it stays so
		if looks++; compactors(d) != 2 {
			looks = 0
		}
		return looks == 50
	})
}

// Closing waits for a drop, and nothing is dropped behind it.
func TestCloseWaitsForDrops(t *testing.T) {
	d := openCommitter(t, t.TempDir(), levelled())
	d.fillRows(t, 1)
	log := d.turn(t)
	ended := make(chan error, 1)
	_, end, err := d.explicit.begin(t.Context())
	fatal(t, err)
	go func() { ended <- d.DropVersions(t.Context(), log, d.last, []byte("row")) }()
	closed := make(chan error, 1)
	go func() { closed <- d.Close() }()
	if err := <-ended; !errors.Is(err, chainstore.ErrClosed) {
		t.Errorf("while the database is closed: %v", err)
	}
	looks := 0
	waitUntil(t, func() bool { // it stays open
		if looks++; d.IsClosed() {
			t.Fatal("it is closed while something is merged")
		}
		return looks == 50
	})
	end()
	fatal(t, <-closed)
}

// The private functions are those of the version of Badger that go.mod names. Whoever raises that compares them, and checkedVersion with it.
func TestPrivateOf(t *testing.T) {
	d := openCommitter(t, t.TempDir(), smallStore())
	defer d.Close()
	if d.private == nil {
		t.Errorf("built of %s: compare its db.go and levels.go with what private.go says of them", badgerSource())
	}
	if privateOf(d.DB.DB, "/modules/github.com/dgraph-io/badger/v4@v4.9.61/managed_db.go") != nil {
		t.Error("those of another version are called")
	}
}
