//go:build unix

package drill

import (
	"io/fs"
	"syscall"
)

// blocks is how many bytes of a disk a file takes: a file of the store can have a size that it has not filled.
func blocks(e fs.DirEntry) int64 {
	info, err := e.Info()
	if err != nil {
		return 0
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return stat.Blocks * 512
	}
	return info.Size()
}
