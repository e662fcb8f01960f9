package bench

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// The numbers are those that glibc's makedev makes.
func TestDeviceNumbers(t *testing.T) {
	for _, c := range []struct {
		device       uint64
		major, minor uint32
	}{
		{0xfe00, 254, 0},
		{0x10301, 259, 1},
		{0x10082c, 8, 300},
		{0x100011138870, 5000, 70000},
	} {
		if major, minor := deviceNumbers(c.device); major != c.major || minor != c.minor {
			t.Errorf("%#x: %d:%d", c.device, major, minor)
		}
	}
}

func TestDeviceWritesOfNoFolder(t *testing.T) {
	_, err := deviceWrites(filepath.Join(t.TempDir(), "absent"))
	if !errors.Is(err, os.ErrNotExist) || errors.Is(err, errNoCounters) {
		t.Errorf("a folder that is not there: %v", err)
	}
}
