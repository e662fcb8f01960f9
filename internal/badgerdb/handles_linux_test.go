package badgerdb

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/transcriptd/transcriptd/chainstore"
)

// fewVariable makes TestFewDescriptors run in this process, whose limit it lowers.
const fewVariable = "BADGERDB_TEST_FEW_DESCRIPTORS"

// TestFewDescriptors fills a database until descriptors are short: commits are refused before one fails, what is there is read, and
// commits go on once the limit is raised. Below what the tables take the database is not opened, and the error says what to do.
func TestFewDescriptors(t *testing.T) {
	if os.Getenv(fewVariable) == "" {
		t.Parallel()
		child := exec.Command(os.Args[0], "-test.run=^TestFewDescriptors$", "-test.v")
		child.Env = append(os.Environ(), fewVariable+"=1")
		if out, err := child.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS") {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	dir, small := t.TempDir(), Options{MemtableBytes: 1 << 20}
	d, err := Open(dir, small)
	if err != nil {
		t.Fatal(err)
	}
	before := limitDescriptors(t, d.Descriptors().Used+240) // of which commits leave half
	for range 100 {                                         // as connections do
		f, err := os.Open(os.DevNull)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
	}
	random, written := rand.NewChaCha8([32]byte{}), 0
	next := func() error {
		if err, _ := d.Ready(); err != nil {
			return err
		}
		value := make([]byte, 100<<10)
		_, _ = random.Read(value)
		commit(t, d, fmt.Sprint(written), value)
		written++
		return nil
	}
	for err = nil; err == nil && written < 10_000; err = next() {
	}
	if !errors.Is(err, chainstore.ErrTooManyFiles) || written < 100 {
		t.Fatalf("after %d commits: %v", written, err)
	}
	t.Logf("after %d commits: %v", written, err)
	for i := range written {
		if versions(d.DB, []byte(fmt.Sprint(i))) != 1 {
			t.Fatalf("key %d cannot be read", i)
		}
	}
	limitDescriptors(t, before)
	waitUntil(t, func() bool { return next() == nil })
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}

	tables, _ := tablesIn(dir)
	open, err := countDescriptors()
	if err != nil {
		t.Fatal(err)
	}
	limitDescriptors(t, open+int64(tables)-1)
	if _, err = Open(dir, small); !errors.Is(err, chainstore.ErrTooManyFiles) || !strings.Contains(err.Error(), fmt.Sprint(tables, " tables")) {
		t.Errorf("opened with a descriptor less than there are tables: %v", err)
	}
	limitDescriptors(t, before)
	if d, err = Open(dir, small); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

// limitDescriptors sets how many descriptors the process may have, and returns how many it might.
func limitDescriptors(t *testing.T, n int64) (before int64) {
	t.Helper()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	before, limit.Cur = int64(limit.Cur), uint64(n)
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	return before
}

// The soft limit that a process was started with is raised to the hard one: by Go's runtime, so that nothing is done here.
func TestSoftLimitIsRaised(t *testing.T) {
	child := exec.Command("sh", "-c", `ulimit -Sn 300 && exec "$0" -test.run='^TestDescriptorsAreCounted$' -test.v`, os.Args[0])
	out, err := child.CombinedOutput()
	if err != nil || strings.Contains(string(out), " of 300 ") || !strings.Contains(string(out), " descriptors are open") {
		t.Errorf("%v\n%s", err, out)
	}
}

// Files that are opened count, be it by the size of the list or by what is in it, and maps of files do.
func TestDescriptorsAreCounted(t *testing.T) {
	const files = 300
	descriptors, _ := descriptorUsage()
	listed, err := countDescriptors()
	maps, ok := mapUsage()
	if !ok || err != nil {
		t.Fatalf("maps are counted: %v; descriptors: %v", ok, err)
	}
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, make([]byte, files<<12), 0o600); err != nil {
		t.Fatal(err)
	}
	for i := range files {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		m, err := syscall.Mmap(int(f.Fd()), int64(files-1-i)<<12, 1<<12, syscall.PROT_READ, syscall.MAP_SHARED)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = syscall.Munmap(m) }()
	}
	now, ok := descriptorUsage()
	t.Logf("%d of %d descriptors are open", now.Used, now.Limit)
	const others = 50 // other tests run beside this one
	if by := now.Used - descriptors.Used; !ok || by < files-others || by > files+others {
		t.Errorf("with %d files more, %d descriptors more are in use", files, by)
	}
	if again, err := countDescriptors(); err != nil || again-listed < files-others || again-listed > files+others {
		t.Errorf("with %d files more, the list has %d more: %v", files, again-listed, err)
	}
	if u, ok := mapUsage(); !ok || u.Used-maps.Used < files/2 || u.Limit < 1000 {
		t.Errorf("with %d maps more there are %+v after %+v", files, u, maps)
	}
}
