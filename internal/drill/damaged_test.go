package drill

import (
	"bytes"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// taken is how many bytes the files of a folder take.
func taken(dir string) (bytes int64) {
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			bytes += blocks(e)
		}
		return nil
	})
	return bytes
}

// TestDamagedArchives: 100 archives that were cut or flipped at random are told of at the first bad block, and nothing of them is taken.
func TestDamagedArchives(t *testing.T) {
	p := build(t)
	d := p.start(t, filepath.Join(t.TempDir(), "store"))
	if err := write(t.Context(), writers(t, d, 6), 60, 8<<10); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(backup(t, p, d))
	if err != nil {
		t.Fatal(err)
	}
	to := p.start(t, filepath.Join(t.TempDir(), "empty"))
	nothing := state(t, to)
	file := filepath.Join(t.TempDir(), "bad.archive")
	for i := range 100 {
		bad := bytes.Clone(good)
		if at := rand.IntN(len(bad)); i%2 == 0 {
			bad = bad[:at]
		} else {
			bad[at] ^= 1 << rand.IntN(8)
		}
		if err := os.WriteFile(file, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		if r := refused(t, p.console, "backup", "verify", file); r.code != 6 && r.code != 2 {
			t.Errorf("verify: exit code %d\n%s", r.code, r.notes)
		}
		if i%3 == 0 {
			refused(t, p.console, "restore", file, to.address())
		}
		if i%10 == 0 {
			dir := filepath.Join(t.TempDir(), "offline")
			refused(t, p.console, "restore", p.storeFlag(dir), file)
			empty := p.start(t, dir)
			same(t, "after a damaged archive, offline", state(t, empty), nothing)
			empty.stop(t)
		}
	}
	same(t, "after damaged archives", state(t, to), nothing)
}
