package badgerdb

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/transcriptd/transcriptd/chainstore"
)

// explicit are merges that are asked for: one at a time, and none once the database is being closed.
type explicit struct {
	turn    chan struct{}
	closing context.Context
	close   context.CancelFunc
	// running says that one is under way.
	running atomic.Bool
}

func newExplicit() *explicit {
	e := &explicit{turn: make(chan struct{}, 1)}
	e.closing, e.close = context.WithCancel(context.Background())
	return e
}

// begin waits for the end of what others do. The context ends when the database is to be closed too; end is called once. Errors: the context's,
// chainstore.ErrClosed.
func (e *explicit) begin(ctx context.Context) (_ context.Context, end func(), err error) {
	select {
	case e.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	case <-e.closing.Done():
		return nil, nil, chainstore.ErrClosed
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(e.closing, func() { cancel(chainstore.ErrClosed) })
	e.running.Store(true)
	return ctx, func() {
		stop()
		cancel(nil)
		e.running.Store(false)
		<-e.turn
	}, nil
}

// finish returns when nothing is under way, and lets nothing begin any more.
func (e *explicit) finish() {
	e.close()
	e.turn <- struct{}{}
}

// mayMerge tells whether all tables may be merged, whatever merges are under way: the disk keeps room for that (see room), but another program may
// have taken it. Errors: chainstore.ErrDiskFull, chainstore.ErrTooManyFiles, those of the file system.
func (d *DB) mayMerge() error {
	if d.isReadOnly() {
		return errReadOnly
	}
	if !d.merging {
		return fmt.Errorf("%w: the store was opened without merges: make room on the disk, and open it again", chainstore.ErrDiskFull)
	}
	left, err := newRoom(d.DB, &d.options, func() (int64, error) { return logsOnDisk(d.Opts().Dir) }).left()
	if err != nil {
		return fmt.Errorf("look at the disk: %w", err)
	}
	if left < 0 {
		return fmt.Errorf("%w: merges would take %d MiB more than are free", chainstore.ErrDiskFull, -left>>20+1)
	}
	return d.handles.checkMerge()
}
