package storetest

import (
	"errors"
	"fmt"
	"slices"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	"pgregory.net/rapid"
)

// collectsLikeTheModel runs random programs that collect often, with changes, restores, checks and holds while a collection runs.
func collectsLikeTheModel(f *fixture) { randomPrograms(f, (*program).collectStep) }

func (p *program) collectStep(rt *rapid.T) error {
	switch roll(rt, 6, "what") {
	case 0:
		p.later(rt)
		return nil
	case 1, 2:
		return p.collect(rt)
	default:
		p.last = p.change(rt)
		return p.commit(p.last)
	}
}

// collect collects in both, with the same done meanwhile, and compares how much went and what is left.
func (p *program) collect(rt *rapid.T) error {
	if p.f.skips(Collect) {
		return nil
	}
	c := chainstore.Collection{Grace: pick(rt, []int64{0, 0, 60 * 60 * 1000, 24 * 60 * 60 * 1000}, "grace"), DryRun: roll(rt, 4, "dry run") == 0}
	m := meanwhile{program: p, named: map[chainstore.ID]bool{}, at: pick(rt, []chainstore.CollectPhase{chainstore.CollectMarking, chainstore.CollectSweeping, chainstore.CollectDone}, "at")}
	if p.f.skips(Meanwhile) {
		m.at = chainstore.CollectDone + 1
	}
	found, err := p.find(rt)
	if err != nil {
		return err
	}
	before := len(p.ids)
	want, err := m.collect(p.model, &c, func() error { return m.begin(rt) })
	if err != nil {
		return fmt.Errorf("the model: %w", err)
	}
	got, err := m.collect(p.store, &c, m.again)
	if err != nil {
		return err
	}
	if err := m.agree(&c, got, want); err != nil {
		return fmt.Errorf("a collection %+v with %d things done at phase %d: %w", c, len(m.did), m.at, err)
	}
	if err := p.compare(p.ids); err != nil {
		return err
	}
	if m.deleted {
		before = 0
	}
	if m.erased {
		for i := range found {
			found[i].told = nil
		}
	}
	if err := p.tellTheSame(found, p.ids[before:]); err != nil {
		return err
	}
	p.ids = slices.DeleteFunc(p.ids, func(id chainstore.ID) bool {
		gone := !p.has(p.model, id)
		if gone {
			p.gone = append(p.gone, id)
		}
		return gone
	})
	return nil
}

// agree compares what was deleted. What is done meanwhile may name more in the store than in the model: a change that fails names what it looked
// at, as far as it came. That is deleted by a collection behind it, and then both agree. A dry run tells nothing of what is named meanwhile.
func (m *meanwhile) agree(c *chainstore.Collection, got, want chainstore.Collected) error {
	if m.deleted || c.DryRun && len(m.did) > 0 || got == want {
		return nil
	}
	for _, id := range m.ids {
		switch there, kept := m.has(m.store, id), m.has(m.model, id); {
		case kept && !there:
			return fmt.Errorf("node %v is deleted, which is to be kept", id)
		case there && !kept && !m.named[id]:
			return fmt.Errorf("node %v is kept, which nothing keeps", id)
		}
	}
	if len(m.did) > 0 {
		m.at = chainstore.CollectDone + 1
		for told, s := range map[*chainstore.Collected]chainstore.Store{&want: m.model, &got: m.store} {
			more, err := m.collect(s, c, nil)
			if err != nil {
				return err
			}
			told.Nodes, told.Messages, told.MessageBytes = told.Nodes+more.Nodes, told.Messages+more.Messages, told.MessageBytes+more.MessageBytes
		}
	}
	if got != want {
		return fmt.Errorf("it deleted %+v, want %+v", got, want)
	}
	return nil
}

// has tells whether one of the two has a node.
func (p *program) has(s chainstore.Store, id chainstore.ID) bool {
	_, err := s.Chain(p.f.ctx(), p.f.ns, idRef(id), nil)
	return err == nil
}

// meanwhile is what is done while a collection runs, at its first report of a phase: first in the model, then again in the store.
type meanwhile struct {
	*program
	at chainstore.CollectPhase
	// did is what was done in the model, to be done in the store and compared.
	did []func() error
	// named are the nodes that what was done has to do with in any way, and their ancestors.
	named map[chainstore.ID]bool
	// holds says that the store is held and checked then; stays, that it is held until the collection tells that it waits for that.
	holds, stays bool
	release      func()
	// deleted says that the namespace was deleted then: how much of it was collected before is another matter.
	deleted bool
	// erased says that something was erased then, of which chains told before.
	erased bool
}

// collect collects in one of the two, and tells what the last report tells of what was deleted.
func (m *meanwhile) collect(s chainstore.Store, c *chainstore.Collection, does func() error) (told chainstore.Collected, err error) {
	done := false
	m.release = func() {}
	defer func() { m.release() }()
	err = s.Collect(m.f.ctx(), m.f.ns, *c, func(now chainstore.Collected) error {
		told = chainstore.Collected{Phase: now.Phase, Nodes: now.Nodes, Messages: now.Messages, MessageBytes: now.MessageBytes}
		if now.Phase == chainstore.CollectHeld {
			m.release()
		}
		if done || now.Phase < m.at {
			return nil
		}
		done = true
		if err := does(); err != nil {
			return fmt.Errorf("while a collection runs: %w", err)
		}
		return m.hold(s)
	})
	return told, err
}

// begin does it in the model.
func (m *meanwhile) begin(rt *rapid.T) error {
	for range roll(rt, 4, "things done") {
		switch kind := roll(rt, 12, "done"); {
		case kind == 0:
			m.changes(m.f.change(nil, forget(m.alias(rt), anything())))
		case kind == 9 && !m.f.skips(Deletion):
			m.deletes()
		case kind == 10 && !m.f.skips(Erase) && len(m.ids) > 0:
			m.erases(rt)
		case kind == 11 && !m.f.skips(Erase):
			m.erasesLabels(rt)
		case kind < 3 && !m.f.skips(Restore):
			m.restores(m.restored(rt))
		default:
			if m.last == nil || roll(rt, 4, "repeats") > 0 {
				m.last = m.change(rt)
			}
			m.changes(m.last)
		}
	}
	if !m.f.skips(Verify) {
		m.holds, m.stays = roll(rt, 2, "holds") == 0, roll(rt, 2, "holds on") == 0
	}
	return nil
}

// again does it in the store.
func (m *meanwhile) again() error {
	for _, do := range m.did {
		if err := do(); err != nil {
			return err
		}
	}
	return nil
}

// changes applies a change to the model, and later to the store.
func (m *meanwhile) changes(c *chainstore.Change) {
	m.nameAll(c)
	want := m.expect(c)
	m.did = append(m.did, func() error {
		got, err := m.store.Commit(m.f.ctx(), m.f.ns, c)
		return became{got, err}.is(want)
	})
}

// restores restores in the model, and later in the store.
func (m *meanwhile) restores(r *chainstore.Restored) {
	for i := range r.Aliases {
		m.name(byAlias(r.Aliases[i].Name))
		for _, st := range r.Aliases[i].States {
			m.name(byID(st.Node))
		}
	}
	want, wantErr := m.model.Restore(m.f.ctx(), m.f.ns, r)
	m.did = append(m.did, func() error {
		got, err := m.store.Restore(m.f.ctx(), m.f.ns, r)
		if err := sameError(err, wantErr); err != nil {
			return fmt.Errorf("a restore: %w", err)
		}
		if got != want {
			return fmt.Errorf("a restore set %d aliases, want %d", got, want)
		}
		return nil
	})
}

// deletes deletes the namespace in the model, and later in the store.
func (m *meanwhile) deletes() {
	m.deleted = true
	want := m.deleteInModel()
	m.did = append(m.did, func() error { return m.deleteLike(want) })
}

// erases erases nodes in the model, and later in the store.
func (m *meanwhile) erases(rt *rapid.T) {
	m.erased = true
	nodes := m.erasures(rt)
	for i := range nodes {
		m.name(byID(nodes[i].ID))
	}
	want, wantErr := m.model.Erase(m.f.ctx(), m.f.ns, nodes)
	m.did = append(m.did, func() error { return m.eraseLike(nodes, want, wantErr) })
}

// erasesLabels erases labels in the model, and later in the store.
func (m *meanwhile) erasesLabels(rt *rapid.T) {
	names := m.someAliases(rt)
	for _, name := range names {
		m.name(byAlias(name))
	}
	want, wantErr := m.model.EraseLabels(m.f.ctx(), m.f.ns, names)
	m.did = append(m.did, func() error { return m.eraseLabelsLike(names, want, wantErr) })
}

// name takes in a node that is there, with its ancestors.
func (m *meanwhile) name(at ...chainstore.Parent) {
	for i := range at {
		for _, h := range m.path(at[i]) {
			m.named[h.ID] = true
		}
	}
}

// nameAll takes in what a change may look at.
func (m *meanwhile) nameAll(c *chainstore.Change) {
	heads := map[string][]chainstore.ID{}
	for i := range c.Aliases {
		a := &c.Aliases[i]
		m.name(byAlias(a.Name), byAlias(a.Target.Ref.Alias), byID(a.Target.Ref.ID), byID(a.Condition.Head))
		heads[a.Name] = append(heads[a.Name], a.Condition.Head)
	}
	var previous []chainstore.ID
	for i := range c.Nodes {
		n := &c.Nodes[i]
		parents := previous
		switch n.Parent.Kind {
		case chainstore.NoParent:
			previous = []chainstore.ID{n.Identify(nil)}
		case chainstore.ParentID:
			parents = []chainstore.ID{n.Parent.ID}
		case chainstore.ParentAlias:
			parents = heads[n.Parent.Alias]
			if path := m.path(n.Parent); len(path) > 0 {
				parents = append(parents, path[len(path)-1].ID)
			}
		case chainstore.ParentPrevious:
		}
		if n.Parent.Kind != chainstore.NoParent {
			previous = nil
			for _, id := range parents {
				m.name(byID(id))
				previous = append(previous, n.Identify(&id))
			}
		}
		for _, id := range previous {
			m.name(byID(id))
		}
		if n.SpawnedFrom != nil {
			m.name(byID(n.SpawnedFrom.Node))
		}
		if n.Compaction != nil {
			m.name(byID(n.Compaction.Covers))
		}
	}
}

// hold holds a store, and checks it.
func (m *meanwhile) hold(s chainstore.Store) error {
	if !m.holds {
		return nil
	}
	release, err := s.Hold(m.f.ctx())
	if err != nil {
		return err
	}
	if m.stays {
		m.release = release
	} else {
		defer release()
	}
	return m.verify(s)
}

// restored is an alias as it is, mostly with a change more, as another store may have it that was restored from this one.
func (p *program) restored(rt *rapid.T) *chainstore.Restored {
	one := chainstore.ExportedAlias{Name: pick(rt, randomAliases, "restored alias")}
	now, err := p.model.Alias(p.f.ctx(), p.f.ns, one.Name)
	one.Revision = revisionIn(now, err)
	if err == nil {
		one.Labels = now.Labels
	}
	if states, err := p.model.AliasHistory(p.f.ctx(), p.f.ns, one.Name); err == nil {
		one.States = chainstore.Begun(states)
	}
	if len(one.States) == 0 || roll(rt, 4, "goes on") > 0 {
		one.Revision += int64(1 + roll(rt, 3, "revisions"))
		st := chainstore.AliasState{Revision: one.Revision, At: millis(p.f.clock.Now())}
		if st.Deleted = len(one.States) > 0 && !one.States[0].Deleted && roll(rt, 4, "deleted") == 0; st.Deleted {
			one.Labels = nil
		} else {
			st.Node = p.id(rt)
		}
		one.States = append([]chainstore.AliasState{st}, one.States...)
		one.States = one.States[:min(len(one.States), chainstore.MaxHistory)]
	}
	return &chainstore.Restored{Floor: int64(roll(rt, 5, "floor")), Aliases: []chainstore.ExportedAlias{one}}
}

// foundChain is a chain that was found in the store before a collection, and what it told then.
type foundChain struct {
	chainstore.Chain
	// nil: it may tell something else by now.
	told []string
}

// find finds some chains.
func (p *program) find(rt *rapid.T) (found []foundChain, err error) {
	for range min(len(p.ids), roll(rt, 4, "chains")) {
		c, err := p.store.Chain(p.f.ctx(), p.f.ns, idRef(pick(rt, p.ids, "chain")), nil)
		if err != nil {
			return nil, err
		}
		one := foundChain{Chain: c}
		for _, ask := range p.facts() {
			told, err := ask(c)
			if err != nil {
				return nil, err
			}
			one.told = append(one.told, told)
		}
		found = append(found, one)
	}
	return found, nil
}

// facts are questions to a chain whose answers never change.
func (p *program) facts() (all []func(chainstore.Chain) (string, error)) {
	ctx := p.f.ctx()
	asks := func(c Category, ask func(*dumper, chainstore.Chain) error) {
		if p.f.skips(c) {
			return
		}
		all = append(all, func(c chainstore.Chain) (string, error) {
			d := &dumper{f: p.f}
			err := ask(d, c)
			return d.b.String(), err
		})
	}
	asks(Collect, func(d *dumper, c chainstore.Chain) error {
		return c.Rows(ctx, []chainstore.Span{{Through: c.Head().Seq}}, func(r *chainstore.Row) error {
			d.line("%d %x %x", r.Seq, []byte(r.Raw), r.Payload)
			return nil
		})
	})
	asks(Headers, func(d *dumper, c chainstore.Chain) error { return d.questions(ctx, c) })
	for _, call := range []runloop.Optional{runloop.Some(randomCalls[0]), runloop.Some(randomCalls[1]), {}} {
		asks(Calls, func(d *dumper, c chainstore.Chain) error { return d.call(ctx, c, call) })
	}
	asks(Calls, func(d *dumper, c chainstore.Chain) error { return d.withCalls(ctx, c) })
	asks(Tables, func(d *dumper, c chainstore.Chain) error {
		t, err := c.Tables(ctx)
		d.line("%v %d %v", t.Tools, t.OtherCalls, t.Variables)
		return err
	})
	return all
}

// tellTheSame asks chains again after a collection: each tells what it told, unless its head was deleted, and perhaps put again as one of those that
// were created since, and it says so.
func (p *program) tellTheSame(found []foundChain, created []chainstore.ID) error {
	for _, c := range found {
		gone := !p.has(p.model, c.Head().ID) || slices.Contains(created, c.Head().ID)
		for i, ask := range p.facts() {
			told, err := ask(c)
			switch {
			case gone && errors.Is(err, chainstore.ErrNodeNotFound):
			case err != nil:
				return fmt.Errorf("a chain that was found before, gone %t: %w", gone, err)
			case c.told != nil && told != c.told[i]:
				return fmt.Errorf("a chain that was found before, gone %t: %s", gone, firstDifference(told, c.told[i]))
			}
		}
		if p.f.skips(Spawned) {
			continue
		}
		if _, _, err := c.Spawned(p.f.ctx(), 9); err != nil && !(gone && errors.Is(err, chainstore.ErrNodeNotFound)) {
			return fmt.Errorf("a chain that was found before, gone %t: %w", gone, err)
		}
	}
	return nil
}
