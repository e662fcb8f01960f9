package badgerdb

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/transcriptd/transcriptd/internal/syncdir"
)

// wal makes the database's log files durable: what is in them, where SyncsLog says that this is ours to do, and their
// names, for the database does not sync the directory that a new log was created in, so that after a power loss the log
// of acknowledged changes could have no name.
//
// A commit is written to the newest log, as a whole. An older one gets no more, and was synced after the last commit to
// it, before the next began: so it is the newest that has to be synced.
type wal struct {
	dir string
	// first is below or at the number of the oldest log; last is the number of the newest log whose name is durable.
	first, last int
	// newest is last, for anybody at any time.
	newest atomic.Int64
	// log is that log, where its content is ours to sync; it is nil before the first sync.
	log *os.File
	// content syncs what is in a log.
	content func(log *os.File) error
	// syncs counts those of content that did not fail.
	syncs atomic.Uint64
}

const walSuffix = ".mem"

// openWAL is called when the database was opened, and its first log created.
func openWAL(dir string, content func(*os.File) error) (*wal, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("list the store's directory: %w", err)
	}
	w := &wal{dir: dir, content: content}
	for _, e := range entries {
		name, isLog := strings.CutSuffix(e.Name(), walSuffix)
		if n, err := strconv.Atoi(name); isLog && err == nil {
			w.last = max(w.last, n)
			if w.first == 0 || n < w.first {
				w.first = n
			}
		}
	}
	w.newest.Store(int64(w.last))
	return w, syncdir.Sync(dir)
}

// sync is called after a commit and before it is acknowledged: if the database began a new log, its name is made
// durable; and then what the newest has.
func (w *wal) sync() error {
	began := false
	for {
		_, err := os.Lstat(w.path(w.last + 1))
		if errors.Is(err, os.ErrNotExist) {
			break
		}
		if err != nil {
			return fmt.Errorf("look for a new log: %w", err)
		}
		w.last++
		began = true
	}
	w.newest.Store(int64(w.last))
	if began {
		if err := syncdir.Sync(w.dir); err != nil {
			return err
		}
	}
	if !SyncsLog {
		return nil
	}
	if began || w.log == nil {
		if err := w.reopen(); err != nil {
			return err
		}
	}
	if err := w.content(w.log); err != nil {
		return fmt.Errorf("sync the log: %w", err)
	}
	w.syncs.Add(1)
	return nil
}

// bytes is what the logs take on disk.
func (w *wal) bytes() (total int64, err error) {
	for n, found := w.first, false; n <= w.last || found; n++ {
		info, err := os.Lstat(w.path(n))
		switch {
		case err == nil:
			total += allocated(info)
			found = true
		case !errors.Is(err, os.ErrNotExist):
			return 0, fmt.Errorf("look at a log: %w", err)
		case n == w.first && n < w.last: // it was written as a table
			w.first++
		default:
			found = false
		}
	}
	return total, nil
}

func (w *wal) path(number int) string {
	return filepath.Join(w.dir, logName(number))
}

// reopen takes the newest log in place of the one before.
func (w *wal) reopen() error {
	if err := w.close(); err != nil {
		return err
	}
	log, err := os.OpenFile(w.path(w.last), os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("open the log to sync it: %w", err)
	}
	w.log = log
	return nil
}

// close is called when nothing is written any more.
func (w *wal) close() error {
	if w.log == nil {
		return nil
	}
	log := w.log
	w.log = nil
	if err := log.Close(); err != nil {
		return fmt.Errorf("close the log: %w", err)
	}
	return nil
}
