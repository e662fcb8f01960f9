package badgerstore

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// TestParentsAreReadAhead: what the committer needs of a parent that it does not keep is there once the caller has read it: where
// it lies, its header, its lineage and its tables, so that the committer only asks whether the parent was continued.
func TestParentsAreReadAhead(t *testing.T) {
	dir := t.TempDir()
	s := openAt(t, dir, Options{})
	first := put(t, s, node(nil, "root"))
	root := first[0].ID
	end := put(t, s, turnOf(root, "three", "four"))[0].ID
	fork := put(t, s, node(&root, "a fork"))[0].ID
	point(t, s, "default", "a", &end)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, parent := range []chainstore.Parent{
		{Kind: chainstore.ParentID, ID: end}, {Kind: chainstore.ParentID, ID: fork}, {Kind: chainstore.ParentAlias, Alias: "a"},
	} {
		s = openAt(t, dir, Options{})
		put(t, s, node(nil, fmt.Sprint("learns the namespace's number before ", parent)))
		child := turnOf(chainstore.ID{}, "five", "six")
		child.Parent = parent
		change := &chainstore.Change{Nodes: []chainstore.NewNode{child}}
		s.readAhead(t.Context(), "default", change)
		before, _, _ := s.Reads()
		s.readAhead(t.Context(), "default", change)
		if again, _, _ := s.Reads(); again != before {
			t.Errorf("%+v: what is there is read ahead again, with %d gets", parent, again-before)
		}
		want := end
		if parent.Kind == chainstore.ParentID {
			want = parent.ID
		}
		key := nodeKey{firstNamespace, want}
		if n := s.committer.nodes.get(key); n == nil || n.lineage == nil || n.end || n.tools.Present != (n.toolTable != nil) {
			t.Errorf("%+v: what is known of it: %+v", parent, n)
		}
		before, _, _ = s.Reads()
		if _, err := s.Commit(t.Context(), "default", change); err != nil {
			t.Fatal(err)
		}
		after, _, _ := s.Reads()
		limit := uint64(3) // whether the node is there, and whether its parent was continued; the namespace's counters
		if parent.Kind == chainstore.ParentAlias {
			limit++ // the alias
		}
		if after-before > limit {
			t.Errorf("%+v: the commit asks for %d keys", parent, after-before)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCallsAreFoundAhead: what callers found out about the calls of ancestors is all that is asked, and right: of a parent that is
// read, of one that is kept, and not where an alias that names the parent was moved since.
func TestCallsAreFoundAhead(t *testing.T) {
	dir := t.TempDir()
	s := openAt(t, dir, Options{})
	root := put(t, s, callNode(nil, ids("root", 1)))[0].ID
	left := put(t, s, callNode(&root, ids("left", 1)))[0].ID
	right := put(t, s, callNode(&root, ids("right", 1)))[0].ID
	point(t, s, testNamespace, "a", &left)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openAt(t, dir, Options{})
	put(t, s, node(nil, "learns the namespace's number"))
	asked := append(ids("root", 1), append(ids("left", 1), append(ids("right", 1), "new")...)...)
	for round := range 2 {
		in := callNode(&right, []string{fmt.Sprint("first of round ", round)}, asked)
		change := &chainstore.Change{Nodes: []chainstore.NewNode{in}}
		found := s.readAhead(t.Context(), testNamespace, change) // and reads the parent
		once := s.cost(func() { s.readAhead(t.Context(), testNamespace, change) })
		calls := found[&change.Nodes[0]]
		if calls == nil {
			t.Fatalf("round %d: nothing was found out", round)
		}
		for id, want := range map[string]bool{"root 0": true, "right 0": true, "left 0": false, "new": false} {
			if calls.called[callHash(runloop.Some(id))] != want {
				t.Errorf("round %d: is %q called: %v", round, id, !want)
			}
		}
		var out *chainstore.Committed
		whole := s.cost(func() {
			var err error
			if out, err = s.Commit(t.Context(), testNamespace, change); err != nil {
				t.Fatal(err)
			}
		})
		if whole.seeks != once.seeks {
			t.Errorf("round %d: %d seeks, %d of them ahead", round, whole.seeks, once.seeks)
		}
		var again int
		for _, m := range headerOf(t, s, out.Nodes[0].ID).Messages {
			again += m.Mark.RepeatedIDs
		}
		if again != 2 {
			t.Errorf("round %d: %d repeated ids", round, again)
		}
	}

	byAlias := callNode(&left, ids("left", 1))
	byAlias.Parent = chainstore.Parent{Kind: chainstore.ParentAlias, Alias: "a"}
	late := queuedNodes(testNamespace, byAlias)
	late.ahead = s.readAhead(t.Context(), testNamespace, late.change)
	if calls := late.ahead[&late.change.Nodes[0]]; calls == nil || !calls.called[callHash(runloop.Some("left 0"))] {
		t.Errorf("by alias: %+v", calls)
	}
	other := put(t, s, callNode(&right, []string{"other"}))[0].ID
	point(t, s, testNamespace, "a", &other)
	together(s, late)
	if late.err != nil {
		t.Fatal(late.err)
	}
	chain, err := s.Chain(t.Context(), testNamespace, chainstore.Ref{ID: late.committed.Nodes[0].ID}, &other)
	if err != nil || chain.After()+1 != chain.Head().Seq {
		t.Errorf("it is not where the alias pointed when it was put: %v", err)
	}
	if got := headerOf(t, s, late.committed.Nodes[0].ID).Messages[1].Mark.RepeatedIDs; got != 0 {
		t.Errorf("behind where the alias pointed before: %d repeated ids", got)
	}
	mustBeClean(t, s)
}

// TestReadAheadSeesWhatReadersSee: while a batch is durable and not to be seen yet, nothing is found out of its nodes; not even that
// their calls are not there.
func TestReadAheadSeesWhatReadersSee(t *testing.T) {
	s := openStore(t, Options{})
	root := put(t, s, callNode(nil, ids("root", 1)))[0].ID
	parent := callNode(&root, []string{"x"}, []string{"y"})
	id := parent.Identify(&root)
	late := queuedNodes(testNamespace, callNode(&id, []string{"x"}))
	seen := s.reads.last()
	s.aliases.mu.Lock() // which the committer needs before it publishes
	goOn := sync.OnceFunc(s.aliases.mu.Unlock)
	t.Cleanup(goOn)
	var putting sync.WaitGroup
	putting.Go(func() { put(t, s, parent) })
	waitFor(t, func() bool { return s.committer.calls.mayHave(segmentOf{firstNamespace, 1}, "x") })
	late.ahead = s.readAhead(t.Context(), testNamespace, late.change)
	if late.ahead != nil || s.reads.last() != seen {
		t.Errorf("found out %v; readers see %d, before %d", late.ahead, s.reads.last(), seen)
	}
	goOn()
	putting.Wait()
	together(s, late)
	if late.err != nil {
		t.Fatal(late.err)
	}
	if got := headerOf(t, s, late.committed.Nodes[0].ID).Messages[1].Mark.RepeatedIDs; got != 1 {
		t.Errorf("%d repeated ids", got)
	}
	mustBeClean(t, s)
}

func (c *callCache) mayHave(in segmentOf, id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	kept := c.segments.get(in)
	return kept != nil && kept.mayHave(callHash(runloop.Some(id)))
}

// TestOrderOfBecomingKnown: what is kept of calls and aliases knows a batch before readers see it, and its nodes are kept after that.
func TestOrderOfBecomingKnown(t *testing.T) {
	s := openStore(t, Options{})
	root := put(t, s, callNode(nil, ids("root", 1)))[0].ID
	put(t, s, callNode(&root, ids("continues it", 1)))
	for _, c := range []struct {
		held  sync.Locker
		known func(ts uint64) bool
	}{
		{&s.committer.nodes.mu, func(ts uint64) bool { return s.reads.last() == ts }},
		{&s.reads.mu, func(ts uint64) bool {
			s.aliases.mu.Lock()
			defer s.aliases.mu.Unlock()
			return s.aliases.told == ts && s.committer.calls.keeps(segmentOf{firstNamespace, 3})
		}},
	} {
		ts := s.reads.last() + 1
		goOn := sync.OnceFunc(c.held.Unlock)
		t.Cleanup(goOn)
		durable := s.committer.durable // the committer has nothing to do, so it does not look at it
		s.committer.durable = func(writes map[string]write, ts uint64) error {
			err := durable(writes, ts)
			c.held.Lock()
			return err
		}
		var putting sync.WaitGroup
		putting.Go(func() { together(s, queuedNodes(testNamespace, callNode(&root, ids(fmt.Sprint("at ", ts), 1)))) })
		waitFor(t, func() bool { return c.known(ts) })
		goOn()
		putting.Wait()
		s.committer.durable = durable
	}
	mustBeClean(t, s)
}

// TestRepeatsAskForNothing: a put that is repeated is found in memory, though its calls are known.
func TestRepeatsAskForNothing(t *testing.T) {
	s := openStore(t, Options{})
	root := put(t, s, callNode(nil, ids("root", 1)))[0].ID
	again := callNode(&root, ids("again", 2))
	put(t, s, again)
	if cost := s.cost(func() { put(t, s, again) }); cost.seeks != 0 || cost.gets > 1 {
		t.Errorf("%+v", cost)
	}
}

// TestReadAheadReadsNothingInVain: parents that are not there, and those of the change itself, are the committer's to judge.
func TestReadAheadReadsNothingInVain(t *testing.T) {
	s := openStore(t, Options{})
	put(t, s, node(nil, "root"))
	put(t, s, node(nil, "learns the namespace's number"))
	nobody := chainstore.ID{1}
	before := s.committer.nodes.size()
	change := &chainstore.Change{Nodes: []chainstore.NewNode{
		node(nil, "another"), node(nil, "its child"), node(&nobody, "of nobody"), node(nil, "behind no alias"),
	}}
	change.Nodes[1].Parent = previous()
	change.Nodes[3].Parent = chainstore.Parent{Kind: chainstore.ParentAlias, Alias: "none"}
	cost := s.cost(func() {
		if found := s.readAhead(t.Context(), testNamespace, change); found != nil {
			t.Errorf("found out %v", found)
		}
	})
	if cost.gets == 0 {
		t.Error("nothing was looked for")
	}
	s.readAhead(t.Context(), "of nobody", change)
	if s.committer.nodes.size() != before {
		t.Error("something is kept of what is not there")
	}
}

// TestPutsBehindAnAliasReadNothing: who appends by an alias that is moved with each put finds all in memory.
func TestPutsBehindAnAliasReadNothing(t *testing.T) {
	s := openStore(t, Options{})
	end := put(t, s, callNode(nil, ids("root", 1)))[0].ID
	point(t, s, testNamespace, "a", &end)
	for i := range 4 {
		n := callNode(&end, ids(fmt.Sprint("call ", i), 2))
		n.Parent = chainstore.Parent{Kind: chainstore.ParentAlias, Alias: "a"}
		change := &chainstore.Change{
			Nodes:   []chainstore.NewNode{n},
			Aliases: []chainstore.AliasChange{{Name: "a", Target: chainstore.Target{Kind: chainstore.TargetNew}}},
		}
		cost := s.cost(func() { s.readAhead(t.Context(), testNamespace, change) })
		if i > 0 && cost != (cost4{}) {
			t.Errorf("put %d: %+v", i, cost)
		}
		if _, err := s.Commit(t.Context(), testNamespace, change); err != nil {
			t.Fatal(err)
		}
	}
	mustBeClean(t, s)
}

// TestReadAheadBesideCommits: chains grow, by ids and aliases, and are forked from by many callers whose parents are pushed out of
// the committer's cache all the time: each node gets a place of its own, behind its parent.
func TestReadAheadBesideCommits(t *testing.T) {
	s := openStore(t, Options{CacheBytes: 256 << 10}) // for some ten nodes
	const chats, callers, puts = 60, 8, 250
	root := put(t, s, node(nil, "of all"))[0].ID
	var mu sync.Mutex
	ends, parents := make([]chainstore.ID, chats), map[chainstore.ID]chainstore.ID{}
	for i := range ends {
		ends[i] = put(t, s, node(&root, fmt.Sprint("chat ", i)))[0].ID
		point(t, s, "default", fmt.Sprint(i), &ends[i])
	}
	var running sync.WaitGroup
	for caller := range callers {
		running.Go(func() {
			random := rand.New(rand.NewPCG(4, uint64(caller)))
			for k := range puts {
				chat := random.IntN(chats)
				mu.Lock()
				parent := ends[chat]
				mu.Unlock()
				n := turnOf(parent, fmt.Sprint(caller, " ", k), "used again")
				change := &chainstore.Change{Nodes: []chainstore.NewNode{n}}
				if k%3 == 0 { // where the alias is by now
					change.Nodes[0].Parent = chainstore.Parent{Kind: chainstore.ParentAlias, Alias: fmt.Sprint(chat)}
					change.Aliases = []chainstore.AliasChange{{Name: fmt.Sprint(chat), Target: chainstore.Target{Kind: chainstore.TargetNew}}}
				}
				out, err := s.Commit(t.Context(), "default", change)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				ends[chat] = out.Nodes[0].ID
				if k%3 != 0 {
					parents[out.Nodes[0].ID] = parent
				}
				mu.Unlock()
			}
		})
	}
	running.Wait()
	if t.Failed() {
		return
	}
	if misses := s.committer.nodes.misses.Load(); misses < callers*puts/4 {
		t.Errorf("only %d nodes were not kept", misses)
	}
	for id, parent := range parents {
		chain, err := s.Chain(t.Context(), "default", chainstore.Ref{ID: id}, &parent)
		if err != nil || chain.After()+1 != chain.Head().Seq {
			t.Fatalf("a node is not behind its parent: %v", err)
		}
	}
	mustBeClean(t, s)
}

// TestCallersReadAhead: a put's parent is read while the committer is busy with another change.
func TestCallersReadAhead(t *testing.T) {
	s, root := openCold(t)
	busy, goOn := make(chan struct{}), make(chan struct{})
	release := sync.OnceFunc(func() { close(goOn) })
	t.Cleanup(release)
	first := sync.OnceFunc(func() { close(busy); <-goOn })
	durable := s.committer.durable
	s.committer.durable = func(writes map[string]write, ts uint64) error {
		first()
		return durable(writes, ts)
	}
	chainOf(t, s, root) // learns the number of the namespace
	var puts sync.WaitGroup
	for _, n := range []chainstore.NewNode{node(nil, "another"), node(&root, "a child")} {
		puts.Go(func() { put(t, s, n) })
		<-busy
	}
	waitFor(t, func() bool { return s.committer.nodes.look(nodeKey{firstNamespace, root}) != nil })
	release()
	puts.Wait()
	mustBeClean(t, s)
}
