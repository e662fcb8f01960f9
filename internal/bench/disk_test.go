//go:build linux || darwin

package bench

import (
	"os"
	"path/filepath"
	"testing"
)

func TestDiskUsageIsOfBlocks(t *testing.T) {
	dir := t.TempDir()
	usage := func() int64 {
		t.Helper()
		n, err := diskUsage(dir)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	write := func(name string, bytes []byte) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), bytes, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	empty := usage()

	write("sparse", nil)
	if err := os.Truncate(filepath.Join(dir, "sparse"), 1<<30); err != nil {
		t.Fatal(err)
	}
	if n := usage() - empty; n > 64<<10 {
		t.Errorf("a hole of 1 GiB takes %d bytes", n)
	}
	if err := os.Remove(filepath.Join(dir, "sparse")); err != nil {
		t.Fatal(err)
	}

	if err := os.Mkdir(filepath.Join(dir, "below"), 0o700); err != nil {
		t.Fatal(err)
	}
	content := noise(noiseOfPayloads, 1, 1<<20)
	write("one", content)
	write("below/another", content)
	if n := usage() - empty; n < 2<<20 || n > 2<<20+64<<10 {
		t.Errorf("two files of 1 MiB take %d bytes", n)
	}
}

func TestDiskUsageOfNothing(t *testing.T) {
	if n, err := diskUsage(filepath.Join(t.TempDir(), "absent")); err == nil {
		t.Errorf("a folder that is not there takes %d bytes", n)
	}
}
