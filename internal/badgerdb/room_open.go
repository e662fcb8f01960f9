package badgerdb

import (
	"fmt"

	"github.com/dgraph-io/badger/v4"

	"github.com/transcriptd/transcriptd/chainstore"
)

// inodesToOpen are for the logs, tables of level 0, and files that are written anew.
const inodesToOpen = 16

// openInRoom opens Badger, which begins to write the logs as tables, and to merge, at once. Where the logs do not fit on the disk it
// is refused: chainstore.ErrDiskFull. Where merges might not fit, as when another program has taken what was kept for them, or could
// not open their files, it is opened so that no merge is ever due: merging is false.
func openInRoom(dir string, o *Options, found *inspection, handles *handles) (b *Bare, merging bool, err error) {
	disk, err := o.lookAtDisk(dir)
	if err != nil {
		return nil, false, err
	}
	logs, err := logsOnDisk(dir)
	if err != nil {
		return nil, false, err
	}
	least := o.spare() / 4 // for what opening writes beside tables
	if need := logs + least; disk.bytes < need {
		return nil, false, fmt.Errorf("%w: %d MiB are free in %s, at least %d are needed to open the store",
			chainstore.ErrDiskFull, disk.bytes>>20, dir, need>>20+1)
	}
	if disk.inodes < inodesToOpen {
		return nil, false, fmt.Errorf("%w: the file system of %s takes %d files more (inodes), at least %d are needed to open the store",
			chainstore.ErrDiskFull, dir, disk.inodes, inodesToOpen)
	}
	options := optionsFor(dir, o, found)
	merging = disk.forPuts() >= logs+found.sizes().merges()+least &&
		handles.mayMerge(len(found.tables), found.sizes().raw0, options.BaseTableSize)
	if !merging {
		options = withoutMerges(options)
	}
	db, err := badger.OpenManaged(options)
	b, err = tune(db, err, o.Logger)
	return b, merging, err
}

// optionsFor are Badger's options for a store whose directory is locked.
func optionsFor(dir string, o *Options, found *inspection) badger.Options {
	return badgerOptions(dir, o, found.level0()).WithBypassLockGuard(locksDirectory).WithBaseTableSize(tableBytes(found.bytes()))
}

// withoutMerges are options with which no merge is ever due.
func withoutMerges(o badger.Options) badger.Options {
	const tables, bytes = 1 << 30, 1 << 50 // above what any store has
	return o.WithNumLevelZeroTables(tables).WithNumLevelZeroTablesStall(tables + 1).WithBaseLevelSize(bytes)
}

// level0 counts the tables of level 0.
func (i *inspection) level0() (n int) {
	for _, t := range i.tables {
		if t.level == 0 {
			n++
		}
	}
	return n
}

// sizes are what the tables have.
func (i *inspection) sizes() (s tableSizes) {
	for _, t := range i.tables {
		s.add(int(t.level), t.size, t.raw)
	}
	return s
}

// bytes is what the tables take on disk.
func (i *inspection) bytes() (n int64) {
	for _, t := range i.tables {
		n += t.size
	}
	return n
}
