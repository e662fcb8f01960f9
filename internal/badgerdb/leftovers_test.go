package badgerdb

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/dgraph-io/badger/v4"
)

// step is what a system call of Badger's leaves of a file: a name without or with bytes, or no name; nil: it is removed.
type step []byte

// Whatever of the system calls, by which Badger makes a file or drops one, a process lived through: the store opens the first time, has
// everything, and takes more.
func TestEveryStepOpens(t *testing.T) {
	image := killed(t, func(d *DB) { commitNumbers(t, d, 1, 5, 100) })
	read := func(name string) []byte {
		b, err := os.ReadFile(filepath.Join(image, name))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	log, valueLog, registry, manifest := read(logName(1)), read(valueLogName(1)), read(badger.KeyRegistryFileName), read(badger.ManifestFilename)
	empty, noLog := step{}, append(log[:logHeader:logHeader], make([]byte, 2<<20-logHeader)...)
	table, _ := tableOf(t, image)
	for name, c := range map[string]struct {
		file  string
		steps []step
	}{
		"a log is made":            {logName(2), []step{empty, make([]byte, 2<<20), noLog}},
		"an empty log is cut":      {logName(2), []step{noLog, noLog[:logHeader], empty, nil}},
		"a value log is made":      {valueLogName(2), []step{empty, make([]byte, 2<<20), valueLog}},
		"a value log is cut":       {valueLogName(1), []step{valueLog, valueLog[:logHeader], empty, nil}},
		"a table is made":          {"000007.sst", []step{empty, make([]byte, len(table)), table[:len(table)/2], table}},
		"a table is dropped":       {"000007.sst", []step{table, empty, nil}},
		"the discards":             {discardFile, []step{nil, empty, make([]byte, 1<<20)}},
		"the key registry":         {"REWRITE-KEYREGISTRY", []step{empty, registry[:5], registry}},
		"no key registry":          {badger.KeyRegistryFileName, []step{nil}},
		"the MANIFEST, anew":       {"MANIFEST-REWRITE", []step{empty, manifest[:5], manifest}},
		"the lock, as it once was": {"LOCK", []step{empty, []byte("123\n")}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, s := range c.steps {
				dir := copyStore(t, image)
				path := filepath.Join(dir, c.file)
				if s == nil {
					if err := os.RemoveAll(path); err != nil {
						t.Fatal(err)
					}
				} else if err := os.WriteFile(path, s, 0o600); err != nil {
					t.Fatal(err)
				}
				mustOpenWith(t, dir, smallStore(), 5)
			}
		})
	}
}

// A first open that was cut short leaves its files in this order, the last of them in any of these states.
func TestEveryStepOfTheFirstOpens(t *testing.T) {
	image, dir := killed(t, func(*DB) {}), t.TempDir()
	for _, f := range []struct {
		name, like string // what it becomes
		anew       bool   // it is written under a name of its own, and then renamed
	}{
		{"MANIFEST-REWRITE", badger.ManifestFilename, true},
		{"REWRITE-KEYREGISTRY", badger.KeyRegistryFileName, true},
		{logName(1), logName(1), false},
		{discardFile, discardFile, false},
		{valueLogName(1), valueLogName(1), false},
	} {
		whole, err := os.ReadFile(filepath.Join(image, f.like))
		if err != nil {
			t.Fatal(err)
		}
		states := []step{{}, make(step, len(whole)), whole}
		if f.anew {
			states[1] = whole[:len(whole)/2]
		}
		for _, s := range states {
			next := copyStore(t, dir)
			if err := os.WriteFile(filepath.Join(next, f.name), s, 0o600); err != nil {
				t.Fatal(err)
			}
			mustOpenWith(t, next, smallStore(), 0)
		}
		if err := os.WriteFile(filepath.Join(dir, f.like), whole, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// tableOf closes a copy of a store, which makes a table of its log, and returns what is in it, and the store without a log.
func tableOf(t *testing.T, image string) (table []byte, dir string) {
	t.Helper()
	dir = copyStore(t, image)
	d, err := Open(dir, smallStore())
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if table, err = os.ReadFile(filepath.Join(dir, "000001.sst")); err != nil {
		t.Fatal(err)
	}
	return table, dir
}
