package memstore

import (
	"context"
	"slices"

	"github.com/transcriptd/transcriptd/chainstore"
)

// sweptAtOnce is how many nodes a collection deletes while nobody else has the store.
const sweptAtOnce = 100

// sweeping is a collection of a namespace under way.
type sweeping struct {
	ns *namespace
	// live are the nodes that are kept, named those that a change named since the collection began and that are not among them yet.
	live  map[*node]bool
	named []*node
}

// keep adds a node with its ancestors.
func (w *sweeping) keep(n *node) {
	for ; n != nil && !w.live[n]; n = n.parent {
		w.live[n] = true
	}
}

// Collect deletes what nothing keeps; see chainstore.Collector.
func (s *Store) Collect(ctx context.Context, name string, c chainstore.Collection, report func(chainstore.Collected) error) error {
	queued := func() error { return report(chainstore.Collected{Phase: chainstore.CollectQueued}) }
	return s.collecting.Delete(ctx, queued, func() error { return s.collect(ctx, name, &c, report) })
}

// collect is Collect while there is no other one.
func (s *Store) collect(ctx context.Context, name string, c *chainstore.Collection, report func(chainstore.Collected) error) error {
	w, err := s.beginSweeping(ctx, name)
	if err != nil {
		return err
	}
	defer s.endSweeping()
	told := chainstore.Collected{}
	enter := func(phase chainstore.CollectPhase) error {
		told.Phase = phase
		return report(told)
	}
	if err := enter(chainstore.CollectMarking); err != nil {
		return err
	}
	if err := s.mark(ctx, name, w, c, &told); err != nil {
		return err
	}
	for last := uint64(0); ; {
		if err := enter(chainstore.CollectSweeping); err != nil {
			return err
		}
		sweep := func() (err error) {
			last, err = s.sweep(ctx, name, w, last, c.DryRun, &told)
			return err
		}
		var err error
		if c.DryRun {
			err = sweep()
		} else {
			err = s.gate.Delete(ctx, func() error { return enter(chainstore.CollectHeld) }, func() error {
				if err := c.Permit(ctx); err != nil {
					return err
				}
				return sweep()
			})
		}
		if err != nil {
			return err
		}
		if last == 0 {
			return enter(chainstore.CollectDone)
		}
	}
}

// Hold keeps nodes from being deleted; see chainstore.Collector.
func (s *Store) Hold(ctx context.Context) (release func(), err error) { return s.gate.Hold(ctx) }

// beginSweeping lets changes note what they name from now on.
func (s *Store) beginSweeping(ctx context.Context, name string) (*sweeping, error) {
	ns, unlock, err := s.read(ctx, name)
	if err != nil {
		return nil, err
	}
	defer unlock()
	s.sweeping = &sweeping{ns: ns, live: map[*node]bool{}}
	return s.sweeping, nil
}

// mark finds what is kept. A namespace that was first written to since the collection began is as it was then.
func (s *Store) mark(ctx context.Context, name string, w *sweeping, c *chainstore.Collection, told *chainstore.Collected) error {
	_, unlock, err := s.read(ctx, name)
	if err != nil {
		return err
	}
	defer unlock()
	ns, now := w.ns, s.millis()
	for _, n := range ns.order {
		if n.lastPut >= c.Cutoff(now) {
			w.keep(n)
		}
	}
	for _, a := range ns.aliases {
		if a.exists() {
			w.keep(ns.nodes[a.head()])
		}
		if a.forgotten(now) && len(a.states) > 1 {
			told.States += int64(len(a.states) - 1)
			if !c.DryRun {
				a.states = []chainstore.AliasState{a.present()}
			}
			continue
		}
		states := a.told(now)
		for _, st := range states {
			w.keep(ns.nodes[st.Node])
		}
		told.States += int64(len(a.states) - len(states))
		if !c.DryRun {
			a.states = slices.Clone(a.states[len(a.states)-len(states):])
		}
	}
	return nil
}

func (s *Store) endSweeping() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sweeping = nil
}

// name notes what a change names.
func (s *Store) name(ns *namespace, p *plan) {
	if s.sweeping == nil || s.sweeping.ns != ns {
		return
	}
	named := slices.Concat(p.put, p.targets)
	for i := range p.change.Aliases {
		if a := ns.aliases[p.change.Aliases[i].Name]; a.exists() {
			named = append(named, ns.nodes[a.head()])
		}
	}
	s.sweeping.named = append(s.sweeping.named, named...)
}

// nameRestored notes what a Restore names.
func (s *Store) nameRestored(ns *namespace, r *chainstore.Restored) {
	if s.sweeping == nil || s.sweeping.ns != ns {
		return
	}
	for i := range r.Aliases {
		if a := ns.aliases[r.Aliases[i].Name]; a.exists() {
			s.sweeping.named = append(s.sweeping.named, ns.nodes[a.head()])
		}
		for _, st := range r.Aliases[i].States {
			if n := ns.nodes[st.Node]; n != nil {
				s.sweeping.named = append(s.sweeping.named, n)
			}
		}
	}
}

// sweep deletes some of the nodes that nothing keeps, children before their parents: those with a number below last, 0 for all. It returns the number
// of the last one that it looked at; 0 where none is left.
func (s *Store) sweep(ctx context.Context, name string, w *sweeping, last uint64, dryRun bool, told *chainstore.Collected) (uint64, error) {
	ns, unlock, err := s.read(ctx, name)
	if err != nil {
		return 0, err
	}
	defer unlock()
	if ns != w.ns { // it was first written to since
		return 0, nil
	}
	for _, n := range w.named {
		w.keep(n)
	}
	w.named = nil
	dead := map[*node]bool{}
	next := uint64(0)
	for _, n := range slices.Backward(ns.order) {
		if last > 0 && n.number >= last || w.live[n] {
			continue
		}
		if len(dead) == sweptAtOnce {
			break
		}
		dead[n], next = true, n.number
		told.Nodes, told.Messages, told.MessageBytes = told.Nodes+1, told.Messages+int64(len(n.header.Messages)), told.MessageBytes+int64(n.header.CountedBytes())
	}
	if len(dead) < sweptAtOnce {
		next = 0
	}
	if dryRun || len(dead) == 0 {
		return next, nil
	}
	s.point++
	ns.order = slices.DeleteFunc(slices.Clone(ns.order), func(n *node) bool { return dead[n] })
	for n := range dead {
		delete(ns.nodes, n.id())
	}
	return next, nil
}
