//go:build unix

package bench

import "syscall"

// openFiles is how many files a process may have open; each Go program, transcriptd too, raises its own bound to this one.
func openFiles() (uint64, error) {
	var limit syscall.Rlimit
	err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit)
	return uint64(limit.Max), err
}
