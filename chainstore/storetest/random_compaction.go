package storetest

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	"pgregory.net/rapid"
)

// compaction makes a compaction node of n, whose parent is chosen; false where that would seldom do.
func (p *program) compaction(rt *rapid.T, n *Node) bool {
	if n.Parent.Kind == chainstore.ParentPrevious && roll(rt, 4, "of a new node") < 3 {
		n.Parent = byID(p.id(rt))
	}
	path := p.path(n.Parent)
	covers, ok := p.covers(rt, path)
	if !ok {
		return false
	}
	n.Compaction = &chainstore.Compaction{Covers: covers}
	if !p.f.skips(Erase) {
		if roll(rt, 10, "erasures") < 9 { // else it is planned before the first
			n.Compaction.Erasures = chainstore.AnyErasures
		}
	}
	through := slices.IndexFunc(path, func(h *chainstore.Header) bool { return h.ID == covers })
	n.Messages = closed(rt, p.kept(rt))
	for range n.Messages {
		from := chainstore.Provenance{Present: roll(rt, 4, "copied") > 0}
		if from.Present {
			from.Place.Seq = uint32(roll(rt, max(through, 0)+1, "from node"))
			from.Place.Index = pick(rt, []uint32{0, 1, 9, 10, 99, 100, 12345}, "from index")
		}
		n.Compaction.Provenance = append(n.Compaction.Provenance, from)
	}
	n.Compaction.Loops = randomLoops(rt, n.Messages)
	return true
}

// randomLoops are run loops that copies had: mostly any, else those that they have by themselves.
func randomLoops(rt *rapid.T, kept []Message) *runloop.Loops {
	if roll(rt, 4, "loops of their own") == 0 {
		return nil
	}
	l := &runloop.Loops{Begins: make([]bool, len(kept)), Phase: runloop.Phase(1 + roll(rt, 3, "stands"))}
	for i := range kept {
		l.Begins[i] = kept[i].Role >= runloop.User && !kept[i].Summary && kept[i].LeftOut == 0 && rapid.Bool().Draw(rt, "begins")
	}
	return l
}

// path is that of a parent, as far as the model has it.
func (p *program) path(parent chainstore.Parent) (headers []*chainstore.Header) {
	var c chainstore.Chain
	var err error
	switch parent.Kind {
	case chainstore.ParentID:
		c, err = p.model.Chain(p.f.ctx(), p.f.ns, idRef(parent.ID), nil)
	case chainstore.ParentAlias:
		c, err = p.model.Chain(p.f.ctx(), p.f.ns, aliasRef(parent.Alias), nil)
	}
	if c == nil || err != nil {
		return nil
	}
	p.f.ok(c.Rows(p.f.ctx(), []chainstore.Span{{Through: c.Head().Seq, HeadersOnly: true}}, func(r *chainstore.Row) error {
		h, err := r.Header()
		headers = append(headers, h)
		return err
	}))
	return headers
}

// covers is what a compaction node covers: mostly what it may cover, now and then an ancestor or any node; false where
// there is nothing that it may cover.
func (p *program) covers(rt *rapid.T, path []*chainstore.Header) (id chainstore.ID, ok bool) {
	switch kind := roll(rt, 20, "covers"); {
	case kind == 19:
		return p.id(rt), true
	case len(path) == 0:
		return id, false
	case kind == 18:
		return pick(rt, path, "ancestor").ID, true
	}
	head := path[len(path)-1]
	from := head.State.PreambleEnd.Seq
	if head.Compaction.Present {
		from = max(from, path[head.Compaction.Seq].Covers.Seq)
	}
	var may []*chainstore.Header
	for _, h := range path[from:] {
		if head.State.PreambleClosed && h.State.Group.Unanswered() == 0 {
			may = append(may, h)
		}
	}
	if len(may) == 0 {
		return id, false
	}
	return pick(rt, may, "covered").ID, true
}

// kept is what a compaction keeps, as real ones do: a summary, a left-out line, then loops condensed or whole; now and then anything.
func (p *program) kept(rt *rapid.T) (kept []Message) {
	if roll(rt, 4, "anything") == 0 {
		for range roll(rt, 7, "kept") {
			m := randomMessage(rt)
			if m.Opaque { // no compaction of ours copies it
				kept = append(kept, m)
				continue
			}
			m.Summary = m.Role == runloop.User && rapid.Bool().Draw(rt, "is a summary")
			m.Made = !m.Summary && roll(rt, 4, "is made") == 0
			if m.Role == runloop.User && !m.Summary && roll(rt, 4, "is a left-out line") == 0 {
				m.LeftOut = 1 + int64(roll(rt, 500, "says"))
			}
			kept = append(kept, m)
		}
		return kept
	}
	if rapid.Bool().Draw(rt, "summary") {
		kept = append(kept, summary("so far"))
	}
	if roll(rt, 3, "left-out line") == 0 {
		kept = append(kept, leftOut(3))
	}
	for range roll(rt, 4, "loops") {
		kept = append(kept, user("x"))
		if rapid.Bool().Draw(rt, "whole") {
			call := calling("t", "1", pick(rt, []string{"1", "2", "never put"}, "call"))
			stub := result(call.Calls[1].ID.Value, "[no result]")
			stub.Made = true
			kept = append(kept, call, result("1", "a result of some length, so that it is worth a line in its place, or not: that depends upon where it was put first, among other things, one of which is this text's own length"), stub)
		}
		if rapid.Bool().Draw(rt, "answered") {
			kept = append(kept, assistant("y"))
		}
	}
	return kept
}

// closed ends what a compaction keeps so that none of its calls is unanswered.
func closed(rt *rapid.T, kept []Message) []Message {
	var s runloop.State
	facts := Simple().Make(Node{Messages: kept}).Messages
	if _, _, err := s.Fold(runloop.Node{Messages: facts}, func(runloop.Optional) bool { return false }); err != nil {
		rt.Fatal(err)
	}
	if s.Group.Unanswered() > 0 {
		kept = append(kept, user("never mind"))
	}
	return kept
}

// told is a node of a path and the facts of its messages.
type told struct {
	*chainstore.Header
	facts   []runloop.Facts
	outcome runloop.Outcome
}

// views folds the views of every head from nothing, by what they are said to show: the full one every node but
// compaction nodes; the effective one the preamble, the nearest compaction node, and what lies behind what that covers.
func (p *program) views() error {
	never := func(runloop.Optional) bool { return false }
	for _, id := range p.ids {
		path, err := p.read(id)
		if err != nil {
			return err
		}
		full, effective := shownIn(path)
		var whole, shown runloop.State
		for _, n := range full {
			if _, _, err := whole.Fold(n, never); err != nil {
				return err
			}
		}
		for _, n := range effective {
			if _, _, err := shown.Fold(n, never); err != nil {
				return err
			}
		}
		got := path[len(path)-1].State
		if got.Full != whole.Full || got.PreambleClosed != whole.PreambleClosed || got.PreambleEnd != whole.PreambleEnd {
			return fmt.Errorf("node %v: the full fold is %+v, want %+v", id, got.Full, whole.Full)
		}
		if got.Effective != shown.Effective || got.Repairs != shown.Repairs {
			return fmt.Errorf("node %v: the effective fold is %+v, %d repairs, want %+v, %d", id, got.Effective, got.Repairs,
				shown.Effective, shown.Repairs)
		}
		if got.Group.Results != shown.Group.Results || got.Group.Size() != shown.Group.Size() ||
			len(got.Group.Calls) > 0 && !reflect.DeepEqual(got.Group, shown.Group) {
			return fmt.Errorf("node %v: the group is %+v, want %+v", id, got.Group, shown.Group)
		}
	}
	return nil
}

// read reads a path from the store under test; the judge tells the facts.
func (p *program) read(id chainstore.ID) (path []told, err error) {
	c, err := p.store.Chain(p.f.ctx(), p.f.ns, idRef(id), nil)
	if err != nil {
		return nil, err
	}
	err = c.Rows(p.f.ctx(), []chainstore.Span{{Through: c.Head().Seq}}, func(r *chainstore.Row) error {
		h, err := r.Header()
		if err != nil {
			return err
		}
		j, err := p.f.cfg.Encoding.Judge(h, r.Payload, r.Metadata, nil, nil)
		for i := range j.Messages {
			j.Messages[i].Note, j.Messages[i].Was = h.Messages[i].Note, int(h.Messages[i].Was)
		}
		if h.Erased != nil {
			j.Outcome = h.Outcome
		}
		path = append(path, told{h, j.Messages, j.Outcome})
		return err
	})
	return path, err
}

// shownIn are the nodes of the full and of the effective view of a path.
func shownIn(path []told) (full, effective []runloop.Node) {
	node := func(n told) runloop.Node {
		return runloop.Node{Seq: n.Seq, Prefix: n.ID.Prefix(), Times: n.Times(), Messages: n.facts, Outcome: n.outcome}
	}
	head := path[len(path)-1]
	end, behind := head.State.PreambleEnd, uint32(0)
	if head.Compaction.Present {
		c := path[head.Compaction.Seq]
		behind = c.Covers.Seq + 1
		for _, n := range path[:end.Seq] {
			effective = append(effective, node(n))
		}
		if end.Index > 0 {
			part := node(path[end.Seq])
			part.Messages, part.Outcome = part.Messages[:end.Index], runloop.NoOutcome
			effective = append(effective, part)
		}
		copies := node(c)
		copies.Loops = &runloop.Loops{Phase: c.Stands}
		for i := range c.Messages {
			copies.Loops.Begins = append(copies.Loops.Begins, c.Messages[i].Mark.BeginsLoop)
		}
		effective = append(effective, copies)
	}
	for _, n := range path {
		if n.Covers.Present {
			continue
		}
		full = append(full, node(n))
		if n.Seq >= behind {
			effective = append(effective, node(n))
		}
	}
	return full, effective
}
