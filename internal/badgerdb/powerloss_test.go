package badgerdb

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// A loss of power leaves of the commit that was under way any of the pages that it has written, and all of those before. Whatever it
// leaves opens, with all commits before it, and that one whole or not at all: in one log, or as the first in a new one.
func TestPowerLoss(t *testing.T) {
	if !SyncsLog {
		t.Skip("the database syncs its log itself here, so no test sees when")
	}
	for name, o := range map[string]Options{"plain": smallStore(), "encrypted": encryptedStore()} {
		t.Run(name, func(t *testing.T) { testPowerLoss(t, o) })
	}
}

func testPowerLoss(t *testing.T, o Options) {
	const commits = 120
	dir, durable := t.TempDir(), map[string][]byte{} // the logs as they were synced last, while an image is to be made
	var images []string
	reopen := o
	o.SyncLog = func(log *os.File) error {
		if len(durable) > 0 {
			images = append(images, imageOf(t, dir, durable))
			clear(durable)
		}
		return fdatasync(log)
	}
	d, err := Open(dir, o)
	must(t, err)
	defer d.Close()
	for n := uint64(1); n <= commits; n++ {
		begun := d.wal.last
		if rand.IntN(6) == 0 || full(t, dir, begun, o.EncryptionKey) {
			durable = logsOf(t, dir)
		}
		was := len(images)
		commitNumbers(t, d, n, n, 1000+rand.IntN(60_000))
		for _, image := range images[was:] {
			i, err := Open(image, reopen)
			if err != nil {
				t.Fatalf("commit %d, to log %d after %d: %v", n, d.wal.last, begun, err)
			}
			if has := numbersIn(t, i); has != n && has != n-1 {
				t.Errorf("commit %d: it has those up to %d", n, has)
			}
			must(t, i.Close())
		}
	}
	if d.wal.last < 3 || len(images) < 10 {
		t.Errorf("%d logs, %d images: it shows little", d.wal.last, len(images))
	}
}

// full tells whether the next commit begins a new log.
func full(t *testing.T, dir string, log int, key []byte) bool {
	b, err := os.ReadFile(filepath.Join(dir, logName(log)))
	must(t, err)
	keys, err := keysOf(dir, key)
	must(t, err)
	return scanBytes(t, b, keys, 0).end >= 1<<20
}

// logsOf reads the logs of a store, but for those that are removed meanwhile: cut to nothing first, so that a part of one may be read.
func logsOf(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	logs := map[string][]byte{}
	paths, err := filepath.Glob(filepath.Join(dir, "*"+walSuffix))
	must(t, err)
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if info, statErr := os.Stat(path); err == nil && statErr == nil && info.Size() == int64(len(b)) {
			logs[filepath.Base(path)] = b
		}
	}
	return logs
}

// imageOf copies a store whose logs are as they were synced last, but for any of the pages written since. The logs are copied
// first, and then the MANIFEST: a memtable may be written as a table meanwhile.
func imageOf(t *testing.T, dir string, durable map[string][]byte) string {
	t.Helper()
	image := t.TempDir()
	for name, b := range logsOf(t, dir) {
		was := make([]byte, len(b))
		copy(was, durable[name])
		for page := 0; page < len(b); page += 4096 {
			if end := min(page+4096, len(b)); rand.IntN(2) == 0 {
				copy(b[page:end], was[page:end])
			}
		}
		must(t, os.WriteFile(filepath.Join(image, name), b, 0o600))
	}
	for _, pattern := range []string{"MANIFEST", "KEYREGISTRY", "DISCARD", "*" + valueLogSuffix, "*" + tableSuffix} {
		paths, err := filepath.Glob(filepath.Join(dir, pattern))
		must(t, err)
		for _, path := range paths {
			b, err := os.ReadFile(path)
			must(t, err)
			must(t, os.WriteFile(filepath.Join(image, filepath.Base(path)), b, 0o600))
		}
	}
	return image
}
