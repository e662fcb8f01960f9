package badgerdb

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// eachTable calls f with the tables in a directory, whether or not they are the database's.
func eachTable(dir string, f func(id uint64, e fs.DirEntry) error) error {
	return eachFile(dir, tableSuffix, func(name string, e fs.DirEntry) error {
		if id, err := strconv.ParseUint(name, 10, 64); err == nil {
			return f(id, e)
		}
		return nil
	})
}

// eachFile calls f with the files of a directory that have a suffix, and their names without it. An error that a file is not
// there, for it is gone meanwhile, is none.
func eachFile(dir, suffix string, f func(name string, e fs.DirEntry) error) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("list the store's directory: %w", err)
	}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), suffix)
		if !ok {
			continue
		}
		if err := f(name, e); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("look at a file of the store: %w", err)
		}
	}
	return nil
}

// addAllocated adds to n what a file takes on disk.
func addAllocated(n *int64, e fs.DirEntry) error {
	info, err := e.Info()
	if err == nil {
		*n += allocated(info)
	}
	return err
}

// allocatedAt is what a file takes on disk; 0 if it is not there.
func allocatedAt(path string) int64 {
	info, err := os.Lstat(path)
	if err != nil {
		return 0
	}
	return allocated(info)
}

// logsOnDisk is what the logs in a directory take on disk.
func logsOnDisk(dir string) (n int64, err error) {
	err = eachFile(dir, walSuffix, func(_ string, e fs.DirEntry) error { return addAllocated(&n, e) })
	return n, err
}
