package replay

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/chainview"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

// replayed is a call and its result, which are kept while their group is at hand.
type replayed struct {
	id runloop.Optional
	// call is the message that has it as its nth call; wanted says that it is to be shown.
	call   runloop.Place
	nth    int
	wanted bool
	// says is the call, of one that is wanted; nil until it is read.
	says *transcriptv1.ToolCall
	// result is the message that answers it; nil without one.
	result      *transcriptv1.Message
	resultPlace *transcriptv1.MessagePlace
}

// group is a group of calls. Nodes from one through another are read for it. The last of its calls lie in a third, and
// no other calls through a fourth; the node behind that begins with other calls, or with results of these.
type group struct {
	from, last, calls, through uint32
	// nodes are those with its calls, in order.
	nodes []chainstore.CallNode
	// seen is the last node whose header was looked at for results.
	seen uint32
	reading
}

// reading is what is known of a group while it is read. Before its first row that is what came before, where this is not the first node
// of the group.
type reading struct {
	groups chainview.Groups
	// open are the calls that are unanswered; found those to be shown.
	open, found []*replayed
	// ended says that what follows is no part of the group.
	ended bool
}

// size is the number of its calls.
func (g *group) size() (n int) {
	for i := range g.nodes {
		for k := range g.nodes[i].Header.Messages {
			n += g.nodes[i].Header.Messages[k].Calls
		}
	}
	return n
}

// node is its node with calls that has a Seq.
func (g *group) node(seq uint32) *chainstore.CallNode {
	i, _ := slices.BinarySearchFunc(g.nodes, seq, func(n chainstore.CallNode, seq uint32) int { return cmp.Compare(n.Header.Seq, seq) })
	return &g.nodes[i]
}

// unanswered is the number of its calls without a result through its last node with calls.
func (g *group) unanswered() int { return g.nodes[len(g.nodes)-1].Header.State.Group.Unanswered() }

// row takes a row of the group.
func (r *request) row(g *group, row *chainstore.Row) error {
	h, err := row.Header()
	if err != nil || h.Covers.Present {
		return err
	}
	for i := 0; i < len(h.Messages) && !g.ended; i++ {
		begins, wasOpen := g.groups.Next(&h.Messages[i]), len(g.open) > 0
		if begins || !g.groups.Open {
			g.open = nil
		}
		if g.ended = h.Seq > g.through && (begins || !wasOpen || !g.groups.Open); g.ended {
			return nil
		}
		if err := r.message(g, h, i, row.Payload); err != nil {
			return err
		}
	}
	if g.groups.End(h.Outcome); !g.groups.Open {
		g.open = nil
	}
	return nil
}

// message takes a message: its calls are open behind it, and a result answers one.
func (r *request) message(g *group, h *chainstore.Header, i int, payload []byte) error {
	b := &h.Messages[i]
	if b.Calls == 0 && (b.Role != runloop.Tool || b.Mark.LeftOut != runloop.Shown) {
		return nil
	}
	m, err := chainview.DecodeMessage(h, i, payload)
	if err != nil {
		return err
	}
	if b.Role == runloop.Tool {
		one, rest, ok := chainview.TakeFirst(g.open, func(one *replayed) bool { return one.id == wire.Optional(m.ToolCallId) })
		if ok && one.wanted {
			one.result, one.resultPlace = m, wire.MessagePlace(h, i)
		}
		g.open = rest
		return nil
	}
	for n, c := range wire.CallsOf(m) {
		one := &replayed{id: wire.Optional(c.Id), call: runloop.Place{Seq: h.Seq, Index: uint32(i)}, nth: n}
		if one.wanted = r.wants(one.call, wire.Optional(c.Name)); one.wanted {
			one.says = c
			g.found = append(g.found, one)
		}
		g.open = append(g.open, one)
	}
	return nil
}

// wants tells whether a call of a tool in a message is asked for.
func (r *request) wants(at runloop.Place, name runloop.Optional) bool {
	if r.before != nil && !at.Before(*r.before) {
		return false
	}
	return len(r.names) == 0 || name.Present && slices.Contains(r.names, name.Value)
}

// shorten leaves out the nodes of a group before those that may be read: as many of the last as there is room for, one at
// least. Headers tell how large they are, and where the calls lie.
func (r *request) shorten(ctx context.Context, g *group) error {
	first := g.from
	g.reading = reading{}
	var sizes []int // of the nodes from the first on
	var calls []*replayed
	g.last = g.calls
	span := chainstore.Span{From: first, Through: r.end, HeadersOnly: true}
	err := chainview.RowsWhile(ctx, r.chain, span, func(row *chainstore.Row) (bool, error) {
		h, err := row.Header()
		if err != nil {
			return false, err
		}
		sizes = append(sizes, h.PayloadLength)
		calls = append(calls, g.look(h)...)
		return h.Seq < g.calls || h.Seq <= g.through && h.State.Group.Unanswered() > 0, nil
	})
	if err != nil {
		return err
	}
	g.from = g.last
	for room := r.MaxBytes - r.bytes - sizes[g.last-first]; g.from > first && sizes[g.from-1-first] <= room; g.from-- {
		room -= sizes[g.from-1-first]
	}
	if g.from == first {
		return nil
	}
	return r.seed(ctx, g, calls)
}

// look returns where the calls of a node lie, and sees whether it is the last with results so far.
func (g *group) look(h *chainstore.Header) (calls []*replayed) {
	if h.Covers.Present {
		return nil
	}
	for i := range h.Messages {
		b := &h.Messages[i]
		switch {
		case b.Opaque:
		case b.Role == runloop.Tool && b.Mark.LeftOut == runloop.Shown:
			g.last = max(g.last, h.Seq)
		case b.Role != runloop.Tool && h.Seq > g.through:
			return nil
		}
		for n := range b.Calls {
			calls = append(calls, &replayed{call: runloop.Place{Seq: h.Seq, Index: uint32(i)}, nth: n})
		}
	}
	return calls
}

// seed finds the calls that are unanswered before the first node that is read; the others are left out. The header before it
// names all of the group so far, and those given, in their order, say where they are.
func (r *request) seed(ctx context.Context, g *group, calls []*replayed) error {
	h, err := chainstore.HeaderAt(ctx, r.chain, g.from-1)
	if err != nil {
		return err
	}
	before, _ := slices.BinarySearchFunc(calls, g.from, func(one *replayed, from uint32) int { return cmp.Compare(one.call.Seq, from) })
	state := &h.State.Group
	if before < len(state.Calls) {
		return fmt.Errorf("%w: node %s is in a group of more calls than there are", chainstore.ErrCorrupt, h.ID)
	}
	for k, c := range state.Calls {
		if !state.Answered[k] {
			one := calls[before-len(state.Calls)+k]
			one.id, one.wanted = c.ID, r.wants(one.call, c.Name)
			g.open = append(g.open, one)
			if one.wanted {
				g.found = append(g.found, one)
			}
		}
	}
	g.groups = chainview.Groups{Open: len(state.Calls) > 0, Results: state.Results}
	r.more = r.more || len(g.open) < before
	return nil
}

// sayings reads what calls of a group say that lie before what was read of it: of as many as may be shown, latest first, while there is
// room for their bytes.
func (r *request) sayings(ctx context.Context, g *group) error {
	var spans []chainstore.Span
	for _, one := range g.found[max(0, len(g.found)-(r.calls-len(r.shown))):] {
		if seq := one.call.Seq; one.says == nil && (len(spans) == 0 || spans[len(spans)-1].From != seq) {
			spans = append(spans, chainstore.Span{From: seq, Through: seq})
		}
	}
	if len(spans) == 0 {
		return nil
	}
	slices.Reverse(spans)
	return chainview.ReadWhile(ctx, r.chain, spans, func(row *chainstore.Row) (bool, error) {
		if r.again >= r.MaxBytes {
			return false, nil
		}
		r.again += len(row.Payload)
		return true, g.saying(row)
	})
}

// saying takes what calls in a row say.
func (g *group) saying(row *chainstore.Row) error {
	h := g.node(row.Seq).Header
	var m *transcriptv1.Message
	for k, one := range g.found {
		if one.call.Seq != row.Seq {
			continue
		}
		if m == nil || g.found[k-1].call != one.call {
			var err error
			if m, err = chainview.DecodeMessage(h, int(one.call.Index), row.Payload); err != nil {
				return err
			}
		}
		one.says = wire.CallsOf(m)[one.nth]
	}
	return nil
}
