package server

import (
	"context"
	"errors"

	"google.golang.org/grpc"

	"github.com/transcriptd/transcriptd/chainstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

const (
	// frameBytes is what a frame of several nodes takes at most; a node that is larger has a frame to itself.
	frameBytes = 64 << 10
	// batchBytes is how much is read at a time. Nothing is sent while rows are read: a caller who reads slowly must
	// not hold what the store lends.
	batchBytes = 256 << 10
)

// errBatch ends the reading of a batch.
var errBatch = errors.New("the batch is full")

// StreamAssemble reads and sends batch by batch, in constant memory: a batch and the row that filled it.
func (t *transcripts) StreamAssemble(req *transcriptv1.StreamAssembleRequest, out grpc.ServerStreamingServer[transcriptv1.StreamAssembleResponse]) error {
	ctx := out.Context()
	a, err := t.open(ctx, req)
	if err != nil {
		return err
	}
	w := &frameWriter{out: out, open: &frame{}, first: &transcriptv1.StreamAssembleResponse{
		HeadId: a.headID(), BaseId: a.baseID(), Etag: a.etag, NotModified: a.notModified, Counters: a.counters(),
	}}
	if a.notModified {
		return w.finish(&transcriptv1.Report{})
	}
	into, report := a.filler(w.room)
	for _, span := range a.spans() {
		for span.From <= span.Through {
			if span.From, err = w.read(ctx, a.chain, span, into); err != nil {
				return err
			}
			if err := w.sendFull(); err != nil {
				return err
			}
		}
	}
	return w.finish(a.told(report))
}

// frameWriter gathers nodes in frames and sends them.
type frameWriter struct {
	out grpc.ServerStreamingServer[transcriptv1.StreamAssembleResponse]
	// first is what the first frame carries beside its nodes; nil once it is sent.
	first *transcriptv1.StreamAssembleResponse
	// full are the frames that can be sent, in order; open is the one behind them.
	full []*frame
	open *frame
	// spare are frames that were sent, to be filled again.
	spare []*frame
	// ready is the size of full.
	ready int
}

// room gives the frame that the next need bytes go to.
func (w *frameWriter) room(need int) (*frame, error) {
	if size := w.open.size(); size > 0 && size+need > frameBytes {
		w.full, w.ready = append(w.full, w.open), w.ready+size
		w.open = w.fresh()
	}
	return w.open, nil
}

func (w *frameWriter) fresh() *frame {
	n := len(w.spare)
	if n == 0 {
		return &frame{}
	}
	f := w.spare[n-1]
	w.spare = w.spare[:n-1]
	return f
}

// read lays rows of a span into frames until a batch is full, and returns where to go on.
func (w *frameWriter) read(ctx context.Context, chain chainstore.Chain, span chainstore.Span, into filler) (next uint32, err error) {
	next = span.From
	err = chain.Rows(ctx, span, func(row *chainstore.Row) error {
		if err := into.add(ctx, row); err != nil {
			return err
		}
		if next++; w.ready >= batchBytes {
			return errBatch
		}
		return nil
	})
	if errors.Is(err, errBatch) {
		return next, nil
	}
	if err != nil {
		return next, err
	}
	return next, reached(span, next)
}

// sendFull sends the frames that are full. gRPC encodes a message before SendMsg returns and keeps nothing of it
// (grpc-go: serverStream.SendMsg calls prepareMsg, which marshals into a buffer of its own), so a frame that was sent
// can be filled again.
func (w *frameWriter) sendFull() error {
	for _, f := range w.full {
		if err := w.send(f, nil); err != nil {
			return err
		}
		if f.clear(); cap(f.messages) <= 2*frameBytes {
			w.spare = append(w.spare, f)
		}
	}
	w.full, w.ready = w.full[:0], 0
	return nil
}

// finish sends the last frame, which carries the report.
func (w *frameWriter) finish(r *transcriptv1.Report) error { return w.send(w.open, r) }

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
