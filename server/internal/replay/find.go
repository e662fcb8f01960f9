package replay

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/server/internal/chainview"
)

// maxNodes is the nodes with calls that are asked for at once.
const maxNodes = 256

// groupWalk finds the groups of calls of a chain, latest first, by the nodes that have calls.
type groupWalk struct {
	chain chainstore.Chain
	// nodes are those that were asked for and are in no group yet, latest first; limit is how many are asked for next, through which
	// node. none says that there are no others.
	nodes   []chainstore.CallNode
	limit   int
	through uint32
	none    bool
	// before is the last node that a group may lie in.
	before uint32
}

// walk begins at the last node that calls may lie in. Behind a loop that is left out nobody has told yet whether there are any.
func (r *request) walk(ctx context.Context) (*groupWalk, error) {
	w := &groupWalk{chain: r.chain, limit: r.calls + 1, through: r.end, none: r.nowhere || !r.chain.Head().Tools.Present, before: r.end}
	if w.none || r.end == r.chain.Head().Seq {
		return w, nil
	}
	some, err := w.ask(ctx)
	w.none = w.none || !some
	return w, err
}

// ended says that there is no further group.
func (w *groupWalk) ended() bool { return w.none && len(w.nodes) == 0 }

// batch finds groups of so many calls, as far as the nodes go that one question gives.
func (w *groupWalk) batch(ctx context.Context, calls int) (groups []*group, err error) {
	for calls > 0 && (len(groups) == 0 || len(w.nodes) > 0) {
		g, err := w.group(ctx)
		if err != nil {
			return nil, err
		}
		groups = append(groups, g)
		calls -= g.size()
	}
	return groups, nil
}

// group finds the next group, if it has not ended.
func (w *groupWalk) group(ctx context.Context) (*group, error) {
	n, err := w.node(ctx)
	if err != nil {
		return nil, err
	}
	g := &group{calls: n.Header.Seq, last: n.Header.Seq, seen: n.Header.Seq, through: w.before, nodes: []chainstore.CallNode{*n}}
	for continues(n) {
		if n, err = w.node(ctx); err != nil {
			return nil, err
		}
		g.nodes = append(g.nodes, *n)
	}
	slices.Reverse(g.nodes)
	g.from = g.nodes[0].Header.Seq
	w.before = max(g.from, 1) - 1
	return g, nil
}

// continues tells whether the group of a node with calls has calls before it.
func continues(n *chainstore.CallNode) bool {
	b := n.Before
	return b != nil && b.Tools.Present && len(b.State.Group.Calls) > 0 && !b.State.Group.Results
}

// node is the next node with calls.
func (w *groupWalk) node(ctx context.Context) (*chainstore.CallNode, error) {
	if len(w.nodes) == 0 {
		some, err := w.ask(ctx)
		if err != nil {
			return nil, err
		}
		if !some {
			return nil, fmt.Errorf("%w: a path has no node with calls through row %d, where one should be", chainstore.ErrCorrupt, w.through)
		}
	}
	n := &w.nodes[0]
	w.nodes = w.nodes[1:]
	return n, nil
}

// ask asks for the next nodes with calls, and tells whether there are some.
func (w *groupWalk) ask(ctx context.Context) (some bool, err error) {
	nodes, err := w.chain.WithCalls(ctx, w.through, w.limit)
	if err != nil || len(nodes) == 0 {
		return false, err
	}
	last := &nodes[len(nodes)-1]
	if w.none = last.Before == nil || !last.Before.Tools.Present; !w.none {
		w.through = last.Before.Tools.Seq
	}
	w.nodes, w.limit = nodes, maxNodes
	return true, nil
}

// read finds groups and shows their calls, until there are enough, or enough was read for them.
func (r *request) read(ctx context.Context) error {
	w, err := r.walk(ctx)
	if err != nil {
		return err
	}
	for !w.ended() {
		calls := r.calls - len(r.shown)
		if len(r.names) > 0 {
			calls = math.MaxInt
		}
		if r.full() {
			return nil
		}
		groups, err := w.batch(ctx, calls)
		if err != nil {
			return err
		}
		if err := r.ends(ctx, groups); err != nil {
			return err
		}
		if err := r.groups(ctx, groups); err != nil {
			return err
		}
	}
	return nil
}

// full tells, before a further group is read, whether it is to be left out: it is of any tool, and there are calls enough; or enough
// was read. Of the tools asked for there may be others only where one is found.
func (r *request) full() bool {
	r.more = r.more || len(r.shown) == r.calls && len(r.names) == 0 || r.bytes >= r.MaxBytes
	return r.more
}

// ends finds the last node of each group that has results of its calls. With so many nodes behind the calls as there are calls without a
// result, mostly all are there.
func (r *request) ends(ctx context.Context, groups []*group) error {
	open := slices.Clone(groups)
	for step := 1; ; step *= 2 {
		var spans []chainstore.Span
		open = slices.DeleteFunc(open, func(g *group) bool {
			end := r.end
			if g.through < end {
				end = g.through + 1
			}
			if g.unanswered() == 0 || g.ended || g.seen >= end {
				return true
			}
			through := min(int64(end), int64(g.seen)+int64(step)*int64(g.unanswered()))
			spans = append(spans, chainstore.Span{From: g.seen + 1, Through: uint32(through), HeadersOnly: true})
			return false
		})
		if len(open) == 0 {
			return nil
		}
		of := open
		err := chainview.ReadAll(ctx, r.chain, spans, func(row *chainstore.Row) error {
			g := of[0]
			if row.Seq == spans[0].Through {
				spans, of = spans[1:], of[1:]
			}
			h, err := row.Header()
			if err == nil && !g.ended {
				g.look(h)
				g.ended = h.Seq > g.through || h.State.Group.Unanswered() == 0
			}
			g.seen = row.Seq
			return err
		})
		if err != nil {
			return err
		}
	}
}

// groups reads groups, latest first, and shows their calls: all of them, or where that takes reading too much, those that the last nodes
// of the group tell of.
func (r *request) groups(ctx context.Context, groups []*group) error {
	for len(groups) > 0 && !r.full() {
		n, err := r.rows(ctx, groups, func(g *group) {
			r.show(g)
			g.reading = reading{}
		})
		if groups = groups[n:]; err != nil || len(groups) == 0 || r.full() {
			return err
		}
		if err := r.short(ctx, groups[0]); err != nil {
			return err
		}
		groups = groups[1:]
	}
	return nil
}

// short reads and shows the last nodes of a group.
func (r *request) short(ctx context.Context, g *group) error {
	if err := r.shorten(ctx, g); err != nil {
		return err
	}
	if _, err := r.rows(ctx, []*group{g}, func(*group) {}); err != nil {
		return err
	}
	if err := r.sayings(ctx, g); err != nil {
		return err
	}
	r.show(g)
	return nil
}

// rows reads groups, and calls done with each; whole is how many were: the page is full then, or the next has more than may be read.
func (r *request) rows(ctx context.Context, groups []*group, done func(*group)) (whole int, err error) {
	var spans []chainstore.Span
	for _, g := range groups {
		g.reading.ended = false
		spans = append(spans, chainstore.Span{From: g.from, Through: g.last})
	}
	before := r.bytes
	err = chainview.ReadWhile(ctx, r.chain, spans, func(row *chainstore.Row) (bool, error) {
		g := groups[whole]
		switch {
		case row.Seq == g.from:
			if before = r.bytes; whole > 0 && r.full() {
				return false, nil
			}
		case r.bytes+len(row.Payload) > r.MaxBytes:
			return false, nil
		}
		r.bytes += len(row.Payload)
		err := r.row(g, row)
		if err == nil && row.Seq == g.last {
			done(g)
			whole++
		}
		return true, err
	})
	if whole < len(groups) {
		r.bytes = before
	}
	return whole, err
}
