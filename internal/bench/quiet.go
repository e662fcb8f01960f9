package bench

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"time"
)

// How long a process must have done nothing to count as quiet, and how long that is waited for: at most, and in all of a
// quick run.
const (
	quietFor    = 100 * time.Millisecond
	quietWithin = 60 * time.Second
	quickWaits  = 90 * time.Second
)

// quiet waits until a process is idle, as a database is once it has written and merged its tables, so that what one side
// leaves behind is not done while the next is measured. It gives up after quietWithin, or sooner once a quick run has
// waited for quickWaits in all, and does not wait where the system does not tell how busy a process is. That it gave up is
// counted for the row's figures. Not for use by several goroutines.
func (e *env) quiet(ctx context.Context, pid int) error {
	begin := time.Now()
	idle, err := idleWithin(ctx, pid, min(quietWithin, *e.waits))
	took := time.Since(begin)
	*e.waits -= took
	if err == nil && !idle {
		e.busy++
		e.note("a process is still at work after %s: what is measured next is measured beside that", took.Round(time.Second))
	}
	return err
}

// idleWithin waits until a process is idle; false if it is not in time, but it is looked at once at least.
func idleWithin(ctx context.Context, pid int, within time.Duration) (idle bool, err error) {
	before, known := processorTicks(pid)
	for begin := time.Now(); known; {
		if err := pause(ctx, quietFor); err != nil {
			return false, err
		}
		now, _ := processorTicks(pid)
		if now <= before+1 { // a tick is 10 ms
			return true, nil
		}
		if time.Since(begin) >= within {
			return false, nil
		}
		before = now
	}
	return true, nil
}

// settled waits until the server is quiet, where its process is ours.
func (s *server) settled(ctx context.Context) error {
	if s.process == nil {
		return nil
	}
	return s.e.quiet(ctx, s.process.cmd.Process.Pid)
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
