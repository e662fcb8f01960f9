//go:build !unix || aix || solaris

package audit

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// lock keeps other processes from a file until the lock is closed. A process that was killed leaves it, and it has to be removed by hand.
func lock(path string) (io.Closer, error) {
	name := path + ".lock"
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_RDWR, mode)
	if errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("%w: %s; if there is none, remove %s", ErrLocked, path, name)
	}
	if err != nil {
		return nil, err
	}
	return &heldLock{f}, nil
}

type heldLock struct{ *os.File }

func (l *heldLock) Close() error { return errors.Join(l.File.Close(), os.Remove(l.Name())) }
