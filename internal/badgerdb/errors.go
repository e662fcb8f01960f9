package badgerdb

import (
	"errors"

	"github.com/dgraph-io/badger/v4"

	"github.com/transcriptd/transcriptd/chainstore"
)

// What Open and Repair fail with beside chainstore.ErrDiskFull, chainstore.ErrTooManyFiles and the errors of the file system.
var (
	// ErrFormat: the directory holds something else, or was written by a newer version.
	ErrFormat = errors.New("not a store that this version can open")
	// ErrLocked: another process has the store open.
	ErrLocked = errors.New("the store is in use by another process: stop that one, or use another folder")
	// ErrDamaged: its files are not what was written, and Badger would open them with something missing, or end the process. Open
	// changed nothing.
	ErrDamaged = errors.New("the store is damaged")
	// ErrBeyondRepair: what is damaged holds a part of what is kept, and only a backup has it.
	ErrBeyondRepair = errors.New("it cannot be repaired: restore a backup")
)

// Translate turns an error of Badger into one of chainstore's; others pass through.
func Translate(err error) error {
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

// Unwritten is an error of a commit before anything was handed to Badger: the database is as it was.
type Unwritten struct{ Err error }

func (u *Unwritten) Error() string { return u.Err.Error() }

func (u *Unwritten) Unwrap() error { return u.Err }

// IsUnwritten tells whether an error of a commit left the database as it was.
func IsUnwritten(err error) bool {
	var u *Unwritten
	return errors.As(err, &u)
}
