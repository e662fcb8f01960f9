package redact_test

import (
	"runtime"
	"syscall"
	"time"

	"github.com/transcriptd/transcriptd/redact"
)

// work is the time for which a processor is busy with a text, gone over so many times: it does not grow while others have the
// machine.
func work(text string, times int) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := busy()
	for range times {
		redact.Text(text)
	}
	return busy() - before
}

// busy is the time for which a processor was busy with this thread.
func busy() time.Duration {
	const thisThread = 1 // RUSAGE_THREAD
	var used syscall.Rusage
	if err := syscall.Getrusage(thisThread, &used); err != nil {
		panic(err) // no fault of a text
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
