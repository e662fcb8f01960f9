// Package frames reads views batch by batch into frames, and sends them.
package frames

import (
	"context"
	"errors"
	"runtime"
	"sync"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/server/internal/chainview"
	"github.com/transcriptd/transcriptd/server/internal/fair"
	"github.com/transcriptd/transcriptd/server/internal/panics"
	"github.com/transcriptd/transcriptd/server/internal/transport/reply"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

const (
	// batchBytes is how much is read at a time. No row waits for a frame to be sent: a caller who reads slowly must not
	// hold what the store lends.
	batchBytes = 256 << 10
)

// errBatch ends the reading of a batch.
var errBatch = errors.New("the batch is full")

// sideBySide is how many batches of a stream are read at once, while another is sent.
const sideBySide = 3

// NewPlaces has twice as many places as there are processors: so many batches are read ahead at once, of callers in turns.
// To read one that is not in memory takes a processor, so more at once are not read sooner; but the store's merges, for which
// writers wait in the end, share the processors with everybody who could run.
func NewPlaces() *fair.Semaphore { return fair.NewSemaphore(2 * int64(runtime.GOMAXPROCS(0))) }

// ReadAll hands every batch to send, in order. Once a batch was not all in the store's memory, as it is sent, all that follow are read ahead,
// each with a place of scans, which it has while it is read; before, to read one takes less time than to hand it from goroutine
// to goroutine. last is the frame that belongs to no batch.
func ReadAll(ctx context.Context, a *chainview.Assembly, out *reply.Limiter, scans *fair.Semaphore, send func([]*chainview.Frame) error) (last *chainview.Frame, whole *chainview.Report, err error) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	parts := a.Parts(batchBytes)
	var readers []*reader // of the first parts that are not read to their ends
	sent := false
	defer func() {
		for _, r := range readers {
			r.drop()
		}
		if !sent {
			last.Drop()
			last = nil
		}
	}()
	defer running.Wait()
	defer cancel()
	atOnce := 1
	begin := func() {
		for ; len(parts) > 0 && len(readers) < atOnce; parts = parts[1:] {
			r := newReader(a, out, scans, parts[0])
			readers = append(readers, r)
			r.next(ctx, &running, atOnce > 1)
		}
	}
	for begin(); last == nil; {
		r := readers[0]
		if err := r.wait(ctx); err != nil {
			return nil, nil, err
		}
		if r.waited {
			atOnce = sideBySide
		}
		full, held := r.taken()
		if len(r.spans) > 0 {
			r.next(ctx, &running, atOnce > 1)
		} else {
			whole = whole.Join(r.report)
			readers = readers[1:]
		}
		begin()
		switch {
		case len(readers) == 0:
			last = r.open
		case readers[0] != r:
			full = append(full, r.open)
		}
		if err := sendBatch(full, held, send); err != nil {
			return last, nil, err
		}
	}
	sent = true
	return last, whole, nil
}

// sendBatch hands a batch to send, and gives back what was not sent, also where that panics.
func sendBatch(full []*chainview.Frame, held *reply.Held, send func([]*chainview.Frame) error) error {
	defer held.Done()
	defer func() {
		for _, f := range full {
			f.Drop() // none is left where all were sent
		}
	}()
	held.GoesOut()
	return send(full)
}

// reader lays a part of a view into frames.
type reader struct {
	chain  chainstore.Chain
	into   chainview.Writer
	report *chainview.Report
	out    *reply.Limiter
	// scans has the places that all streams share: one is taken for each batch while it is read ahead.
	scans *fair.Semaphore
	// spans are what is yet to be read.
	spans []chainstore.Span
	// full are the frames of the batch that can be sent, in order; open is the one behind them.
	full []*chainview.Frame
	open *chainview.Frame
	// ready is the size of full.
	ready int
	// held is the room of the batch, nil for a small one that needs none; left is how many bytes of rows it takes yet, and rows those
	// it has. need is the size of the next row, where that is known as it did not fit.
	held             *reply.Held
	left, rows, need int
	// waited says that a row of the batch was not in the store's memory.
	waited bool
	// due says that the batch is yet to be read; else reading is waited for before anything else is looked at, and then err is
	// that of the batch.
	due     bool
	reading sync.WaitGroup
	err     error
}

func newReader(a *chainview.Assembly, out *reply.Limiter, scans *fair.Semaphore, spans []chainstore.Span) *reader {
	r := &reader{chain: a.Chain, out: out, scans: scans, spans: spans}
	r.open = r.frame(wire.FrameBytes)
	r.into, r.report = a.Writer(r.room)
	return r
}

// frame is a new one for so many bytes, in the room of the batch.
func (r *reader) frame(most int) *chainview.Frame {
	f := r.out.Frame(r.held, most, true)
	if r.held != nil {
		r.held.Share()
		f.Hold = r.held
	}
	return f
}

// taken are the frames of the batch, and its room: the caller's from now on.
func (r *reader) taken() ([]*chainview.Frame, *reply.Held) {
	full, held := r.full, r.held
	r.full, r.held = nil, nil
	return full, held
}

// drop gives back what was read and is not sent. Nothing is read then.
func (r *reader) drop() {
	full, held := r.taken()
	for _, f := range append(full, r.open) {
		f.Drop()
	}
	held.Done()
}

// next begins to read a batch in a goroutine of its own, or leaves it to wait.
func (r *reader) next(ctx context.Context, running *sync.WaitGroup, ahead bool) {
	if r.due = !ahead; r.due {
		return
	}
	r.reading.Add(1)
	running.Go(func() {
		defer r.reading.Done()
		if r.err = r.scans.Acquire(ctx, 1); r.err != nil {
			return
		}
		defer r.scans.Release(1)
		r.err = panics.Guard(func() error { return r.batch(ctx, r.tryRoom) })
		if errors.Is(r.err, reply.ErrNoRoom) { // none at once: who holds a place of scans must not wait for it
			r.due, r.err = true, nil
		}
	})
}

// wait returns once the batch is read.
func (r *reader) wait(ctx context.Context) error {
	r.reading.Wait()
	if r.due {
		return r.batch(ctx, r.takeRoom)
	}
	return r.err
}

// tryRoom takes room for a batch, or where there is none for a frame; reply.ErrNoRoom: there is neither at once.
func (r *reader) tryRoom(ctx context.Context) error {
	r.left = max(batchBytes+2*wire.FrameBytes, r.need)
	if r.held = r.out.TryBatch(ctx, int64(r.left)); r.held != nil {
		return nil
	}
	if r.left = wire.FrameBytes; r.need <= r.left {
		r.held = r.out.TrySmall(ctx)
	}
	if r.held == nil {
		return reply.ErrNoRoom
	}
	return nil
}

// takeRoom is tryRoom that waits. What was laid before goes out first: errBatch.
func (r *reader) takeRoom(ctx context.Context) error {
	err := r.tryRoom(ctx)
	switch {
	case !errors.Is(err, reply.ErrNoRoom):
		return err
	case r.open.Size() > 0:
		r.fill()
		r.open = r.frame(wire.FrameBytes)
		return errBatch
	case r.need <= wire.FrameBytes:
		r.held, err = r.out.TakeSmall(ctx)
	default:
		r.left = r.need
		r.held, err = r.out.Take(ctx, int64(r.left))
	}
	return err
}

// batch lays rows into frames until there are enough, or all is read. Once enter has failed, nothing was laid.
func (r *reader) batch(ctx context.Context, enter func(context.Context) error) error {
	if err := r.lay(ctx, enter); err != nil {
		return err
	}
	return r.into.Link(ctx)
}

// lay is batch, but for links.
func (r *reader) lay(ctx context.Context, enter func(context.Context) error) error {
	r.full, r.ready, r.rows, r.waited = nil, 0, 0, false
	if r.open.Size() == 0 { // who waits for room has none
		r.open.Drop()
	}
	for entered, full := false, false; len(r.spans) > 0 && !full && r.ready < batchBytes; {
		if !entered {
			switch err := enter(ctx); {
			case errors.Is(err, errBatch):
				return nil
			case err != nil:
				return err
			}
			entered = true
		}
		span := &r.spans[0]
		if span.From <= span.Through {
			var err error
			if full, err = r.inTurn(ctx, span); err != nil {
				return err
			}
		}
		if span.From > span.Through {
			r.spans = r.spans[1:]
		}
		if full && r.rows == 0 { // the first row is larger than was expected
			r.held.Done()
			r.held, entered, full = nil, false, false
		}
	}
	return nil
}

// inTurn is read in a place among the reads that run.
func (r *reader) inTurn(ctx context.Context, span *chainstore.Span) (full bool, err error) {
	if err := r.out.Turn(ctx); err != nil {
		return false, err
	}
	defer r.out.Running.Release(1)
	return r.read(ctx, span)
}

// read lays rows of a span into frames until there are enough, and moves its From behind them. full: the next does not fit the batch.
func (r *reader) read(ctx context.Context, span *chainstore.Span) (full bool, err error) {
	whole := *span
	err = r.chain.Rows(ctx, []chainstore.Span{whole}, func(row *chainstore.Row) error {
		if full = len(row.Payload) > r.left; full {
			r.need = len(row.Payload)
			return errBatch
		}
		r.waited = r.waited || row.Shared == nil
		before := r.ready + r.open.Size()
		if err := r.into.Add(row); err != nil {
			return err
		}
		span.From++
		r.rows, r.left, r.need = r.rows+1, r.left-max(len(row.Payload), r.ready+r.open.Size()-before), 0
		if r.ready >= batchBytes {
			return errBatch
		}
		return nil
	})
	if err == nil {
		err = chainview.Reached(whole, span.From)
	}
	if errors.Is(err, errBatch) {
		return full, nil
	}
	return full, err
}

// fill adds the open frame to the batch. It is closed here: its room may have a frame that is made while the batch is sent, and has
// one maker at a time.
func (r *reader) fill() {
	r.open.Close()
	r.full = append(r.full, r.open)
}

// room gives the frame that the next need bytes go to.
func (r *reader) room(need int) (*chainview.Frame, error) {
	switch size := r.open.Size(); {
	case size == 0:
		r.open.Drop()
		r.open = r.frame(max(wire.FrameBytes, need)) // in the room of this batch
	case size+need > wire.FrameBytes:
		r.fill()
		r.ready += size
		r.open = r.frame(max(wire.FrameBytes, need))
	}
	return r.open, nil
}
