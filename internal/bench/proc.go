package bench

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// errNoProc: this system does not tell what a process takes, or not in the way of Linux.
var errNoProc = errors.New("this system does not tell in /proc what memory a process takes")

// residence is what a process has in memory, in bytes.
type residence struct {
	// all counts files mapped into memory as well, which the system may drop; anonymous does not.
	all, anonymous int64
}

// memoryOf reads what a running process has in memory; errNoProc where the system does not tell.
func memoryOf(pid int) (residence, error) {
	status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		return residence{}, fmt.Errorf("%w: %w", errNoProc, err)
	}
	return parseStatus(status)
}

// parseStatus finds both numbers among the lines of /proc/PID/status: "RssAnon:	    1234 kB".
func parseStatus(status []byte) (r residence, err error) {
	for name, into := range map[string]*int64{"VmRSS": &r.all, "RssAnon": &r.anonymous} {
		*into = -1
		for line := range bytes.Lines(status) {
			fields := bytes.Fields(line)
			if len(fields) != 3 || string(fields[0]) != name+":" || string(fields[2]) != "kB" {
				continue
			}
			kib, err := strconv.ParseInt(string(fields[1]), 10, 64)
			if err != nil {
				return residence{}, fmt.Errorf("%w: %s is no number", errNoProc, name)
			}
			*into = kib << 10
		}
		if *into < 0 {
			return residence{}, fmt.Errorf("%w: no %s", errNoProc, name)
		}
	}
	return r, nil
}
