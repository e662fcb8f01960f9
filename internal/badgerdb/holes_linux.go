package badgerdb

import (
	"errors"
	"os"
	"syscall"
)

// seekData is lseek's SEEK_DATA.
const seekData = 3

// nextData returns the first offset of a file from one on that lies in no hole; the file's size where nothing but a hole
// follows. A file system that knows no holes has data everywhere.
func nextData(f *os.File, from, size int64) int64 {
	at, err := f.Seek(from, seekData)
	switch {
	case err == nil:
		return at
	case errors.Is(err, syscall.ENXIO):
		return size
	default:
		return from
	}
}
