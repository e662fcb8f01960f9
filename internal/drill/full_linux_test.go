package drill

import (
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// mounted is a disk of so many megabytes, or the test is skipped where nothing can be mounted.
func mounted(t *testing.T, megabytes int) string {
	t.Helper()
	dir := t.TempDir()
	size := "size=" + strconv.Itoa(megabytes) + "m"
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", size, "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("NOTHING CAN BE MOUNTED HERE, and no disk is filled: %v %s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command("umount", "-l", dir).Run() })
	return dir
}

// grow gives a disk another size.
func grow(t *testing.T, dir string, megabytes int) {
	t.Helper()
	if out, err := exec.Command("mount", "-o", "remount,size="+strconv.Itoa(megabytes)+"m", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
}

// saysFull tells whether it is said that the disk is full.
func saysFull(t *testing.T, r ended) {
	t.Helper()
	if !strings.Contains(r.notes, "no space left") && !strings.Contains(r.notes, "disk") {
		t.Errorf("it does not say that the disk is full:\n%s", r.notes)
	}
}

// TestFullDisks: a disk that is full in the middle of a backup, of a restore and of an unbundle is told of; with room, the rest is done.
func TestFullDisks(t *testing.T) {
	p := build(t)
	d, _, _ := large(t, p)
	was, file := state(t, d), backup(t, p, d)

	small := mounted(t, 20)
	first, second := filepath.Join(small, "first"), filepath.Join(t.TempDir(), "second")
	saysFull(t, refused(t, p.console, "backup", "create", first, "--all", d.address()))
	if sizeOf(first) > 0 {
		t.Error("a backup on a full disk has a name")
	}
	must(t, p.console, "backup", "create", second, "--all", "--continue", first+".part", d.address())
	offline := filepath.Join(t.TempDir(), "offline")
	must(t, p.console, "restore", p.storeFlag(offline), first+".part", second)
	restoredAs(t, p, offline, was)

	const little, enough = 90, 1000
	full := mounted(t, little)
	offline = filepath.Join(full, "offline")
	saysFull(t, refused(t, p.console, "restore", p.storeFlag(offline), file))
	grow(t, full, enough)
	must(t, p.console, "restore", "--again", p.storeFlag(offline), file)
	restoredAs(t, p, offline, was)

	full = mounted(t, little)
	through := filepath.Join(full, "through")
	to := p.start(t, through)
	saysFull(t, refused(t, p.console, "restore", file, to.address()))
	grow(t, full, enough)
	must(t, p.console, "restore", "--again", file, to.address())
	same(t, "what was restored", state(t, to), was)
	to.stop(t)

	bundle := filepath.Join(t.TempDir(), "all.bundle")
	must(t, p.console, "bundle", "create", bundle, "--prefix", "writer/", d.address())
	full = mounted(t, little/2) // a bundle has one namespace
	to = p.start(t, filepath.Join(full, "unbundled"))
	saysFull(t, refused(t, p.console, "bundle", "unbundle", bundle, to.address()))
	grow(t, full, enough)
	must(t, p.console, "bundle", "unbundle", bundle, to.address())
	sameHeads(t, d.client(t, ""), to.client(t, ""))
}
