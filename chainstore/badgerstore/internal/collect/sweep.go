package collect

import (
	"context"
	"slices"
	"time"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/commit"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/snapshot"
	"github.com/transcriptd/transcriptd/internal/deadline"
)

const (
	// sweptAtOnce and rowsAtOnce bound what one commit writes and deletes: nodes, and rows of these, of one node more.
	sweptAtOnce = 200
	rowsAtOnce  = 4000
	// readAtOnce is how many nodes of a segment are read before the last of them are deleted.
	readAtOnce = 4096
)

// segments deletes what is not kept, segment by segment.
func (c *collection) segments(ctx context.Context) error {
	var batch []commit.Dead
	rows := 0
	flush := func() error {
		err := c.sweep(ctx, batch)
		batch, rows = nil, 0
		return err
	}
	for last := c.sweeping.Live.Last(); last > 0; {
		c.told.Left = int64(last)
		if err := c.tick(); err != nil {
			return err
		}
		segment, from, through, err := c.dead(ctx, last)
		if err != nil {
			return err
		}
		last = max(segment, 1) - 1
		for end := through + 1; end > from; {
			begin := max(from, end-min(end, readAtOnce))
			nodes, err := c.read(ctx, segment, uint32(begin), uint32(end-1))
			if err == nil {
				err = c.rest(ctx)
			}
			if err != nil {
				return err
			}
			for _, n := range slices.Backward(nodes) {
				if err := c.unlink(ctx, &n); err != nil {
					return err
				}
				batch, rows = append(batch, n), rows+n.Rows()
				if len(batch) >= sweptAtOnce || rows >= rowsAtOnce {
					if err := flush(); err != nil {
						return err
					}
				}
			}
			end = begin
		}
	}
	return flush()
}

// dead finds which nodes of a segment nothing keeps, from one Seq through another; through < from where there is none. It is the last segment that
// may have some, through one with a number, or the last one that was looked at. A put within the grace keeps what comes before it.
func (c *collection) dead(ctx context.Context, last uint64) (segment uint64, from, through int64, err error) {
	some := false
	err = c.look(ctx, func(v *snapshot.Snapshot) error {
		segment, some, err = c.lastWithSome(ctx, v, last)
		return err
	})
	s := segmentRead{collection: c, through: -1}
	if some {
		s.next = chainstore.Place{Segment: segment, Seq: c.sweeping.Live.Before(segment)}
		s.from = int64(s.next.Seq)
	}
	for more := some; more && err == nil; {
		err = c.look(ctx, func(v *snapshot.Snapshot) error {
			more, err = s.part(ctx, v)
			return err
		})
		if err == nil {
			err = c.tick()
		}
	}
	return segment, s.from, s.through, err
}

// lastWithSome finds the last segment through one with a number that may have nodes which nothing keeps, or the last one that it looked at.
func (c *collection) lastWithSome(ctx context.Context, v *snapshot.Snapshot, last uint64) (segment uint64, some bool, err error) {
	began := c.Source.Clock()
	err = v.EachLast(ctx, last, func(at chainstore.Place) error {
		segment, some = at.Segment, at.Seq >= c.sweeping.Live.Before(at.Segment)
		if some || c.Source.Clock()-began > readHold {
			return snapshot.ErrStop
		}
		return nil
	})
	return segment, some, err
}

// segmentRead finds in several reads which nodes of a segment nothing keeps.
type segmentRead struct {
	*collection
	// next is where it goes on; from and through are what it has found.
	next          chainstore.Place
	from, through int64
}

// part goes on in a snapshot, for a while only, and tells whether there is more.
func (s *segmentRead) part(ctx context.Context, v *snapshot.Snapshot) (more bool, err error) {
	began := s.Source.Clock()
	cur := v.Iterate(layout.SegmentKey(v.Namespace, s.next.Segment))
	defer cur.Close()
	for cur.Seek(layout.PlaceKey(v.Namespace, layout.TableNodes, s.next)); cur.Valid(); cur.Next() {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		at, chunk, err := layout.ParseNodeKey(cur.Key())
		if err != nil {
			return false, err
		}
		if chunk != 0 {
			continue
		}
		if err := cur.Value(func(value []byte) error { return s.row(v, at, value) }); err != nil {
			return false, err
		}
		if err := s.rest(ctx); err != nil {
			return false, err
		}
		if s.Source.Clock()-began > readHold {
			s.next = at.Next()
			return true, nil
		}
	}
	return false, nil
}

// row takes the next node in.
func (s *segmentRead) row(v *snapshot.Snapshot, at chainstore.Place, value []byte) error {
	row, present, err := layout.ParseRow(value)
	if err != nil || !present {
		return err
	}
	if s.through < 0 {
		s.from = int64(at.Seq)
	}
	s.through = int64(at.Seq)
	h, err := row.Header.Decode(at.Seq)
	if err == nil && h.FirstPut >= s.cutoff {
		s.from = s.through + 1
		err = s.sweeping.Live.Add(v, at)
	}
	return err
}

// read reads some nodes of a segment, with what goes with them.
func (c *collection) read(ctx context.Context, segment uint64, from, through uint32) (nodes []commit.Dead, err error) {
	err = c.look(ctx, func(v *snapshot.Snapshot) error {
		r := reader{ctx: ctx, v: v, segment: segment, from: from, through: through, known: c.known}
		nodes, err = r.read()
		return err
	})
	return nodes, err
}

// sweep deletes nodes, once nobody holds the store, and rests.
func (c *collection) sweep(ctx context.Context, nodes []commit.Dead) error {
	if len(nodes) == 0 {
		return ctx.Err()
	}
	if c.DryRun {
		swept := commit.Swept{}
		for i := range nodes {
			swept.Nodes, swept.Messages, swept.MessageBytes = swept.Nodes+1, swept.Messages+int64(nodes[i].Messages), swept.MessageBytes+int64(nodes[i].MessageBytes)
		}
		c.count(swept)
		return c.tick()
	}
	return c.delete(ctx, func() (int64, error) {
		swept, err := c.sweeping.Sweep(ctx, c.namespace, nodes)
		c.count(swept)
		return swept.Nodes, err
	})
}

func (c *collection) count(swept commit.Swept) {
	c.told.Nodes += swept.Nodes
	c.told.Messages += swept.Messages
	c.told.MessageBytes += swept.MessageBytes
}

// unlink lets most of the nodes that a node spawned wait for it, where they are too many to do so in the commit that deletes it.
func (c *collection) unlink(ctx context.Context, n *commit.Dead) error {
	if n.Spawned <= commit.MaxLinks {
		return nil
	}
	n.Spawned = commit.MaxLinks
	for next, more := uint64(0), !c.DryRun; more; {
		err := c.delete(ctx, func() (nodes int64, err error) {
			next, more, err = c.sweeping.Unlink(ctx, c.namespace, n.At, next, rowsAtOnce)
			return 0, err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// delete commits something that deletes, once nobody holds the store, and rests.
func (c *collection) delete(ctx context.Context, commits func() (nodes int64, err error)) error {
	began, nodes := time.Now(), int64(0)
	err := c.Gate.Delete(ctx, c.held, func() (err error) {
		if err := c.Permit(ctx); err != nil {
			return err
		}
		began = time.Now()
		nodes, err = commits()
		return err
	})
	if c.told.Phase = chainstore.CollectSweeping; err == nil {
		err = c.tick()
	}
	if err != nil {
		return err
	}
	return c.restBehind(ctx, nodes, rests*time.Since(began))
}

// held reports that it waits until nobody holds the store.
func (c *collection) held() error { return c.enter(chainstore.CollectHeld) }

// restBehind waits behind a commit, and as long as the pace says.
func (c *collection) restBehind(ctx context.Context, nodes int64, long time.Duration) error {
	c.pace.Read(nodes)
	for c.pace.Due() {
		if err := c.pace.Rest(ctx, reportInterval); err != nil {
			return err
		}
		if err := c.tick(); err != nil {
			return err
		}
	}
	err := deadline.Sleep(ctx, min(long, reportInterval))
	c.reading = time.Now()
	return err
}
