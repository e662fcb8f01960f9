package badgerstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/commit"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
	"github.com/transcriptd/transcriptd/chainstore/storetest"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

const (
	// grace is one that what was put a moment ago is within, and aged behind it.
	grace = 1000
	aged  = (grace + chainstore.RenewAfter + 1) * time.Millisecond
)

// clockAt is a clock that is set ahead, and options of a store that has it.
func clockAt(o Options) (ahead *atomic.Int64, with Options) {
	ahead = &atomic.Int64{}
	begin := time.UnixMilli(1_700_000_000_000)
	o.Now = func() time.Time { return begin.Add(time.Duration(ahead.Load())) }
	return ahead, o
}

// collected is what a collection tells at last.
func collected(tb testing.TB, s *Store, c chainstore.Collection, report func(chainstore.Collected)) (last chainstore.Collected) {
	tb.Helper()
	err := s.Collect(context.Background(), testNamespace, c, func(told chainstore.Collected) error {
		if last = told; report != nil {
			report(told)
		}
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	return last
}

// once runs f once.
func once(phase chainstore.CollectPhase, f func()) func(chainstore.Collected) {
	var first sync.Once
	return func(told chainstore.Collected) {
		if told.Phase == phase {
			first.Do(f)
		}
	}
}

// forgetAlias deletes an alias with its history.
func forgetAlias(name string) chainstore.AliasChange {
	change := deleteAlias(name)
	change.Forget = true
	return change
}

// deleteAlias deletes an alias.
func deleteAlias(name string) chainstore.AliasChange {
	return pointTo(name, nil).Aliases[0]
}

// An alias that is deleted with its history while a collection runs, and set and deleted again, keeps its new states, though an old one that
// nobody was told of had their number.
func TestCollectBesideAnAliasThatBeginsAnew(t *testing.T) {
	ahead, o := clockAt(Options{})
	s := openStore(t, o)
	x, y, z := put(t, s, node(nil, "x"))[0].ID, put(t, s, node(nil, "y"))[0].ID, put(t, s, node(nil, "z"))[0].ID
	commitAliases(t, s, setAlias("a", x, chainstore.Condition{}))
	commitAliases(t, s, setAlias("a", y, chainstore.Condition{}))
	ahead.Add(int64((chainstore.MaxHistoryAge + 1) * time.Millisecond))

	durable, entered, next := s.committer.Durable, make(chan struct{}, 100), make(chan struct{})
	var work sync.WaitGroup
	told := collected(t, s, chainstore.Collection{}, once(chainstore.CollectMarking, func() {
		s.committer.Durable = func(writes map[string]commit.Write, ts uint64) error { // nothing is being committed
			entered <- struct{}{}
			<-next
			return durable(writes, ts)
		}
		work.Go(func() { put(t, s, node(nil, "meanwhile")) })
		<-entered
		for i, change := range []chainstore.AliasChange{forgetAlias("a"), setAlias("a", z, chainstore.Condition{}), deleteAlias("a")} {
			work.Go(func() { commitAliases(t, s, change) })
			waitFor(t, func() bool { return queueLength(s) == i+1 })
		}
		work.Go(func() { // behind them comes what the collection deletes
			waitFor(t, func() bool { return queueLength(s) == 4 })
			close(next)
		})
	}))
	work.Wait()
	if told.States != 0 {
		t.Errorf("%d states are told to be deleted, of an alias that has others", told.States)
	}
	var deleted *chainstore.DeletedError
	if _, err := s.Alias(t.Context(), testNamespace, "a"); !errors.As(err, &deleted) || deleted.Head != z {
		t.Errorf("the alias: %v", err)
	}
	if states, err := s.AliasHistory(t.Context(), testNamespace, "a"); err != nil || len(states) != 2 || states[1].Node != z {
		t.Errorf("its history: %+v, %v", states, err)
	}
	mustBeClean(t, s)
}

// A collection that is given up waits for its last commit before it lets anybody hold the store, and knows what that deleted.
func TestHoldBehindACollectionThatIsGivenUp(t *testing.T) {
	ahead, o := clockAt(Options{})
	s := openStore(t, o)
	put(t, s, node(nil, "dead"))
	ahead.Add(int64(aged))
	ctx, leave := context.WithCancel(t.Context())
	durable := s.committer.Durable
	var done atomic.Bool
	held := make(chan bool, 1)
	err := s.Collect(ctx, testNamespace, chainstore.Collection{}, func(told chainstore.Collected) error {
		if told.Phase != chainstore.CollectSweeping {
			return nil
		}
		s.committer.Durable = func(writes map[string]commit.Write, ts uint64) error {
			s.committer.Durable = durable
			go func() {
				release, err := s.Hold(context.Background())
				if err == nil {
					release()
				}
				held <- done.Load() && err == nil
			}()
			leave()
			for range 50 { // it would be held by then
				if len(held) > 0 {
					break
				}
				time.Sleep(time.Millisecond) // polls
			}
			done.Store(true)
			return durable(writes, ts)
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
	if !<-held {
		t.Error("the store was held while a commit that deletes was under way")
	}
	mustBeClean(t, s)
}

// Restore finds no node that is deleted while it waits, also where it looked before the deletion could be seen.
func TestRestoreBesideASweep(t *testing.T) {
	ahead, o := clockAt(Options{})
	s := openStore(t, o)
	id := put(t, s, node(nil, "dead"))[0].ID
	ahead.Add(int64(aged))
	durable := s.committer.Durable
	restored := make(chan error, 1)
	collected(t, s, chainstore.Collection{}, once(chainstore.CollectSweeping, func() {
		s.committer.Durable = func(writes map[string]commit.Write, ts uint64) error {
			s.committer.Durable = durable
			go func() {
				_, err := s.Restore(context.Background(), testNamespace, &chainstore.Restored{Aliases: []chainstore.ExportedAlias{
					{Name: "a", Revision: 1, States: []chainstore.AliasState{{Revision: 1, Node: id, At: 1}}},
				}})
				restored <- err
			}()
			waitFor(t, func() bool { return queueLength(s) == 1 })
			return durable(writes, ts)
		}
	}))
	if err := <-restored; !errors.Is(err, chainstore.ErrNodeNotFound) {
		t.Errorf("error is %v", err)
	}
	mustBeClean(t, s)
}

// Spawners of so many that a commit does not take all links, one alone and some together, are deleted nevertheless.
func TestCollectOfSpawnersOfVeryMany(t *testing.T) {
	ahead, o := clockAt(Options{MemtableBytes: 4 << 20})
	s := openStore(t, o)
	_, most := s.source.DB.MaxCommit()
	const some = layout.MaxAdopted - 1
	big := put(t, s, node(nil, "of very many"))[0].ID
	var spawners []chainstore.ID
	for i := range int(most)/some + 1 {
		spawners = append(spawners, put(t, s, node(nil, fmt.Sprint("of some ", i)))[0].ID)
	}
	ahead.Add(int64(aged))
	children := 0
	spawn := func(by chainstore.ID, n int) {
		for n > 0 {
			var nodes []chainstore.NewNode
			for range min(n, 1000) {
				nodes = append(nodes, spawnedNode(fmt.Sprint(children), by))
				children++
			}
			n -= len(nodes)
			put(t, s, nodes...)
		}
	}
	spawn(big, int(most)+1)
	for _, id := range spawners {
		spawn(id, some)
	}
	told := collected(t, s, chainstore.Collection{Grace: grace}, nil)
	if want := int64(1 + len(spawners)); told.Nodes != want {
		t.Errorf("%d nodes were deleted, want %d", told.Nodes, want)
	}
	if c := storedCounters(t, s); c.Awaited != uint64(children) {
		t.Errorf("%d of %d nodes wait for their spawner", c.Awaited, children)
	}
	mustBeClean(t, s)
}

// A spawner of very many that is named while it is made small enough for a commit stays, with the links of the first ones; with all where it is named
// before.
func TestCollectOfASpawnerThatIsNamed(t *testing.T) {
	const n = layout.MaxAdopted + 10
	for name, waits := range map[string]uint64{"meanwhile": n - layout.MaxAdopted, "before": 0} {
		t.Run(name, func(t *testing.T) {
			ahead, o := clockAt(Options{})
			s := openStore(t, o)
			spawner := put(t, s, node(nil, "spawner"))[0].ID
			ahead.Add(int64(aged))
			var nodes []chainstore.NewNode
			for i := range n {
				nodes = append(nodes, spawnedNode(fmt.Sprint(i), spawner))
			}
			children := put(t, s, nodes...)
			durable := s.committer.Durable
			var work sync.WaitGroup
			told := collected(t, s, chainstore.Collection{Grace: grace}, once(chainstore.CollectSweeping, func() {
				if waits == 0 {
					commitAliases(t, s, setAlias("a", spawner, chainstore.Condition{}))
					return
				}
				s.committer.Durable = func(writes map[string]commit.Write, ts uint64) error {
					s.committer.Durable = durable
					work.Go(func() { commitAliases(t, s, setAlias("a", spawner, chainstore.Condition{})) })
					waitFor(t, func() bool { return queueLength(s) == 1 })
					return durable(writes, ts)
				}
			}))
			work.Wait()
			if c := storedCounters(t, s); told.Nodes != 0 || c.Awaited != waits {
				t.Errorf("%d nodes were deleted, %d wait for their spawner, want %d", told.Nodes, c.Awaited, waits)
			}
			c, err := s.Chain(t.Context(), testNamespace, chainstore.Ref{ID: spawner}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if found, more, err := c.Spawned(t.Context(), 1); err != nil || !more || len(found) != 1 || found[0].ID != children[0].ID {
				t.Errorf("it finds %d, that there are more: %v; error %v", len(found), more, err)
			}
			mustBeClean(t, s)
		})
	}
}

// What a collection reads grows with what it deletes: also of one spawner, in a dry run, and where segments are empty.
func TestReadsOfACollection(t *testing.T) {
	ahead, o := clockAt(Options{})
	s := openStore(t, o)
	spawner := node(nil, "never put").Identify(nil)
	const n = 3000
	var nodes []chainstore.NewNode
	for i := range n {
		nodes = append(nodes, spawnedNode(fmt.Sprint(i), spawner))
	}
	put(t, s, nodes...)
	ahead.Add(int64(aged))
	reads := func(c chainstore.Collection, want int64) (seeks, nexts uint64) {
		t.Helper()
		before := s.Metrics()
		if told := collected(t, s, c, nil); told.Nodes != want {
			t.Errorf("%d nodes, want %d", told.Nodes, want)
		}
		after := s.Metrics()
		return after.Seeks - before.Seeks, after.Nexts - before.Nexts
	}
	for _, c := range []chainstore.Collection{{DryRun: true}, {}} {
		if _, nexts := reads(c, n); nexts > 20*n {
			t.Errorf("%d steps for %d nodes: %+v", nexts, n, c)
		}
	}
	if seeks, _ := reads(chainstore.Collection{}, 0); seeks > 20 {
		t.Errorf("%d seeks for %d segments that are empty", seeks, n)
	}
}

// TestAStoreTellsOfForgetting: from the first name or node that is forgotten on, a program must know of that to open the store, and not before.
func TestAStoreTellsOfForgetting(t *testing.T) {
	for name, forget := range map[string]func(t *testing.T, s *Store, ahead *atomic.Int64){
		"a name": func(t *testing.T, s *Store, _ *atomic.Int64) { commitAliases(t, s, forgetAlias("a")) },
		"a name that is restored": func(t *testing.T, s *Store, _ *atomic.Int64) {
			if _, err := s.Restore(t.Context(), testNamespace, &chainstore.Restored{Aliases: []chainstore.ExportedAlias{
				{Name: "c", Revision: 7, States: []chainstore.AliasState{{Revision: 7, Deleted: true, At: 1}}},
			}}); err != nil {
				t.Fatal(err)
			}
		},
		"a node": func(t *testing.T, s *Store, ahead *atomic.Int64) {
			put(t, s, node(nil, "dead"))
			ahead.Add(int64(aged))
			collected(t, s, chainstore.Collection{}, nil)
		},
		"a past state": func(t *testing.T, s *Store, ahead *atomic.Int64) {
			ahead.Add(int64((chainstore.MaxHistoryAge + 1) * time.Millisecond))
			collected(t, s, chainstore.Collection{Grace: 2 * chainstore.MaxHistoryAge}, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			ahead, o := clockAt(Options{})
			s := openStore(t, o)
			x, y := put(t, s, node(nil, "x"))[0].ID, put(t, s, node(nil, "y"))[0].ID
			commitAliases(t, s, setAlias("a", x, chainstore.Condition{}), setAlias("b", x, chainstore.Condition{}))
			commitAliases(t, s, setAlias("a", y, chainstore.Condition{}), deleteAlias("b"))
			collected(t, s, chainstore.Collection{}, nil)
			if features := s.Info().Features; len(features) > 0 {
				t.Errorf("before anything is forgotten it has %q", features)
			}
			last := s.source.Versions.Last()
			forget(t, s, ahead)
			h, err := layout.ParseStoreHeader(allRows(t, s)[string(headerKey)])
			want := []string{"forgetting"}
			if err != nil || !slices.Equal(h.Required, want) || len(h.Optional) > 0 || !slices.Equal(s.Info().Features, want) {
				t.Errorf("it has %q, its header %+v, %v, in %d commits", s.Info().Features, h, err, s.source.Versions.Last()-last)
			}
			commitAliases(t, s, forgetAlias("a"))
			if again, err := layout.ParseStoreHeader(allRows(t, s)[string(headerKey)]); err != nil || !slices.Equal(again.Required, want) {
				t.Errorf("its header is then %+v, %v", again, err)
			}
			if found, _ := verifyStore(t, s); found != nil {
				t.Errorf("verify found %q", found)
			}
		})
	}
}

// TestCollectionsReportWithinASegment: to look for what is dead in a long segment takes several reads, and is reported.
func TestCollectionsReportWithinASegment(t *testing.T) {
	s := openAt(t, t.TempDir(), Options{})
	const nodes = 100
	out := put(t, s, node(nil, "0"))
	for i := range nodes - 1 {
		out = put(t, s, node(&out[0].ID, fmt.Sprint(i+1)))
	}
	var now time.Duration
	s.source.Clock = func() time.Duration {
		now += 400 * time.Millisecond
		return now
	}
	reports := 0
	err := s.Collect(t.Context(), testNamespace, chainstore.Collection{DryRun: true}, func(c chainstore.Collected) error {
		if c.Phase == chainstore.CollectSweeping && c.Nodes == 0 {
			reports++
		}
		if c.Phase == chainstore.CollectDone && c.Nodes != nodes {
			t.Errorf("%d nodes are dead, want %d", c.Nodes, nodes)
		}
		return nil
	})
	if err != nil || reports < nodes/10 {
		t.Errorf("%d reports over %d nodes: %v", reports, nodes, err)
	}
}

// TestCollectedPieces: of a node whose payload an erasure makes longer, and parts, between its read and its deletion, no piece stays.
func TestCollectedPieces(t *testing.T) {
	s := openStore(t, Options{})
	var made chainstore.NewNode
	for n := (storetest.Node{}); ; {
		for range 50 {
			n.Messages = append(n.Messages, storetest.Message{Role: runloop.User, Text: "x"})
		}
		next := storetest.Simple().Make(n)
		if len(next.Payload) > layout.MaxChunk {
			break
		}
		made = next
	}
	id := put(t, s, made)[0].ID
	if left := erasing(t, s, id); len(left.Payload) <= layout.MaxChunk {
		t.Fatalf("%d bytes become %d", len(made.Payload), len(left.Payload))
	}
	release, err := s.Hold(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var first sync.Once
	collected(t, s, chainstore.Collection{}, func(told chainstore.Collected) {
		if told.Phase == chainstore.CollectHeld {
			first.Do(func() {
				erase(t, s, id)
				release()
			})
		}
	})
	soundAll(t, s)
}

// TestCollectBesideADeletion: a collection whose namespace is deleted while it reads ends, and finds nothing wrong.
func TestCollectBesideADeletion(t *testing.T) {
	for last := range 6 {
		s := openStore(t, Options{})
		put(t, s, node(nil, "x"))
		var at time.Duration
		s.source.Clock = func() time.Duration { at += 1100 * time.Millisecond; return at }
		n := 0
		if err := s.Collect(t.Context(), testNamespace, chainstore.Collection{}, func(told chainstore.Collected) error {
			if told.Phase == chainstore.CollectSweeping {
				if n++; n == last {
					deleteWhole(t, s)
				}
			}
			return nil
		}); err != nil {
			t.Errorf("deleted at report %d: %v", last, err)
		}
	}
}
