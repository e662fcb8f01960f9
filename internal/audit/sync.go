package audit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// known is what all know of the file. Its methods may run at once.
type known struct {
	// want has something once somebody waits for a sync; hangs says that one did not come for longer than syncPatience.
	want  chan struct{}
	hangs atomic.Bool

	mu   sync.Mutex
	file File
	now  Numbers
	// written is the number of the last line that the file has whole, synced of the last one that is durable: synced <= written.
	written, synced uint64
	// round is closed when the next sync has ended.
	round chan struct{}
	// failed is why nothing is written any more, an ErrUnwritten; nil: it is.
	failed error
	// toldAt is when the log was told last that lines cannot be written.
	toldAt time.Time
}

func newKnown() known { return known{want: make(chan struct{}, 1), round: make(chan struct{})} }

func (k *known) numbers() Numbers {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.now
}

func (k *known) failure() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.failed
}

// publish makes known what the goroutine that writes has come to.
func (l *Log) publish() {
	k := &l.known
	k.mu.Lock()
	defer k.mu.Unlock()
	k.file, k.now = l.file, Numbers{Lines: l.seq, Lost: l.lostAll, WaitingBytes: len(l.unwritten)}
	if len(l.unwritten) == 0 {
		k.written = l.seq
	}
}

// tell tells the log of a failure, now and then.
func (l *Log) tell(what string, err error) {
	k := &l.known
	k.mu.Lock()
	defer k.mu.Unlock()
	if now := time.Now(); now.Sub(k.toldAt) >= toldEvery {
		k.toldAt = now
		l.options.Logger.Error("the audit cannot be written; this line comes once a minute at most", "file", l.path, "cause", err,
			"what_becomes", what, "waiting_bytes", k.now.WaitingBytes, "lost_lines", k.now.Lost)
	}
}

// sync waits until a line is durable, but not for a disk that hangs.
func (l *Log) sync(seq uint64) error {
	k := &l.known
	if k.hangs.Load() {
		return errHangs
	}
	late := time.NewTimer(syncPatience)
	defer late.Stop()
	for {
		k.mu.Lock()
		durable, failed, round := k.synced >= seq, k.failed, k.round
		k.mu.Unlock()
		if durable {
			return nil
		}
		if failed != nil {
			return failed
		}
		wake(k.want)
		select {
		case <-round: // which may have begun too early
		case <-late.C:
			if k.hangs.CompareAndSwap(false, true) {
				l.tell("its disk does not answer, and lines that were written may be lost with the next loss of power", errHangs)
			}
			return errHangs
		}
	}
}

// syncOften syncs what is written, when somebody waits for it, and every second.
func (l *Log) syncOften(ctx context.Context) {
	tick := time.NewTicker(everySecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-l.known.want:
		}
		l.syncWritten()
	}
}

func (l *Log) syncWritten() {
	k := &l.known
	k.mu.Lock()
	file, written, all := k.file, k.written, k.synced == k.written
	k.mu.Unlock()
	if all {
		return
	}
	err := l.syncFile(file)
	k.hangs.Store(false)
	k.mu.Lock()
	defer k.mu.Unlock()
	if err == nil {
		k.synced = written
	}
	close(k.round)
	k.round = make(chan struct{})
}

// syncFile makes durable what was written to a file. A sync that failed may have lost what it was to keep, and another one that succeeds does not
// tell: where lines are required, nothing is written from then on.
func (l *Log) syncFile(file File) error {
	err := file.Sync()
	if err == nil || errors.Is(err, os.ErrClosed) { // it is full, and was synced before it was closed
		return nil
	}
	if l.options.Required {
		l.known.mu.Lock()
		l.known.failed = fmt.Errorf("%w: a sync failed, and what it was to keep may be lost; restart on a sound disk: %w", ErrUnwritten, err)
		l.known.mu.Unlock()
	}
	l.tell("a sync failed, so lines may be lost with the next loss of power", err)
	return fmt.Errorf("%w: %w", ErrUnwritten, err)
}

// wake tells whoever waits for it that there is something to do.
func wake(who chan struct{}) {
	select {
	case who <- struct{}{}:
	default: // told already
	}
}
