package badgerdb

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// The read-ahead is found of a disk, of a part of one, and of a file system without a device.
func TestReadAhead(t *testing.T) {
	dir := t.TempDir()
	var st syscall.Stat_t
	if err := syscall.Stat(dir, &st); err != nil {
		t.Fatal(err)
	}
	device := deviceNumber(st.Dev)
	for name, c := range map[string]struct{ file, link, to string }{
		"disk":                {"devices/vda/queue/read_ahead_kb", "dev/block/" + device, "devices/vda"},
		"part":                {"devices/vda/queue/read_ahead_kb", "dev/block/" + device, "devices/vda/vda1"},
		"without a device":    {"devices/virtual/bdi/read_ahead_kb", "class/bdi/" + device, "devices/virtual/bdi"},
		"nothing of the kind": {"devices/vda/size", "dev/block/" + device, "devices/vda"},
	} {
		t.Run(name, func(t *testing.T) {
			sys := t.TempDir()
			for _, folder := range []string{filepath.Dir(c.file), filepath.Dir(c.link), c.to} {
				if err := os.MkdirAll(filepath.Join(sys, folder), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(filepath.Join(sys, c.file), []byte("4096\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(filepath.Join(sys, c.to), filepath.Join(sys, c.link)); err != nil {
				t.Fatal(err)
			}
			bytes, ok := readAhead(sys, dir)
			if want := name != "nothing of the kind"; ok != want || ok && bytes != 4<<20 {
				t.Errorf("%d bytes, told: %v", bytes, ok)
			}
		})
	}
}

// A small database is told nothing, and a large one what is so here.
func TestReadAheadIsToldOfLargeDatabases(t *testing.T) {
	dir := t.TempDir()
	ahead, ok := readAhead("/sys", dir)
	for size, want := range map[int64]bool{readAheadMatters - 1: false, readAheadMatters: ok && ahead > farAhead} {
		var out bytes.Buffer
		tellReadAhead(slog.New(slog.NewTextHandler(&out, nil)), dir, size)
		if told := strings.Contains(out.String(), "reads far ahead"); told != want {
			t.Errorf("%d bytes, a read-ahead of %d: told %v", size, ahead, told)
		}
	}
}
