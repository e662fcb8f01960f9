//go:build !linux && !darwin

package badgerdb

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
)

// freeBytes cannot tell here.
func freeBytes(string) (int64, error) { return math.MaxInt64, nil }

// DiskUsage is the length of the files of a directory.
func DiskUsage(dir string) (total int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return gone(err)
		}
		info, err := e.Info()
		if err != nil {
			return gone(err)
		}
		if info.Mode().IsRegular() {
			total += info.Size()
		}
		return nil
	})
	return total, err
}

// allocated is the length of a file: what it takes on disk cannot be told here.
func allocated(info fs.FileInfo) int64 { return info.Size() }

// gone lets a file pass that was removed meanwhile.
func gone(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return fmt.Errorf("measure the store: %w", err)
}

// syncDirectory can do nothing here.
func syncDirectory(string) error { return nil }
