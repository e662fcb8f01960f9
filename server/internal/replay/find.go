package replay

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	"github.com/transcriptd/transcriptd/server/internal/chainview"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

// replayed is where a call and its result lie.
type replayed struct {
	id runloop.Optional
	// call is the message that has it as its nth call; wanted says that it is to be shown.
	call   runloop.Place
	nth    int
	wanted bool
	// result is the message that answers it, if answered.
	result   runloop.Place
	answered bool
}

// group is a group of calls. Nodes from one through another are read for it. The last of its calls lie in a third, and
// no other calls through a fourth; the node behind that begins with other calls, or with results of these.
type group struct {
	from, last, calls, through uint32
	// groups and open are the state before from, where that is not the first node of the group: the calls there that are
	// unanswered.
	groups chainview.Groups
	open   []*replayed
}

// read finds calls until there are enough, or enough was read for them.
func (r *request) read(ctx context.Context) error {
	r.loops.chain = r.chain
	through := r.chain.Head().Seq
	for link := r.chain.Head().Tools; link.Present; {
		if r.more = r.more || r.enough() || r.bytes >= r.MaxBytes; r.more {
			return nil
		}
		first, before, err := r.groupStart(ctx, link.Seq)
		if err != nil {
			return err
		}
		found, err := r.group(ctx, &group{from: first, last: r.chain.Head().Seq, calls: link.Seq, through: through})
		if err != nil {
			return err
		}
		r.found = append(found, r.found...)
		if first == 0 {
			break
		}
		through, link = first-1, before
	}
	return nil
}

// enough tells that there are calls that are not shown: before these, of any tool, or one too many of the tools asked for,
// since only looking tells whether earlier calls are of those.
func (r *request) enough() bool {
	return len(r.found) > r.calls || len(r.found) == r.calls && len(r.names) == 0
}

// groupStart is the first node of the group of calls that a node has the last calls of, and the nearest node with calls
// before it.
func (r *request) groupStart(ctx context.Context, seq uint32) (first uint32, before chainstore.Link, err error) {
	for seq > 0 {
		h, err := chainstore.HeaderAt(ctx, r.chain, seq-1)
		if err != nil {
			return 0, before, err
		}
		if before = h.Tools; !before.Present || len(h.State.Group.Calls) == 0 || h.State.Group.Results {
			return seq, before, nil
		}
		seq = before.Seq
	}
	return 0, chainstore.Link{}, nil
}

// group finds the calls of a group, and their results: all of them, or where that takes reading too much, those that the
// last nodes of the group tell of.
func (r *request) group(ctx context.Context, g *group) (found []*replayed, err error) {
	before := r.bytes
	found, whole, err := r.rows(ctx, g)
	if err != nil || whole {
		return found, err
	}
	r.bytes = before
	if err := r.shorten(ctx, g); err != nil {
		return nil, err
	}
	found, _, err = r.rows(ctx, g)
	return found, err
}

// rows finds the calls of a group, and their results; not whole: there is more of it than may be read.
func (r *request) rows(ctx context.Context, in *group) (found []*replayed, whole bool, err error) {
	g, open := in.groups, in.open
	found = wanted(nil, open)
	whole = true
	err = chainview.RowsWhile(ctx, r.chain, chainstore.Span{From: in.from, Through: in.last}, func(row *chainstore.Row) (bool, error) {
		if whole = row.Seq == in.from || r.bytes+len(row.Payload) <= r.MaxBytes; !whole {
			return false, nil
		}
		r.bytes += len(row.Payload)
		h, err := row.Header()
		if err != nil || h.Covers.Present {
			return err == nil, err
		}
		for i := range h.Messages {
			b := &h.Messages[i]
			begins, wasOpen := g.Next(b), len(open) > 0
			if begins || !g.Open {
				open = nil
			}
			if h.Seq > in.through && (begins || !wasOpen || !g.Open) {
				return false, nil
			}
			calls, rest, err := r.message(h, i, row.Payload, open)
			if err != nil {
				return false, err
			}
			open, found = rest, wanted(found, calls)
		}
		return h.Seq < in.calls || len(open) > 0, nil
	})
	return found, whole, err
}

// wanted adds the calls that are to be shown.
func wanted(found, calls []*replayed) []*replayed {
	for _, one := range calls {
		if one.wanted {
			found = append(found, one)
		}
	}
	return found
}

// message returns the message's calls and those that are open behind it; a result answers one.
func (r *request) message(h *chainstore.Header, i int, payload []byte, open []*replayed) (calls, rest []*replayed, err error) {
	b := &h.Messages[i]
	if b.Calls == 0 && (b.Role != runloop.Tool || b.Mark.LeftOut != runloop.Shown) {
		return nil, open, nil
	}
	m, err := chainview.DecodeMessage(h, i, payload)
	if err != nil {
		return nil, nil, err
	}
	at := runloop.Place{Seq: h.Seq, Index: uint32(i)}
	if b.Role == runloop.Tool {
		one, rest, ok := chainview.TakeFirst(open, func(one *replayed) bool { return one.id == wire.Optional(m.ToolCallId) })
		if ok {
			one.result, one.answered = at, true
		}
		return nil, rest, nil
	}
	for n, c := range wire.CallsOf(m) {
		calls = append(calls, &replayed{id: wire.Optional(c.Id), call: at, nth: n, wanted: r.wants(wire.Optional(c.Name))})
	}
	return calls, append(open, calls...), nil
}

func (r *request) wants(name runloop.Optional) bool {
	return len(r.names) == 0 || name.Present && slices.Contains(r.names, name.Value)
}

// shorten leaves out the nodes of a group before those that may be read: as many of the last as there is room for, one at
// least. Headers tell how large they are, and where the calls lie.
func (r *request) shorten(ctx context.Context, g *group) error {
	first := g.from
	var sizes []int // of the nodes from the first on
	var calls []*replayed
	g.last = g.calls
	span := chainstore.Span{From: first, Through: r.chain.Head().Seq, HeadersOnly: true}
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
			one.id, one.wanted = c.ID, r.wants(c.Name)
			g.open = append(g.open, one)
		}
	}
	g.groups = chainview.Groups{Open: len(state.Calls) > 0, Results: state.Results}
	r.more = r.more || len(g.open) < before
	return nil
}
