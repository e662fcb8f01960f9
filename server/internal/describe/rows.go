package describe

import (
	"context"
	"maps"
	"slices"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/server/internal/chainview"
)

// rowReads are the rows that a description is told from: what each has to tell is asked for one by one, and all are read at once.
type rowReads map[uint32]*rowRead

// rowRead is what is to be told of a row, which is borrowed. payload says that its payload and metadata are needed.
type rowRead struct {
	payload bool
	tell    []func(*chainstore.Row, *chainstore.Header) error
}

// ask lets a row tell something once it is read.
func (r rowReads) ask(seq uint32, payload bool, tell func(*chainstore.Row, *chainstore.Header) error) {
	one := r[seq]
	if one == nil {
		one = &rowRead{}
		r[seq] = one
	}
	one.payload = one.payload || payload
	one.tell = append(one.tell, tell)
}

// header lets a row tell something that its header knows.
func (r rowReads) header(seq uint32, tell func(*chainstore.Header) error) {
	r.ask(seq, false, func(_ *chainstore.Row, h *chainstore.Header) error { return tell(h) })
}

// read reads the rows, in their order, but for the head's where its header, which is known, is all that is needed.
func (r rowReads) read(ctx context.Context, chain chainstore.Chain) error {
	head := chain.Head()
	spans := make([]chainstore.Span, 0, len(r))
	for _, seq := range slices.Sorted(maps.Keys(r)) {
		if one := r[seq]; seq != head.Seq || one.payload {
			spans = append(spans, chainstore.Span{From: seq, Through: seq, HeadersOnly: !one.payload})
		} else if err := one.all(nil, head); err != nil {
			return err
		}
	}
	if len(spans) == 0 {
		return nil
	}
	return chainview.ReadAll(ctx, chain, spans, func(row *chainstore.Row) (err error) {
		h := head
		if row.Seq != head.Seq {
			if h, err = row.Header(); err != nil {
				return err
			}
		}
		return r[row.Seq].all(row, h)
	})
}

// all lets the row tell everything.
func (r *rowRead) all(row *chainstore.Row, h *chainstore.Header) error {
	for _, tell := range r.tell {
		if err := tell(row, h); err != nil {
			return err
		}
	}
	return nil
}
