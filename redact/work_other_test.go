//go:build !linux

package redact_test

import (
	"testing"
	"time"
)

// work is the time that f takes: where no thread's own time can be read, others on the machine make it longer.
func work(t testing.TB, f func()) time.Duration {
	t.Helper()
	start := time.Now()
	f()
	return time.Since(start)
}
