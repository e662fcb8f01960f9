package badgerdb

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/pb"

	"github.com/transcriptd/transcriptd/internal/syncdir"
)

// errNoStore is told by Rekey of a directory without a store.
var errNoStore = fmt.Errorf("%w: there is none", ErrFormat)

// Rekey makes a key that of a store, in place of the one in the options: it encrypts the data keys anew, and adds one, with which what is
// written from then on is encrypted. What is there stays encrypted with the data keys that it was. The store has the old key or the new
// one, whatever cuts this short, and where it has the new one already nothing is done: so it may be repeated. Errors: those of Admit,
// ErrKey, ErrLocked, ErrFormat, ErrDamaged, those of the file system.
func Rekey(dir string, o Options, key []byte) error {
	if _, err := os.Stat(dir); err != nil {
		return fmt.Errorf("look for the store: %w", err)
	}
	lock, err := lockDirectory(dir)
	if err != nil {
		return err
	}
	err = rekeyLocked(dir, &o, key)
	if renewed := o; errors.Is(err, errKeyMismatch) {
		renewed.EncryptionKey = key
		if _, newErr := inspectAdmitted(dir, &renewed); newErr == nil {
			err = nil
		}
	}
	return errors.Join(err, lock.Close())
}

func rekeyLocked(dir string, o *Options, key []byte) error {
	if err := checkDirectory(dir); err != nil {
		return err
	}
	i, err := inspectAdmitted(dir, o)
	switch {
	case err != nil:
		return err
	case i.manifest == nil:
		return errNoStore
	case i.keys == nil:
		return fmt.Errorf("%w: it has no data keys yet: start it once", ErrKey)
	case bytes.Equal(o.EncryptionKey, key):
		return fmt.Errorf("%w: it is its key already: give another", ErrKey)
	}
	if err := refusal(i.damages); err != nil {
		return err
	}
	if err := i.addDataKey(len(key)); err != nil {
		return err
	}
	b, err := registryBytes(i.keys, key)
	if err != nil {
		return err
	}
	return i.replaceRegistry(b)
}

// addDataKey adds a data key of a size, which is newer than the others.
func (i *inspection) addDataKey(size int) error {
	data, err := randomBytes(size)
	if err != nil {
		return err
	}
	iv, err := newIV()
	if err != nil {
		return err
	}
	id := i.keys.newestFirst()[0] + 1
	i.keys[id] = &pb.DataKey{KeyId: id, Data: data, Iv: iv, CreatedAt: time.Now().Unix()}
	return nil
}

// replaceRegistry puts a registry in place of the one that is there, whose owner stays.
func (i *inspection) replaceRegistry(b []byte) error {
	path, to := i.path(badger.KeyRegistryRewriteFileName), i.path(badger.KeyRegistryFileName)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("write the data keys: %w", err)
	}
	_, err = f.Write(b)
	if err = errors.Join(err, keepOwner(f, to), f.Sync(), f.Close()); err != nil {
		return errors.Join(fmt.Errorf("write the data keys: %w", err), os.Remove(path))
	}
	if err := os.Rename(path, to); err != nil {
		return fmt.Errorf("replace the data keys: %w", err)
	}
	return syncdir.Sync(i.dir)
}
