package cache

import (
	"encoding/binary"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/transcriptd/transcriptd/chainstore"
)

// ledger is a store of a few segments as its commits leave them: what a segment holds, by commit. A segment is begun by a commit, and
// forgotten by a later one from a seq on; its rows, ids and alias then are others.
type ledger struct {
	mu sync.Mutex
	// states are the lengths and the generations of segments, by commit.
	states    [][]segmentState
	published uint64
}

type segmentState struct {
	length uint32
	// generation counts how often the segment was forgotten.
	generation uint32
}

// at is a segment as a commit left it.
func (l *ledger) at(commit, segment uint64) segmentState {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.states[commit][segment]
}

func (l *ledger) begin() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.published
}

// next makes a commit that is not published yet.
func (l *ledger) next(change func([]segmentState)) (commit uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	state := append([]segmentState(nil), l.states[len(l.states)-1]...)
	change(state)
	l.states = append(l.states, state)
	return uint64(len(l.states) - 1)
}

func (l *ledger) publish(commit uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.published = commit
}

const (
	forgetSegments = 4
	forgetFrom     = 20 // rows before this stay
)

// generationOf is what a row, a node and an alias of a place hold in a state of its segment.
func (s segmentState) generationOf(seq uint32) uint32 {
	if seq < forgetFrom {
		return 0
	}
	return s.generation
}

func rowOf(segment uint64, seq, generation uint32) []byte {
	b := binary.BigEndian.AppendUint64(nil, segment)
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(b, seq), generation)
}

func idIn(segment uint64, seq, generation uint32) (id chainstore.ID) {
	copy(id[:], rowOf(segment, seq, generation))
	return id
}

// TestForgetUnderLoad: while readers, one who writes and one who forgets are at work, no snapshot that sees what was forgotten finds it
// in a cache, though snapshots of before go on to read, and to offer, what they see.
func TestForgetUnderLoad(t *testing.T) {
	const commits = 15_000
	c := New(Sizes{Rows: 1 << 20, Tips: 1 << 20, Nodes: 1 << 20, Aliases: 1 << 20, Calls: 1 << 20}, time.Now)
	l := &ledger{states: [][]segmentState{make([]segmentState, forgetSegments)}}
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for reader := range 4 {
		readers.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(reader)))
			for {
				select {
				case <-stop:
					return
				default:
				}
				r := forgetReader{t: t, c: c, l: l, seen: l.begin(), segment: uint64(random.IntN(forgetSegments))}
				r.read(random)
				if t.Failed() {
					return
				}
			}
		})
	}
	var commit sync.Mutex // one commit after the other, whoever makes it
	var writers sync.WaitGroup
	writers.Go(func() {
		random := rand.New(rand.NewPCG(2, 2))
		for range commits {
			commit.Lock()
			segment := uint64(random.IntN(forgetSegments))
			number := l.next(func(s []segmentState) { s[segment].length++ })
			s := l.at(number, segment)
			seq := s.length - 1
			c.Aliases.Tell(number, []Alias{{Namespace: 1, Name: string(rune('a' + segment)), At: chainstore.Place{Segment: segment, Seq: seq}}})
			c.Nodes.Put(nodeIn(segment, seq, s.generationOf(seq)), number)
			c.Calls.Begin(Segment{1, segment})
			l.publish(number)
			commit.Unlock()
		}
	})
	writers.Go(func() {
		for i := range commits / 4 {
			commit.Lock()
			segment := uint64(i % forgetSegments)
			number := l.next(func(s []segmentState) { s[segment].generation++ })
			c.Forget(number, &Forgotten{Namespace: 1, From: map[uint64]uint32{segment: forgetFrom}})
			l.publish(number)
			commit.Unlock()
		}
	})
	writers.Wait()
	close(stop)
	readers.Wait()
	if m := c.Rows.Metrics(); m.Hits == 0 || c.Nodes.Metrics().Hits == 0 {
		t.Errorf("nothing was found: rows %+v, nodes %+v", m, c.Nodes.Metrics())
	}
}

func nodeIn(segment uint64, seq, generation uint32) *Node {
	n := testNode(segment, seq)
	n.Header = &chainstore.Header{ID: idIn(segment, seq, generation), Seq: seq}
	return n
}

// forgetReader reads a segment as a snapshot sees it.
type forgetReader struct {
	t       *testing.T
	c       *Caches
	l       *ledger
	seen    uint64
	segment uint64
}

func (r *forgetReader) read(random *rand.Rand) {
	s := r.l.at(r.seen, r.segment)
	if s.length == 0 {
		return
	}
	runtime.Gosched() // so that others commit meanwhile
	from := uint32(random.IntN(int(s.length)))
	r.rows(s, from, min(s.length, from+40))
	seq := uint32(random.IntN(int(s.length)))
	r.node(s, seq)
	r.alias(s)
}

// stale tells whether what a cache had of a place is of before what this snapshot sees; what is newer, nobody has asked it for.
func (r *forgetReader) stale(what string, s segmentState, seq, generation uint32) {
	if generation < s.generationOf(seq) {
		r.t.Errorf("a snapshot of commit %d finds the %s of generation %d at %d, %d", r.seen, what, generation, r.segment, seq)
	}
}

func (r *forgetReader) rows(s segmentState, from, to uint32) {
	fill := RowFill{Cache: r.c.Rows, Namespace: 1, Seen: r.seen, Reader: r.c.Rows.Begin(), All: true}
	defer fill.Flush()
	for seq := from; seq < to; seq++ {
		at := chainstore.Place{Segment: r.segment, Seq: seq}
		if block := r.c.Rows.Get(1, at, fill.Reader); block.Has(seq) {
			_, begin, end := block.Row(seq)
			r.stale("row", s, seq, binary.BigEndian.Uint32(block.Payloads()[begin:end][12:]))
			r.c.Rows.Hit(1)
			continue
		}
		row := rowOf(r.segment, seq, s.generationOf(seq))
		fill.Row(at, slices.Concat([]byte("head"), row, []byte("behind")), Payload{Bytes: len(row), Behind: len("behind")})
		if seq%8 == 0 {
			runtime.Gosched()
		}
	}
}

func (r *forgetReader) node(s segmentState, seq uint32) {
	where := NodePlace{1, chainstore.Place{Segment: r.segment, Seq: seq}}
	if n := r.c.Nodes.At(where); n != nil {
		r.stale("node", s, seq, binary.BigEndian.Uint32(n.Header.ID[12:]))
		return
	}
	n := nodeIn(r.segment, seq, s.generationOf(seq))
	n.IsTip = false
	runtime.Gosched()
	r.c.Nodes.Offer(n, r.seen)
	for generation := range s.generationOf(seq) {
		if r.c.Nodes.Find(NodeKey{1, idIn(r.segment, seq, generation)}, r.seen) != nil {
			r.stale("id", s, seq, generation)
		}
	}
}

// alias reads where the alias of the segment points: to its last node.
func (r *forgetReader) alias(s segmentState) {
	name := string(rune('a' + r.segment))
	at, ok := r.c.Aliases.Get(1, name, r.seen)
	if !ok {
		r.c.Aliases.Put(1, name, r.seen, chainstore.Place{Segment: r.segment, Seq: s.length - 1})
	} else if at.Seq+1 != s.length {
		r.t.Errorf("a snapshot of commit %d finds the alias at %d, not at %d", r.seen, at.Seq, s.length-1)
	}
}

// TestForget: every cache forgets the nodes of a segment from a seq on, and what snapshots of before have read is not kept.
func TestForget(t *testing.T) {
	c := New(Sizes{Rows: 1 << 20, Tips: 1 << 20, Nodes: 1 << 20, Aliases: 1 << 20, Calls: 1 << 20}, time.Now)
	fill := func(seen uint64) {
		f := RowFill{Cache: c.Rows, Namespace: 1, Seen: seen, Reader: c.Rows.Begin(), All: true}
		for seq := range uint32(40) {
			row := rowOf(7, seq, 0)
			f.Row(chainstore.Place{Segment: 7, Seq: seq}, row, Payload{Bytes: len(row)})
			c.Nodes.Offer(nodeIn(7, seq, 0), seen)
			c.Aliases.Put(1, string(rune('A'+seq)), seen, chainstore.Place{Segment: 7, Seq: seq})
		}
		f.Flush()
	}
	kept := func() (rows, nodes, ids, aliases int) {
		for seq := range uint32(40) {
			at := chainstore.Place{Segment: 7, Seq: seq}
			if c.Rows.Get(1, at, 0).Has(seq) {
				rows++
			}
			if c.Nodes.At(NodePlace{1, at}) != nil {
				nodes++
			}
			if _, ok := c.Nodes.PlaceOf(NodeKey{1, idIn(7, seq, 0)}, 9); ok {
				ids++
			}
			if _, ok := c.Aliases.Get(1, string(rune('A'+seq)), 9); ok {
				aliases++
			}
		}
		return rows, nodes, ids, aliases
	}
	fill(1)
	c.Calls.Begin(Segment{1, 7})
	c.Forget(2, &Forgotten{Namespace: 2, From: map[uint64]uint32{7: 0}}) // of another namespace
	c.Forget(2, &Forgotten{Namespace: 1, From: map[uint64]uint32{8: 0}}) // of another segment
	if rows, nodes, ids, aliases := kept(); rows != 40 || nodes != 40 || ids != 40 || aliases != 40 || !c.Calls.keeps(Segment{1, 7}) {
		t.Errorf("what others have forgotten is gone: %d rows, %d nodes, %d ids, %d aliases are left", rows, nodes, ids, aliases)
	}
	c.Forget(3, &Forgotten{Namespace: 1, From: map[uint64]uint32{7: 20}})
	for range 2 { // rows are dropped by blocks
		if rows, nodes, ids, aliases := kept(); rows != 16 || nodes != 20 || ids != 20 || aliases != 20 || c.Calls.keeps(Segment{1, 7}) {
			t.Errorf("%d rows, %d nodes, %d ids, %d aliases are kept", rows, nodes, ids, aliases)
		}
		fill(2) // a snapshot of before
		c.Calls.PutRead(Segment{1, 7}, &SegmentCalls{}, 2)
	}
	fill(3)
	if rows, nodes, ids, aliases := kept(); rows != 40 || nodes != 40 || ids != 40 || aliases != 40 {
		t.Errorf("of what a later snapshot reads, %d rows, %d nodes, %d ids, %d aliases are kept", rows, nodes, ids, aliases)
	}
	c.Calls.Begin(Segment{1, 7})
	c.Forget(4, &Forgotten{Namespace: 2, Rewritten: []chainstore.Place{{Segment: 7, Seq: 5}}})
	if rows, nodes, _, _ := kept(); rows != 40 || nodes != 40 {
		t.Errorf("of what another namespace rewrote, %d rows and %d nodes are kept", rows, nodes)
	}
	c.Forget(5, &Forgotten{Namespace: 1, Rewritten: []chainstore.Place{{Segment: 7, Seq: 5}}})
	for range 2 { // aliases and calls are as they were
		if rows, nodes, ids, aliases := kept(); rows != 24 || nodes != 39 || ids != 39 || aliases != 40 || !c.Calls.keeps(Segment{1, 7}) {
			t.Errorf("of what was rewritten, %d rows, %d nodes, %d ids, %d aliases are kept", rows, nodes, ids, aliases)
		}
		fill(4) // a snapshot of before
	}
}
