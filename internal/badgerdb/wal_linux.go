package badgerdb

import (
	"errors"
	"os"
	"syscall"
)

// SyncsLog says that the content of the database's log is ours to sync. Linux syncs what was written through a map by the
// file just as by the map: its msync is an fdatasync of the map's part of the file.
const SyncsLog = true

// fdatasync makes what was written to a log durable.
func fdatasync(log *os.File) error {
	for {
		if err := syscall.Fdatasync(int(log.Fd())); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
