//go:build unix

package storekey

import (
	"errors"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestPipe: a pipe is refused without waiting for who writes to it, and a folder for what it is.
func TestPipe(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, says := range map[string]string{pipe: "no regular file", dir: "is a folder"} {
		if _, err := Read(path); !errors.Is(err, ErrKey) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
