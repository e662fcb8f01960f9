//go:build linux || darwin

package bench

import (
	"io/fs"
	"syscall"
)

// allocated is what a file takes on disk.
func allocated(info fs.FileInfo) int64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return stat.Blocks * 512
	}
	return info.Size()
}
