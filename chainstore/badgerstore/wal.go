package badgerstore

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// wal makes the names of the database's log files durable. Badger syncs a log's content, but not the directory that a
// new log was created in, so that after a power loss the log of acknowledged changes could have no name.
type wal struct {
	dir string
	// last is the number of the newest log whose name is durable.
	last int
}

const walSuffix = ".mem"

// openWAL is called when the database was opened, and its first log created.
func openWAL(dir string) (*wal, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("list the store's directory: %w", err)
	}
	w := &wal{dir: dir}
	for _, e := range entries {
		name, isLog := strings.CutSuffix(e.Name(), walSuffix)
		if n, err := strconv.Atoi(name); isLog && err == nil {
			w.last = max(w.last, n)
		}
	}
	return w, syncDirectory(dir)
}

// sync is called after a commit and before it is acknowledged: if the database began a new log, its name is made
// durable.
func (w *wal) sync() error {
	began := false
	for {
		_, err := os.Lstat(filepath.Join(w.dir, fmt.Sprintf("%05d%s", w.last+1, walSuffix)))
		if errors.Is(err, os.ErrNotExist) {
			break
		}
		if err != nil {
			return fmt.Errorf("look for a new log: %w", err)
		}
		w.last++
		began = true
	}
	if !began {
		return nil
	}
	return syncDirectory(w.dir)
}
