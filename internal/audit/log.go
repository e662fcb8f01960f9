package audit

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"
)

const (
	// mode is that of all files: nobody but their owner reads them.
	mode = 0o600
	// DefaultMaxBytes is how large a file becomes.
	DefaultMaxBytes = 64 << 20
	// maxUnwritten is how many bytes of lines wait in memory while they cannot be written.
	maxUnwritten = 1 << 20
	// everySecond is how often what waits is written, what was summed up is told, and the file is synced.
	everySecond = time.Second
	// maxQueued is how many bytes, about, the calls take whose lines are to be made: at once, and while the disk hangs.
	maxQueued = 8 << 20
	// patience is how long who adds a line waits for it to be written, and syncPatience for it to be synced. A disk that takes longer hangs: from then
	// on nobody waits, until it answers.
	patience, syncPatience = time.Second, 5 * time.Second
	// toldEvery is how often the log tells that lines cannot be written, and how long after a rotation that failed another one is tried.
	toldEvery = time.Minute
)

var (
	// ErrLocked says that another process writes the file.
	ErrLocked = errors.New("another process writes this audit")
	// ErrUnwritten says that a line could not be written. It waits in memory, if there is room.
	ErrUnwritten = errors.New("the audit cannot be written")
	errClosed    = fmt.Errorf("%w: it is closed", ErrUnwritten)
	errHangs     = fmt.Errorf("%w: its disk does not answer", ErrUnwritten)
)

// File is a file that lines are added to.
type File interface {
	io.WriteCloser
	Sync() error
	Stat() (os.FileInfo, error)
}

// Options say how a Log is kept. The zero Options are ready to use.
type Options struct {
	// Key is what lines are keyed with; nil: nothing, so that whoever may write the file may make it anew.
	Key *Key
	// MaxBytes is how large a file becomes before another one is begun; 0: DefaultMaxBytes.
	MaxBytes int64
	// Required says that a line of a call that may have changed something is durable before Add returns, and that Ready is asked before.
	Required bool
	// Logger gets the anchors, and is told when lines cannot be written; nil: nobody is.
	Logger *slog.Logger
	// OpenFile opens files; nil: os.OpenFile.
	OpenFile func(name string, flag int, perm os.FileMode) (File, error)
}

// Log is an audit that is written. Its methods may run at once, and wait for no disk that hangs: see patience.
type Log struct {
	path    string
	options Options
	lock    io.Closer
	stop    context.CancelFunc
	// stopped is closed once nobody uses the file any more, and then ended is what the end came to.
	stopped chan struct{}
	ended   error
	floods  floods
	queue   queue
	known   known

	// What follows is of the goroutine that writes, and of Open before there is one.

	file File
	// size is how large the file is once all is written, salt that of its first line.
	size int64
	salt string
	// seq and hash are those of the last line that was made.
	seq  uint64
	hash string
	// unwritten are bytes of the last lines that the file has not taken yet, from anywhere in a line on.
	unwritten []byte
	// lost is how many lines were not kept, of which no line tells yet; lostAll, ever.
	lost, lostAll uint64
	// away is why the file is not the one at its path; nil: it is.
	away error
	// rotateAt is from when on a rotation is tried.
	rotateAt time.Time
}

// Open goes on with the audit at a path, or begins one. Nobody else may write it until Close. What a process that was killed left behind
// the last whole line stays, and a line tells of it. Error: there is no file and none can be made, it cannot be gone on with, or lines are required
// and cannot be written.
func Open(path string, options Options) (_ *Log, err error) {
	if options.MaxBytes == 0 {
		options.MaxBytes = DefaultMaxBytes
	}
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	if options.OpenFile == nil {
		options.OpenFile = func(name string, flag int, perm os.FileMode) (File, error) { return os.OpenFile(name, flag, perm) }
	}
	l := &Log{
		path: path, options: options, hash: noHash, floods: floods{all: map[outcome]*flood{}}, stopped: make(chan struct{}),
		queue: newQueue(), known: newKnown(),
	}
	if l.lock, err = lock(path); err != nil {
		return nil, err
	}
	if err = l.resume(); err == nil {
		err = errors.Join(l.write(line{Start: &struct{}{}}), l.syncFile(l.file))
		if !options.Required {
			err = nil // the line waits, and the log was told
		}
	}
	if err != nil {
		if l.file != nil {
			err = errors.Join(err, l.file.Close())
		}
		return nil, errors.Join(err, l.lock.Close())
	}
	l.anchor("start")
	l.publish()
	ctx, stop := context.WithCancel(context.Background())
	l.stop = stop
	go l.run(ctx)
	go l.syncOften(ctx)
	return l, nil
}

// Add tells of a call. It returns once its line is written, or counted: a process that is killed then does not lose it, a machine that loses
// power may, unless lines are required. ErrUnwritten: the line is not written; it will be the first, if there is room. The record must not change
// from then on.
func (l *Log) Add(r *Record) error {
	now := time.Now()
	if r.Unchanged && !l.floods.single(r, now) {
		return nil
	}
	e := &entry{line: line{of: r, Time: now}, done: make(chan struct{})}
	if err := l.await(e); err != nil || r.Unchanged || !l.options.Required {
		return err
	}
	return l.sync(e.Seq)
}

// Ready tells whether a line can be written, as far as is known before: ErrUnwritten. It tries to write what waits.
func (l *Log) Ready() error {
	switch {
	case l.queue.hangs.Load(), l.known.hangs.Load():
		return errHangs
	case l.queue.well():
		return l.known.failure()
	default:
		return l.await(&entry{done: make(chan struct{})})
	}
}

// Required tells whether nothing may be done that is not told.
func (l *Log) Required() bool { return l.options.Required }

// Close tells of what was summed up, ends the audit, and lets others have the file. On a disk that hangs, only the end of the process does.
func (l *Log) Close() error {
	l.queue.close()
	l.stop()
	select {
	case <-l.stopped:
		return l.ended
	case <-time.After(syncPatience):
		return errHangs
	}
}

// Numbers are what metrics tell of a Log.
type Numbers struct {
	// Lines is the number of the last line, Lost how many were not kept, WaitingBytes how much of lines waits to be written.
	Lines, Lost  uint64
	WaitingBytes int
}

// Numbers are those of now.
func (l *Log) Numbers() Numbers {
	n := l.known.numbers()
	bytes, lost := l.queue.numbers()
	n.WaitingBytes += bytes
	n.Lost += lost
	return n
}

// anchor tells the log where the file ends: a file that does not have this line any more was cut.
func (l *Log) anchor(why string) {
	l.options.Logger.Info("audit anchor", "why", why, "file", l.path, "line", l.seq, "hash", l.hash)
}

// newSalt is the salt of a new file.
func (l *Log) newSalt() string {
	if l.options.Key != nil {
		return ""
	}
	salt := make([]byte, 16)
	_, _ = rand.Read(salt) // never fails
	return hex.EncodeToString(salt)
}
