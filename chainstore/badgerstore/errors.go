package badgerstore

import (
	"errors"
	"fmt"

	"github.com/dgraph-io/badger/v4"

	"github.com/transcriptd/transcriptd/chainstore"
)

// What Open fails with beside the errors of the file system.
var (
	// ErrFormat: the directory holds something else, or was written by a newer version.
	ErrFormat = errors.New("not a store that this version can open")
	// ErrLocked: another process has the store open.
	ErrLocked = errors.New("the store is in use by another process")
)

// translate turns an error of the database into one of chainstore's; others pass through.
func translate(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, badger.ErrDBClosed), errors.Is(err, badger.ErrBlockedWrites):
		return chainstore.ErrClosed
	case errors.Is(err, badger.ErrTxnTooBig):
		return chainstore.ErrTooLarge
	default:
		return err
	}
}

// dangling is the error for an index that names a node that is not there.
func dangling(table byte) error {
	return fmt.Errorf("%w: table %c names a node that is not there", chainstore.ErrCorrupt, table)
}
