package server

import (
	"context"
	"errors"

	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"

	"github.com/transcriptd/transcriptd/chainstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

const (
	// frameBytes is what a frame of several nodes takes at most; a node that is larger has a frame to itself.
	frameBytes = 64 << 10
	// batchBytes is how much is read at a time. No row waits for a frame to be sent: a caller who reads slowly must not
	// hold what the store lends.
	batchBytes = 256 << 10
)

// errBatch ends the reading of a batch.
var errBatch = errors.New("the batch is full")

// StreamAssemble reads and sends batch by batch, and reads one while it sends the one before: in constant memory, two
// batches and the rows that filled them.
func (t *transcripts) StreamAssemble(req *transcriptv1.StreamAssembleRequest, out grpc.ServerStreamingServer[transcriptv1.StreamAssembleResponse]) error {
	ctx := out.Context()
	a, err := t.open(ctx, req)
	if err != nil {
		return err
	}
	w := &frameWriter{out: out, first: &transcriptv1.StreamAssembleResponse{
		HeadId: a.headID(), BaseId: a.baseID(), Etag: a.etag, NotModified: a.notModified, Counters: a.counters(),
	}}
	if a.notModified {
		return w.send(&frame{}, &transcriptv1.Report{})
	}
	r := newFrameReader(a, t.buffers)
	if err := r.each(ctx, w.sendAll); err != nil {
		return err
	}
	return w.send(r.open, a.told(r.report))
}

// frameReader lays a view into frames.
type frameReader struct {
	chain  chainstore.Chain
	into   filler
	report *report
	pool   mem.BufferPool
	// spans are what is yet to be read.
	spans []chainstore.Span
	// full are the frames of the batch that can be sent, in order; open is the one behind them.
	full []*frame
	open *frame
	// ready is the size of full.
	ready int
}

func newFrameReader(a *assembly, pool mem.BufferPool) *frameReader {
	r := &frameReader{chain: a.chain, pool: pool, open: newFrame(pool, frameBytes), spans: a.spans()}
	r.into, r.report = a.filler(r.room)
	return r
}

// each hands every batch to send, in order, while the next is read. What is in open in the end belongs to no batch.
func (r *frameReader) each(ctx context.Context, send func([]*frame) error) error {
	first, err := r.batch(ctx)
	if err != nil {
		return err
	}
	if len(r.spans) == 0 { // nothing is left to be read meanwhile
		return send(first)
	}
	ctx, cancel := context.WithCancel(ctx)
	batches := make(chan []*frame)
	var failed error
	go func() {
		defer close(batches)
		failed = guarded(func() error { return r.ahead(ctx, batches) })
	}()
	err = send(first)
	for err == nil {
		full, more := <-batches
		if !more {
			break
		}
		err = send(full)
	}
	cancel()
	for range batches { // until the reader has ended
	}
	if err != nil {
		return err
	}
	return failed
}

// ahead reads all batches, each while the one before is in use.
func (r *frameReader) ahead(ctx context.Context, batches chan<- []*frame) error {
	for len(r.spans) > 0 {
		full, err := r.batch(ctx)
		if err != nil {
			return err
		}
		select {
		case batches <- full:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// batch lays rows into frames until there are enough, or all is read, and returns those that are full.
func (r *frameReader) batch(ctx context.Context) (full []*frame, err error) {
	r.full, r.ready = nil, 0
	for len(r.spans) > 0 && r.ready < batchBytes {
		span := &r.spans[0]
		if span.From <= span.Through {
			if err := r.read(ctx, span); err != nil {
				return nil, err
			}
		}
		if span.From > span.Through {
			r.spans = r.spans[1:]
		}
	}
	return r.full, nil
}

// read lays rows of a span into frames until there are enough, and moves its From behind them.
func (r *frameReader) read(ctx context.Context, span *chainstore.Span) error {
	whole := *span
	err := r.chain.Rows(ctx, whole, func(row *chainstore.Row) error {
		if err := r.into.add(ctx, row); err != nil {
			return err
		}
		if span.From++; r.ready >= batchBytes {
			return errBatch
		}
		return nil
	})
	if err == nil {
		err = reached(whole, span.From)
	}
	if errors.Is(err, errBatch) {
		return nil
	}
	return err
}

// room gives the frame that the next need bytes go to.
func (r *frameReader) room(need int) (*frame, error) {
	if size := r.open.size(); size > 0 && size+need > frameBytes {
		r.full, r.ready = append(r.full, r.open), r.ready+size
		r.open = newFrame(r.pool, max(frameBytes, need))
	}
	return r.open, nil
}

// frameWriter sends frames.
type frameWriter struct {
	out grpc.ServerStreamingServer[transcriptv1.StreamAssembleResponse]
	// first is what the first frame carries beside its nodes; nil once it is sent.
	first *transcriptv1.StreamAssembleResponse
}

func (w *frameWriter) sendAll(full []*frame) error {
	for _, f := range full {
		if err := w.send(f, nil); err != nil {
			return err
		}
	}
	return nil
}

// send sends a frame; the last one carries the report.
func (w *frameWriter) send(f *frame, report *transcriptv1.Report) error {
	m := w.first
	if w.first = nil; m == nil {
		m = &transcriptv1.StreamAssembleResponse{}
	}
	m.Nodes, m.Report = f.nodes, report
	m.ProtoReflect().SetUnknown(f.messages)
	return sent(w.out.Context(), w.out.Send(m))
}

// sent makes of a failure to send what it is: the caller's deadline, its giving up, or its going away.
func sent(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	default:
		return errGone
	}
}
