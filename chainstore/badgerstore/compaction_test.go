package badgerstore

import (
	"bytes"
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
	"github.com/transcriptd/transcriptd/chainstore/memstore"
	"github.com/transcriptd/transcriptd/chainstore/storetest"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

func said(role runloop.Role, text string) storetest.Message {
	return storetest.Message{Role: role, Text: text}
}

// under makes a node of a message under what parent names.
func under(parent chainstore.Parent, messages ...storetest.Message) chainstore.NewNode {
	return storetest.Simple().Make(storetest.Node{Parent: parent, Messages: messages})
}

func byID(id chainstore.ID) chainstore.Parent {
	return chainstore.Parent{Kind: chainstore.ParentID, ID: id}
}

func byAlias(name string) chainstore.Parent {
	return chainstore.Parent{Kind: chainstore.ParentAlias, Alias: name}
}

func previous() chainstore.Parent { return chainstore.Parent{Kind: chainstore.ParentPrevious} }

// compacting makes a compaction node of which only the first message was put elsewhere.
func compacting(parent chainstore.Parent, covers chainstore.ID, messages ...storetest.Message) chainstore.NewNode {
	c := &chainstore.Compaction{Covers: covers, Provenance: make([]chainstore.Provenance, len(messages))}
	if len(messages) > 0 {
		c.Provenance[0] = chainstore.Provenance{Present: true, Place: runloop.Place{Index: 7}}
	}
	return storetest.Simple().Make(storetest.Node{Parent: parent, Messages: messages, Compaction: c})
}

// move sets an alias to a node of the change.
func move(name string, node int, c chainstore.Condition) chainstore.AliasChange {
	return chainstore.AliasChange{Name: name, Target: chainstore.Target{Node: node}, Condition: c}
}

// conversation puts a system message and loops of a question and an answer, each in a node of its own, and sets an alias
// to the end.
func conversation(tb testing.TB, s chainstore.Store, name string, loops int) (ids []chainstore.ID) {
	tb.Helper()
	var nodes []chainstore.NewNode
	flush := func(aliases ...chainstore.AliasChange) {
		out, err := s.Commit(context.Background(), testNamespace, &chainstore.Change{Nodes: nodes, Aliases: aliases})
		if err != nil {
			tb.Fatal(err)
		}
		for _, n := range out.Nodes {
			ids = append(ids, n.ID)
		}
		nodes = nodes[:0]
	}
	nodes = append(nodes, under(chainstore.Parent{}, said(runloop.System, name)))
	for i := range loops {
		for _, m := range []storetest.Message{said(runloop.User, fmt.Sprint("question ", i)), said(runloop.Assistant, fmt.Sprint("answer ", i))} {
			if len(nodes) == 500 {
				flush()
			}
			parent := previous()
			if len(nodes) == 0 {
				parent = byID(ids[len(ids)-1])
			}
			nodes = append(nodes, under(parent, m))
		}
	}
	flush(move(name, len(nodes)-1, chainstore.Condition{}))
	return ids
}

// overtaking is a change that is committed between the time that a compaction reads what it shows and its own commit.
type overtaking struct {
	// changes are made from the conversation.
	changes func(ids []chainstore.ID) []*chainstore.Change
	// covers is the index of the last node covered; unconditioned, that the alias is moved whatever became of it.
	covers        int
	unconditioned bool
	want          error
	// gets is the most that the committer may read in that time; 0: any.
	gets uint64
}

func appending(n int) func([]chainstore.ID) []*chainstore.Change {
	return func([]chainstore.ID) (all []*chainstore.Change) {
		for i := range n {
			all = append(all, &chainstore.Change{
				Nodes:   []chainstore.NewNode{under(byAlias("chat"), said(runloop.Assistant, fmt.Sprint("further ", i)))},
				Aliases: []chainstore.AliasChange{move("chat", 0, chainstore.Condition{})},
			})
		}
		return all
	}
}

// aFork is a long one that leaves the chain at node 4.
func aFork(ids []chainstore.ID) *chainstore.Change {
	c := &chainstore.Change{Nodes: []chainstore.NewNode{under(byID(ids[4]), said(runloop.User, "fork"))}}
	for i := range 4 * commit.MaxUnprepared {
		c.Nodes = append(c.Nodes, under(previous(), said(runloop.Assistant, fmt.Sprint("on the fork ", i))))
	}
	c.Aliases = []chainstore.AliasChange{move("fork", len(c.Nodes)-1, chainstore.Condition{})}
	return c
}

// forking moves the alias to the fork.
func forking([]chainstore.ID) []*chainstore.Change {
	target := chainstore.Target{Kind: chainstore.TargetRef, Ref: chainstore.Ref{Alias: "fork"}}
	return []*chainstore.Change{{Aliases: []chainstore.AliasChange{{Name: "chat", Target: target}}}}
}

// compactingAt appends a compaction node that covers node i.
func compactingAt(i int) func(ids []chainstore.ID) []*chainstore.Change {
	return func(ids []chainstore.ID) []*chainstore.Change {
		return []*chainstore.Change{{
			Nodes:   []chainstore.NewNode{compacting(byAlias("chat"), ids[i], said(runloop.User, "another compaction"))},
			Aliases: []chainstore.AliasChange{move("chat", 0, chainstore.Condition{})},
		}}
	}
}

// What comes between the reading of a compaction and its commit is part of what it shows, or keeps it from being put, as
// if nothing had been read before.
func TestCompactionIsOvertaken(t *testing.T) {
	const loops = 400
	for name, o := range map[string]overtaking{
		"by nothing":                      {covers: 4, gets: 40},
		"at the head by nothing":          {covers: 2 * loops, gets: 40},
		"by appends":                      {changes: appending(3), covers: 4, gets: 40},
		"at the head by appends":          {changes: appending(3), covers: 2 * loops, gets: 40},
		"by appends, and does not mind":   {changes: appending(3), covers: 4, unconditioned: true, gets: 40},
		"by a fork":                       {changes: forking, covers: 4, want: chainstore.ErrAliasMoved, gets: commit.MaxUnprepared + 60},
		"by a fork before what it covers": {changes: forking, covers: 6, want: chainstore.ErrNotAncestor},
		"by a fork, and does not mind":    {changes: forking, covers: 4, unconditioned: true, gets: commit.MaxUnprepared + 60},
		"by a compaction":                 {changes: compactingAt(4), covers: 6, want: chainstore.ErrAliasMoved},
		"by a compaction, and does not mind": {
			changes: compactingAt(4), covers: 6, unconditioned: true, gets: 60,
		},
		"by a compaction of more": {
			changes: compactingAt(8), covers: 6, unconditioned: true, want: chainstore.ErrAlreadyCovered,
		},
	} {
		t.Run(name, func(t *testing.T) { o.run(t, loops) })
	}
}

func (o *overtaking) run(t *testing.T, loops int) {
	var clock atomic.Int64
	clock.Store(1_790_000_000_000)
	now := func() time.Time { return time.UnixMilli(clock.Load()) }
	s, model := openStore(t, Options{Now: now}), memstore.New(memstore.Options{Now: now})
	ids := conversation(t, s, "chat", loops)
	conversation(t, model, "chat", loops)
	for _, store := range []chainstore.Store{s, model} {
		if _, err := store.Commit(context.Background(), testNamespace, aFork(ids)); err != nil {
			t.Fatal(err)
		}
	}
	condition := chainstore.Condition{Kind: chainstore.Extends, Head: ids[len(ids)-1]}
	if o.unconditioned {
		condition = chainstore.Condition{}
	}
	change := &chainstore.Change{
		Nodes: []chainstore.NewNode{
			compacting(byAlias("chat"), ids[o.covers], said(runloop.User, "question"), said(runloop.Assistant, "reply")),
		},
		Aliases: []chainstore.AliasChange{move("chat", 0, condition)},
	}
	var between []*chainstore.Change
	if o.changes != nil {
		between = o.changes(ids)
	}
	entered, release := blocked(t, s)
	var wg sync.WaitGroup
	wg.Go(func() { put(t, s, node(nil, "hold")) })
	<-entered
	for i, c := range between {
		wg.Go(func() {
			if _, err := s.Commit(context.Background(), testNamespace, c); err != nil {
				t.Error(err)
			}
		})
		waitFor(t, func() bool { return queueLength(s) == i+1 })
	}
	var out *chainstore.Committed
	var err error
	wg.Go(func() { out, err = s.Commit(context.Background(), testNamespace, change) })
	waitFor(t, func() bool { return queueLength(s) == len(between)+1 })
	clock.Add(5000)
	gets, _, _ := s.Reads()
	release()
	wg.Wait()
	after, _, _ := s.Reads()

	put(t, model, node(nil, "hold"))
	for _, c := range between {
		if _, err := model.Commit(context.Background(), testNamespace, c); err != nil {
			t.Fatal(err)
		}
	}
	want, wantErr := model.Commit(context.Background(), testNamespace, change)
	if !errors.Is(wantErr, o.want) || !errors.Is(err, o.want) || (err == nil) != (wantErr == nil) {
		t.Fatalf("error is %v, that of the model %v, want %v", err, wantErr, o.want)
	}
	if err == nil && !slices.Equal(out.Nodes, want.Nodes) {
		t.Fatalf("it gave %+v, want %+v", out.Nodes, want.Nodes)
	}
	if err == nil {
		got, want := headerOf(t, s, out.Nodes[0].ID), headerOf(t, model, out.Nodes[0].ID)
		if !bytes.Equal(chainstore.AppendHeader(nil, got), chainstore.AppendHeader(nil, want)) {
			t.Errorf("the header is\n%+v\nwant\n%+v", got, want)
		}
	}
	if reads := after - gets; o.gets > 0 && reads > o.gets {
		t.Errorf("%d gets while it was committed", reads)
	}
	mustBeClean(t, s)
}

// A change whose compaction nodes have parents and cover nodes of the change itself needs no preparing.
func TestCompactionsInOneChange(t *testing.T) {
	s, model := openStore(t, Options{}), memstore.New(memstore.Options{})
	ids := conversation(t, s, "chat", 300)
	conversation(t, model, "chat", 300)
	fork := under(byID(ids[8]), said(runloop.User, "fork"))
	forkID := fork.Identify(&ids[8])
	last := ids[len(ids)-1]
	c := compacting(byID(last), ids[2], said(runloop.User, "first"))
	change := &chainstore.Change{Nodes: []chainstore.NewNode{
		c, under(previous(), said(runloop.User, "on")), compacting(previous(), last, said(runloop.User, "second")),
		compacting(previous(), c.Identify(&last), said(runloop.User, "third")),
		fork, compacting(byID(forkID), forkID, said(runloop.User, "of the fork")),
		compacting(byID(forkID), ids[2], said(runloop.User, "of the chain")),
	}}
	for i := range 600 {
		change.Nodes = append(change.Nodes, under(previous(), said(runloop.Assistant, fmt.Sprint("further ", i))))
	}
	change.Nodes = append(change.Nodes, compacting(previous(), ids[4], said(runloop.User, "fourth")))
	got, err := s.Commit(context.Background(), testNamespace, change)
	want, wantErr := model.Commit(context.Background(), testNamespace, change)
	if err != nil || wantErr != nil || !slices.Equal(got.Nodes, want.Nodes) {
		t.Fatalf("it gave %+v, %v, want %+v, %v", got, err, want, wantErr)
	}
	mustBeClean(t, s)
}

// A compaction node behind new nodes is prepared as far as there is something.
func TestCompactionBehindNewNodesIsPrepared(t *testing.T) {
	s := openStore(t, Options{})
	ids := conversation(t, s, "chat", 100)
	change := []chainstore.NewNode{
		under(byID(ids[200]), said(runloop.User, "more")), under(previous(), said(runloop.Assistant, "and more")),
		compacting(previous(), ids[2], said(runloop.User, "question")),
	}
	if cost := s.cost(func() { put(t, s, change...) }); cost.gets > 20 {
		t.Errorf("it costs %+v", cost)
	}
	mustBeClean(t, s)
}

// A compaction node that cannot be prepared, and has much to read, is put all the same.
func TestCompactionOfWhatCannotBePrepared(t *testing.T) {
	s := openStore(t, Options{})
	ids := conversation(t, s, "chat", commit.MaxUnprepared)
	last := ids[len(ids)-1]
	first := under(byID(last), said(runloop.User, "more"))
	change := &chainstore.Change{Nodes: []chainstore.NewNode{
		first, compacting(byID(first.Identify(&last)), ids[2], said(runloop.User, "question")),
	}}
	cost := s.cost(func() { put(t, s, change.Nodes...) })
	if cost.gets < 2*commit.MaxUnprepared {
		t.Errorf("it took %+v: not what is to be shown", cost)
	}
	mustBeClean(t, s)
}

// A repeat does not read what it shows.
func TestRepeatedCompactionReadsLittle(t *testing.T) {
	s := openStore(t, Options{})
	ids := conversation(t, s, "chat", 200)
	c := compacting(byID(ids[400]), ids[2], said(runloop.User, "question"))
	if out := put(t, s, c); !out[0].Created {
		t.Fatal("it was not created")
	}
	cost := s.cost(func() {
		if out := put(t, s, c); out[0].Created {
			t.Error("it was created twice")
		}
	})
	if cost.nexts > 0 || cost.sets > 0 || cost.gets > 10 {
		t.Errorf("a repeat costs %+v", cost)
	}
}

// A caller whose context ends, and a store that closes, end the reading of a tail.
func TestPreparingEnds(t *testing.T) {
	s := openStore(t, Options{})
	ids := conversation(t, s, "chat", 200)
	change := &chainstore.Change{Nodes: []chainstore.NewNode{compacting(byID(ids[400]), ids[2])}}
	ctx, cancel := context.WithCancel(context.Background())
	v, err := s.source.Open(layout.OwnNamespace)
	if err == nil {
		v.Namespace, _, err = v.NumberOf(testNamespace)
	}
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := commit.Prepare(ctx, v, change, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
	s.source.Versions.Shut()
	if _, err := commit.Prepare(context.Background(), v, change, 0); !errors.Is(err, chainstore.ErrClosed) {
		t.Errorf("error is %v", err)
	}
	v.Close()
	s.committer.Stop()
	if err := s.source.DB.Close(); err != nil {
		t.Fatal(err)
	}
}
