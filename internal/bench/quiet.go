package bench

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"time"
)

// How long a process must have done nothing to count as quiet, and how long that is waited for.
const (
	quietFor    = 100 * time.Millisecond
	quietWithin = 20 * time.Second
)

// quiet waits until a process is idle, as a database is once it has written and merged its tables, so that what one side
// leaves behind is not done while the next is measured. It waits no longer than quietWithin, and not at all where the
// system does not tell how busy a process is.
func quiet(ctx context.Context, pid int) error {
	before, known := processorTicks(pid)
	for begin := time.Now(); known && time.Since(begin) < quietWithin; {
		select {
		case <-time.After(quietFor):
		case <-ctx.Done():
			return ctx.Err()
		}
		now, _ := processorTicks(pid)
		if now <= before+1 { // a tick is 10 ms
			return nil
		}
		before = now
	}
	return nil
}

// settled waits until the server is quiet, where its process is ours.
func (s *server) settled(ctx context.Context) error {
	if s.process == nil {
		return nil
	}
	return quiet(ctx, s.process.cmd.Process.Pid)
}

// processorTicks is the processor time that a process has used, in hundredths of a second; false where it is not told.
func processorTicks(pid int) (ticks uint64, known bool) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, false
	}
	// After the name in parentheses, which may hold spaces, come the state and 10 numbers, then user and system time.
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(fields) < 13 {
		return 0, false
	}
	for _, field := range fields[11:13] {
		n, err := strconv.ParseUint(string(field), 10, 64)
		if err != nil {
			return 0, false
		}
		ticks += n
	}
	return ticks, true
}
