// Package collect finds the nodes of a namespace that nothing keeps, and has them deleted.
package collect

import (
	"context"
	"errors"
	"time"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/commit"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/snapshot"
	"github.com/transcriptd/transcriptd/chainstore/internal/hold"
	"github.com/transcriptd/transcriptd/chainstore/internal/pace"
	"github.com/transcriptd/transcriptd/internal/deadline"
)

const (
	// reportInterval is how often a collection reports.
	reportInterval = time.Second
	// rests is how many times as long as a commit that deletes took, a collection waits behind it, so that writers have the disk.
	rests = 3
	// readFor is how long a collection reads, before it rests as long.
	readFor = 20 * time.Millisecond
	// readHold bounds how long a read of the engine is held open, by the source's clock as reportInterval is.
	readHold = 2 * time.Second
)

// Collector collects; see chainstore.Collector.
type Collector struct {
	Source    *snapshot.Source
	Committer *commit.Committer
	Gate      *hold.Gate
	Report    func(chainstore.Collected) error
}

// collection is one under way.
type collection struct {
	Collector
	chainstore.Collection
	namespace string
	sweeping  *commit.Sweeping
	cutoff    int64
	pace      pace.Pace
	told      chainstore.Collected
	reported  time.Duration
	known     *numbers
	// reading is when it rested last, or waited for a commit.
	reading time.Time
}

// Collect marks what is kept, and then goes through the segments, from the last one to the first, since a fork has a higher segment than the node
// that it forks from.
func (o Collector) Collect(ctx context.Context, namespace string, q chainstore.Collection) (err error) {
	c := &collection{Collector: o, Collection: q, namespace: namespace, pace: pace.Pace{Rate: q.NodesPerSecond}, known: &numbers{}}
	if c.sweeping, err = o.Committer.BeginSweeping(ctx, namespace); err != nil {
		return err
	}
	if c.sweeping != nil {
		c.cutoff = c.Cutoff(c.sweeping.Now)
		err = c.run(ctx)
		if errors.Is(err, commit.ErrGone) {
			err = nil
		}
		if end := c.sweeping.End(); err == nil {
			err = end
		}
	}
	if err != nil {
		return err
	}
	c.told.Phase, c.told.Left = chainstore.CollectDone, 0
	return c.Report(c.told)
}

func (c *collection) run(ctx context.Context) error {
	c.reading = time.Now()
	last := int64(c.sweeping.Live.Last())
	c.told.All, c.told.Left = last, last
	if err := c.enter(chainstore.CollectMarking); err != nil {
		return err
	}
	if err := c.aliases(ctx); err != nil {
		return err
	}
	if err := c.lastPuts(ctx); err != nil {
		return err
	}
	if err := c.enter(chainstore.CollectSweeping); err != nil {
		return err
	}
	return c.segments(ctx)
}

// enter reports that a phase begins.
func (c *collection) enter(phase chainstore.CollectPhase) error {
	c.told.Phase, c.reported = phase, c.Source.Clock()
	return c.Report(c.told)
}

// tick reports where it is time to.
func (c *collection) tick() error {
	now := c.Source.Clock()
	if now-c.reported < reportInterval {
		return nil
	}
	c.reported = now
	return c.Report(c.told)
}

// rest lets others have the processors: it waits for as long as was read since the collection rested last.
func (c *collection) rest(ctx context.Context) error {
	if read := time.Since(c.reading); read >= readFor {
		err := deadline.Sleep(ctx, read)
		c.reading = time.Now()
		return err
	}
	return nil
}

// look runs f on a snapshot: commit.ErrGone where the namespace was deleted since the collection began, whoever has its name.
func (c *collection) look(ctx context.Context, f func(*snapshot.Snapshot) error) error {
	return c.Source.Read(ctx, c.namespace, func(v *snapshot.Snapshot) error {
		if !c.sweeping.Is(v.Namespace) {
			return commit.ErrGone
		}
		return f(v)
	})
}

// pages runs f on the rows of a table, in their order, each in a snapshot that is held for a while only. What f is given is borrowed. between, if
// not nil, runs between two snapshots.
func (c *collection) pages(
	ctx context.Context, table byte, f func(v *snapshot.Snapshot, key, value []byte) error, between func() error,
) error {
	var next []byte
	for {
		more := false
		err := c.look(ctx, func(v *snapshot.Snapshot) error {
			began := c.Source.Clock()
			prefix := layout.TableKey(v.Namespace, table)
			cur := v.Iterate(prefix)
			defer cur.Close()
			if next == nil {
				next = prefix
			}
			for cur.Seek(next); cur.Valid(); cur.Next() {
				if err := ctx.Err(); err != nil {
					return err
				}
				if err := cur.Value(func(value []byte) error { return f(v, cur.Key(), value) }); err != nil {
					return err
				}
				if err := c.rest(ctx); err != nil {
					return err
				}
				if c.Source.Clock()-began > readHold {
					next, more = append(append([]byte(nil), cur.Key()...), 0), true
					return nil
				}
			}
			return nil
		})
		if err == nil && between != nil {
			err = between()
		}
		if err == nil {
			err = c.tick()
		}
		if err != nil || !more {
			return err
		}
	}
}

// lastPuts marks the nodes that were put again lately.
func (c *collection) lastPuts(ctx context.Context) error {
	return c.pages(ctx, layout.TableLastPut, func(v *snapshot.Snapshot, key, value []byte) error {
		last, err := layout.ParseNumber(value, layout.TableLastPut)
		if err != nil || int64(last) < c.cutoff {
			return err
		}
		at, _, err := layout.ParsePlace(key)
		if err != nil {
			return err
		}
		return c.sweeping.Live.Add(v, at)
	}, nil)
}
