package bench

import (
	"fmt"
	"os"
	"syscall"
)

// syncAll lets every file system write what it holds back.
func syncAll() { syscall.Sync() }

// deviceWrites is how many bytes the device that a folder lies on has written so far; errNoCounters where its file system
// lies on none, or on several.
func deviceWrites(dir string) (bytes int64, err error) {
	var stat syscall.Stat_t
	if err := syscall.Stat(dir, &stat); err != nil {
		return 0, err
	}
	major, minor := deviceNumbers(stat.Dev)
	counters, err := os.ReadFile(fmt.Sprintf("/sys/dev/block/%d:%d/stat", major, minor))
	if err != nil {
		return 0, fmt.Errorf("%w: %w", errNoCounters, err)
	}
	return sectorsWritten(string(counters))
}

// deviceNumbers takes a device's number apart: 12 bits of the major one and 20 of the minor, and the rest above them.
func deviceNumbers(dev uint64) (major, minor uint32) {
	major = uint32(dev>>8)&0xfff | uint32(dev>>32)&^0xfff
	minor = uint32(dev)&0xff | uint32(dev>>12)&^0xff
	return major, minor
}
