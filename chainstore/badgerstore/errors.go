package badgerstore

import (
	"fmt"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/internal/badgerdb"
)

// What Open fails with beside chainstore's errors and those of the file system.
var (
	// ErrFormat: the directory holds something else, or was written by a newer version.
	ErrFormat = badgerdb.ErrFormat
	// ErrLocked: another process has the store open.
	ErrLocked = badgerdb.ErrLocked
	// ErrDamaged: its files are not what was written.
	ErrDamaged = badgerdb.ErrDamaged
)

// missing is the error for a row that every namespace has.
func missing(table byte) error {
	return fmt.Errorf("%w: a namespace has no row in table %c", chainstore.ErrCorrupt, table)
}

// dangling is the error for an index that names a node that is not there.
func dangling(table byte) error {
	return fmt.Errorf("%w: table %c names a node that is not there", chainstore.ErrCorrupt, table)
}
