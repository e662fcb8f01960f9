package search

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/chainview"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

// scannedChain is a chain being searched.
type scannedChain struct {
	chainstore.Chain
	// alias is that by which it was found; empty where the chain was asked for.
	alias string
	// unplaced are the hits taken whose run loops begin in nodes that were not read.
	unplaced []*hit
}

// scan looks at the messages before a place, down to the node low, newest first, until the page has ended. It tells where
// to go on, and whether nothing is left.
func (p *page) scan(ctx context.Context, chain *scannedChain, low uint32, before runloop.Place) (next runloop.Place, done bool, err error) {
	for before.Seq >= low && (before.Seq > low || before.Index > 0) {
		if before.Index == 0 {
			before = runloop.Place{Seq: before.Seq - 1, Index: math.MaxUint32}
		}
		if before, err = p.read(ctx, chain, low, before); err != nil {
			return before, false, err
		}
		if p.ended() {
			break
		}
	}
	return before, before.Seq < low || before.Seq == low && before.Index == 0, chain.placeLoops(ctx)
}

// placeLoops looks up where the run loops of hits begin.
func (c *scannedChain) placeLoops(ctx context.Context) error {
	var seqs []uint32
	for _, h := range c.unplaced {
		seqs = append(seqs, h.loop.Start.Seq)
	}
	slices.Sort(seqs)
	seqs = slices.Compact(seqs)
	ids, err := chainview.IDsAt(ctx, c, seqs...)
	if err != nil {
		return err
	}
	for _, h := range c.unplaced {
		i, _ := slices.BinarySearch(seqs, h.loop.Start.Seq)
		h.RunLoopPlace.NodeId = ids[i].String()
	}
	c.unplaced = nil
	return nil
}

// errLargeSpan: a span takes too much at once.
var errLargeSpan = errors.New("too much for one span")

// read looks at the nodes before a place, span after span, as many at once as seems right, and tells where to go on, which is further.
// Where nodes turn out to be too large, or to take too long, it begins again with the last alone, of which it looks at as much as there
// is time for.
func (p *page) read(ctx context.Context, chain *scannedChain, low uint32, before runloop.Place) (next runloop.Place, err error) {
	for next = before; next == before; p.rows = 1 {
		next, err = p.readPlanned(ctx, chain, p.plan(chain, low, before))
		if !errors.Is(err, errLargeSpan) {
			return next, err
		}
	}
	return next, nil
}

// readPlanned looks at the nodes of spans. Errors: errLargeSpan; where it goes on is told beside.
func (p *page) readPlanned(ctx context.Context, chain *scannedChain, scans []*spanScan) (next runloop.Place, err error) {
	r := &chainRead{page: p, chain: chain, scans: scans, next: scans[0].before, cancel: func() {}}
	defer func() { r.cancel() }()
	var spans []chainstore.Span
	for _, s := range scans {
		if s.from > 0 {
			spans = append(spans, chainstore.Span{From: s.from - 1, Through: s.from - 1, HeadersOnly: true})
		}
		spans = append(spans, chainstore.Span{From: s.from, Through: s.before.Seq})
	}
	enough := errors.New("enough")
	err = chain.Rows(ctx, spans, func(row *chainstore.Row) error {
		more, err := r.row(ctx, row)
		if err == nil && !more {
			err = enough
		}
		return err
	})
	switch {
	case errors.Is(err, enough):
		return r.next, nil
	case err == nil:
		err = chainstore.NoRow(r.scans[0].due())
	}
	return r.next, err
}

// mostSpans are planned at once.
const mostSpans = 64

// plan divides the nodes before a place into spans, newest first: a span has up to four times as many nodes as the one before, but
// not more than usually make up a span of bytes.
func (p *page) plan(chain *scannedChain, low uint32, before runloop.Place) (scans []*spanScan) {
	t := &chain.Head().State.Full.Totals
	usual := max(1, int(int64(p.Limits.Span)*t.Nodes/max(1, t.Bytes)))
	for n := p.rows; len(scans) < mostSpans; n = min(4*n, usual, maxSpanRows) {
		s := &spanScan{page: p, alias: chain.alias, before: before, from: low}
		if before.Seq-low >= uint32(n) {
			s.from = before.Seq - uint32(n) + 1
		}
		s.left = runloop.Place{Seq: s.from}
		scans = append(scans, s)
		if s.from == low {
			break
		}
		before = runloop.Place{Seq: s.from - 1, Index: math.MaxUint32}
	}
	return scans
}

// chainRead is one read of a chain.
type chainRead struct {
	*page
	chain *scannedChain
	// scans are the spans that are not read to their ends, the first under way if it has begun.
	scans []*spanScan
	// next is where to go on.
	next runloop.Place
	// limited is the context of the span under way, ended by cancel.
	limited context.Context
	cancel  func()
}

// row takes the next row: the one before a span, of which the header counts, or one of the span. It tells whether more are wanted.
func (r *chainRead) row(ctx context.Context, row *chainstore.Row) (more bool, err error) {
	s := r.scans[0]
	if row.Seq != s.due() {
		return false, chainstore.NoRow(s.due())
	}
	if !s.begun {
		s.begun, s.began, r.ids = true, r.Now(), r.ids[:0]
		r.limited, r.cancel = s.limit(ctx)
		if s.from > 0 {
			h, err := row.Header()
			if err == nil {
				s.first = h.State
			}
			return true, err
		}
	}
	if err = s.node(r.limited, row); err == nil && row.Seq < s.before.Seq {
		return true, nil
	}
	r.cancel()
	r.reply.ScannedBytes += s.bytes
	r.readBytes += s.readBytes
	if err != nil {
		return false, err
	}
	r.reply.ScannedNodes = wire.Count(int(r.reply.ScannedNodes) + s.nodes)
	r.scans, r.rows = r.scans[1:], s.goodSize()
	r.next = r.take(r.chain, s)
	return !r.ended() && r.next == s.left && len(r.scans) > 0 && r.scans[0].size() <= 2*r.rows, nil
}

// maxSpanRows is the most nodes of a span.
const maxSpanRows = 4096

// goodSize is how many nodes to read next: as many as make up a span of bytes and take a part of the page's time, but not many
// more than now, and about as many as have the hits that are missing.
func (s *spanScan) goodSize() int {
	p := s.page
	n := min(maxSpanRows, 4*s.nodes, int(int64(p.Limits.Span)*int64(s.nodes)/max(1, s.readBytes)))
	if took := p.Now().Sub(s.began); took > 0 {
		n = min(n, int(p.Limits.Time/8*time.Duration(s.nodes)/took))
	}
	if s.found > 0 {
		n = min(n, 2*s.nodes*p.query.size/s.found)
	}
	return max(1, n)
}

// take puts the hits of a span into the reply, newest first, until the page is full. It tells where to go on: the part of
// a span whose hits were not all taken is read again.
func (p *page) take(chain *scannedChain, s *spanScan) (next runloop.Place) {
	next = s.left
	if s.found > len(s.hits) {
		next = s.hits[0].place
	}
	for i, h := range slices.Backward(s.hits) {
		if h.loop.Phase != runloop.None {
			h.RunLoopPlace = &transcriptv1.MessagePlace{NodeId: chainstore.ID{}.String(), MessageIndex: int32(h.loop.Start.Index)}
			if start := h.loop.Start.Seq; start >= s.from {
				h.RunLoopPlace.NodeId = p.ids[start-s.from].String()
			} else {
				chain.unplaced = append(chain.unplaced, h)
			}
		}
		p.reply.Hits = append(p.reply.Hits, h.SearchHit)
		if p.size += 4 + proto.Size(h.SearchHit); p.size >= p.Limits.Reply && i > 0 {
			return h.place
		}
	}
	return next
}

// hit is a hit of a span.
type hit struct {
	*transcriptv1.SearchHit
	place runloop.Place
	loop  runloop.Loop
}

// spanScan looks at nodes in their order. Of its hits it keeps as many of the last as the page takes.
type spanScan struct {
	page   *page
	alias  string
	from   uint32
	before runloop.Place
	// left is the place before which nothing was looked at.
	left runloop.Place
	// begun says that its first row, or that before it, has come, which was at began.
	begun bool
	began time.Time

	hits  []*hit
	found int
	nodes int
	// bytes are those looked at; readBytes are of all payloads and metadata that were read.
	bytes, readBytes int64
	// first is the state before the first row; last is the header of the row before, if there was one.
	first runloop.State
	last  chainstore.RawHeader
}

// size is how many nodes there are.
func (s *spanScan) size() int { return int(s.before.Seq - s.from + 1) }

// due is the row that has to come next.
func (s *spanScan) due() uint32 {
	if !s.begun && s.from > 0 {
		return s.from - 1
	}
	return s.from + uint32(s.nodes)
}

// node looks at the next node.
func (s *spanScan) node(ctx context.Context, row *chainstore.Row) error {
	if s.nodes > 0 && s.tooLarge() {
		return errLargeSpan
	}
	s.nodes++
	s.page.ids = append(s.page.ids, row.Raw.ID())
	err := s.row(ctx, row)
	s.last = append(s.last[:0], row.Raw...)
	return err
}

// alone tells whether the span is of one node. Such a span is never too large: it ends within the node.
func (s *spanScan) alone() bool { return s.from == s.before.Seq }

// TooLarge tells whether a span of several nodes takes too much at once.
func (s *spanScan) tooLarge() bool {
	return s.readBytes > 4*int64(s.page.Limits.Span) || s.page.Now().Sub(s.began) >= s.page.Limits.Time/2
}

// limit ends a span of several nodes, with errLargeSpan as the cause, also where one message alone takes too long, which a
// literal never does.
func (s *spanScan) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	if s.alone() || s.page.query.pattern.literal != nil {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, s.page.Limits.Time/2, errLargeSpan)
}

// row looks at a node. A compaction node holds nothing but copies; an empty payload nothing at all.
func (s *spanScan) row(ctx context.Context, row *chainstore.Row) error {
	s.readBytes += int64(len(row.Payload) + len(row.Metadata))
	if row.Raw.IsCompaction() || len(row.Payload) == 0 {
		return nil
	}
	s.bytes += int64(len(row.Payload))
	q := s.page.query
	if !q.pattern.may(row.Payload) {
		return nil
	}
	h, err := row.Header()
	if err != nil {
		return err
	}
	wanted := func(i int) bool {
		place := runloop.Place{Seq: h.Seq, Index: uint32(i)}
		return place.Before(s.before) && q.wants(&h.Messages[i], h.FirstPut)
	}
	n := nodeScan{span: s, header: h}
	for i := len(h.Messages) - 1; i >= 0; i-- {
		if !wanted(i) {
			continue
		}
		switch {
		case n.messages == nil:
			if err := n.decode(row.Payload); err != nil {
				return err
			}
		case !s.alone() && s.tooLarge():
			return errLargeSpan
		case s.alone() && s.page.enough(len(n.hits)):
			s.left = runloop.Place{Seq: h.Seq, Index: uint32(i + 1)}
			s.add(n.hits)
			return nil
		}
		if err := n.message(ctx, i); err != nil {
			return err
		}
	}
	s.add(n.hits)
	return nil
}

// wants tells whether what the header knows of a message is as asked for.
func (q *query) wants(m *runloop.Brief, firstPut int64) bool {
	at := m.SentAt(firstPut)
	return (q.roles == 0 || q.roles&(1<<m.Role) != 0) && at >= q.since && at < q.until &&
		(!q.errorsOnly || m.Role == runloop.Tool && m.Error) &&
		(len(q.tools) == 0 || m.Role == runloop.Tool || m.Calls > 0)
}

// add keeps the hits of a node, which come newest first; the first of all go where there are more than the page takes.
func (s *spanScan) add(hits []*hit) {
	for _, h := range slices.Backward(hits) {
		s.found++
		if len(s.hits) == s.page.missing() {
			copy(s.hits, s.hits[1:])
			s.hits = s.hits[:len(s.hits)-1]
		}
		s.hits = append(s.hits, h)
	}
}

// state is that of the chain before the row with a Seq, which is being looked at.
func (s *spanScan) state(seq uint32) (*runloop.State, error) {
	if seq == s.from {
		return &s.first, nil
	}
	h, err := s.last.Decode(seq - 1)
	if err != nil {
		return nil, err
	}
	return &h.State, nil
}
