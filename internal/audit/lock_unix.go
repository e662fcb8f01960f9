//go:build unix && !aix && !solaris

package audit

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// lock keeps other processes from a file until the lock is closed. The lock's own file stays.
func lock(path string) (io.Closer, error) {
	f, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, mode)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	switch {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return nil, errors.Join(fmt.Errorf("%w: %s", ErrLocked, path), f.Close())
	case err != nil:
		return nil, errors.Join(fmt.Errorf("lock %s: %w", f.Name(), err), f.Close())
	}
	return f, nil
}
