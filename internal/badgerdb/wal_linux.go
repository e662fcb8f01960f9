package badgerdb

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// SyncsLog says that the content of the database's log is ours to sync. Linux syncs what was written through a map by the
// file just as by the map: its msync is an fdatasync of the map's part of the file.
const SyncsLog = true

// syncLog makes what was written to a log durable.
func syncLog(log *os.File) error {
	if err := fdatasync(log); err != nil {
		return err
	}
	return takesWrites(log)
}

func fdatasync(log *os.File) error {
	for {
		if err := syscall.Fdatasync(int(log.Fd())); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// takesWrites fails where the file system of a log has given up. Where ext4 gives its journal up during a sync, because the
// device fails or is shut down, the blocks that the log has grown by may be lost, and the sync may return no error all the same
// (decision 0042). The first change of the log's times makes ext4 notice, the second is refused.
func takesWrites(log *os.File) error {
	for range 2 {
		// utimensat of an open file, to the present time.
		if _, _, err := syscall.Syscall6(syscall.SYS_UTIMENSAT, log.Fd(), 0, 0, 0, 0, 0); err != 0 {
			return fmt.Errorf("the file system takes no more writes: %w", err)
		}
	}
	return nil
}
