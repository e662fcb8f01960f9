package memstore

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// Commit applies a change; see chainstore.Writer.
func (s *Store) Commit(ctx context.Context, name string, change *chainstore.Change) (*chainstore.Committed, error) {
	ns, unlock, err := s.read(ctx, name)
	if err != nil {
		return nil, err
	}
	defer unlock()
	return s.apply(name, ns, change)
}

// apply makes a change of a namespace that is locked.
func (s *Store) apply(name string, ns *namespace, change *chainstore.Change) (*chainstore.Committed, error) {
	p := &plan{name: name, ns: ns, change: change, now: s.millis(), point: s.point + 1, fresh: map[chainstore.ID]*node{}, erasing: newErasing(ns, s.point+1)}
	if err := p.judge(); err != nil {
		return nil, err
	}
	s.point++
	s.name(ns, p)
	out := p.apply()
	if len(ns.nodes)+len(ns.aliases) > 0 {
		s.keep(name, ns)
	}
	return out, nil
}

// plan is a change under way. Judging changes nothing in the namespace; applying cannot fail.
type plan struct {
	name   string
	ns     *namespace
	change *chainstore.Change
	now    int64
	point  chainstore.Point
	// put has the node that each of the change's became, created whether it is new; fresh has the new ones.
	put     []*node
	created []bool
	fresh   map[chainstore.ID]*node
	// erasing are the erasures of the change.
	erasing *erasing
	// targets has the node that each alias is to be set to, nil to delete it.
	targets []*node
}

func (p *plan) judge() error {
	for i := range p.change.Nodes {
		if err := p.node(i); err != nil {
			return err
		}
	}
	for i := range p.change.Aliases {
		target, err := p.target(p.change.Aliases[i].Target)
		if err != nil {
			return &chainstore.MissingError{Err: err, Index: i}
		}
		p.targets = append(p.targets, target)
	}
	if err := p.conditions(); err != nil {
		return err
	}
	return p.quotas()
}

func (p *plan) node(i int) error {
	parent, err := p.parent(i)
	if err != nil {
		return err
	}
	in := &p.change.Nodes[i]
	id := in.Identify(idOf(parent))
	n := p.lookup(id)
	if err := p.erasing.put(i, in, id, n); err != nil {
		return err
	}
	created := n == nil
	if created {
		if n, err = p.build(in, id, parent); err != nil {
			return err
		}
		p.fresh[id] = n
	}
	p.put, p.created = append(p.put, n), append(p.created, created)
	return nil
}

func idOf(n *node) *chainstore.ID {
	if n == nil {
		return nil
	}
	id := n.id()
	return &id
}

func (p *plan) lookup(id chainstore.ID) *node {
	if n := p.ns.nodes[id]; n != nil {
		return n
	}
	return p.fresh[id]
}

func (p *plan) parent(i int) (*node, error) {
	var n *node
	switch parent := p.change.EffectiveParent(i); parent.Kind {
	case chainstore.NoParent:
		return nil, nil
	case chainstore.ParentID:
		n = p.lookup(parent.ID)
	case chainstore.ParentAlias:
		n, _ = p.ns.find(chainstore.Ref{Alias: parent.Alias})
	case chainstore.ParentPrevious:
		if i > 0 {
			n = p.put[i-1]
		}
	}
	if n == nil {
		return nil, &chainstore.MissingError{Err: chainstore.ErrParentNotFound, Index: i}
	}
	return n, nil
}

func (p *plan) build(in *chainstore.NewNode, id chainstore.ID, parent *node) (*node, error) {
	n := &node{
		parent: parent, point: p.point,
		payload: slices.Clone(in.Payload), metadata: slices.Clone(in.Metadata), details: slices.Clone(in.Details),
		facts: copyFacts(in.Messages), variables: slices.Clone(in.Variables), outcome: in.Outcome,
	}
	if in.Compaction != nil {
		covers, err := p.covered(in.Compaction, parent)
		if err != nil {
			return nil, err
		}
		n.covers = covers
		n.compaction = in.Compaction
		if err := n.mayCover(); err != nil {
			return nil, err
		}
		if in.Compaction.Erasures < p.ns.erasures {
			return nil, chainstore.ErrErasedMeanwhile
		}
		n.compaction = &chainstore.Compaction{Covers: in.Compaction.Covers, Provenance: slices.Clone(in.Compaction.Provenance), Loops: in.Compaction.Loops}
	}
	h := &chainstore.Header{ID: id, FirstPut: p.now, Salt: slices.Clone(in.Salt), Erased: in.Erased.Clone()}
	if h.Erased != nil {
		h.Erased.Variables, n.erased = slices.Clone(in.Variables), p.point
	}
	if in.FirstPut != 0 {
		h.FirstPut = min(h.FirstPut, in.FirstPut)
	}
	if in.SpawnedFrom != nil {
		from := *in.SpawnedFrom
		h.SpawnedFrom = &from
	}
	if n.lastPut = h.FirstPut; p.now-n.lastPut > chainstore.RenewAfter { // one that was put elsewhere long ago is put now
		n.lastPut = p.now
	}
	if err := n.derive(h, p.isFork(parent)); err != nil {
		return nil, err
	}
	n.header, n.raw = h, chainstore.AppendHeader(nil, h)
	return n, nil
}

// isFork tells whether a new child of parent would not be its first.
func (p *plan) isFork(parent *node) bool {
	if parent == nil || parent.hasChild {
		return parent != nil
	}
	for _, n := range p.fresh {
		if n.parent == parent {
			return true
		}
	}
	return false
}

// derive fills in what follows from the node's facts and its parent.
func (n *node) derive(h *chainstore.Header, fork bool) error {
	h.PayloadLength, h.MetadataLength, h.DetailsLength = len(n.payload), len(n.metadata), len(n.details)
	if n.parent != nil {
		up := n.parent.header
		h.Seq, h.Forks, h.State = up.Seq+1, up.Forks, up.State
		h.Tools, h.Variables, h.Compaction, h.Spawned = up.Tools, up.Variables, up.Compaction, up.Spawned
	}
	if fork {
		h.Forks++
	}
	marks, err := n.fold(h)
	if err != nil {
		return err
	}
	here := chainstore.Link{Present: true, Seq: h.Seq}
	for i := range n.facts {
		h.Messages = append(h.Messages, runloop.BriefOf(&n.facts[i], marks[i]))
	}
	if n.compaction != nil {
		h.Compaction, h.Covers = here, chainstore.Link{Present: true, Seq: n.covers.header.Seq}
		h.Provenance = slices.Clone(n.compaction.Provenance)
	}
	if n.calls() {
		h.Tools = here
	}
	if len(n.variables) > 0 {
		h.Variables = here
	}
	if h.SpawnedFrom != nil {
		h.Spawned = here
	}
	return nil
}

// fold continues the folds over the node: those of a compaction node begin again. ErrNotAncestor, ErrAlreadyCovered,
// ErrOpenCalls, ErrGroupTooLarge.
func (n *node) fold(h *chainstore.Header) (marks []runloop.Mark, err error) {
	if n.compaction != nil {
		if err := n.mayCover(); err != nil {
			return nil, err
		}
		marks, err = n.refold(h)
	} else {
		h.Outcome = n.outcome
		marks, h.Stubs, err = h.State.Fold(runloop.Node{
			Seq: h.Seq, Prefix: h.ID.Prefix(), Times: h.Times(), Messages: n.facts, Outcome: n.outcome,
		}, n.parent.hasCall)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: a call too many", chainstore.ErrGroupTooLarge)
	}
	return marks, nil
}

// put are the messages that were put with the node: none of a compaction node's, which are copies.
func (n *node) put() []runloop.Facts {
	if n.compaction != nil {
		return nil
	}
	return n.facts
}

// calls tells whether a message that was put with the node has calls.
func (n *node) calls() bool {
	return slices.ContainsFunc(n.put(), func(f runloop.Facts) bool { return len(f.Calls) > 0 })
}

// hasCall tells whether this node or an ancestor has a call with this id.
func (n *node) hasCall(id runloop.Optional) bool {
	for ; n != nil; n = n.parent {
		for _, f := range n.put() {
			if slices.ContainsFunc(f.Calls, func(c runloop.Call) bool { return c.ID == id }) {
				return true
			}
		}
	}
	return false
}

func copyFacts(in []runloop.Facts) []runloop.Facts {
	out := slices.Clone(in)
	for i := range out {
		out[i].Calls = slices.Clone(out[i].Calls)
	}
	return out
}

func (p *plan) target(t chainstore.Target) (*node, error) {
	switch t.Kind {
	case chainstore.TargetNew:
		return p.put[t.Node], nil
	case chainstore.TargetRef:
		if n := p.fresh[t.Ref.ID]; n != nil && t.Ref.Alias == "" {
			return n, nil
		}
		return p.ns.find(t.Ref)
	default:
		return nil, nil
	}
}

func (p *plan) conditions() error {
	var failed []chainstore.Conflict
	for i := range p.change.Aliases {
		c := &p.change.Aliases[i]
		a := p.ns.aliases[c.Name]
		now := a.now(p.now)
		holds, _ := c.Holds(now, idOf(p.targets[i]), func() (bool, error) {
			return p.ns.nodes[a.head()].extends(c.Condition.Head), nil
		})
		if !holds {
			head := p.ns.nodes[a.head()]
			failed = append(failed, chainstore.Conflict{
				Index: i, Kind: c.Condition.Kind, Exists: a.exists(), Node: a.head(), Revision: now.Revision,
				Compaction: head != nil && head.compaction != nil,
			})
		}
	}
	if failed != nil {
		return &chainstore.ConflictError{Conflicts: failed}
	}
	return nil
}

// extends tells whether the node is reached from an ancestor by plain appends.
func (n *node) extends(ancestor chainstore.ID) bool {
	for ; n != nil && n.id() != ancestor; n = n.parent {
		if n.compaction != nil {
			return false
		}
	}
	return n != nil
}

func (p *plan) apply() *chainstore.Committed {
	out := &chainstore.Committed{
		Nodes:   make([]chainstore.PutNode, len(p.put)),
		Aliases: make([]chainstore.PutAlias, len(p.targets)),
	}
	for i, n := range p.put {
		s := &n.header.State
		out.Nodes[i] = chainstore.PutNode{
			ID: n.id(), Created: p.created[i], Full: s.Full.Totals, Effective: s.Effective.Totals,
		}
		if p.created[i] {
			p.ns.add(n)
		} else if p.now-n.lastPut > chainstore.RenewAfter {
			n.lastPut = p.now
		}
	}
	p.erasing.apply(p.now)
	repeats := p.repeats()
	for i, target := range p.targets {
		if a := p.ns.aliases[p.change.Aliases[i].Name]; repeats && a.was(target, p.now) {
			out.Aliases[i] = chainstore.PutAlias{Existed: a.exists(), Previous: a.head(), Revision: a.revision}
			continue
		}
		if out.Aliases[i] = p.ns.move(&p.change.Aliases[i], target, p.now); out.Aliases[i].Revised {
			p.ns.aliases[p.change.Aliases[i].Name].changed = p.point
		}
	}
	return out
}

// quotas judges what the change would add.
func (p *plan) quotas() error {
	if p.ns.settings.Settings == (chainstore.Settings{}) {
		return nil
	}
	before := p.ns.stats()
	after := before
	for _, n := range p.fresh {
		after.Nodes++
		after.MessageBytes += int64(n.header.CountedBytes())
	}
	repeats := p.repeats()
	for i, target := range p.targets {
		a := p.ns.aliases[p.change.Aliases[i].Name]
		switch {
		case repeats && a.was(target, p.now):
		case target == nil && a.exists():
			after.Aliases--
		case target != nil && !a.exists():
			after.Aliases++
		}
	}
	return p.ns.settings.Allow(p.name, &before, &after)
}

// repeats tells whether the change took place before.
func (p *plan) repeats() bool {
	return p.change.Repeats(slices.Contains(p.created, true), func(i int) (*chainstore.AliasNow, *chainstore.ID) {
		return p.ns.aliases[p.change.Aliases[i].Name].now(p.now), idOf(p.targets[i])
	})
}

func (ns *namespace) add(n *node) {
	ns.nodes[n.id()] = n
	ns.order = append(ns.order, n)
	ns.puts++
	n.number, n.run = ns.puts, ns.puts
	if n.parent == nil {
		return
	}
	if !n.parent.hasChild {
		n.run = n.parent.run
	}
	n.parent.hasChild = true
}

// move sets or deletes an alias.
func (ns *namespace) move(c *chainstore.AliasChange, target *node, at int64) chainstore.PutAlias {
	a := ns.aliases[c.Name]
	now := a.now(at)
	out := chainstore.PutAlias{Existed: now.Exists, Previous: now.Head, Revision: now.Revision}
	if c.Leaves(now, idOf(target)) {
		return out
	}
	if a.forgotten(at) {
		a = ns.begin(c.Name, a)
	}
	a.revision++
	out.Revised, out.Revision = true, a.revision
	if c.Forget && target == nil {
		out.Changed = now.Exists
		a.forget(at)
		return out
	}
	if out.Changed = target == nil || !now.Exists || target.id() != now.Head; out.Changed {
		a.push(target, at)
	}
	if target == nil {
		a.labels = nil
	} else if c.SetLabels {
		a.labels = maps.Clone(c.Labels)
	}
	return out
}

// begin is a name that never was set, or is forgotten: its revisions begin above the floor.
func (ns *namespace) begin(name string, old *alias) *alias {
	if old != nil {
		ns.floor = max(ns.floor, old.revision)
	}
	a := &alias{name: name, revision: ns.floor}
	ns.aliases[name] = a
	return a
}
