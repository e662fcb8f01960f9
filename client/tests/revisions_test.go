package client_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"

	"github.com/transcriptd/transcriptd/client"
)

// next adds 1 to a label of an alias, whatever others do meanwhile: of two who set the same from the same revision one is told that it
// revised the alias.
func next(ctx context.Context, c *client.Client, alias string) error {
	for {
		now, err := c.Resolve(ctx, alias)
		if err != nil {
			return err
		}
		n, _ := strconv.Atoi(now.Alias.Labels["n"])
		set, err := c.SetAliases(ctx, client.AliasMove{
			Name: alias, Target: client.ByAlias(alias), If: client.RevisionIs(now.Alias.Revision),
			Labels: map[string]string{"n": strconv.Itoa(n + 1)},
		})
		switch {
		case err == nil && set[0].Revised:
			return nil
		case err != nil && !errors.Is(err, client.ErrAliasMoved):
			return err
		}
	}
}

// 200 increments of a label by two writers leave 200.
func TestTwoWritersOfALabelLoseNothing(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	must(l.client().Put(ctx, client.Node{Messages: messages{hello}, Aliases: []client.AliasUpdate{{Name: "job"}}}))(t)
	var writers sync.WaitGroup
	for range 2 {
		c := l.client()
		writers.Go(func() {
			for range 100 {
				if err := next(ctx, c, "job"); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	writers.Wait()
	now := must(l.client().Resolve(ctx, "job"))(t)
	if now.Alias.Labels["n"] != "200" || now.Alias.Revision != 201 {
		t.Errorf("200 increments left %v", now.Alias)
	}
}

// A call on a revision whose reply is lost is repeated. Behind others its repeat fails, and what they did stays.
func TestCallsOnARevisionAreRepeated(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	c, other := l.client(), l.client()
	root := must(c.Put(ctx, client.Node{Messages: messages{hello}, Aliases: []client.AliasUpdate{{Name: "job"}, {Name: "old"}}}))(t).NodeId
	label := func(c *client.Client, value string, revision int64) error {
		_, err := c.SetAliases(ctx, client.AliasMove{
			Name: "job", Target: client.ByAlias("job"), If: client.RevisionIs(revision), Labels: map[string]string{"k": value},
		})
		return err
	}
	l.lost[setAlias] = 1
	ok(t, label(c, "mine", 1))
	l.lost[setAlias] = 1
	l.between = func() {
		l.between = nil
		ok(t, label(other, "theirs", 3))
	}
	err := label(c, "mine too", 2)
	var e *client.Error
	if !errors.Is(err, client.ErrAliasMoved) || !errors.As(err, &e) || !e.Retried || e.Conflicts[0].Revision != 4 || e.Head() != root {
		t.Errorf("got %v", err)
	}
	if now := must(c.Resolve(ctx, "job"))(t); now.Alias.Labels["k"] != "theirs" {
		t.Errorf("the repeat left %v", now.Alias)
	}

	l.lost[putNode] = 1
	put := must(c.Put(ctx, client.Node{
		Parent: client.ByAlias("job"), Messages: messages{answer},
		Aliases: []client.AliasUpdate{{Name: "job", If: client.HeadAt(root, 4)}, {Name: "old", If: client.RevisionIs(1), Delete: true}},
	}))(t)
	if !put.Retried || put.Aliases[0].Revision != 5 || put.Aliases[1].Revision != 2 {
		t.Errorf("got %v", put)
	}
	points(t, c, "job", put.NodeId)

	l.lost[delAlias] = 1
	must(c.DeleteAlias(ctx, "job", client.RevisionIs(5)))(t)
	_, err = c.Resolve(ctx, "job")
	if !errors.Is(err, client.ErrAliasNotFound) || !errors.As(err, &e) || e.Deleted.GetRevision() != 6 || e.Deleted.GetPreviousId() != put.NodeId {
		t.Errorf("got %v", err)
	}
	if _, err = c.Resolve(ctx, "never"); !errors.As(err, &e) || e.Deleted != nil {
		t.Errorf("got %v", err)
	}
	l.lost[setAlias] = 1
	must(c.SetAliases(ctx, client.AliasMove{Name: "job", Target: client.ByID(root), If: client.RevisionIs(6)}))(t)
	points(t, c, "job", root)
	l.lost[setAlias] = 1
	must(c.SetAliases(ctx, client.AliasMove{Name: "job", If: client.RevisionIs(7), Delete: true}))(t)
}
