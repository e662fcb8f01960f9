package audit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"
)

// resume finds where the audit goes on: behind the file that is there, or in a new one behind the newest that was full.
func (l *Log) resume() error {
	if missing(l.path) {
		return l.resumeAnew()
	}
	e, err := readEnding(l.path, l.options.Key)
	if err != nil {
		return err
	}
	if l.file, err = l.options.OpenFile(l.path, os.O_WRONLY|os.O_APPEND, mode); err != nil {
		return err
	}
	l.seq, l.hash, l.salt, l.size = e.last.Seq, e.last.hash, e.salt, e.size
	if e.unbroken {
		l.unwritten = append(l.unwritten, '\n')
		l.size++
	}
	if e.rest != nil {
		l.options.Logger.Warn("the audit did not end with a whole line: what lies behind the last one stays, and a line tells of it",
			"file", l.path, "last_line", l.seq, "bytes", e.rest.Bytes, "ends_of_lines", e.rest.Lines)
		if err := l.keep(line{Torn: e.rest}); err != nil { // in this file, however full it is
			return err
		}
	}
	if e.last.Key != l.options.Key.ID() {
		return l.rotate()
	}
	return nil
}

// resumeAnew begins a file where there is none: behind one that was full, as a process may have been killed between the two.
func (l *Log) resumeAnew() error {
	newest, err := newestKept(l.path)
	if err != nil || newest == "" {
		return errors.Join(err, l.begin())
	}
	e, err := readEnding(newest, l.options.Key)
	if err != nil {
		return err
	}
	l.seq, l.hash = e.last.Seq, e.last.hash
	return l.begin()
}

// run writes what is in the queue, and does what is done every second, until ctx ends.
func (l *Log) run(ctx context.Context) {
	defer close(l.stopped)
	tick := time.NewTicker(everySecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			l.ended = l.end()
			return
		case <-l.queue.wake:
			l.work()
		case <-tick.C:
			l.work()
			l.sumUp()
			l.look()
			l.work()
		}
	}
}

// end writes what there is to write yet, and lets others have the file.
func (l *Log) end() error {
	l.work()
	l.sumUp()
	err := errors.Join(l.write(line{Stop: &struct{}{}}), l.syncFile(l.file))
	l.anchor("stop")
	l.publish()
	return errors.Join(err, l.file.Close(), l.lock.Close())
}

// work writes what is in the queue, with all that waits.
func (l *Log) work() {
	all, lost := l.queue.take()
	_ = l.flush() // what cannot be written is found below
	for _, e := range all {
		if e.of != nil {
			e.err = l.add(e.line)
			e.Seq = l.seq
		}
	}
	l.lost, l.lostAll = l.lost+lost, l.lostAll+lost
	err := l.flush()
	l.publish()
	l.queue.written(err)
	for _, e := range all {
		if e.err == nil {
			e.err = err
		}
		close(e.done)
	}
}

// sumUp tells of calls that were counted.
func (l *Log) sumUp() {
	for _, s := range l.floods.sums() {
		_ = l.write(line{Sum: s}) // tells the log by itself
	}
}

// write makes a line, and writes it with all that waits.
func (l *Log) write(made line) error {
	_ = l.flush() // as in work
	err := l.add(made)
	if failed := l.flush(); err == nil {
		err = failed
	}
	return err
}

// add makes a line, which waits to be written. One that there is no room for is lost, and counted.
func (l *Log) add(made line) error {
	if len(l.unwritten) > maxUnwritten {
		if err := l.flush(); err != nil {
			l.lost++
			l.lostAll++
			return err
		}
	}
	l.rotateIfFull()
	if l.lost > 0 {
		if err := l.keep(line{Lost: &lost{Count: l.lost}}); err != nil {
			return err
		}
		l.lost = 0
	}
	return l.keep(made)
}

// keep makes a line of the chain, of now unless it says when.
func (l *Log) keep(made line) error {
	if made.Time.IsZero() {
		made.Time = time.Now()
	}
	made.Seq, made.Time, made.Prev = l.seq+1, stamp(made.Time), l.hash
	if made.of != nil {
		made.Call = made.of.told(l.options.Key, l.salt)
	}
	sealed, hash, err := made.seal(l.options.Key)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnwritten, err)
	}
	l.unwritten = append(l.unwritten, sealed...)
	l.size += int64(len(sealed))
	l.seq, l.hash = made.Seq, hash
	return nil
}

// flush writes what waits.
func (l *Log) flush() error {
	err := errors.Join(l.known.failure(), l.away)
	if err == nil && len(l.unwritten) > 0 {
		var n int
		n, err = l.file.Write(l.unwritten)
		l.unwritten = append(l.unwritten[:0], l.unwritten[n:]...)
	}
	if err == nil {
		return nil
	}
	l.tell("lines wait in memory, and are lost once there are too many", err)
	return fmt.Errorf("%w: %w", ErrUnwritten, err)
}

// rotateIfFull begins another file where this one is full. Where it cannot, this one goes on.
func (l *Log) rotateIfFull() {
	if l.size < l.options.MaxBytes || time.Now().Before(l.rotateAt) || l.flush() != nil {
		return
	}
	if err := l.rotate(); err != nil {
		l.rotateAt = time.Now().Add(toldEvery)
		l.tell("the file is full, and goes on, since another one cannot be begun", err)
	}
}

// rotate keeps the file under the number of its last line, and begins another one.
func (l *Log) rotate() error {
	old := kept(l.path, l.seq)
	if !missing(old) {
		return fmt.Errorf("%s is there already", old)
	}
	if err := l.flush(); err != nil {
		return err
	}
	if err := l.syncFile(l.file); err != nil {
		return err
	}
	before, seq, hash := l.file, l.seq, l.hash
	if err := l.beginAfter(func() error { return os.Rename(l.path, old) }); err != nil {
		return err
	}
	l.options.Logger.Info("audit anchor", "why", "rotation", "file", old, "line", seq, "hash", hash)
	return before.Close()
}

// begin begins a file where there is none.
func (l *Log) begin() error { return l.beginAfter(func() error { return nil }) }

// beginAfter begins a file whose first line follows the last one that was made. It is made beside, and takes its place when it is durable;
// makeRoom is called just before. After an error everything is as it was, but that the place may be empty.
func (l *Log) beginAfter(makeRoom func() error) (err error) {
	salt := l.newSalt()
	head := line{Seq: l.seq + 1, Time: stamp(time.Now()), Prev: l.hash, File: &fileHead{Format: format, Salt: salt}}
	sealed, hash, err := head.seal(l.options.Key)
	if err != nil {
		return err
	}
	made := l.path + ".new"
	f, err := l.options.OpenFile(made, os.O_CREATE|os.O_TRUNC|os.O_WRONLY|os.O_APPEND, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(sealed)
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = makeRoom()
	}
	if err == nil {
		err = os.Rename(made, l.path)
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	if err := l.syncFolder(); err != nil {
		l.tell("a new file may be gone with the next loss of power", err)
	}
	l.file, l.size, l.salt = f, int64(len(sealed)), salt
	l.seq, l.hash = head.Seq, hash
	return nil
}

// syncFolder makes the names of the files durable, where the system has a way to.
func (l *Log) syncFolder() error {
	if runtime.GOOS == "windows" {
		return nil
	}
	folder, err := l.options.OpenFile(filepath.Dir(l.path), os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// look sees to it that the file is the one at its path: one that was moved away is followed by a new one, and where there is another one, nothing
// is written.
func (l *Log) look() {
	if len(l.unwritten) > 0 && l.away == nil {
		return // ends in the middle of a line, perhaps
	}
	own, err := l.file.Stat()
	if err != nil {
		return
	}
	found, err := os.Lstat(l.path)
	switch {
	case err == nil && os.SameFile(found, own):
		l.away = nil
	case errors.Is(err, os.ErrNotExist), err == nil && found.Mode().IsRegular() && found.Size() == 0: // so some who move files away leave another
		l.away = l.follow()
	case err == nil:
		l.away = fmt.Errorf("another file is at %s", l.path)
	}
}

// follow begins a file behind one that was moved away, to whose end belongs what waits.
func (l *Log) follow() error {
	l.away = nil
	if err := l.flush(); err != nil {
		return err
	}
	before := l.file
	if err := l.syncFile(before); err != nil && l.options.Required {
		return err
	}
	if err := l.begin(); err != nil {
		return err
	}
	l.options.Logger.Warn("the audit's file was moved away, and another one follows it", "file", l.path, "first_line", l.seq)
	return before.Close()
}
