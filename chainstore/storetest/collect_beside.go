package storetest

import (
	"fmt"
	"math/rand/v2"
	"sync"

	"github.com/transcriptd/transcriptd/chainstore"
)

// collectBeside: writers and readers beside one collection after the other, which others write, restore, check and hold beside, too, while it
// reports. Whatever an alias points to is there, whole, at any time, and in the end nothing else is.
func collectBeside(f *fixture) {
	if f.skips(Collect) {
		return
	}
	const writers, rounds = 4, 60
	var work, sweeps sync.WaitGroup
	stop := make(chan struct{})
	sweeps.Go(func() {
		random := rand.New(rand.NewPCG(7, writers))
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				f.clock.Advance(later)
				if err := f.collectAndWork(random, writers, i); err != nil {
					f.Errorf("collection %d: %v", i, err)
					return
				}
			}
		}
	})
	for w := range writers {
		work.Go(func() {
			random := rand.New(rand.NewPCG(7, uint64(w)))
			for i := range rounds {
				if err := f.besideStep(random, w, i); err != nil {
					f.Errorf("writer %d, round %d: %v", w, i, err)
					return
				}
			}
		})
	}
	work.Wait()
	close(stop)
	sweeps.Wait()
	if f.Failed() {
		return
	}
	f.clock.Advance(later)
	f.collect(chainstore.Collection{}, nil)
	all, _, err := f.store.Aliases(f.ctx(), f.ns, chainstore.AliasQuery{Limit: 1000})
	f.ok(err)
	reached := map[chainstore.ID]bool{}
	for _, a := range all {
		states, err := f.store.AliasHistory(f.ctx(), f.ns, a.Name)
		f.ok(err)
		for _, s := range states {
			if s.Deleted {
				continue
			}
			for _, id := range idsOf(f.all(idRef(s.Node))) {
				reached[id] = true
			}
		}
	}
	st, err := f.store.Stats(f.ctx(), f.ns)
	f.ok(err)
	equal(f, "the number of nodes", st.Nodes, int64(len(reached)))
	f.clean()
}

// collectAndWork collects, and while the collection reports does something that is to be done beside one.
func (f *fixture) collectAndWork(random *rand.Rand, w, i int) error {
	release := func() {}
	defer func() { release() }()
	return f.store.Collect(f.ctx(), f.ns, chainstore.Collection{}, func(told chainstore.Collected) (err error) {
		if told.Phase == chainstore.CollectHeld {
			release()
		}
		if told.Phase == chainstore.CollectHeld || f.skips(Meanwhile) {
			return nil
		}
		switch random.IntN(4) {
		case 0:
			return f.besideStep(random, w, i)
		case 1:
			return f.restoreBeside(w, i)
		case 2:
			release()
			if release, err = f.store.Hold(f.ctx()); err != nil || f.skips(Verify) {
				return err
			}
			return f.store.Verify(f.ctx(), chainstore.Check{Namespace: f.ns}, f.cfg.Encoding.Judge, func(r chainstore.VerifyReport) error {
				if len(r.Problems) > 0 {
					return fmt.Errorf("verify: %+v", r.Problems)
				}
				return nil
			})
		}
		return nil
	})
}

// restoreBeside restores an alias to a node that nothing else refers to.
func (f *fixture) restoreBeside(w, i int) error {
	if f.skips(Restore) {
		return nil
	}
	out, err := f.try([]Node{root(user(fmt.Sprint("restored by ", w, ", round ", i)))})
	if err != nil {
		return err
	}
	one := chainstore.ExportedAlias{Name: "restored", Revision: int64(i + 1)}
	one.States = []chainstore.AliasState{{Revision: one.Revision, Node: out.Nodes[0].ID, At: millis(f.clock.Now())}}
	if now, err := f.store.AliasHistory(f.ctx(), f.ns, one.Name); err == nil {
		one.Revision = max(one.Revision, now[0].Revision+1)
		one.States[0].Revision = one.Revision
		one.States = append(one.States, now...)
		one.States = chainstore.Begun(one.States[:min(len(one.States), chainstore.MaxHistory)])
	}
	set, err := f.store.Restore(f.ctx(), f.ns, &chainstore.Restored{Aliases: []chainstore.ExportedAlias{one}})
	if err == nil && set != 1 {
		err = fmt.Errorf("%d aliases were restored", set)
	}
	return err
}

// besideStep is what one of the writers does: it puts a chain, forks and moves an alias of its own, reads what it points to, and now and then drops
// it with its history.
func (f *fixture) besideStep(random *rand.Rand, w, i int) error {
	name := fmt.Sprint("chat/", w, "/", random.IntN(3))
	text := fmt.Sprint("writer ", w, ", round ", i)
	parent := chainstore.Parent{}
	if a, err := f.store.Alias(f.ctx(), f.ns, name); err == nil {
		parent = byID(a.Node)
		if random.IntN(3) == 0 { // fork
			rows, err := f.store.Chain(f.ctx(), f.ns, idRef(a.Node), nil)
			if err != nil {
				return err
			}
			headers, err := rows.Headers(f.ctx(), uint32(random.IntN(int(rows.Head().Seq)+1)))
			if err != nil {
				return err
			}
			parent = byID(headers[0].ID)
		}
	}
	n := Node{Parent: parent, Messages: []Message{user(text)}}
	if _, err := f.try([]Node{n, under(previous(), assistant("re "+text)), under(previous(), user("stray "+text))}, set(name, 1, anything())); err != nil {
		return err
	}
	c, err := f.store.Chain(f.ctx(), f.ns, aliasRef(name), nil)
	if err != nil {
		return err
	}
	rows := 0
	if err := c.Rows(f.ctx(), []chainstore.Span{{Through: c.Head().Seq}}, func(*chainstore.Row) error { rows++; return nil }); err != nil {
		return err
	}
	if rows != int(c.Head().Seq)+1 {
		return fmt.Errorf("%d rows of %d", rows, c.Head().Seq+1)
	}
	if random.IntN(5) == 0 {
		_, err = f.try(nil, forget(name, anything()))
	}
	return err
}
