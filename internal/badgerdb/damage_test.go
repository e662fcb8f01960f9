package badgerdb

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dgraph-io/badger/v4"
)

var damageAll = flag.Bool("damage.all", false, "do every damage to every file in TestDamagedFiles, not a fifth of them at random")

// damages are what is done to a file; others are files of the same store.
var damages = map[string]func(t *testing.T, path, other string){
	"emptied":           resize(func(int) int { return 0 }),
	"cut by a byte":     resize(func(n int) int { return n - 1 }),
	"cut by two":        resize(func(n int) int { return n - 2 }),
	"cut in half":       resize(func(n int) int { return n / 2 }),
	"cut to 100":        resize(func(n int) int { return min(n, 100) }),
	"last page zeroed":  edit(func(b []byte) { clear(b[(len(b)-1)&^4095:]) }),
	"first page zeroed": edit(func(b []byte) { clear(b[:min(len(b), 4096)]) }),
	"zeroed":            edit(func(b []byte) { clear(b) }),
	"all random":        edit(randomize),
	"first page random": edit(func(b []byte) { randomize(b[:min(len(b), 4096)]) }),
	"bit of the first":  edit(func(b []byte) { b[0] ^= 1 }),
	"bit at 9":          edit(func(b []byte) { b[9] ^= 1 }),
	"bit at 30":         edit(func(b []byte) { b[min(30, len(b)-1)] ^= 0x40 }),
	"bit at a tenth":    edit(func(b []byte) { b[len(b)/10] ^= 8 }),
	"bit in the middle": edit(func(b []byte) { b[len(b)/2] ^= 2 }),
	"bit 100 from end":  edit(func(b []byte) { b[max(0, len(b)-100)] ^= 16 }),
	"bit 60 from end":   edit(func(b []byte) { b[max(0, len(b)-60)] ^= 16 }),
	"bit 200 from end":  edit(func(b []byte) { b[max(0, len(b)-200)] ^= 16 }),
	"bit 14 from end":   edit(func(b []byte) { b[max(0, len(b)-14)] ^= 16 }),
	"bit 6 from end":    edit(func(b []byte) { b[len(b)-6] ^= 128 }),
	"bit of the last":   edit(func(b []byte) { b[len(b)-1] ^= 1 }),
	"bytes put in": func(t *testing.T, path, _ string) {
		change(t, path, func(b []byte) []byte { return slices.Insert(b, len(b)/2, []byte("put in")...) })
	},
	"appended":       grow([]byte("more")),
	"zeros appended": grow(make([]byte, 100)),
	"removed":        func(t *testing.T, path, _ string) { must(t, os.Remove(path)) },
	"replaced": func(t *testing.T, path, other string) {
		b, err := os.ReadFile(other)
		must(t, errors.Join(err, os.WriteFile(path, b, 0o600)))
	},
	"swapped": func(t *testing.T, path, other string) {
		must(t, errors.Join(os.Rename(path, path+"~"), os.Rename(other, path), os.Rename(path+"~", other)))
	},
	"a directory": func(t *testing.T, path, _ string) { must(t, errors.Join(os.Remove(path), os.Mkdir(path, 0o700))) },
	"unreadable": func(t *testing.T, path, _ string) {
		if os.Geteuid() == 0 {
			t.Skip("root reads every file: run as another user")
		}
		must(t, os.Chmod(path, 0))
	},
}

func resize(size func(int) int) func(*testing.T, string, string) {
	return func(t *testing.T, path, _ string) {
		info, err := os.Stat(path)
		must(t, err)
		must(t, os.Truncate(path, int64(size(int(info.Size())))))
	}
}

func edit(f func(b []byte)) func(*testing.T, string, string) {
	return func(t *testing.T, path, _ string) {
		change(t, path, func(b []byte) []byte { f(b); return b })
	}
}

func grow(by []byte) func(*testing.T, string, string) {
	return func(t *testing.T, path, _ string) {
		change(t, path, func(b []byte) []byte { return append(b, by...) })
	}
}

func randomize(b []byte) {
	for i := range b {
		b[i] = byte(rand.Uint32())
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A damage of a file is an error that names it, and all stays as it is; or the store opens with all that was acknowledged, or it is told
// when it is looked for. No damage ends the process; one that does ends this test.
func TestDamagedFiles(t *testing.T) {
	const inTables, older, last = 90, 100, 110
	image := tablesAndLogs(t)
	valueLogs, err := filepath.Glob(filepath.Join(image, "*"+valueLogSuffix))
	must(t, err)
	closed := copyStore(t, image)
	must(t, errors.Join(os.Remove(filepath.Join(closed, logName(1))), os.Remove(filepath.Join(closed, logName(2)))))
	plain, encrypted := smallStore(), encryptedStore()
	sealed := encryptedImage(t)
	for _, c := range []struct {
		o                  Options
		image, file, other string
		want               uint64
		// untold is what nobody can tell, and the last transaction that is there then.
		untold map[string]uint64
	}{
		{plain, image, "000002.sst", "000001.sst", last, nil},
		{plain, image, "000003.sst", badger.ManifestFilename, last, nil},
		{plain, image, badger.ManifestFilename, "000001.sst", last, nil},
		{plain, closed, badger.ManifestFilename, "000001.sst", inTables, nil},
		{plain, image, logName(1), logName(2), last, nil},
		{plain, image, logName(2), logName(1), last, map[string]uint64{"emptied": older, "zeroed": older, "removed": older, "cut to 100": older}},
		{plain, image, filepath.Base(valueLogs[0]), logName(1), last, nil},
		{plain, image, discardFile, "000001.sst", last, nil},
		{plain, image, badger.KeyRegistryFileName, "000001.sst", last, nil},
		{encrypted, sealed, "000002.sst", "000001.sst", last, nil},
		{encrypted, sealed, badger.ManifestFilename, "000001.sst", last, nil},
		{encrypted, sealed, logName(1), badger.KeyRegistryFileName, last,
			map[string]uint64{"emptied": inTables, "zeroed": inTables, "removed": inTables, "cut to 100": inTables, "replaced": inTables}},
		{encrypted, sealed, filepath.Base(valueLogs[0]), logName(1), last, nil},
		{encrypted, sealed, badger.KeyRegistryFileName, "000001.sst", last, nil},
	} {
		t.Run(fmt.Sprintf("%s of %d, encrypted %t", c.file, c.want, c.o.EncryptionKey != nil), func(t *testing.T) {
			each(t, damages, func(t *testing.T, damage func(*testing.T, string, string)) {
				if !*damageAll && rand.IntN(5) > 0 {
					return
				}
				name := filepath.Base(t.Name())
				dir := copyStore(t, c.image)
				damage(t, filepath.Join(dir, c.file), filepath.Join(dir, c.other))
				before := contents(t, dir)
				d, err := Open(dir, c.o)
				if err != nil {
					text := err.Error() // of a log that is gone, the next one tells
					if !strings.Contains(text, c.file) && !strings.Contains(text, "missing before it") && (name != "swapped" || !strings.Contains(text, c.other)) {
						t.Errorf("it does not name the file: %v", err)
					}
					if after := contents(t, dir); !maps.Equal(before, after) {
						t.Errorf("it was changed, with %v: %v, was %v", err, after, before)
					}
					return
				}
				defer d.Close()
				want := c.want
				if untold, ok := c.untold[strings.ReplaceAll(name, "_", " ")]; ok {
					want = untold
				}
				if !hasNumbers(d, want) && verified(d) == nil {
					t.Errorf("it opens without all of the transactions up to %d, and nothing tells", want)
				}
			})
		})
	}
}

// hasNumbers tells whether a database has the transactions up to one.
func hasNumbers(d *DB, last uint64) bool {
	txn := d.NewTransactionAt(last, false)
	defer txn.Discard()
	for n := uint64(1); n <= last; n++ {
		if _, err := txn.Get(numberKey(n)); err != nil {
			return false
		}
	}
	return true
}

// verified reads all blocks of all tables. Badger's own way to do so panics where it finds a block that it cannot read.
func verified(d *DB) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	return d.VerifyChecksum()
}

// Files that Badger takes for others than they are, or that end its open, or the process.
func TestStrayFiles(t *testing.T) {
	image := killed(t, func(d *DB) { commitNumbers(t, d, 1, 5, 100) })
	for _, name := range []string{"7.mem", "x.mem", "+1.mem", "1.vlog", "copy of 000001.vlog", "-1.sst", "3.sst"} {
		dir := copyStore(t, image)
		must(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
		if d := mustRefuse(t, dir, name); d.remedy != setAside {
			t.Errorf("%v cannot be repaired", d)
		}
	}
}

// A folder, or anything else, in the place of a file is named, and the file is asked for.
func TestNoFile(t *testing.T) {
	image := killed(t, func(d *DB) { commitNumbers(t, d, 1, 5, 100) })
	for _, name := range []string{badger.ManifestFilename, badger.KeyRegistryFileName, discardFile, logName(1), valueLogName(1)} {
		dir := copyStore(t, image)
		must(t, os.Remove(filepath.Join(dir, name)))
		must(t, os.Mkdir(filepath.Join(dir, name), 0o700))
		if damage := mustRefuse(t, dir, name); !strings.Contains(damage.Error(), "put the file back") {
			t.Errorf("%s: %v", name, damage)
		}
	}
}

// A file that something has made as large as a disk is damaged, and is not read into memory.
func TestHugeFiles(t *testing.T) {
	image := killed(t, func(d *DB) { commitNumbers(t, d, 1, 5, 100) })
	for _, name := range []string{badger.ManifestFilename, badger.KeyRegistryFileName} {
		dir := copyStore(t, image)
		must(t, os.Truncate(filepath.Join(dir, name), 1<<40))
		i, err := inspect(dir, nil)
		must(t, err)
		if len(i.damages) != 1 || i.damages[0].File != name {
			t.Errorf("%s: %v", name, i.damages)
		}
	}
}

// A database whose tables cannot be written any more is not closed for ever.
func TestCloseEnds(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	d, err := Open(dir, smallStore())
	must(t, err)
	commitNumbers(t, d, 1, 5, 100)
	must(t, os.RemoveAll(dir))
	must(t, os.WriteFile(dir, nil, 0o600)) // no directory can be made there
	d.room.free = diskOf(1 << 40).free
	d.closeWithin = 50 * time.Millisecond
	if err := d.Close(); err == nil || !strings.Contains(err.Error(), "not closed within") {
		t.Errorf("error is %v", err)
	}
}
