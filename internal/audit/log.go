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
	"sync"
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
	// toldEvery is how often the log tells that lines cannot be written, and how long after a rotation that failed another one is tried.
	toldEvery = time.Minute
)

var (
	// ErrLocked says that another process writes the file.
	ErrLocked = errors.New("another process writes this audit")
	// ErrUnwritten says that a line could not be written. It waits in memory, if there is room.
	ErrUnwritten = errors.New("the audit cannot be written")
	errClosed    = fmt.Errorf("%w: it is closed", ErrUnwritten)
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

// Log is an audit that is written. Its methods may run at once.
type Log struct {
	path    string
	options Options
	lock    io.Closer
	stop    context.CancelFunc
	stopped chan struct{}
	floods  floods

	mu   sync.Mutex
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
	// failed is why nothing is written any more; nil: it is.
	failed error
	// away is why the file is not the one at its path; nil: it is.
	away   error
	closed bool
	// toldAt is when the log was told last that lines cannot be written, rotateAt from when on a rotation is tried.
	toldAt, rotateAt time.Time

	// syncing is held by the one who syncs. synced is the number of the last line that is durable.
	syncing sync.Mutex
	synced  uint64
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
	l := &Log{path: path, options: options, hash: noHash, floods: floods{all: map[outcome]*flood{}}, stopped: make(chan struct{})}
	if l.lock, err = lock(path); err != nil {
		return nil, err
	}
	if err = l.resume(); err == nil {
		err = errors.Join(l.write(line{Start: &struct{}{}}), l.file.Sync())
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
	ctx, stop := context.WithCancel(context.Background())
	l.stop = stop
	go l.run(ctx)
	return l, nil
}

// Add tells of a call. It returns once its line is written, or counted: a process that is killed then does not lose it, a machine that loses
// power may, unless lines are required. ErrUnwritten: the line is not written; it will be the first, if there is room.
func (l *Log) Add(r *Record) error {
	if r.Unchanged && !l.floods.single(r, time.Now()) {
		return nil
	}
	l.mu.Lock()
	seq, err := l.add(r)
	l.mu.Unlock()
	if err != nil || r.Unchanged || !l.options.Required {
		return err
	}
	return l.sync(seq)
}

// add is Add but for the sync and for floods, and gives the number of the line.
func (l *Log) add(r *Record) (uint64, error) {
	if l.closed {
		return 0, errClosed
	}
	err := l.write(line{of: r})
	return l.seq, err
}

// Ready tells whether a line can be written, as far as is known before: ErrUnwritten. It tries to write what waits.
func (l *Log) Ready() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return errClosed
	}
	return l.flush()
}

// Required tells whether nothing may be done that is not told.
func (l *Log) Required() bool { return l.options.Required }

// Close tells of what was summed up, ends the audit, and lets others have the file.
func (l *Log) Close() error {
	l.stop()
	<-l.stopped
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.sumUp()
	err := l.write(line{Stop: &struct{}{}})
	l.closed = true
	err = errors.Join(err, l.file.Sync())
	l.anchor("stop")
	return errors.Join(err, l.file.Close(), l.lock.Close())
}

// Numbers are what metrics tell of a Log.
type Numbers struct {
	// Lines is the number of the last line, Lost how many were not kept, WaitingBytes how much of lines waits to be written.
	Lines, Lost  uint64
	WaitingBytes int
}

// Numbers are those of now.
func (l *Log) Numbers() Numbers {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Numbers{Lines: l.seq, Lost: l.lostAll, WaitingBytes: len(l.unwritten)}
}

// run does what is done every second.
func (l *Log) run(ctx context.Context) {
	defer close(l.stopped)
	for tick := time.NewTicker(everySecond); ; {
		select {
		case <-ctx.Done():
			tick.Stop()
			return
		case <-tick.C:
			l.tick()
		}
	}
}

func (l *Log) tick() {
	l.mu.Lock()
	l.sumUp()
	l.look()
	_ = l.flush() // tells the log by itself
	seq := l.seq
	l.mu.Unlock()
	_ = l.sync(seq) // as above
}

// sumUp tells of calls that were counted.
func (l *Log) sumUp() {
	for _, s := range l.floods.sums() {
		_ = l.write(line{Sum: s}) // tells the log by itself
	}
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
