package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// restFor is how long a process must have done nothing to be at rest.
const restFor = 100 * time.Millisecond

// Rest waits until a process is idle, as a database is once it has written and merged its tables; false where it is not in time.
func Rest(ctx context.Context, pid int, within time.Duration) (bool, error) {
	giveUp := time.Now().Add(within)
	before, err := ticks(pid)
	for err == nil && time.Now().Before(giveUp) {
		select {
		case <-time.After(restFor):
		case <-ctx.Done():
			return false, ctx.Err()
		}
		var now uint64
		if now, err = ticks(pid); now <= before+1 { // a tick is 10 ms
			return true, err
		}
		before = now
	}
	return false, err
}

// ticks is the processor time that a process has used, in hundredths of a second.
func ticks(pid int) (sum uint64, err error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// After the name in parentheses, which may hold spaces, come the state and 10 numbers, then user and system time.
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(fields) < 13 {
		return 0, fmt.Errorf("/proc/%d/stat is not as it should be", pid)
	}
	for _, field := range fields[11:13] {
		n, err := strconv.ParseUint(string(field), 10, 64)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

// Anonymous is the memory of a process, in bytes, without mapped files, which the system may drop.
func Anonymous(pid int) (int64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(status) {
		if value, ok := bytes.CutPrefix(line, []byte("RssAnon:")); ok {
			kib, err := strconv.ParseInt(string(bytes.TrimSuffix(bytes.TrimSpace(value), []byte(" kB"))), 10, 64)
			return kib << 10, err
		}
	}
	return 0, fmt.Errorf("/proc/%d/status has no RssAnon", pid)
}

// DiskUsage is what du tells of a folder: the blocks of its files and folders, and its own; holes take none. What vanishes
// meanwhile, as merged tables do, takes nothing.
func DiskUsage(dir string) (total int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil {
			total += info.Sys().(*syscall.Stat_t).Blocks * 512
		}
		return err
	})
	return total, err
}

// Fsync is the median time that it takes to make 4 KiB of a file durable whose size does not change.
func Fsync(dir string) (median time.Duration, err error) {
	f, err := os.Create(filepath.Join(dir, "fsync"))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	page, took := make([]byte, 4<<10), make([]time.Duration, 201)
	for i := range took {
		begin := time.Now()
		if _, err := f.WriteAt(page, 0); err != nil {
			return 0, err
		}
		if err := syscall.Fdatasync(int(f.Fd())); err != nil {
			return 0, err
		}
		took[i] = time.Since(begin)
	}
	slices.Sort(took)
	return took[len(took)/2], nil
}
