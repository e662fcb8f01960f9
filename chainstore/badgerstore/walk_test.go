package badgerstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/snapshot"
)

// What an alias and its history cost to read does not depend on how often the alias moved.
func TestCostDoesNotDependOnMoves(t *testing.T) {
	s := openStore(t, Options{})
	heads := []chainstore.ID{put(t, s, node(nil, "a"))[0].ID, put(t, s, node(nil, "b"))[0].ID}
	moved := 0
	move := func(n int) {
		for range n {
			moved++
			commitAliases(t, s, setAlias("f/busy", heads[moved%2], chainstore.Condition{}))
		}
	}
	commitAliases(t, s, setAlias("f/idle", heads[0], chainstore.Condition{}))
	reads := func() map[string]uint64 {
		all := map[string]uint64{}
		measure := func(what string, call func() error) {
			c := s.cost(func() {
				if err := call(); err != nil {
					t.Errorf("%s: %v", what, err)
				}
			})
			all[what] = c.gets + c.seeks + c.nexts
		}
		ctx := context.Background()
		measure("a page", func() error {
			page, next, err := s.Aliases(ctx, testNamespace, chainstore.AliasQuery{Limit: 10})
			if len(page) != 2 || next != nil {
				t.Errorf("a page of %d aliases, that goes on at %v", len(page), next)
			}
			return err
		})
		measure("a page from the end", func() error {
			page, next, err := s.Aliases(ctx, testNamespace, chainstore.AliasQuery{Limit: 10, Reverse: true})
			if len(page) != 2 || next != nil || page[1].Name != "f/busy" || page[1].Revision != int64(moved) {
				t.Errorf("a page of %d aliases, that goes on at %v", len(page), next)
			}
			return err
		})
		measure("the aliases of a node", func() error {
			_, names, _, err := s.ChainNamed(ctx, testNamespace, chainstore.Ref{ID: heads[0]}, 10)
			if !slices.Contains(names, "f/idle") {
				t.Errorf("the aliases of the node are %q", names)
			}
			return err
		})
		measure("the history", func() error {
			states, err := s.AliasHistory(ctx, testNamespace, "f/busy")
			if len(states) != chainstore.MaxHistory || states[0].Revision != int64(moved) {
				t.Errorf("%d states of an alias that moved %d times", len(states), moved)
			}
			return err
		})
		return all
	}
	move(snapshot.VersionsAtOnce * chainstore.MaxHistory)
	before := reads()
	move(6 * chainstore.MaxHistory)
	for what, n := range reads() {
		t.Logf("%s: %d reads", what, n)
		if n > before[what]+2*chainstore.MaxHistory {
			t.Errorf("%s took %d reads, and takes %d behind some moves", what, before[what], n)
		}
	}
}

// lateContext ends once it was asked a few times.
type lateContext struct {
	context.Context
	left int
}

func (c *lateContext) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// A walk over what was deleted ends with its context.
func TestWalksEndWithTheirContext(t *testing.T) {
	s := openStore(t, Options{})
	id := put(t, s, node(nil, "a"))[0].ID
	var set, gone []chainstore.AliasChange
	for i := range 500 {
		name := fmt.Sprintf("f/%03d", i)
		set = append(set, setAlias(name, id, chainstore.Condition{}))
		gone = append(gone, chainstore.AliasChange{Name: name, Target: chainstore.Target{Kind: chainstore.TargetNone}})
	}
	commitAliases(t, s, set...)
	commitAliases(t, s, gone...)
	for what, call := range map[string]func(context.Context) error{
		"the aliases of a node": func(ctx context.Context) error {
			_, _, _, err := s.ChainNamed(ctx, testNamespace, chainstore.Ref{ID: id}, 10)
			return err
		},
		"a folder": func(ctx context.Context) error {
			_, _, err := s.Aliases(ctx, testNamespace, chainstore.AliasQuery{ByFolder: true, Folder: "f", Limit: 10})
			return err
		},
		"a folder, from the end": func(ctx context.Context) error {
			_, _, err := s.Aliases(ctx, testNamespace, chainstore.AliasQuery{ByFolder: true, Folder: "f", Limit: 10, Reverse: true})
			return err
		},
	} {
		if err := call(&lateContext{context.Background(), 100}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s, with a context that ended: %v", what, err)
		}
	}
}
