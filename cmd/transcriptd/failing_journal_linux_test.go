package main

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

var failingJournals = flag.Int("failing.journals", 0, "how many file systems with a journal that fails TestFailingJournal runs on, as root")

// The file system of TestFailingJournal, in blocks of 4 KiB.
const (
	journalDiskMB  = 330
	journalBlocks  = 1024
	blockBytes     = 4096
	failsFor       = 16 // blocks of the journal
	failingTimeout = time.Minute
)

// TestFailingJournal runs the daemon on ext4 whose device fails to write some blocks of the journal, which the file
// system reaches under load: no put is acknowledged that is lost.
func TestFailingJournal(t *testing.T) {
	if *failingJournals == 0 {
		t.Skip("NO DEVICE FAILS: that mounts file systems, which needs root; ask for it with -failing.journals=20")
	}
	nodes := 0
	for i := range *failingJournals {
		t.Run(fmt.Sprint(i), func(t *testing.T) { nodes += journalFails(t) })
	}
	t.Logf("%d journals failed, with %d acknowledged nodes", *failingJournals, nodes)
}

// journalFails returns how many nodes were acknowledged.
func journalFails(t *testing.T) (nodes int) {
	memory := mountDisk(t, "tmpfs", journalDiskMB+2)
	image, ballast, disk := filepath.Join(memory, "image"), filepath.Join(memory, "ballast"), t.TempDir()
	if err := os.WriteFile(image, make([]byte, journalDiskMB*1_000_000), 0o600); err != nil {
		t.Fatal(err)
	}
	runCommand(t, "mkfs.ext4", "-q", "-m", "0", "-b", fmt.Sprint(blockBytes), "-J", fmt.Sprintf("size=%d", journalBlocks*blockBytes>>20),
		"-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=0", image)
	fill(t, image)
	punch(t, image, int64(journalBlock(t, image, 200+rand.IntN(journalBlocks/2)))*blockBytes)
	runCommand(t, "mount", "-o", "loop", image, disk)
	t.Cleanup(func() { runCommand(t, "umount", disk) })
	writeUntilFull(t, ballast)

	flags := []string{badgerFlag(filepath.Join(disk, "store")), "--admin-listen=off"}
	p := startProcess(t, nil, flags...)
	writers := writeUntil(t, p, "default", failingTimeout, func() { t.Error("the journal does not fail"); p.kill() })
	p.kill()
	for _, c := range [][]string{{"umount", disk}, {"rm", ballast}, {"mount", "-o", "loop", image, disk}} {
		runCommand(t, c...)
	}
	p = startProcess(t, nil, flags...)
	checkCycle(t, p, writers)
	p.terminate(t)
	return acknowledged(writers)
}

// fill writes the zeros anew that mkfs has cut out of the image as holes.
func fill(t *testing.T, image string) {
	t.Helper()
	content, err := os.ReadFile(image)
	if err == nil {
		err = os.WriteFile(image, content, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// journalBlock is where a block of the journal lies.
func journalBlock(t *testing.T, image string, n int) int {
	t.Helper()
	out, err := exec.Command("debugfs", "-R", fmt.Sprintf("bmap <8> %d", n), image).Output()
	if err != nil {
		t.Fatal(err)
	}
	block, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil || block == 0 {
		t.Fatalf("debugfs says %q: %v", out, err)
	}
	return block
}

// punch makes a hole of failsFor blocks: once the disk under the image is full, they cannot be written.
func punch(t *testing.T, image string, at int64) {
	t.Helper()
	f, err := os.OpenFile(image, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, at, failsFor*blockBytes); err != nil {
		t.Fatal(err)
	}
}

func writeUntilFull(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for b := make([]byte, blockBytes); err == nil; {
		_, err = f.Write(b)
	}
	if !errors.Is(err, unix.ENOSPC) {
		t.Fatal(err)
	}
}
