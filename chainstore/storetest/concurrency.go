package storetest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/transcriptd/transcriptd/chainstore"
)

func concurrencyChecks() []check {
	return []check{
		{Concurrency, "SameNode", sameNodeAtOnce},
		{Concurrency, "SameChain", sameChainAtOnce},
		{Concurrency, "BadAmongGood", badAmongGood},
		{Concurrency, "OneWinner", oneWinner},
		{Concurrency, "Appends", appendsAtOnce},
		{Concurrency, "Siblings", siblingsAtOnce},
		{Concurrency, "ReadersSeeWholeChanges", readersSeeWholeChanges},
		{Concurrency, "ReadersBesidePuts", readersBesidePuts},
	}
}

const callers = 64

// atOnce runs n callers that begin together, and returns what each got.
func atOnce[T any](n int, call func(i int) T) []T {
	out := make([]T, n)
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		wg.Go(func() {
			<-start
			out[i] = call(i)
		})
	}
	close(start)
	wg.Wait()
	return out
}

type outcome struct {
	*chainstore.Committed
	err error
}

func (f *fixture) tryAtOnce(n int, change func(i int) *chainstore.Change) []outcome {
	changes := make([]*chainstore.Change, n)
	for i := range changes {
		changes[i] = change(i)
	}
	return atOnce(n, func(i int) outcome {
		out, err := f.store.Commit(f.ctx(), f.ns, changes[i])
		return outcome{out, err}
	})
}

func sameNodeAtOnce(f *fixture) {
	base := f.put(root(system("s")))
	n := under(byID(base), user("the same"))
	created, changed := 0, 0
	for _, o := range f.tryAtOnce(callers, func(int) *chainstore.Change {
		return f.change([]Node{n}, set("one", 0, mustNotExist()))
	}) {
		f.ok(o.err)
		equal(f, "the id", o.Nodes[0].ID, f.idOf(n, &base))
		equal(f, "the nodes", o.Nodes[0].Full.Nodes, 2)
		if o.Nodes[0].Created {
			created++
		}
		if o.Aliases[0].Changed {
			changed++
		}
	}
	equal(f, "how many created it", created, 1)
	equal(f, "how many set the alias", changed, 1)
	st, err := f.store.Stats(f.ctx(), f.ns)
	f.ok(err)
	equal(f, "the nodes", st.Nodes, 2)
	equal(f, "the forks", st.Forks, 0)
	f.clean()
}

// sameChainAtOnce: callers put ever longer beginnings of one chain.
func sameChainAtOnce(f *fixture) {
	var nodes []Node
	for i := range 16 {
		nodes = append(nodes, numbered(previous(), i))
	}
	nodes[0].Parent = chainstore.Parent{}
	created := map[chainstore.ID]int{}
	for _, o := range f.tryAtOnce(callers, func(i int) *chainstore.Change { return f.change(nodes[:1+i%16]) }) {
		f.ok(o.err)
		for _, n := range o.Nodes {
			if n.Created {
				created[n.ID]++
			}
		}
	}
	equal(f, "the nodes created", len(created), 16)
	for _, n := range created {
		equal(f, "how many created it", n, 1)
	}
	st, err := f.store.Stats(f.ctx(), f.ns)
	f.ok(err)
	equal(f, "the forks", st.Forks, 0)
	f.clean()
}

// badAmongGood: bad changes fail each for its own reason, good ones beside them succeed.
func badAmongGood(f *fixture) {
	base := f.put(root(system("s")), set("base", 0, anything()))
	for round := range 3 {
		outcomes := f.tryAtOnce(callers, func(i int) *chainstore.Change {
			text := user(fmt.Sprintf("%d of %d", i, round))
			switch i % 8 {
			case 1:
				return f.change([]Node{under(byID(unknownID(1)), text)})
			case 3:
				return f.change([]Node{under(byID(base), text)}, set("base", 0, mustNotExist()))
			case 5:
				return f.change(tooManyCalls(byID(base)))
			case 7:
				return f.change(nil, point(fmt.Sprint("bad/", i), unknownID(1), anything()))
			default:
				return f.change([]Node{under(byID(base), text)}, set(fmt.Sprintf("good/%d/%d", round, i), 0, mustNotExist()))
			}
		})
		for i, o := range outcomes {
			switch i % 8 {
			case 1:
				f.fails(o.err, chainstore.ErrParentNotFound)
			case 3:
				f.conflicts(o.err, chainstore.ErrAliasExists, chainstore.Conflict{Kind: chainstore.MustNotExist, Exists: true, Node: base})
			case 5:
				f.fails(o.err, chainstore.ErrGroupTooLarge)
			case 7:
				f.fails(o.err, chainstore.ErrNodeNotFound)
			default:
				f.ok(o.err)
				f.points(fmt.Sprintf("good/%d/%d", round, i), o.Nodes[0].ID)
			}
		}
	}
	st, err := f.store.Stats(f.ctx(), f.ns)
	f.ok(err)
	equal(f, "the nodes", st.Nodes, 1+3*callers/2)
	equal(f, "the aliases", st.Aliases, 1+3*callers/2)
	f.clean()
}

// oneWinner: of many who move an alias from the same head one wins, and the others learn where it points.
func oneWinner(f *fixture) {
	head := f.put(root(system("s")), set("chat", 0, anything()))
	for round := range 5 {
		won := head
		outcomes := f.tryAtOnce(callers, func(i int) *chainstore.Change {
			return f.change([]Node{under(byAlias("chat"), user(fmt.Sprintf("%d of %d", i, round)))}, set("chat", 0, headIs(head)))
		})
		for _, o := range outcomes {
			if o.err == nil {
				equal(f, "the winner before this one", won, head)
				won = o.Nodes[0].ID
			}
		}
		for _, o := range outcomes {
			if o.err != nil {
				f.conflicts(o.err, chainstore.ErrAliasMoved, chainstore.Conflict{Kind: chainstore.HeadIs, Exists: true, Node: won})
			}
		}
		head = won
		f.points("chat", head)
		equal(f, "the length", len(f.all(aliasRef("chat"))), round+2)
	}
	st, err := f.store.Stats(f.ctx(), f.ns)
	f.ok(err)
	equal(f, "the nodes", st.Nodes, 6)
	f.clean()
}

// appendsAtOnce: unconditional appends to an alias come one after the other, none lost.
func appendsAtOnce(f *fixture) {
	f.put(root(system("s")), set("chat", 0, anything()))
	ids := map[chainstore.ID]bool{}
	for _, o := range f.tryAtOnce(callers, func(i int) *chainstore.Change {
		return f.change([]Node{under(byAlias("chat"), user(fmt.Sprint(i)))}, set("chat", 0, anything()))
	}) {
		f.ok(o.err)
		ids[o.Nodes[0].ID] = true
	}
	rows := f.all(aliasRef("chat"))
	equal(f, "the length", len(rows), callers+1)
	for _, r := range rows[1:] {
		equal(f, "that an append is on the chain", ids[r.header.ID], true)
	}
	equal(f, "the states", len(f.states("chat")), callers+1)
	f.clean()
}

func siblingsAtOnce(f *fixture) {
	base := f.put(root(system("s")))
	ids := map[chainstore.ID]bool{}
	for _, o := range f.tryAtOnce(callers, func(i int) *chainstore.Change {
		return f.change([]Node{under(byID(base), user(fmt.Sprint(i))), under(previous(), user("below"))})
	}) {
		f.ok(o.err)
		ids[o.Nodes[0].ID] = true
		rows := f.all(idRef(o.Nodes[1].ID))
		equalSlices(f, "the path", idsOf(rows), []chainstore.ID{base, o.Nodes[0].ID, o.Nodes[1].ID})
	}
	children, err := f.store.Children(f.ctx(), f.ns, idRef(base), nil, 1000)
	f.ok(err)
	equal(f, "the children", len(children), callers)
	for _, h := range children {
		equal(f, "that a child was put", ids[h.ID], true)
		delete(ids, h.ID)
	}
	f.clean()
}

// readersSeeWholeChanges: while writers move two aliases together, readers see them together, and whole chains that
// never get shorter.
func readersSeeWholeChanges(f *fixture) {
	head := f.put(root(system("s")), set("p/a", 0, anything()), set("p/b", 0, anything()))
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			last := uint32(0)
			for stop := false; !stop; {
				select {
				case <-done:
					stop = true
				default:
				}
				if err := f.readWhole(&last); err != nil {
					f.Error(err)
					return
				}
			}
		})
	}
	for i := range 200 {
		head = f.put(numbered(byID(head), i), set("p/a", 0, headIs(head)), set("p/b", 0, headIs(head)))
	}
	close(done)
	readers.Wait()
	equal(f, "the length", len(f.all(aliasRef("p/a"))), 201)
}

func (f *fixture) readWhole(last *uint32) error {
	page, _, err := f.store.Aliases(f.ctx(), f.ns, chainstore.AliasQuery{Prefix: "p/", Limit: 10})
	if err != nil {
		return err
	}
	if len(page) == 2 && page[0].Node != page[1].Node {
		return errors.New("half a change was seen")
	}
	c, names, _, err := f.store.ChainNamed(f.ctx(), f.ns, aliasRef("p/a"), 10)
	if err != nil {
		return err
	}
	if !slices.Equal(names, []string{"p/a", "p/b"}) {
		return fmt.Errorf("the head of an alias has the aliases %q", names)
	}
	seq := c.Head().Seq
	if seq < *last {
		return fmt.Errorf("the chain went back from %d to %d", *last, seq)
	}
	from := *last
	*last = seq
	var ended chainstore.ID
	rows := uint32(0)
	err = c.Rows(f.ctx(), []chainstore.Span{{From: from, Through: seq}}, func(r *chainstore.Row) error {
		ended = r.Raw.ID()
		rows++
		return nil
	})
	if err == nil && (ended != c.Head().ID || rows != seq-from+1) {
		err = fmt.Errorf("%d rows of %d, or another head", rows, seq-from+1)
	}
	return err
}

// readersBesidePuts: who asks for a node by its id while it is put finds nothing, or all that was put with it; never a corrupt node.
func readersBesidePuts(f *fixture) {
	var next atomic.Pointer[chainstore.ID]
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 6 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if id := next.Load(); id != nil {
					if err := f.readPut(*id); err != nil {
						f.Error(err)
						return
					}
				}
			}
		})
	}
	for i := range 400 {
		text := fmt.Sprint("put beside readers ", i)
		change := f.change([]Node{root(calling("tool", text)), under(previous(), user("a child"))})
		id := change.Nodes[0].Identify(nil)
		next.Store(&id)
		_, err := f.store.Commit(f.ctx(), f.ns, change)
		f.ok(err)
	}
	close(done)
	readers.Wait()
}

// readPut reads what readersBesidePuts puts with a node.
func (f *fixture) readPut(id chainstore.ID) error {
	children, err := f.store.Children(f.ctx(), f.ns, idRef(id), nil, 10)
	if errors.Is(err, chainstore.ErrNodeNotFound) {
		return nil
	}
	if err == nil && len(children) != 1 {
		err = errors.New("half a change was seen")
	}
	if err != nil {
		return fmt.Errorf("a node's children beside its put: %w", err)
	}
	for _, head := range []chainstore.ID{id, children[0].ID} {
		if _, err := f.store.Chain(f.ctx(), f.ns, idRef(head), &id); err != nil {
			return fmt.Errorf("the chain to a node, or its child, beside its put: %w", err)
		}
	}
	return nil
}
