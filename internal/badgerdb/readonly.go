package badgerdb

import (
	"errors"
	"fmt"
	"sync"

	"github.com/dgraph-io/badger/v4"
)

// ErrUnclean is that a store that is to be read alone was not closed, and a start would mend it: what was written last lies in its logs, or a file
// is left over.
var ErrUnclean = errors.New("the store was not closed, and would have to be changed to be read")

// OpenReadOnly opens a database that is there, under its lock, and changes none of its files. Nothing can be written: Ready and Commit fail.
// Errors: ErrUnclean, ErrFormat, ErrLocked, ErrKey, ErrDamaged, chainstore.ErrTooManyFiles, those of the file system.
func OpenReadOnly(dir string, o Options) (*DB, error) {
	o = o.complete()
	lock, err := lockDirectory(dir)
	if err != nil {
		return nil, err
	}
	d, err := openUnchanged(dir, &o)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	d.lock = lock
	return d, nil
}

func openUnchanged(dir string, o *Options) (*DB, error) {
	if err := checkDirectory(dir); err != nil {
		return nil, err
	}
	found, err := inspectAdmitted(dir, o)
	if err != nil {
		return nil, err
	}
	if err := refusal(found.damages); err != nil {
		return nil, err
	}
	if !found.isClean() {
		return nil, fmt.Errorf("%w: %s", ErrUnclean, dir)
	}
	h := newHandles(o.Logger)
	if err := h.checkOpen(len(found.tables)); err != nil {
		return nil, err
	}
	db, err := badger.OpenManaged(optionsFor(dir, o, found).WithReadOnly(true))
	b, err := tune(db, err, o.Logger)
	if err != nil {
		return nil, fmt.Errorf("open the database in %s: %w", dir, err)
	}
	h.levels = b.Levels
	d := &DB{Bare: b, log: o.Logger, handles: h, scratches: sync.Pool{New: func() any { return new([]byte) }}}
	if d.packer, d.unpacker, err = newPacking(); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return d, nil
}

// isClean tells whether Badger would neither write a log as a table nor remove or cut a file.
func (i *inspection) isClean() bool {
	if i.manifest == nil || i.manifest.torn() || len(i.files.logs)+len(i.leftovers)+len(i.torn) > 0 {
		return false
	}
	for id := range i.files.tables {
		if _, named := i.manifest.tables[id]; !named {
			return false
		}
	}
	return true
}

// isReadOnly tells whether OpenReadOnly opened the database.
func (d *DB) isReadOnly() bool { return d.wal == nil }

// errReadOnly is what writes fail with then.
var errReadOnly = errors.New("the store was opened to be read alone")
