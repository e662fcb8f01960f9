package commit

import (
	"context"
	"fmt"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
	"github.com/transcriptd/transcriptd/internal/badgerdb"
)

// Turn makes the database begin a new log, so that all that was committed before becomes a table. Errors are those of Commit.
func (c *Committer) Turn(ctx context.Context) (log badgerdb.Log, err error) {
	if err := c.nameTurns(ctx); err != nil {
		return log, err
	}
	_, err = c.submit(ctx, &Request{Change: &chainstore.Change{}, alone: true, own: func(*changeTxn) (err error) {
		log, err = c.source.DB.Turn(layout.TurnKey(), c.writeTurn)
		return err
	}})
	return log, err
}

// nameTurns commits the row that a turn writes, and what it needs in the store's header: a commit like any other.
func (c *Committer) nameTurns(ctx context.Context) error {
	_, err := c.submit(ctx, &Request{Change: &chainstore.Change{}, adds: true, own: func(d *changeTxn) error {
		d.set(layout.TurnKey(), []byte{})
		d.settled = true // the header is read again
		return d.nameFeature(layout.FeatureTurns)
	}})
	return err
}

// writeTurn commits what a turn writes. It is a commit beside the batch, which writes nothing.
func (c *Committer) writeTurn(fill func(*badgerdb.Batch) error) error {
	commit := c.source.Versions.Last() + 1
	if err := c.Beside(commit, fill); err != nil {
		if badgerdb.IsUnwritten(err) {
			return fmt.Errorf("commit: %w", err)
		}
		c.failed = true
		return fmt.Errorf("%w: %w", chainstore.ErrFailed, err)
	}
	c.source.Versions.Publish(commit)
	c.Commits.Add(1)
	return nil
}
