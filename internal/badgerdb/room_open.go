package badgerdb

import (
	"errors"
	"fmt"
	"io/fs"
	"math"

	"github.com/dgraph-io/badger/v4"

	"github.com/transcriptd/transcriptd/chainstore"
)

// closed is what a look at the files of a database that is not open tells of the room it needs.
type closed struct {
	// free is what the disk takes once Badger has deleted the tables that the MANIFEST does not name, before it writes any.
	free int64
	// logs and tables are what the logs and the named tables have.
	logs, tables int64
	// level0 counts the tables of level 0.
	level0 int
	// spare is for what opening writes beside tables.
	spare int64
}

func lookAtClosed(dir string, o *Options) (c closed, err error) {
	c.spare = o.MemtableBytes / 8
	if c.free, err = o.freeBytes(dir); err != nil {
		return c, err
	}
	if c.logs, err = logBytes(dir); err != nil {
		return c, err
	}
	named := namedTables(dir)
	err = eachTable(dir, func(id uint64, e fs.DirEntry) error {
		t, ok := named[id]
		if !ok {
			return addAllocated(&c.free, e)
		}
		if t.Level == 0 {
			c.level0++
		}
		return addAllocated(&c.tables, e)
	})
	return c, err
}

// refused is chainstore.ErrDiskFull where opening does not fit: the logs become tables.
func (c *closed) refused(dir string) error {
	if need := c.logs + c.spare; c.free < need {
		return fmt.Errorf("%w: %d MiB are free in %s, at least %d are needed to open the store",
			chainstore.ErrDiskFull, c.free>>20, dir, need>>20+1)
	}
	return nil
}

// mayMerge tells whether all tables could be written anew. Where they could not, it is not known before the database is open
// whether the largest merge fits.
func (c *closed) mayMerge() bool { return c.free >= c.logs+c.spare+c.tables+c.tables/64 }

// openInRoom opens Badger, which begins to merge at once. Where that may not fit, it is opened without merges first, and looked
// at; where it does not fit, it stays so: merging is false.
func openInRoom(dir string, o *Options) (b *Bare, merging bool, err error) {
	c, err := lookAtClosed(dir, o)
	if err == nil {
		err = c.refused(dir)
	}
	if err != nil {
		return nil, false, err
	}
	options := badgerOptions(dir, o, c.level0)
	if !c.mayMerge() {
		b, fits, err := openWithoutMerges(options, o)
		if err != nil || !fits {
			return b, false, err
		}
		if err := b.Close(); err != nil {
			return nil, false, err
		}
		if c, err = lookAtClosed(dir, o); err != nil { // the logs are tables now
			return nil, false, err
		}
		options = badgerOptions(dir, o, c.level0)
	}
	b, err = tune(badger.OpenManaged(options))
	return b, true, err
}

// openWithoutMerges opens Badger so that no merge is ever due, and tells whether the largest one would fit.
func openWithoutMerges(options badger.Options, o *Options) (b *Bare, fits bool, err error) {
	const tables, bytes = math.MaxInt32 - 1, 1 << 50 // above what any store has
	b, err = tune(badger.OpenManaged(options.
		WithNumLevelZeroTables(tables).WithNumLevelZeroTablesStall(tables + 1).WithBaseLevelSize(bytes)))
	if err != nil {
		return nil, false, err
	}
	left, err := newRoom(b.DB, o, func() (int64, error) { return logBytes(options.Dir) }).left()
	if err != nil {
		return nil, false, errors.Join(err, b.Close())
	}
	return b, left >= 0, nil
}
