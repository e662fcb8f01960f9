package badgerstore

import (
	"context"
	"errors"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/snapshot"
	"github.com/transcriptd/transcriptd/chainstore/derive"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// Calls seeks once in each segment on the path, and gets each node and the head's place; see chainstore.Chain.
func (c *chain) Calls(ctx context.Context, id runloop.Optional, through uint32, limit int) (places []chainstore.CallPlace, err error) {
	err = c.read(ctx, func(v *snapshot.Snapshot) error {
		if err := c.isThere(v); err != nil || limit <= 0 {
			return err
		}
		return recalls(ctx, v, c.Lineage, through, derive.KeyOf(id), func(at chainstore.Place, r *derive.Recall) error {
			h, err := v.HeaderAt(at)
			if err != nil {
				return err
			}
			places = append(places, chainstore.CallPlace{Header: h, Messages: r.Messages})
			if len(places) == limit {
				return snapshot.ErrStop
			}
			return nil
		})
	})
	return places, err
}

// WithCalls reads each, and the node before it, in a seek; see chainstore.Chain.
func (c *chain) WithCalls(ctx context.Context, through uint32, limit int) (nodes []chainstore.CallNode, err error) {
	err = c.read(ctx, func(v *snapshot.Snapshot) error {
		nodes, err = v.WithCalls(ctx, c.Lineage, c.reader, c.Header, through, limit)
		return err
	})
	return nodes, err
}

// recalls runs f on the nodes of a chain through a Seq that have calls or results of an id, latest first, until f fails;
// snapshot.ErrStop is no error.
func recalls(ctx context.Context, v *snapshot.Snapshot, l *chainstore.Lineage, through uint32, call derive.CallKey, f func(chainstore.Place, *derive.Recall) error) (err error) {
	c := v.Iterate(layout.TableKey(v.Namespace, layout.TableRecall))
	defer c.Close()
	l.Runs(func(part chainstore.Run) bool {
		if part.Through = min(part.Through, through); part.From > part.Through {
			return true
		}
		if err = ctx.Err(); err == nil {
			err = recallsIn(c, part, call, f)
		}
		return err == nil
	})
	if errors.Is(err, snapshot.ErrStop) {
		return nil
	}
	return err
}

// recallsIn is that of a stretch; here snapshot.ErrStop is an error.
func recallsIn(c *snapshot.Cursor, part chainstore.Run, call derive.CallKey, f func(chainstore.Place, *derive.Recall) error) error {
	prefix := layout.RecallPrefix(c.V.Namespace, part.Key, call)
	for c.Seek(layout.RecallKey(c.V.Namespace, chainstore.Place{Segment: part.Key, Seq: part.Through}, call)); c.Within(prefix); c.Next() {
		at, _, err := layout.ParseRecallKey(c.Key())
		if err != nil {
			return err
		}
		err = c.Value(func(value []byte) error {
			r, err := layout.ParseRecall(value)
			if err != nil {
				return err
			}
			return f(at, &r)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Tables reads a row for each of the two; see chainstore.Chain.
func (c *chain) Tables(ctx context.Context) (t chainstore.Tables, err error) {
	err = c.read(ctx, func(v *snapshot.Snapshot) error {
		tables, err := v.TablesOf(c.Header, c.Lineage)
		if tables != nil {
			t = *tables
		}
		return err
	})
	return t, err
}
