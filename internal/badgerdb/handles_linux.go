package badgerdb

import (
	"bytes"
	"errors"
	"io"
	"math"
	"os"
	"strconv"
	"syscall"
)

// descriptorUsage tells how many files, sockets and the like the process has open. Its limit is the soft one, which Go's
// runtime has raised to the hard one before main.
func descriptorUsage() (u Usage, ok bool) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return u, false
	}
	u.Limit = int64(min(limit.Cur, math.MaxInt64))
	u.Used, ok = openDescriptors(u.Limit)
	return u, ok
}

// descriptorList lists the descriptors. Its size is their number since Linux 6.2, and 0 before.
const descriptorList = "/proc/self/fd"

// openDescriptors asks for the size of the list, or else counts what it has. Where that takes a descriptor that there is not, limit are open.
func openDescriptors(limit int64) (n int64, ok bool) {
	var list syscall.Stat_t
	if err := syscall.Stat(descriptorList, &list); err != nil {
		return 0, false
	}
	if list.Size > 0 {
		return list.Size, true
	}
	n, err := countDescriptors()
	if errors.Is(err, syscall.EMFILE) {
		return limit, true
	}
	return n, err == nil
}

// countDescriptors leaves out the one that it takes itself.
func countDescriptors() (int64, error) {
	f, err := os.Open(descriptorList)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	return int64(len(names)) - 1, err
}

// mapUsage tells how many memory maps the process has.
func mapUsage() (u Usage, ok bool) {
	text, err := os.ReadFile("/proc/sys/vm/max_map_count")
	if err != nil {
		return u, false
	}
	if u.Limit, err = strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64); err != nil {
		return u, false
	}
	f, err := os.Open("/proc/self/maps")
	if err != nil {
		return u, false
	}
	defer f.Close()
	u.Used, err = countLines(f)
	return u, err == nil
}

func countLines(r io.Reader) (n int64, err error) {
	b := make([]byte, 4<<10) // of which the system fills no more at a time
	for {
		read, err := r.Read(b)
		n += int64(bytes.Count(b[:read], []byte{'\n'}))
		if errors.Is(err, io.EOF) {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
}
