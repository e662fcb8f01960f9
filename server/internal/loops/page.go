package loops

import (
	"context"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	"github.com/transcriptd/transcriptd/server/internal/chainview"
)

// plan finds the loops of a page of a size, newest first, by their headers. There may be more than fit by their bytes.
func (l *runLoops) plan(ctx context.Context, size int) ([]*loopScan, error) {
	from, err := l.pageStart(ctx, size)
	if err != nil {
		return nil, err
	}
	p := &loopPass{runLoops: l, size: size}
	span := chainstore.Span{From: max(from, 1) - 1, Through: l.lastRow(), HeadersOnly: true}
	err = chainview.ReadAll(ctx, l.chain, []chainstore.Span{span}, func(row *chainstore.Row) error {
		h, err := row.Header()
		if err != nil {
			return err
		}
		if h.Seq >= from {
			p.node(h)
		}
		p.loop = h.State.Full.Loop
		return nil
	})
	if err != nil {
		return nil, err
	}
	if p.current == nil || p.current.start != l.loop.Start {
		return nil, fmt.Errorf("%w: no run loop begins at row %d where one should", chainstore.ErrCorrupt, l.loop.Start.Seq)
	}
	p.current.ended(&l.loop, l.end, l.last)
	slices.Reverse(p.found)
	return p.found, nil
}

// lastRow is the last row that the newest loop has messages in, or a later one.
func (l *runLoops) lastRow() uint32 {
	if l.end.Index == 0 {
		return l.end.Seq - 1
	}
	return l.end.Seq
}

// pageStart is the node in which the oldest loop begins that a page of a size can have, by the number of loops and by the bytes of their
// messages, or one before it.
func (l *runLoops) pageStart(ctx context.Context, size int) (uint32, error) {
	b := chainstore.Bounds{Full: true, Loops: max(l.begun-int64(size), -1), Bytes: max(l.bytes-int64(l.maxBytes)+1, 0)}
	if b.Loops < 0 && b.Bytes == 0 {
		return 0, nil
	}
	before, first, err := l.chain.FirstWhere(ctx, 0, b)
	if err != nil || first == nil {
		return 0, err
	}
	from := min(first.Seq, l.loop.Start.Seq)
	v := before.State.Full
	for i, at := range chainview.LoopsIn(v.Loop, first) {
		if count(&v, &first.Messages[i], &at); b.Met(&v) && at.In.Phase != runloop.None {
			return min(from, at.In.Start.Seq), nil
		}
	}
	return from, nil
}

// loopPass finds the run loops in the headers that it is shown, oldest first.
type loopPass struct {
	*runLoops
	// size is how many of them are kept, the newest.
	size int
	// loop is that in which what was shown ends.
	loop    runloop.Loop
	current *loopScan
	found   []*loopScan
}

// node shows it a node. What lies before the first loop that begins is of one that is not asked for, or of none.
func (p *loopPass) node(h *chainstore.Header) {
	if h.Covers.Present {
		return
	}
	through := len(h.Messages)
	if h.Seq == p.end.Seq {
		through = int(p.end.Index)
	}
	for i := range through {
		at := runloop.Place{Seq: h.Seq, Index: uint32(i)}
		if begins, before := chainview.NextInLoop(&p.loop, &h.Messages[i], at); begins {
			p.begin(h, at, before)
		}
		if p.current != nil {
			p.current.add(h, i)
		}
	}
	if p.current != nil && through == len(h.Messages) {
		p.current.groups.End(h.Outcome)
	}
}

// begin begins a loop, and ends the one before.
func (p *loopPass) begin(h *chainstore.Header, at runloop.Place, before runloop.Loop) {
	if p.current != nil {
		p.current.ended(&before, at, false)
	}
	p.current = newLoopScan(p.runLoops, h, at, before)
	if p.found = append(p.found, p.current); len(p.found) > p.size {
		p.found = p.found[1:]
	}
}

// read reads what payloads have of loops, in their order, and returns the first of them, one at least, with which the page is full.
func (l *runLoops) read(ctx context.Context, planned []*loopScan) (given []*loopScan, err error) {
	var spans []chainstore.Span
	var of []*loopScan // by span
	for _, s := range planned {
		for _, span := range s.spans() {
			spans, of = append(spans, span), append(of, s)
		}
	}
	g := &giving{left: planned, maxBytes: l.maxBytes}
	if len(spans) == 0 {
		g.through(nil)
		return g.given, nil
	}
	err = chainview.ReadWhile(ctx, l.chain, spans, func(row *chainstore.Row) (bool, error) {
		s := of[0]
		if !g.through(s) {
			return false, nil
		}
		if row.Seq == spans[0].Through {
			spans, of = spans[1:], of[1:]
		}
		return true, s.row(row)
	})
	if err != nil {
		return nil, err
	}
	g.through(nil)
	return g.given, nil
}

// giving gives loops while the page has room.
type giving struct {
	given, left []*loopScan
	// bytes are those of what was given, and read those of their messages and of what was read beside these.
	bytes, read int
	maxBytes    int
}

// through gives the loops before one, nil for all; false: the page was full before.
func (g *giving) through(next *loopScan) bool {
	for len(g.left) > 0 && g.left[0] != next {
		if g.full() {
			return false
		}
		s := g.left[0]
		s.finish()
		g.bytes += proto.Size(s.reply)
		g.read += s.read
		g.given, g.left = append(g.given, s), g.left[1:]
	}
	return !g.full()
}

func (g *giving) full() bool { return g.bytes >= pageBytes || g.read >= g.maxBytes }
