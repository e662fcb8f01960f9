//go:build linux || darwin

package badgerdb

import (
	"fmt"
	"io/fs"
	"math"
	"os"
	"syscall"
)

// lookAtDisk tells what the file system of a directory still takes. One that has no fixed number of inodes says that it has none at
// all.
func lookAtDisk(dir string) (free diskSpace, err error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return free, fmt.Errorf("look for free space: %w", err)
	}
	free = diskSpace{bytes: int64(st.Bavail) * int64(st.Bsize), inodes: math.MaxInt64}
	if st.Files > 0 {
		free.inodes, free.keptInodes = int64(min(st.Ffree, math.MaxInt64)), int64(min(keptInodes, st.Files/4))
	}
	return free, nil
}

// allocated is what a file takes on disk, where holes in it take nothing.
func allocated(info fs.FileInfo) int64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Blocks * 512
	}
	return info.Size()
}

// keepOwner gives a file that is to replace another the other's owner: who replaces it as root takes it from nobody.
func keepOwner(f *os.File, of string) error {
	info, err := os.Stat(of)
	if err != nil {
		return err
	}
	was, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(was.Uid) == os.Geteuid() && int(was.Gid) == os.Getegid() {
		return nil
	}
	return f.Chown(int(was.Uid), int(was.Gid))
}
