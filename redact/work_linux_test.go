package redact_test

import (
	"runtime"
	"syscall"
	"testing"
	"time"
)

// work is the time for which a processor was busy with f: it does not grow while others have the machine.
func work(t testing.TB, f func()) time.Duration {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := busy(t)
	f()
	return busy(t) - before
}

// busy is the time for which a processor was busy with this thread.
func busy(t testing.TB) time.Duration {
	t.Helper()
	const thisThread = 1 // RUSAGE_THREAD
	var used syscall.Rusage
	if err := syscall.Getrusage(thisThread, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
