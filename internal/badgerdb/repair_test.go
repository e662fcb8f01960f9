package badgerdb

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dgraph-io/badger/v4"
)

// tablesAndLogs is a store of three tables, each with 30 transactions, and two logs, each with 10. The table of which a
// transaction is the last is the next of them.
func tablesAndLogs(t *testing.T) string {
	t.Helper()
	dir := killed(t, func(*DB) {})
	for n := range uint64(3) {
		d, err := Open(dir, smallStore())
		must(t, err)
		commitNumbers(t, d, n*30+1, n*30+30, 3000)
		must(t, d.Close())
	}
	for n := range uint64(2) {
		b, _ := logBytes(n*10+91, n*10+100, 500)
		must(t, os.WriteFile(filepath.Join(dir, logName(int(n)+1)), b, 0o600))
	}
	return dir
}

// What Repair says of a damage, what it sets aside, and up to which transaction the store has all of them then.
func TestRepair(t *testing.T) {
	image := tablesAndLogs(t)
	flip := func(at int) func(b []byte) []byte { return func(b []byte) []byte { b[at] ^= 1; return b } }
	cut := func(b []byte) []byte { return b[:len(b)-1] }
	empty := func([]byte) []byte { return nil }
	for name, c := range map[string]struct {
		file   string
		damage func([]byte) []byte
		says   []string
		aside  []string
		has    uint64
	}{
		"nothing": {file: logName(1), damage: bytes.Clone, says: []string{"Nothing is damaged"}, has: 110},
		"the older log": {file: logName(1), damage: flip(2000), says: []string{
			"damaged: 00001.mem at byte", "16 transactions lie behind it", "move 00002.mem", "copy 00001.mem", "transactions 94 to 110, 17 in all"},
			aside: []string{"00001.mem", "00002.mem"}, has: 93},
		"the newer log": {file: logName(2), damage: flip(2000), says: []string{"copy 00002.mem", "transactions 104 to 110, 7 in all"},
			aside: []string{"00002.mem"}, has: 103},
		"the header of the newer log": {file: logName(2), damage: flip(5), says: []string{"move 00002.mem", "transactions 101 to 110, 10 in all"},
			aside: []string{"00002.mem"}, has: 100},
		"no older log": {file: logName(1), damage: empty, says: []string{"move 00002.mem", "transactions 91 to 110"}, aside: []string{"00002.mem"}, has: 90},
		"the key registry": {file: badger.KeyRegistryFileName, damage: empty, says: []string{"holds nothing that is missed"},
			aside: []string{badger.KeyRegistryFileName}, has: 110},
		"a file that is none": {file: "-1.sst", damage: bytes.Clone, says: []string{"no file of a store"}, aside: []string{"-1.sst"}, has: 110},
		"the MANIFEST": {file: badger.ManifestFilename, damage: cut, says: []string{"add 000003.sst to it", "nothing is lost"},
			aside: []string{badger.ManifestFilename}, has: 110},
		"the middle of the MANIFEST": {file: badger.ManifestFilename, damage: flip(20), says: []string{"damaged: MANIFEST at byte 16"}},
		"a table":                    {file: "000002.sst", damage: cut, says: []string{"damaged: 000002.sst"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := copyStore(t, image)
			if _, err := os.Stat(filepath.Join(dir, c.file)); err != nil {
				must(t, os.WriteFile(filepath.Join(dir, c.file), nil, 0o600))
			}
			change(t, filepath.Join(dir, c.file), c.damage)
			damaged := contents(t, dir)
			said := mustPlan(t, dir, c.has == 0)
			for _, says := range c.says {
				if !strings.Contains(said, says) {
					t.Errorf("it says %q, not %q", said, says)
				}
			}
			if c.has == 0 {
				if err := Repair(dir, Options{}, false, func(string) {}); !errors.Is(err, ErrBeyondRepair) || !maps.Equal(damaged, contents(t, dir)) {
					t.Errorf("%v; it was %v and is %v", err, damaged, contents(t, dir))
				}
				return
			}
			must(t, Repair(dir, Options{}, false, func(string) {}))
			aside := contents(t, dir)
			maps.DeleteFunc(aside, func(path, _ string) bool { return !strings.Contains(path, asideFolder) })
			for _, file := range c.aside {
				if was := damaged[filepath.Join(dir, file)]; !hasContent(aside, file, was) {
					t.Errorf("%s is not set aside as it was, %s: %v", file, was, aside)
				}
			}
			if len(aside) != len(c.aside) {
				t.Errorf("set aside are %v, want %v", aside, c.aside)
			}
			mustOpenWith(t, dir, smallStore(), c.has)
		})
	}
}

// mustPlan says what a dry run says, which changes nothing.
func mustPlan(t *testing.T, dir string, beyond bool) string {
	t.Helper()
	var said strings.Builder
	before := contents(t, dir)
	err := Repair(dir, Options{}, true, func(line string) { said.WriteString(line + "\n") })
	if beyond != errors.Is(err, ErrBeyondRepair) || !beyond && err != nil {
		t.Fatal(err)
	}
	if after := contents(t, dir); !maps.Equal(before, after) {
		t.Errorf("a dry run changed %v to %v", before, after)
	}
	return said.String()
}

func hasContent(files map[string]string, name, content string) bool {
	for path, c := range files {
		if filepath.Base(path) == name {
			return c == content
		}
	}
	return false
}

// A repair that was cut short after any of its steps is repeated, with the same outcome.
func TestRepairCutShort(t *testing.T) {
	image := tablesAndLogs(t)
	change(t, filepath.Join(image, logName(1)), func(b []byte) []byte { b[2000] ^= 1; return b })
	for n := 0; ; n++ {
		dir := copyStore(t, image)
		i, err := inspect(dir, nil)
		must(t, err)
		steps, err := i.plan()
		must(t, err)
		if n > len(steps) {
			break
		}
		for _, s := range steps[:n] {
			if s.do != nil {
				must(t, s.do())
			}
		}
		must(t, Repair(dir, Options{}, false, func(string) {}))
		mustOpenWith(t, dir, smallStore(), 93)
	}
}

// A store that somebody has open is not repaired, nor a directory that holds none.
func TestRepairRefuses(t *testing.T) {
	d := openDatabase(t, t.TempDir())
	defer d.Close()
	if err := Repair(d.Opts().Dir, Options{}, false, func(string) {}); !errors.Is(err, ErrLocked) {
		t.Errorf("a store that is open: %v", err)
	}
	if err := Repair(filepath.Join(t.TempDir(), "none"), Options{}, false, func(string) {}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no directory: %v", err)
	}
	strange := t.TempDir()
	must(t, os.WriteFile(filepath.Join(strange, "letter"), nil, 0o600))
	if err := Repair(strange, Options{}, false, func(string) {}); !errors.Is(err, ErrFormat) {
		t.Errorf("a directory of something else: %v", err)
	}
}
