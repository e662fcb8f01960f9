package badgerdb

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/dgraph-io/badger/v4"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/internal/syncdir"
)

// What is cut off a file is kept in a folder of the store, which Badger does not look at.
const (
	asideFolder = "set-aside"
	tornPrefix  = "torn-"
	// keptTorn is how many torn ends are kept; each is a part of one transaction.
	keptTorn = 8
)

// settle makes the files of a store ones that Badger opens as they are meant, after a kill or a loss of power. Where more is wrong it
// changes nothing: ErrDamaged; nor where the store is not admitted. It tells what it found.
func settle(dir string, o *Options) (*inspection, error) {
	i, err := inspectAdmitted(dir, o)
	if err != nil {
		return nil, err
	}
	if err := refusal(i.damages); err != nil {
		return nil, err
	}
	for _, mend := range []func() error{i.removeLeftovers, i.removeUnnamed, i.removeWritten} { // these make room on the disk
		if err := mend(); err != nil {
			return nil, err
		}
	}
	return i, i.cutTornEnds(o.Logger)
}

// inspectAdmitted inspects a store and asks whether it is admitted. A damaged one is asked for too: whoever does not know its format must
// not repair it.
func inspectAdmitted(dir string, o *Options) (*inspection, error) {
	i := &inspection{dir: dir, encryptionKey: o.EncryptionKey}
	if o.Admit == nil {
		return i, i.inspect()
	}
	i.peek = &peek{keys: o.Peek}
	if err := i.inspect(); err != nil {
		return nil, err
	}
	through := i.known
	for _, t := range i.orphans { // a repair may adopt them
		through = max(through, t.maxVersion)
	}
	return i, o.Admit(i.peek.values(through))
}

// removeUnnamed removes the tables that the MANIFEST does not name: unfinished ones, or ones that were merged. Badger would do so, but
// only once it has made new files, for which there may be no room beside them.
func (i *inspection) removeUnnamed() error {
	for id, name := range i.files.tables {
		if _, named := i.manifest.tables[id]; named {
			continue
		}
		if err := os.Remove(i.path(name)); err != nil {
			return fmt.Errorf("remove a table that is not the store's: %w", err)
		}
	}
	return nil
}

// removeWritten removes logs that were written as tables: Badger would write each a second time.
func (i *inspection) removeWritten() error {
	written := slices.DeleteFunc(slices.Clone(i.logs), func(s *logScan) bool { return s.last == 0 || s.last > i.inTables || !s.clean() })
	if len(written) == 0 {
		return nil
	}
	if err := i.syncManifest(); err != nil {
		return err
	}
	for _, s := range written {
		if err := os.Remove(i.path(s.name)); err != nil {
			return fmt.Errorf("remove a log that was written as a table: %w", err)
		}
	}
	return nil
}

// syncManifest makes the MANIFEST durable, and the names of the tables in it: a process that was killed may have named a table in the
// system's memory alone, and a loss of power may then take that and leave the log removed.
func (i *inspection) syncManifest() error {
	f, _, err := i.open(badger.ManifestFilename)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), f.Close(), syncdir.Sync(i.dir)); err != nil {
		return fmt.Errorf("sync %s: %w", f.Name(), err)
	}
	return nil
}

// removeLeftovers removes what nobody misses. Badger, which leaves it, takes what is empty for new, and that for an error.
func (i *inspection) removeLeftovers() error {
	for _, name := range i.leftovers {
		if err := os.Remove(i.path(name)); err != nil {
			return fmt.Errorf("remove a leftover of the store: %w", err)
		}
	}
	return nil
}

// cutTornEnds cuts what is not whole off the logs, the registry and the MANIFEST, and keeps it aside.
func (i *inspection) cutTornEnds(log *slog.Logger) error {
	torn := i.torn
	if m := i.manifest; m != nil && m.torn() {
		torn = append(torn, tornEnd{badger.ManifestFilename, m.end, m.size})
	}
	for _, t := range torn {
		kept, err := i.cut(t)
		if err != nil {
			return err
		}
		if log != nil {
			log.Warn("a file of the store ends in what was not completely written: cut off", "file", t.file, "offset", t.from, "bytes", t.to-t.from, "kept", kept)
		}
	}
	if len(torn) == 0 {
		return nil
	}
	return i.forgetTorn()
}

// cut makes a file end at from, after what is behind it was copied. It is durable when the next log is begun: else, after a
// loss of power, that would lie behind the torn end again.
func (i *inspection) cut(t tornEnd) (kept string, err error) {
	f, _, err := i.open(t.file)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	name := fmt.Sprintf("%s%s-%s-at-%d", tornPrefix, stamp(), t.file, t.from)
	kept = filepath.Join(asideFolder, name)
	if err = i.keep(io.NewSectionReader(f, t.from, t.to-t.from), t.to-t.from, kept); err != nil {
		return "", err
	}
	if err := errors.Join(f.Truncate(t.from), f.Sync()); err != nil {
		return "", fmt.Errorf("cut %s: %w", f.Name(), err)
	}
	return kept, nil
}

// stamp is a time as a part of a name that sorts by it.
func stamp() string { return time.Now().UTC().Format("20060102T150405.000000000") }

// keep copies bytes into a durable file below the folder for what is set aside; from there on to its size it has zeros.
func (i *inspection) keep(from io.Reader, size int64, name string) error {
	path := i.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("set aside: %w", err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("set aside: %w", err)
	}
	_, err = io.Copy(f, from)
	err = errors.Join(err, f.Truncate(size), f.Sync(), f.Close(),
		syncdir.Sync(filepath.Dir(path)), syncdir.Sync(i.path(asideFolder)), syncdir.Sync(i.dir))
	if err != nil {
		if errors.Is(err, syscall.ENOSPC) {
			err = fmt.Errorf("%w: %w", chainstore.ErrDiskFull, err)
		}
		return errors.Join(fmt.Errorf("set aside: %w", err), os.Remove(path)) // no copy of each start on a full disk
	}
	return nil
}

// forgetTorn removes the oldest torn ends, but for keptTorn.
func (i *inspection) forgetTorn() error {
	entries, err := os.ReadDir(i.path(asideFolder)) // in the order of their names
	if err != nil {
		return fmt.Errorf("list what was set aside: %w", err)
	}
	entries = slices.DeleteFunc(entries, func(e os.DirEntry) bool { return !strings.HasPrefix(e.Name(), tornPrefix) })
	for _, e := range entries[:max(0, len(entries)-keptTorn)] {
		if err := os.Remove(filepath.Join(i.path(asideFolder), e.Name())); err != nil {
			return fmt.Errorf("forget what was set aside: %w", err)
		}
	}
	return nil
}
