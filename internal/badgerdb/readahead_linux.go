package badgerdb

import (
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// What is told of a device's read-ahead: of a store of this size, from so much on.
const (
	readAheadMatters = 1 << 30
	farAhead         = 1 << 20
)

// tellReadAhead logs a line where the device of a large database reads far ahead. Tables are read through memory maps, and a page that
// is not in memory brings that much with it: of 8 MiB, a whole table. It could be turned off for the maps alone, but merges, which
// read tables in order, would be slowed down several times: see decision 0044.
func tellReadAhead(log *slog.Logger, dir string, database int64) {
	if log == nil || database < readAheadMatters {
		return
	}
	if ahead, ok := readAhead("/sys", dir); ok && ahead > farAhead {
		log.Warn("the store's device reads far ahead, so that a read of what is not in memory takes long",
			"read_ahead_kib", ahead>>10, "better_kib", 128, "set", "blockdev --setra 256 DEVICE")
	}
}

// readAhead is how many bytes the device of a directory reads ahead, as sys, where sysfs lies, tells it of a disk, a part of one, or
// a file system without a device of its own.
func readAhead(sys, dir string) (bytes int64, ok bool) {
	var st syscall.Stat_t
	if err := syscall.Stat(dir, &st); err != nil {
		return 0, false
	}
	device := deviceNumber(st.Dev)
	for _, path := range []string{"/dev/block/" + device + "/queue", "/dev/block/" + device + "/../queue", "/class/bdi/" + device} {
		text, err := os.ReadFile(sys + path + "/read_ahead_kb")
		if err != nil {
			continue
		}
		if kib, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil {
			return kib << 10, true
		}
	}
	return 0, false
}

// deviceNumber is how sysfs writes the number of a device.
func deviceNumber(device uint64) string {
	return fmt.Sprintf("%d:%d", device>>8&0xfff|device>>32&^0xfff, device&0xff|device>>12&^0xff)
}
