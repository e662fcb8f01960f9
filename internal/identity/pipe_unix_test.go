//go:build unix

package identity

import (
	"errors"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
)

// A named pipe in place of the file, which nobody writes to, is no file of principals: neither is a start kept waiting by it, nor does what was
// there before count on.
func TestPipesAreNoFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		good := NewToken()
		path := fileWith(t, agents(tokenEntry("a", good, "")), 0o600)
		d := open(t, path, Options{})
		if err := errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o600)); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(path, Options{}); !errors.Is(err, ErrFile) {
			t.Errorf("opened: %v", err)
		}
		wait(2*lookEvery + patience)
		if who, err := d.Authenticate(show(good)); who != nil || !errors.Is(err, ErrUnavailable) {
			t.Errorf("named %v, %v", who, err)
		}
	})
}
