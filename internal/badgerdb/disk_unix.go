//go:build linux || darwin

package badgerdb

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// isLocked tells whether another process holds the database's lock on the directory.
func isLocked(dir string) bool {
	f, err := os.Open(dir)
	if err != nil {
		return false
	}
	defer f.Close()
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	return errors.Is(err, syscall.EWOULDBLOCK)
}

// FreeBytes is what the file system of a directory still takes.
func FreeBytes(dir string) (int64, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return 0, fmt.Errorf("look for free space: %w", err)
	}
	return int64(st.Bavail) * int64(st.Bsize), nil
}

// allocated is what a file takes on disk, where holes in it take nothing; 0 if it is not there.
func allocated(path string) int64 {
	var st syscall.Stat_t
	if err := syscall.Stat(path, &st); err != nil {
		return 0
	}
	return st.Blocks * 512
}

// syncDirectory makes the names in a directory durable.
func syncDirectory(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("open the directory: %w", err)
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("sync the directory: %w", err)
	}
	return nil
}
