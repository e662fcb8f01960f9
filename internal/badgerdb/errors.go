package badgerdb

import (
	"errors"
	"fmt"

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
	// ErrKey: the store is encrypted and the key that was given is not its own, or none was; or it is not, and one was. Nothing was
	// changed.
	ErrKey = errors.New("the key does not go with the store")
)

// The ways to be ErrKey.
var (
	errNoKey        = fmt.Errorf("%w: it is encrypted, and no key was given", ErrKey)
	errKeyMismatch  = fmt.Errorf("%w: it is encrypted with another, or the first 28 bytes of its KEYREGISTRY are damaged", ErrKey)
	errNotEncrypted = fmt.Errorf("%w: it was begun without encryption, and stays without: open it without a key, or begin another store with one", ErrKey)
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
