//go:build linux || darwin

package badgerdb

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/dgraph-io/badger/v4"
)

// Who changes a key as root does not take the store from the user who serves it.
func TestRekeyKeepsTheOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root gives files away")
	}
	dir := encryptedImage(t)
	path := filepath.Join(dir, badger.KeyRegistryFileName)
	must(t, os.Chown(path, 12345, 12346))
	must(t, Rekey(dir, encryptedStore(), testKey(2)))
	info, err := os.Stat(path)
	must(t, err)
	if is, ok := info.Sys().(*syscall.Stat_t); !ok || is.Uid != 12345 || is.Gid != 12346 || info.Mode() != 0o600 {
		t.Errorf("%+v, mode %o", is, info.Mode())
	}
}
