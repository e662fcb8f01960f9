package badgerdb

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/dgraph-io/badger/v4"
)

// A pipe in the place of a file is named, and is not waited for.
func TestPipeForAFile(t *testing.T) {
	image := killed(t, func(d *DB) { commitNumbers(t, d, 1, 5, 100) })
	for _, name := range []string{badger.ManifestFilename, badger.KeyRegistryFileName, discardFile, logName(1), valueLogName(1)} {
		dir := copyStore(t, image)
		path := filepath.Join(dir, name)
		must(t, os.Remove(path))
		must(t, syscall.Mkfifo(path, 0o600))
		_, err := Open(dir, smallStore())
		if err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "put the file back") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
