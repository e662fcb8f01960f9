package drill

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// large is a store with some tens of megabytes, so that a program can be killed on its way through it. It is made once for a test.
func large(t *testing.T, p programs) (d *daemon, dir string, all []*writer) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "store")
	d = p.start(t, dir)
	all = writers(t, d, 6)
	if err := write(t.Context(), all, 130, 64<<10); err != nil {
		t.Fatal(err)
	}
	return d, dir, all
}

// larger tells whether a file has so many bytes.
func larger(file string, than int64) func() bool {
	return func() bool { return sizeOf(file) >= than }
}

func killIt(p *os.Process) { _ = p.Kill() }

// TestKilledInBackup: transcriptctl or the server is killed while a backup is written; its file goes on in a second one, and both restore what the
// server has.
func TestKilledInBackup(t *testing.T) {
	p := build(t)
	d, dir, all := large(t, p)
	for i := range *drills {
		for _, server := range []bool{false, true} {
			files := t.TempDir()
			first, second := filepath.Join(files, "first"), filepath.Join(files, "second")
			part := first + ".part"
			size := rand.Int64N(8<<20) + 18<<20
			kill := killIt
			if server {
				kill = func(*os.Process) { d.kill() }
			}
			if killedOnTheWay(t, larger(part, size), kill, p.console, "backup", "create", first, "--all", "--rate", "40000000", d.address()) {
				t.Fatalf("round %d: the backup had ended before %d bytes", i, size)
			}
			if sizeOf(first) > 0 || sizeOf(part) == 0 {
				t.Fatalf("round %d: a cut backup has a name, or is gone", i)
			}
			if r := refused(t, p.console, "backup", "verify", part); r.code != 6 {
				t.Errorf("a cut archive: exit code %d\n%s", r.code, r.notes)
			}
			if server {
				d = p.start(t, dir)
				over(t, d, all)
			}
			if err := write(t.Context(), all, 2, 1<<10); err != nil {
				t.Fatal(err)
			}
			must(t, p.console, "backup", "create", second, "--all", "--continue", part, d.address())
			must(t, p.console, "backup", "verify", part, second)
			restored := filepath.Join(files, "restored")
			must(t, p.console, "restore", p.storeFlag(restored), part, second)
			was := state(t, d)
			again := p.start(t, restored)
			same(t, "what was restored", state(t, again), was)
			again.stop(t)
		}
	}
}

// backup is a full backup of a server, in a new folder.
func backup(t *testing.T, p programs, d *daemon) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "full.archive")
	must(t, p.console, "backup", "create", file, "--all", d.address())
	return file
}

// folderLarger tells whether the files of a folder have so many bytes that are taken.
func folderLarger(dir string, than int64) func() bool {
	return func() bool { return taken(dir) >= than }
}

// TestKilledInRestore: what was killed is refused without being told that it goes on, and ends as if nothing had been.
func TestKilledInRestore(t *testing.T) {
	p := build(t)
	d, _, _ := large(t, p)
	was, file := state(t, d), backup(t, p, d)
	d.stop(t)
	for i := range *drills {
		size := rand.Int64N(20 << 20)
		offline := filepath.Join(t.TempDir(), "offline")
		if killedOnTheWay(t, folderLarger(offline+".part", size), killIt, p.console, "restore", p.storeFlag(offline), file) {
			t.Logf("round %d: offline, nothing was killed", i)
		}
		must(t, p.console, "restore", "--again", p.storeFlag(offline), file)
		restoredAs(t, p, offline, was)

		for _, server := range []bool{false, true} {
			through := filepath.Join(t.TempDir(), "through")
			to := p.start(t, through)
			kill := killIt
			if server {
				kill = func(*os.Process) { to.kill() }
			}
			if killedOnTheWay(t, folderLarger(through, size), kill, p.console, "restore", file, to.address()) {
				t.Logf("round %d: through a server, nothing was killed", i)
			}
			if server {
				to = p.start(t, through)
			}
			must(t, p.console, "restore", "--again", file, to.address())
			same(t, "what was restored", state(t, to), was)
			to.stop(t)
			must(t, p.daemon, "verify", p.storeFlag(through))
		}
	}
}

func restoredAs(t *testing.T, p programs, dir, was string) {
	t.Helper()
	must(t, p.daemon, "verify", p.storeFlag(dir))
	d := p.start(t, dir)
	same(t, "what was restored", state(t, d), was)
	d.stop(t)
}

// TestKilledInUnbundle: after a kill of either side the same command puts the rest.
func TestKilledInUnbundle(t *testing.T) {
	p := build(t)
	d, _, _ := large(t, p)
	file := filepath.Join(t.TempDir(), "all.bundle")
	must(t, p.console, "bundle", "create", file, "--prefix", "writer/", d.address())
	from := d.client(t, "")
	for i := range *drills {
		for _, server := range []bool{false, true} {
			dir := filepath.Join(t.TempDir(), "store")
			to := p.start(t, dir)
			kill := killIt
			if server {
				kill = func(*os.Process) { to.kill() }
			}
			if killedOnTheWay(t, folderLarger(dir, rand.Int64N(8<<20)), kill, p.console, "bundle", "unbundle", file, to.address()) {
				t.Logf("round %d: nothing was killed", i)
			}
			if server {
				to = p.start(t, dir)
			}
			must(t, p.console, "bundle", "unbundle", file, to.address())
			sameHeads(t, from, to.client(t, ""))
			to.stop(t)
			must(t, p.daemon, "verify", p.storeFlag(dir))
		}
	}
}
