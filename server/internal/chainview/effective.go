package chainview

import (
	"context"
	"slices"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// Effective is how the effective view of a chain lies: the preamble, then, without a compaction node, everything behind
// it; with one, the node's messages, those of the nodes after the last that it covers, and those behind it, older
// compaction nodes left out.
type Effective struct {
	chain chainstore.Chain
	// compaction is chain.Compaction().
	compaction *chainstore.Header
	// again says that most rows whose headers are read are shown after that.
	again bool
	// needs says that a plan needs what a header may not tell of calls: their names, or what shorter arguments save. known is that of
	// messages whose headers do not tell it, once they are read; unknown are such messages that a plan came to before.
	needsNames, needsSavings bool
	known                    map[runloop.Place]callsKnown
	unknown                  []runloop.Place
}

// viewRow is a row of a view, and which of its messages belong to the part of the view that is read: from one through
// the one before another.
type viewRow struct {
	*chainstore.Row
	from, through int
}

// OpenEffective tells how the effective view of a chain lies.
func OpenEffective(chain chainstore.Chain) *Effective {
	return &Effective{chain: chain, compaction: chain.Compaction()}
}

func (e *Effective) state() *runloop.State { return &e.chain.Head().State }

// preambleSpans are the rows that the preamble lies in; none without one.
func (e *Effective) preambleSpans() []chainstore.Span {
	s := e.state()
	switch end := s.PreambleEnd; {
	case !s.PreambleClosed:
		return []chainstore.Span{{Through: e.chain.Head().Seq}}
	case end.Index > 0:
		return []chainstore.Span{{Through: end.Seq}}
	case end.Seq > 0:
		return []chainstore.Span{{Through: end.Seq - 1}}
	default:
		return nil
	}
}

// spans are all rows of the view in its order, and older compaction nodes between them.
func (e *Effective) spans() []chainstore.Span {
	through := e.chain.Head().Seq
	if e.compaction == nil {
		return []chainstore.Span{{Through: through}}
	}
	return joined(append(e.preambleSpans(), e.body(through)...))
}

// joined are spans in the same order, those put together that follow each other, or share a row.
func joined(spans []chainstore.Span) []chainstore.Span {
	var out []chainstore.Span
	for _, s := range spans {
		n := len(out)
		if n > 0 && (out[n-1].Through == s.From || out[n-1].Through+1 == s.From) {
			out[n-1].Through = s.Through
			continue
		}
		out = append(out, s)
	}
	return out
}

// parts tells how many of a row's messages, from the first on, are the preamble's, and through which the others are the
// body's.
func (e *Effective) parts(row *chainstore.Row) (preamble, body int) {
	s, n := e.state(), row.Raw.MessageCount()
	end := s.PreambleEnd
	if !s.PreambleClosed || row.Seq < end.Seq {
		return n, n
	}
	if row.Seq == end.Seq {
		preamble = min(int(end.Index), n)
	}
	if c := e.compaction; c != nil && row.Seq != c.Seq && (row.Seq <= c.Covers.Seq || row.Raw.IsCompaction()) {
		return preamble, preamble
	}
	return preamble, n
}

// body is what lies behind the preamble, in the order of the view, through a node that comes not before what the
// compaction node covers.
func (e *Effective) body(through uint32) []chainstore.Span {
	s := e.state()
	if !s.PreambleClosed {
		return nil
	}
	if e.compaction == nil {
		return []chainstore.Span{{From: s.PreambleEnd.Seq, Through: through}}
	}
	c := e.compaction
	spans := []chainstore.Span{{From: c.Seq, Through: c.Seq}}
	if tail := (chainstore.Span{From: c.Covers.Seq + 1, Through: min(through, c.Seq-1)}); tail.From <= tail.Through {
		spans = append(spans, tail)
	}
	if through > c.Seq {
		spans = append(spans, chainstore.Span{From: c.Seq + 1, Through: through})
	}
	return spans
}

// before tells whether a comes before b in the order of the view.
func (e *Effective) before(a, b runloop.Place) bool {
	if c := e.compaction; c != nil && (a.Seq == c.Seq) != (b.Seq == c.Seq) {
		return a.Seq == c.Seq
	}
	return a.Before(b)
}

// read yields the rows of spans of the body, which it gives the right messages of; older compaction nodes have none. Rows are borrowed,
// as those of a chain.
func (e *Effective) read(ctx context.Context, spans []chainstore.Span, headersOnly bool, yield func(*viewRow) error) error {
	asked := slices.Clone(spans)
	for i := range asked {
		asked[i].HeadersOnly, asked[i].WillReread = headersOnly, headersOnly && e.again
	}
	var one viewRow
	return ReadAll(ctx, e.chain, asked, func(row *chainstore.Row) error {
		one = viewRow{Row: row}
		one.from, one.through = e.parts(row)
		return yield(&one)
	})
}
