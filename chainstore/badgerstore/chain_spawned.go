package badgerstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/snapshot"
	"github.com/transcriptd/transcriptd/chainstore/internal/cache"
)

// Spawned seeks once in each segment on the path, and gets the head's place; see chainstore.Chain.
func (c *chain) Spawned(ctx context.Context, limit int) (headers []*chainstore.Header, more bool, err error) {
	err = c.read(ctx, func(v *snapshot.Snapshot) error {
		if err := c.isThere(v); err != nil {
			return err
		}
		headers, more, err = spawnedHeaders(ctx, v, c.Lineage, min(limit, chainstore.SpawnedReach))
		return err
	})
	return headers, more, err
}

// spawnedHeaders is Spawned of a path.
func spawnedHeaders(ctx context.Context, v *snapshot.Snapshot, l *chainstore.Lineage, limit int) (headers []*chainstore.Header, more bool, err error) {
	chosen, more, err := spawnedOn(ctx, v, l, limit)
	if err != nil {
		return nil, false, err
	}
	slices.SortFunc(chosen, func(a, b layout.Spawned) int { return cmp.Compare(a.Number, b.Number) })
	for _, s := range chosen {
		h, err := v.HeaderAt(s.At)
		if err != nil {
			return nil, false, err
		}
		if h.SpawnedFrom == nil {
			return nil, false, fmt.Errorf("%w: table %c names a node that was not spawned", chainstore.ErrCorrupt, layout.TableSpawnedAt)
		}
		headers = append(headers, h)
	}
	chainstore.SortByFirstPut(headers)
	return headers, more, nil
}

// spawnedOn chooses of what a path spawned that of the latest spawners, latest first, and tells whether there may be more.
func spawnedOn(ctx context.Context, v *snapshot.Snapshot, l *chainstore.Lineage, limit int) (chosen []layout.Spawned, more bool, err error) {
	c := v.Iterate(layout.TableKey(v.Namespace, layout.TableSpawnedAt))
	defer c.Close()
	reach := chainstore.SpawnedReach
	reaches := func() error {
		if reach--; reach < 0 {
			return snapshot.ErrStop
		}
		return ctx.Err()
	}
	choose := func(s layout.Spawned) error {
		switch {
		case l.Holds(s.At):
			return reaches()
		case len(chosen) >= limit:
			return snapshot.ErrStop
		}
		chosen = append(chosen, s)
		return nil
	}
	l.Runs(func(part chainstore.Run) bool {
		if err = reaches(); err == nil {
			err = spawnedIn(c, part, choose)
		}
		return err == nil
	})
	if errors.Is(err, snapshot.ErrStop) {
		return chosen, true, nil
	}
	return chosen, false, err
}

// spawnedIn runs f on what the nodes of a stretch spawned, latest spawner first, until f fails.
func spawnedIn(c *snapshot.Cursor, part chainstore.Run, f func(layout.Spawned) error) error {
	prefix := layout.SpawnedAtPrefix(c.V.Namespace, part.Key)
	for c.Seek(layout.SpawnedAtKey(c.V.Namespace, chainstore.Place{Segment: part.Key, Seq: part.Through}, 0)); c.Within(prefix); c.Next() {
		number, err := layout.ParseSpawnedAtKey(c.Key())
		if err != nil {
			return err
		}
		s := layout.Spawned{Number: number}
		err = c.Value(func(value []byte) error {
			s.At, err = layout.ParsePlaceValue(value, layout.TableSpawnedAt)
			return err
		})
		if err == nil {
			err = f(s)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// SpawnDepth finds each spawner as Chain does, and reads the node of its path that was spawned; see chainstore.Chain.
func (c *chain) SpawnDepth(ctx context.Context, limit int) (depth int, more bool, err error) {
	err = c.read(ctx, func(v *snapshot.Snapshot) error {
		depth, more, err = spawnDepth(ctx, v, c.Node, limit)
		return err
	})
	return depth, more, err
}

// spawnDepth is SpawnDepth of a node.
func spawnDepth(ctx context.Context, v *snapshot.Snapshot, at *cache.Node, limit int) (depth int, more bool, err error) {
	for at.Header.Spawned.Present {
		if depth == limit {
			return depth, true, nil
		}
		depth++
		spawned, err := v.HeaderAt(at.Lineage.Locate(at.Header.Spawned.Seq))
		switch {
		case err != nil:
			return 0, false, err
		case spawned.SpawnedFrom == nil:
			return 0, false, fmt.Errorf("%w: a header links to a node that was not spawned", chainstore.ErrCorrupt)
		}
		at, err = v.Head(chainstore.Ref{ID: spawned.SpawnedFrom.Node})
		if errors.Is(err, chainstore.ErrNodeNotFound) {
			return depth, false, nil
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return 0, false, err
		}
	}
	return depth, false, nil
}
