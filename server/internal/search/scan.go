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
)

// scannedChain is a chain being searched.
type scannedChain struct {
	chainstore.Chain
	// alias is that by which it was found; empty where the chain was asked for.
	alias  string
	starts chainview.LoopStarts
}

// scan looks at the messages before a place, down to the node low, newest first, until the page has ended. It tells where
// to go on, and whether nothing is left.
func (p *page) scan(ctx context.Context, chain *scannedChain, low uint32, before runloop.Place) (next runloop.Place, done bool, err error) {
	for before.Seq >= low && (before.Seq > low || before.Index > 0) {
		if before.Index == 0 {
			before = runloop.Place{Seq: before.Seq - 1, Index: math.MaxUint32}
		}
		span, err := p.read(ctx, chain, low, before)
		if err != nil {
			return before, false, err
		}
		before, err = p.take(ctx, chain, span)
		if err != nil {
			return before, false, err
		}
		if p.ended() {
			break
		}
	}
	return before, before.Seq < low || before.Seq == low && before.Index == 0, nil
}

// errLargeSpan: a read takes too much at once.
var errLargeSpan = errors.New("too much for one read")

// read looks at the nodes directly before a place, as many as the page reads at once. Where these turn out to be too
// large, or to take too long, it begins again with the last alone, of which it looks at as much as there is time for.
func (p *page) read(ctx context.Context, chain *scannedChain, low uint32, before runloop.Place) (*spanScan, error) {
	for {
		from := low
		if n := uint32(p.rows); before.Seq-low >= n {
			from = before.Seq - n + 1
		}
		s := &spanScan{page: p, before: before, from: from, left: runloop.Place{Seq: from}, began: p.Now()}
		err := s.read(ctx, chain)
		p.reply.ScannedBytes += s.bytes
		p.readBytes += s.readBytes
		switch {
		case err == nil:
			p.reply.ScannedNodes += int64(s.nodes)
			p.rows = s.goodSize()
			return s, nil
		case !errors.Is(err, errLargeSpan):
			return nil, err
		}
		p.rows = 1
	}
}

// goodSize is how many nodes to read next: as many as make up a span of bytes and take a part of the page's time, but not many
// more than now, and about as many as have the hits that are missing.
func (s *spanScan) goodSize() int {
	const most = 4096
	p := s.page
	n := min(most, 4*p.rows, int(int64(p.Limits.Span)*int64(s.nodes)/max(1, s.readBytes)))
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
func (p *page) take(ctx context.Context, chain *scannedChain, s *spanScan) (next runloop.Place, err error) {
	next = s.left
	if s.found > len(s.hits) {
		next = s.hits[0].place
	}
	for i, h := range slices.Backward(s.hits) {
		if h.RunLoop, err = chain.starts.Place(ctx, chain, &h.loop); err != nil {
			return next, err
		}
		p.reply.Hits = append(p.reply.Hits, h.SearchHit)
		if p.size += 4 + proto.Size(h.SearchHit); p.size >= p.Limits.Reply && i > 0 {
			return h.place, nil
		}
	}
	return next, nil
}

// hit is a hit of a span.
type hit struct {
	*transcriptv1.SearchHit
	place runloop.Place
	loop  runloop.Loop
}

// spanScan is one read of nodes in their order. Of its hits it keeps as many of the last as the page takes.
type spanScan struct {
	page   *page
	alias  string
	from   uint32
	before runloop.Place
	// left is the place before which nothing was looked at.
	left  runloop.Place
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

func (s *spanScan) read(ctx context.Context, chain *scannedChain) error {
	s.alias = chain.alias
	if s.from > 0 {
		h, err := chainstore.HeaderAt(ctx, chain, s.from-1)
		if err != nil {
			return err
		}
		s.first = h.State
	}
	limited, cancel := s.limit(ctx)
	defer cancel()
	span := chainstore.Span{From: s.from, Through: s.before.Seq}
	err := chain.Rows(ctx, []chainstore.Span{span}, func(row *chainstore.Row) error {
		if s.nodes > 0 && s.tooLarge() {
			return errLargeSpan
		}
		s.nodes++
		err := s.row(limited, row)
		s.last = append(s.last[:0], row.Raw...)
		return err
	})
	if err != nil {
		return err
	}
	return chainview.Reached(span, s.from+uint32(s.nodes))
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
