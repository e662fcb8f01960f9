package badgerdb

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/dgraph-io/badger/v4"
)

// What DropVersions fails with beside ErrHeld.
var (
	// ErrLogChanged is that the log was not kept: rows that were committed again may have become a table, and would be dropped, or were. They are
	// committed once more, and all is done again.
	ErrLogChanged = errors.New("the log was not kept: commit the rows again, keep the log, and drop then")
	// ErrNotDropped is that older versions are still there: a merge failed, or they were in no table.
	ErrNotDropped = errors.New("older versions are still there: drop them again")
)

// DropsBeside tells whether others may commit and read while DropVersions runs: false where this version of Badger is not the one whose private
// functions it calls.
func (d *DB) DropsBeside() bool { return d.private != nil }

// DropVersions drops from tables all that keys with some prefixes had before a commit, deletions too. When it has returned nil, no table and no log
// has any of that; what they have got with that commit or later stays.
//
// Ends of logs that starts have cut off and set aside are removed too, whatever they have. Files that a repair set aside are not.
//
// What the caller does before:
//
//  1. It commits what the keys are to have, or deletes them: from then on nobody sees what they had. It waits until no snapshot of before that is open.
//  2. The goroutine that commits calls Turn, commits again all that is to stay of what has one of the prefixes, and calls KeepLog, with
//     nothing else between. before is the number of the commit again, or of the first of several. Where nothing is to stay, it is that of
//     Turn's last, and the log need not be kept.
//  3. Flushed, with the log that KeepLog tells, or Turn.
//  4. It waits until no snapshot is open of before the number before: one would miss the rows, or, by an iterator, hold the tables.
//
// Behind it the log is released: until then a commit that would begin another one waits.
//
// No key may be a beginning of a prefix, or of a key with one: Badger compares prefixes with keys and the numbers behind them, whose first byte is 0xff, so that a prefix
// "a\xff" drops "a" too. Where no key has that byte, it drops "a" alone. And what has a prefix must not have the number of the last commit of a log, or the next start misses that: Turn's key has
// it.
//
// Where DropsBeside tells that others may not commit or read, nobody does until it has returned, and rows that were committed again are dropped with
// the rest: they are committed behind it, and no log is kept. There each prefix has a key that is not deleted, or it is not dropped: ErrNotDropped.
//
// The context ends the wait for others, and for tables that are held, and between merges for some hundred prefixes each. The first takes level 0 and
// what it overlaps with of the level below, and each the tables that have the keys: a table or two for a key and level. Errors: ErrLogChanged,
// ErrNotDropped, ErrHeld, chainstore.ErrDiskFull, chainstore.ErrTooManyFiles, the context's. After any but ErrLogChanged, and after a kill, all is
// there that was committed with before or later. Done again, it does what is left.
func (d *DB) DropVersions(ctx context.Context, log Log, before uint64, prefixes ...[]byte) error {
	if len(prefixes) == 0 {
		return nil
	}
	if d.isReadOnly() {
		return errReadOnly
	}
	ctx, end, err := d.explicit.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	if log.kept && !d.logFill.isKept(log.number) {
		return ErrLogChanged
	}
	if older, err := d.hasLogBefore(log); older || err != nil {
		return errors.Join(ErrHeld, err)
	}
	if err := d.mayMerge(); err != nil {
		return err
	}
	if err := d.drop(ctx, prefixes); err != nil {
		return fmt.Errorf("%w: %w", ErrNotDropped, err)
	}
	if log.kept && !d.logFill.isKept(log.number) {
		return ErrLogChanged
	}
	if err := d.noneBefore(before, prefixes); err != nil {
		return err
	}
	return errors.Join(d.waitForTables(ctx), removeTorn(d.Opts().Dir))
}

// drop drops everything with some prefixes from the tables, and, where Badger does it by itself, from the memtable.
func (d *DB) drop(ctx context.Context, prefixes [][]byte) error {
	if d.private == nil {
		return d.DropPrefix(prefixes...)
	}
	return d.private.dropPrefixes(ctx, prefixes)
}

// noneBefore is ErrNotDropped where a key with a prefix has anything of before a commit: what failed in a merge, Badger does not always tell.
func (d *DB) noneBefore(before uint64, prefixes [][]byte) error {
	txn := d.NewTransactionAt(math.MaxUint64, false)
	defer txn.Discard()
	for _, prefix := range prefixes {
		if version, found := oldest(txn, prefix, before); found {
			return fmt.Errorf("%w: a key has what it got with commit %d", ErrNotDropped, version)
		}
	}
	return nil
}

// oldest finds a version of before a commit of a key with a prefix, or of the key that has it with its number behind.
func oldest(txn *badger.Txn, prefix []byte, before uint64) (version uint64, found bool) {
	if version, found = older(txn.NewIterator(badger.IteratorOptions{Prefix: prefix, AllVersions: true}), before); found {
		return version, found
	}
	if key, ok := bytes.CutSuffix(prefix, []byte{0xff}); ok && len(key) > 0 {
		return older(txn.NewKeyIterator(key, badger.IteratorOptions{AllVersions: true}), before)
	}
	return 0, false
}

func older(it *badger.Iterator, before uint64) (version uint64, found bool) {
	defer it.Close()
	for it.Rewind(); it.Valid(); it.Next() {
		if v := it.Item().Version(); v < before {
			return v, true
		}
	}
	return 0, false
}

// removeTorn removes the ends of logs that starts have cut off and kept: parts of commits that were not completed, and may have anything.
func removeTorn(dir string) error {
	entries, err := os.ReadDir(filepath.Join(dir, asideFolder))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("list what was set aside: %w", err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), tornPrefix) {
			continue
		}
		if err := os.Remove(filepath.Join(dir, asideFolder, e.Name())); err != nil {
			return fmt.Errorf("remove what was cut off a log: %w", err)
		}
	}
	return nil
}

// waitForTables returns when no file is left of a table that was merged: an iterator that was made before holds it. ErrHeld where the context ends
// first.
func (d *DB) waitForTables(ctx context.Context) error {
	newest := uint64(0)
	for _, t := range d.Tables() {
		newest = max(newest, t.ID)
	}
	return pollHeld(ctx, func() (gone bool, err error) {
		live := map[uint64]struct{}{}
		for _, t := range d.Tables() {
			live[t.ID] = struct{}{}
		}
		gone = true
		err = eachTable(d.Opts().Dir, func(id uint64, _ fs.DirEntry) error {
			_, isLive := live[id]
			gone = gone && (isLive || id > newest) // a table that is being made becomes one of the database's
			return nil
		})
		return gone, err
	})
}
