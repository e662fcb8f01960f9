//go:build linux || darwin

package badgerdb

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// locksDirectory says that the lock on a store's directory is ours and not Badger's.
const locksDirectory = true

// lockDirectory keeps everybody else out of a store until the lock is closed: ErrLocked where somebody is in. It is the lock
// that Badger takes by itself, so processes with either keep each other out. It is ours because Badger takes its own too late:
// nobody may change the files between their check and Badger's open.
func lockDirectory(dir string) (io.Closer, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("open the store's directory: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = fmt.Errorf("%w: %s", ErrLocked, dir)
		} else {
			err = fmt.Errorf("lock the store's directory %s: %w", dir, err)
		}
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
