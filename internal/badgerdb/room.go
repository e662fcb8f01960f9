package badgerdb

import (
	"fmt"

	"github.com/transcriptd/transcriptd/chainstore"
)

// roomToOpen refuses to open on a disk that cannot take a log: the database would end the process when it writes one
// through its memory map.
func roomToOpen(dir string, o *Options) error {
	if o.ReserveBytes < 0 {
		return nil
	}
	free, err := FreeBytes(dir)
	if err == nil && free < o.MemtableBytes {
		err = fmt.Errorf("%w: %d MiB are free in %s, at least %d are needed to open the store",
			chainstore.ErrDiskFull, free>>20, dir, o.MemtableBytes>>20)
	}
	return err
}

// Ready is the error that keeps a commit from being written, or nil.
func (d *DB) Ready() error {
	if err := d.handles.check(); err != nil {
		return err
	}
	if d.reserve <= 0 {
		return nil
	}
	free, err := FreeBytes(d.Opts().Dir)
	if err == nil && free < d.reserve {
		err = chainstore.ErrDiskFull
	}
	return err
}
