package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

var takenDisks = flag.String("full.taken", "", "the disks of TestDiskIsTakenWhileMerging, as root: KIND:MB of ext4, tmpfs or inodes (a tmpfs of "+
	"few files), with commas between them, such as inodes:2000,ext4:1500")

// TestDiskIsTakenWhileMerging has another program take all that is left of the disk, files or bytes, while tables are merged: the process
// goes on, or ends and says why, and once the disk is given back a start serves and no acknowledged node is lost.
func TestDiskIsTakenWhileMerging(t *testing.T) {
	onDisks(t, *takenDisks, "-full.taken=inodes:2000", func(t *testing.T, kind string, megabytes int, seed uint64) {
		takeDisk(t, mountDisk(t, kind, megabytes), kind == "inodes", seed)
	})
}

func takeDisk(t *testing.T, disk string, files bool, seed uint64) {
	flags := []string{badgerFlag(filepath.Join(disk, "store")), "--admin-listen=off"}
	p := startProcess(t, nil, flags...)
	fill := newFilling(seed)
	var stop atomic.Bool
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		fill.run(t, p, func(err error) bool { return !stop.Load() && (err == nil || isDiskFull(err)) })
	}()
	waitForMerge(t, filepath.Join(disk, "store"), func() bool { return fill.text.Load() > 200<<20 })
	other := filepath.Join(disk, "other")
	if err := os.Mkdir(other, 0o700); err != nil && !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	taken := take(other, files, 5*time.Second)
	stop.Store(true)
	<-ended
	outcome := "goes on"
	select {
	case <-p.exited:
		outcome = "has ended"
		if code := p.cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(p.log(), "another program has taken the last of the disk") {
			t.Errorf("the process ended: %v\n%s", p.exit, p.log())
		}
	default:
		p.kill()
	}
	t.Logf("%d nodes; another program took %d, and the process %s", fill.acknowledged(), taken, outcome)
	if err := os.RemoveAll(other); err != nil {
		t.Fatal(err)
	}
	p = startProcess(t, nil, flags...)
	fill.check(t, p)
	p.terminate(t)
}

// waitForMerge waits until there is enough, and then until several tables are made at once.
func waitForMerge(t *testing.T, store string, enough func() bool) {
	t.Helper()
	for known, until := map[string]bool{}, time.Now().Add(3*time.Minute); ; {
		tables, err := filepath.Glob(filepath.Join(store, "*.sst"))
		if err != nil || time.Now().After(until) {
			t.Fatalf("no merge was seen: %v", err)
		}
		fresh := 0
		for _, name := range tables {
			if !known[name] {
				known[name] = true
				fresh++
			}
		}
		if fresh >= 2 && enough() {
			return
		}
		<-time.After(5 * time.Millisecond)
	}
}

// take makes files, or one large one, until no more is to be had, for so long.
func take(dir string, files bool, d time.Duration) (taken int) {
	if !files {
		f, err := os.Create(filepath.Join(dir, "large"))
		if err != nil {
			return 0
		}
		defer f.Close()
		for end := time.Now().Add(d); time.Now().Before(end); {
			n, _ := f.Write(make([]byte, 1<<20)) // an error means that the disk is full: try again
			taken += n
		}
		return taken
	}
	for end := time.Now().Add(d); time.Now().Before(end); {
		if f, err := os.Create(filepath.Join(dir, fmt.Sprint(taken))); err == nil {
			taken++
			_ = f.Close()
		}
	}
	return taken
}
