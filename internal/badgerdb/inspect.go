package badgerdb

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/table"
)

// inspection is what the files of a store say, read before Badger opens them. It changes nothing. Whoever inspects has the lock on
// the directory.
type inspection struct {
	dir           string
	encryptionKey []byte // nil: the store is not encrypted
	peek          *peek  // nil: nobody asks
	files         files
	// keys are the data keys; nil: the store is not encrypted.
	keys keyring

	manifest *manifest
	// tables are those that the MANIFEST names and that are whole. inTables is the last transaction in them.
	tables   []*tableFile
	inTables uint64
	// logs are in order, without empty ones. The tables and they have all transactions up to known, and highest is the
	// highest number that any of them has.
	logs           []*logScan
	known, highest uint64
	// orphans are whole tables that the MANIFEST does not name, and that have transactions behind known. adopted are those that it
	// is to name.
	orphans, adopted []*tableFile

	// leftovers are files that nobody misses: that hold nothing and that Badger takes for damaged, or that were to replace one. torn are
	// ends of logs, and of the registry, that have to be cut.
	leftovers []string
	torn      []tornEnd
	damages   []*Damage
}

// inspect reads the files of a store. Without a MANIFEST there is none yet. Its errors are those of the file system, and ErrKey.
func inspect(dir string, encryptionKey []byte) (*inspection, error) {
	i := &inspection{dir: dir, encryptionKey: encryptionKey}
	return i, i.inspect()
}

func (i *inspection) inspect() error {
	if _, err := os.Lstat(i.path(badger.ManifestFilename)); errors.Is(err, os.ErrNotExist) {
		return nil // checkDirectory found nothing else
	}
	if err := i.list(); err != nil || i.hopeless() {
		return err
	}
	for _, check := range []func() error{i.checkManifest, i.checkRegistry, i.checkDiscards, i.checkValueLogs} {
		if err := check(); err != nil {
			return err
		}
	}
	for _, check := range []func() error{i.checkTables, i.checkLogs, i.checkOrphans} {
		if i.hopeless() {
			break // what follows would blame what it rests on
		}
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (i *inspection) path(name string) string { return filepath.Join(i.dir, name) }

// damaged notes a damage; offset less than 0: of the file as a whole.
func (i *inspection) damaged(file string, offset int64, r remedy, what string) {
	i.damages = append(i.damages, &Damage{File: file, Offset: offset, What: what, remedy: r})
}

// hopeless tells whether a damage was found that nothing can be done about.
func (i *inspection) hopeless() bool {
	return slices.ContainsFunc(i.damages, func(d *Damage) bool { return d.remedy == noRemedy })
}

// open opens a file of the store as Badger does, and tells its size.
func (i *inspection) open(name string) (*os.File, int64, error) {
	f, err := os.OpenFile(i.path(name), os.O_RDWR, 0)
	if err != nil {
		return nil, 0, fmt.Errorf("open a file of the store: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}

// files are the names of a store's files, by what Badger takes them for, each kind in the order of their numbers.
type files struct {
	tables          map[uint64]string
	logs, valueLogs []string
}

// list lists the directory. A name that Badger would read as another one, or not at all, is a damage.
func (i *inspection) list() error {
	entries, err := os.ReadDir(i.dir)
	if err != nil {
		return fmt.Errorf("list the store's directory: %w", err)
	}
	i.files.tables = map[uint64]string{}
	var logs, valueLogs []uint64
	for _, e := range entries {
		name, kind := e.Name(), filepath.Ext(e.Name())
		number, err := strconv.ParseUint(strings.TrimSuffix(name, kind), 10, 31)
		switch {
		case name == badger.KeyRegistryRewriteFileName: // what was to be the registry
			i.leftovers = append(i.leftovers, name)
		case isStoreFile(name) && !e.Type().IsRegular():
			i.damaged(name, -1, noRemedy, noFile)
		case kind == tableSuffix && e.IsDir(), kind != tableSuffix && kind != walSuffix && kind != valueLogSuffix:
		case kind == tableSuffix && err == nil && name == table.IDToFilename(number):
			i.files.tables[number] = name
		case kind == walSuffix && err == nil && name == logName(int(number)):
			logs = append(logs, number)
		case kind == valueLogSuffix && err == nil && name == valueLogName(number):
			valueLogs = append(valueLogs, number)
		default:
			i.damaged(name, -1, setAside, "no file of a store has this name")
		}
	}
	slices.Sort(logs)
	slices.Sort(valueLogs)
	for _, n := range logs {
		i.files.logs = append(i.files.logs, logName(int(n)))
	}
	for _, n := range valueLogs {
		i.files.valueLogs = append(i.files.valueLogs, valueLogName(n))
	}
	return nil
}

const noFile = "a file of the store has this name, and this is none: put the file back"

// isStoreFile tells whether Badger opens the file of a name.
func isStoreFile(name string) bool {
	switch name {
	case badger.ManifestFilename, badger.KeyRegistryFileName, discardFile:
		return true
	}
	kind := filepath.Ext(name)
	return kind == walSuffix || kind == valueLogSuffix
}

const (
	tableSuffix    = ".sst"
	valueLogSuffix = ".vlog"
)

func logName(number int) string         { return fmt.Sprintf("%05d%s", number, walSuffix) }
func valueLogName(number uint64) string { return fmt.Sprintf("%06d%s", number, valueLogSuffix) }
