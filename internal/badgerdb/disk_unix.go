//go:build linux || darwin

package badgerdb

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// So many inodes must be free, or a sixteenth of all, for a disk to count as one that takes anything: a merge makes a file for
// each table.
const minInodes = 4096

// freeBytes is what the file system of a directory still takes: nothing where it has hardly an inode left. One that has no fixed
// number of inodes says that it has none at all.
func freeBytes(dir string) (int64, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return 0, fmt.Errorf("look for free space: %w", err)
	}
	if st.Files > 0 && st.Ffree < min(minInodes, st.Files/16) {
		return 0, nil
	}
	return int64(st.Bavail) * int64(st.Bsize), nil
}

// allocated is what a file takes on disk, where holes in it take nothing.
func allocated(info fs.FileInfo) int64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Blocks * 512
	}
	return info.Size()
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
