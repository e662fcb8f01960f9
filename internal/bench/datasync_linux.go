package bench

import (
	"os"
	"syscall"
)

// datasync makes what was written to f durable, and of its size and times only what reading it needs.
func datasync(f *os.File) error { return syscall.Fdatasync(int(f.Fd())) }
