//go:build unix

package identity

import (
	"errors"
	"os"
	"syscall"
)

// lock waits until nobody else edits a file. The file that is locked stays: were it removed, two could hold locks of one name.
func lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for err = syscall.EINTR; errors.Is(err, syscall.EINTR); {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() { _ = f.Close() }, nil
}

// keepOwner gives a file that is to replace another the other's owner: who edits it as root takes it from nobody.
func keepOwner(f *os.File, of os.FileInfo) error {
	was, ok := of.Sys().(*syscall.Stat_t)
	now, err := f.Stat()
	if err != nil || !ok {
		return err
	}
	if is, ok := now.Sys().(*syscall.Stat_t); ok && is.Uid == was.Uid && is.Gid == was.Gid {
		return nil
	}
	return f.Chown(int(was.Uid), int(was.Gid))
}
