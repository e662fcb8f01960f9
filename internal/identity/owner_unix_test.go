//go:build unix

package identity

import (
	"os"
	"syscall"
	"testing"
)

// Who edits a file as root does not take it from the user who serves by it.
func TestOwnersStay(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root gives files away")
	}
	path := fileWith(t, `{}`, 0o600)
	if err := os.Chown(path, 12345, 12346); err != nil {
		t.Fatal(err)
	}
	edit(t, path, func(f *File) error { f.Principals = append(f.Principals, reader("ada")); return nil })
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if is, ok := info.Sys().(*syscall.Stat_t); !ok || is.Uid != 12345 || is.Gid != 12346 || info.Mode() != 0o600 {
		t.Errorf("%+v, mode %o", is, info.Mode())
	}
}
