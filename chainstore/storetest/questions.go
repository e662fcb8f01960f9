package storetest

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// What is asked of a path at once.
func questionChecks() []check {
	return []check{
		{RoundTrip, "ManySpans", manySpans},
		{RoundTrip, "HeadersOfSeqs", headersOfSeqs},
		{RoundTrip, "SharedMemoryStays", sharedMemoryStays},
		{Headers, "FirstWhere", firstWhere},
		{Headers, "FirstWhereOverForks", firstWhereOverForks},
		{Compaction, "AreListed", compactionsAreListed},
	}
}

// forked is a path of 51 nodes over two forks.
func (f *fixture) forked() []chainstore.ID {
	f.Helper()
	ids := f.long(chainstore.Parent{}, 21)
	f.put(under(byID(ids[20]), user("stays")))
	ids = append(ids, f.long(byID(ids[20]), 10)...)
	f.put(under(byID(ids[30]), user("stays too")))
	return append(ids, f.long(byID(ids[30]), 20)...)
}

// manySpans: spans come one after the other, in any order, some twice, each with payloads or without.
func manySpans(f *fixture) {
	path := f.forked()
	c := f.head(idRef(path[50]), nil)
	spans := []chainstore.Span{
		{From: 40, Through: 45, HeadersOnly: true}, {From: 19, Through: 22}, {From: 9, Through: 8}, {From: 0, Through: 0}, {From: 22, Through: 22},
		{From: 22, Through: 23, HeadersOnly: true, WillReread: true}, {From: 49, Through: 60}, {From: 51, Through: 99}, {From: 0, Through: 50},
	}
	for range 2 { // the second time some engines have them in memory
		var want, got []string
		for _, s := range spans {
			for seq := s.From; seq <= min(s.Through, 50) && s.From <= s.Through; seq++ {
				want = append(want, fmt.Sprintf("%d %v %t", seq, path[seq].Prefix(), !s.HeadersOnly))
			}
		}
		f.ok(c.Rows(f.ctx(), spans, func(r *chainstore.Row) error {
			id := r.Raw.ID()
			got = append(got, fmt.Sprintf("%d %v %t", r.Seq, id.Prefix(), r.Payload != nil))
			return nil
		}))
		equalSlices(f, "the rows of many spans", got, want)
	}
	f.ok(c.Rows(f.ctx(), nil, func(*chainstore.Row) error { return fmt.Errorf("a row of no span") }))
}

func headersOfSeqs(f *fixture) {
	path := f.forked()
	c := f.head(idRef(path[50]), nil)
	for _, seqs := range [][]uint32{nil, {0}, {50}, {30, 20, 31, 21}, {7, 7}, {50, 0, 25, 49}} {
		headers, err := c.Headers(f.ctx(), seqs...)
		f.ok(err)
		equal(f, "the number of headers", len(headers), len(seqs))
		for i, h := range headers {
			equal(f, "a header's place", h.Seq, seqs[i])
			equal(f, "a header's node", h.ID, path[seqs[i]])
		}
	}
	_, err := c.Headers(f.ctx(), 3, 51)
	f.fails(err, chainstore.ErrCorrupt)
}

// sharedMemoryStays: what an engine shares is the payload, and is that for ever.
func sharedMemoryStays(f *fixture) {
	path := f.forked()
	type lent struct {
		shared, payload []byte
	}
	var all []lent
	read := func() {
		c, err := f.bare.Chain(f.ctx(), f.ns, idRef(path[50]), nil)
		f.ok(err)
		f.ok(c.Rows(f.ctx(), []chainstore.Span{{Through: 50, WillReread: true}}, func(r *chainstore.Row) error {
			if r.Shared != nil {
				all = append(all, lent{r.Shared[r.SharedFrom : r.SharedFrom+len(r.Payload)], bytes.Clone(r.Payload)})
			}
			return nil
		}))
	}
	for range 3 {
		read()
		path = append(path[:50:50], f.put(under(byID(path[49]), user(fmt.Sprint("more ", len(all))))))
	}
	for _, one := range all {
		equal(f, "that shared memory has the payload", bytes.Equal(one.shared, one.payload), true)
	}
}

// linearWhere is FirstWhere by its definition.
func linearWhere(path []*chainstore.Header, from uint32, b chainstore.Bounds) (before, first *chainstore.Header) {
	met := func(h *chainstore.Header) bool { return b.Met(b.View(&h.State)) }
	if int(from) >= len(path) || met(path[from]) || !met(path[len(path)-1]) {
		return nil, nil
	}
	i := slices.IndexFunc(path[from:], met) + int(from)
	return path[i-1], path[i]
}

// findsFirst compares what a store finds with the definition, for bounds and places all over a path.
func (f *fixture) findsFirst(head chainstore.ID) {
	f.Helper()
	c := f.head(idRef(head), nil)
	var path []*chainstore.Header
	for _, r := range f.rows(c, chainstore.Span{Through: c.Head().Seq, HeadersOnly: true}) {
		path = append(path, r.header)
	}
	var effective, full []chainstore.Bounds
	for _, h := range path {
		v := &h.State.Effective
		effective = append(effective, chainstore.Bounds{Loops: v.Loops}, chainstore.Bounds{Loops: v.Loops - 1}, chainstore.Bounds{Loops: -1, Bytes: v.Bytes})
		v = &h.State.Full
		full = append(full, chainstore.Bounds{Full: true, Loops: v.Loops}, chainstore.Bounds{Full: true, Loops: -1, Bytes: v.Bytes + 1},
			chainstore.Bounds{Full: true, Loops: v.Loops - 1, Bytes: v.Bytes})
	}
	last := c.Head().Seq
	floor := uint32(0)
	if h := c.Compaction(); h != nil {
		floor = h.Seq
	}
	for _, from := range []uint32{0, floor, floor + (last-floor)/2, last, last + 1} {
		bounds := full
		if from >= floor {
			bounds = slices.Concat(effective, full)
		}
		for _, b := range bounds {
			before, first, err := c.FirstWhere(f.ctx(), from, b)
			f.ok(err)
			wantBefore, want := linearWhere(path, from, b)
			equal(f, fmt.Sprintf("that %+v is met behind %d", b, from), first != nil, want != nil)
			equal(f, "that there is a node before", before != nil, want != nil)
			if want != nil {
				equal(f, fmt.Sprintf("the first node with %+v", b), first.ID, want.ID)
				equal(f, "the node before", before.ID, wantBefore.ID)
			}
		}
	}
}

// loopsOf puts n loops, each of a question at a time of its own, later or not, and an answer.
func (f *fixture) loopsOf(at chainstore.Parent, n int) []chainstore.ID {
	f.Helper()
	var nodes []Node
	for i := range n {
		ask := user(fmt.Sprint("question ", i))
		ask.Note = runloop.Note{HasSentAt: true, SentAt: int64(1_700_000_000_000 + 1000*(i-3*(i%4)))}
		nodes = append(nodes, under(previous(), ask), under(previous(), assistant("answer")))
	}
	nodes[0].Parent = at
	var ids []chainstore.ID
	for _, p := range f.commit(nodes).Nodes {
		ids = append(ids, p.ID)
	}
	return ids
}

func firstWhere(f *fixture) {
	f.findsFirst(f.put(root(system("alone"))))
	ids := f.loopsOf(byID(f.put(root(system("s")))), 20)
	for _, i := range []int{0, 1, 2, 9, 39} {
		f.findsFirst(ids[i])
	}
}

func firstWhereOverForks(f *fixture) {
	ids := f.loopsOf(byID(f.put(root(system("s")))), 6)
	for range 3 {
		at := ids[len(ids)-1]
		f.put(under(byID(at), user("stays")))
		ids = f.loopsOf(byID(at), 4)
	}
	f.findsFirst(ids[len(ids)-1])
	if !f.skips(Compaction) {
		head := ids[len(ids)-1]
		c := f.put(compacted(head, head, summary("so far")))
		ids = f.loopsOf(byID(c), 5)
		f.findsFirst(c)
		f.findsFirst(ids[9])
	}
}

// listed asserts which compaction nodes are on a path.
func (f *fixture) listed(head chainstore.ID, want ...chainstore.ID) {
	f.Helper()
	c := f.head(idRef(head), nil)
	equal(f, "that there is one", c.Compaction() != nil, len(want) > 0)
	if len(want) > 0 {
		equal(f, "the nearest", c.Compaction().ID, want[0])
	}
	for _, limit := range []int{0, 1, 2, len(want), len(want) + 1} {
		headers, more, err := c.Compactions(f.ctx(), limit)
		f.ok(err)
		equalSlices(f, "the compaction nodes", childIDs(headers), want[:min(limit, len(want))])
		equal(f, "that there are more", more, limit < len(want))
	}
}

func compactionsAreListed(f *fixture) {
	ids := f.chain(chainstore.Parent{}, system("s"), user("1"), assistant("2"), user("3"), assistant("4"))
	f.listed(ids[4])
	one := f.put(compacted(ids[4], ids[2], summary("one")))
	two := f.put(compacted(one, ids[4], summary("two")))
	f.listed(one, one)
	f.listed(two, two, one)
	on := f.chain(byID(two), user("5"), assistant("6"))
	f.listed(on[1], two, one)
	three := f.put(compacted(on[1], on[0], summary("three")))
	f.listed(three, three, two, one)
	side := f.put(under(byID(one), user("beside")))
	f.listed(side, one)
	four := f.put(compacted(side, side, summary("four")))
	f.listed(f.put(under(byID(four), user("on"))), four, one)
	f.listed(f.put(under(byID(ids[4]), user("without"))))
	f.clean()
}

// questions writes down what a path answers to whole questions.
func (d *dumper) questions(ctx context.Context, c chainstore.Chain) error {
	if h := c.Compaction(); h != nil {
		d.line(" compaction %s %d", h.ID.Prefix(), h.Seq)
	}
	for _, limit := range []int{1, 1000} {
		headers, more, err := c.Compactions(ctx, limit)
		if err != nil {
			return err
		}
		d.line(" compactions %v, more %t", childIDs(headers), more)
	}
	head := c.Head()
	headers, err := c.Headers(ctx, head.Seq/2, head.Seq, 0)
	if err != nil {
		return err
	}
	d.line(" headers %v", childIDs(headers))
	floor := headers[2].Seq
	if h := c.Compaction(); h != nil {
		floor = h.Seq
	}
	v := &head.State.Effective
	for _, b := range []chainstore.Bounds{
		{}, {Full: true, Loops: head.State.Full.Loops / 2, Bytes: head.State.Full.Bytes / 2}, {Loops: v.Loops / 2}, {Loops: v.Loops - 1}, {Loops: -1},
	} {
		before, first, err := c.FirstWhere(ctx, floor, b)
		if err != nil {
			return err
		}
		if first != nil {
			d.line(" first where %+v: %s behind %s", b, first.ID.Prefix(), before.ID.Prefix())
		}
	}
	return nil
}
