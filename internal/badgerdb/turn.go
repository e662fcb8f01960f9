package badgerdb

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"sync"
	"time"

	"github.com/dgraph-io/badger/v4"
)

// ErrHeld is that a read that is still open holds a log or a table, or the disk does not take one.
var ErrHeld = errors.New("old files are still held: end the reads that are open")

// Log is one of the database's logs: what is committed lies there, and in memory, until it becomes a table.
type Log struct {
	number int
	kept   bool
}

// Is tells whether it is the same log.
func (l Log) Is(other Log) bool { return l.number == other.number }

// Turn makes the database begin a new log, so that all that was committed before becomes a table. It is called by the goroutine that commits.
//
// It writes two to a dozen commits by write, which calls Write with the next number, and does what else it does with a commit. They fill the log, by
// what it still takes, with rows behind key that expired before they were written: nobody sees them, and the next merge drops them. Each sets key
// itself too, which nobody else uses and which is never dropped: it keeps the number of the log's last commit in a table, and without that number
// the next start would miss the commit.
//
// Errors: those of Ready for puts, and write's; the log is the same then, or a new one, as after any commit.
func (d *DB) Turn(key []byte, write func(fill func(*Batch) error) error) (Log, error) {
	before := d.logFill.newest()
	for n := 0; ; n++ {
		if puts, _ := d.Ready(); puts != nil {
			return Log{}, puts
		}
		missing := d.logFill.missing()
		if err := write(func(b *Batch) error { return d.fillLog(b, key, missing) }); err != nil {
			return Log{}, err
		}
		switch now := d.logFill.newest(); {
		case now == before:
		case n > 0:
			return Log{number: now}, nil
		default: // the last commit of the log before was somebody else's
			before = now
		}
	}
}

// fillRow is what a row of fillLog has at most.
const fillRow = 512 << 10

// fillLog writes rows of so many bytes in all, or as many as a commit takes.
func (d *DB) fillLog(b *Batch, key []byte, bytes int64) error {
	if err := b.Set(key, nil); err != nil {
		return err
	}
	most, _ := d.MaxCommit()
	row := make([]byte, min(fillRow, d.MaxValue()/2))
	left := min(bytes, most-b.bytes-2*WriteOverhead-int64(len(key)))
	for n := 0; left > 0; n++ {
		k := strconv.AppendInt(append(key[:len(key):len(key)], 0), int64(n), 10)
		value := row[:min(left, int64(len(row)))]
		if left -= int64(len(value)+len(k)) + WriteOverhead; left < 0 {
			value = value[:max(0, int64(len(value))+left)]
		}
		e := badger.NewEntry(k, value)
		e.ExpiresAt = 1 // in 1970
		b.wrote(k, value)
		if err := b.txn.SetEntry(e); err != nil {
			return err
		}
	}
	return nil
}

// Flushed returns when all that was committed before a log was begun lies in tables, and the logs of before are removed: an iterator holds those that
// were not in tables yet when it was made. ErrHeld, with the context's error, where that ends first.
func (d *DB) Flushed(ctx context.Context, log Log) error {
	return pollHeld(ctx, func() (bool, error) {
		older, err := d.hasLogBefore(log)
		return !older, err
	})
}

// hasLogBefore tells whether a log is left of before one.
func (d *DB) hasLogBefore(log Log) (found bool, err error) {
	err = eachFile(d.Opts().Dir, walSuffix, func(name string, _ fs.DirEntry) error {
		number, err := strconv.Atoi(name)
		found = found || err == nil && number < log.number
		return nil
	})
	return found, err
}

// pollHeld asks until it is done, or the context ends.
func pollHeld(ctx context.Context, done func() (bool, error)) error {
	const lookEvery = 10 * time.Millisecond
	for {
		if ok, err := done(); ok || err != nil {
			return err
		}
		if sleep(ctx, lookEvery); ctx.Err() != nil {
			return fmt.Errorf("%w: %w", ErrHeld, context.Cause(ctx))
		}
	}
}

// KeepLog makes commits wait, rather than begin another log than the newest one, until release is called. It is called by the goroutine that
// commits, where that log is not nearly full: behind Turn. Whoever keeps it waits for no commit, which may wait for them. Where DropsBeside is
// false, it does nothing.
func (d *DB) KeepLog() (log Log, release func()) {
	if !d.DropsBeside() {
		return Log{number: d.logFill.newest()}, func() {}
	}
	number := d.logFill.keep()
	return Log{number, true}, sync.OnceFunc(d.logFill.release)
}

// logFill is how full the newest log is: Badger begins the next one with the first commit that finds it full, by what lies in the log or by what
// that takes in memory.
type logFill struct {
	// capacity is from which on it is full.
	capacity int64

	mu     sync.Mutex
	number int
	// It has least, and takes no more than most, while capacity is above that.
	least, most int64
	// keepers are for how many it is not to be full; released is closed when the last one is gone.
	keepers  int
	released chan struct{}
}

// What a row takes beside key and value, at most: in the log a head, its number and a checksum; in memory a node of the list, its number and a
// head. A commit has an end mark in the log.
const (
	mostBesideRow = 160
	mostEndMark   = 64
)

// newLogFill is of a log of which nothing is known but its number.
func newLogFill(number int, capacity int64) *logFill {
	return &logFill{capacity: capacity, number: number, most: capacity}
}

func mostOf(bytes, rows int64) int64 { return bytes + rows*mostBesideRow + mostEndMark }

// wait returns when a commit of so much may be written.
func (l *logFill) wait(bytes, rows int64) {
	l.mu.Lock()
	for l.keepers > 0 && l.most+mostOf(bytes, rows) >= l.capacity {
		released := l.released
		l.mu.Unlock()
		<-released
		l.mu.Lock()
	}
	l.mu.Unlock()
}

// wrote counts a commit, which is in the log of a number.
func (l *logFill) wrote(number int, bytes, rows int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if number != l.number {
		const head = 4 << 10 // of a log, and of an empty list
		l.number, l.least, l.most = number, 0, head
	}
	l.least += bytes
	l.most += mostOf(bytes, rows)
}

func (l *logFill) newest() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.number
}

// missing is how many bytes make it full for certain.
func (l *logFill) missing() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return max(0, l.capacity-l.least)
}

func (l *logFill) keep() (number int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.keepers++; l.keepers == 1 {
		l.released = make(chan struct{})
	}
	return l.number
}

// isKept tells whether a log is the newest one and stays so.
func (l *logFill) isKept(number int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.keepers > 0 && l.number == number
}

func (l *logFill) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.keepers--; l.keepers == 0 {
		close(l.released)
	}
}
