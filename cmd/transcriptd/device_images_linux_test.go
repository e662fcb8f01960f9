package main

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

var deviceImages = flag.Int("images.device", 0, "how many images of a device under load TestDeviceImages opens, as root")

// What TestDeviceImages does for each image.
const (
	imageDiskMB = 1000
	maxLoad     = 800 * time.Millisecond // how long the writers write at the most
)

// ext4Shutdown is EXT4_IOC_SHUTDOWN, shutdownNoLogFlush its EXT4_GOING_FLAGS_NOLOGFLUSH: from now on nothing is written to the
// device, and what of the file system's journal is not on it is lost.
const (
	ext4Shutdown       = 0x8004587d
	shutdownNoLogFlush = 2
)

// TestDeviceImages takes the device away from an ext4 file system, at a random moment while 16 clients write to the
// transcriptd that runs on it, and opens what is on the device: it serves, has every node and alias that was acknowledged,
// also in the time in which the file system was being shut down, and Verify finds nothing.
func TestDeviceImages(t *testing.T) {
	if *deviceImages == 0 {
		t.Skip("NO IMAGE OF A DEVICE IS TAKEN: that mounts an ext4 file system, which needs root; ask for it with -images.device=50")
	}
	disk := mountDisk(t, "ext4", imageDiskMB)
	flags := []string{badgerFlag(filepath.Join(disk, "store")), "--admin-listen=off"}
	var all, last []*writer
	for image := range *deviceImages {
		p := startProcess(t, nil, flags...)
		checkCycle(t, p, last)
		last = writeUntil(t, p, fmt.Sprintf("image-%d", image), rand.N(maxLoad), func() {
			if err := shutDown(disk); err != nil {
				t.Errorf("shut %s down: %v", disk, err)
				p.kill()
			}
		})
		all = append(all, last...)
		p.kill()
		mountAgain(t, disk)
	}
	p := startProcess(t, nil, flags...)
	checkCycle(t, p, all)
	t.Logf("%d images of the device were opened and verified, with %d acknowledged nodes", *deviceImages, acknowledged(all))
	p.terminate(t)
}

func acknowledged(writers []*writer) (nodes int) {
	for _, w := range writers {
		nodes += len(w.acked)
	}
	return nodes
}

// shutDown ends all that the ext4 file system writes to its device.
func shutDown(disk string) error {
	root, err := os.Open(disk)
	if err != nil {
		return err
	}
	return errors.Join(unix.IoctlSetPointerInt(int(root.Fd()), ext4Shutdown, shutdownNoLogFlush), root.Close())
}

// mountAgain mounts what is on the device of a file system that was shut down.
func mountAgain(t *testing.T, disk string) {
	t.Helper()
	runCommand(t, "umount", disk)
	runCommand(t, "mount", "-o", "loop", filepath.Join(filepath.Dir(disk), "image"), disk)
}

func runCommand(t *testing.T, words ...string) {
	t.Helper()
	if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", words, err, out)
	}
}
