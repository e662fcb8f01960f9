package bench

import (
	"os/exec"
	"syscall"
)

// endWithParent lets a command that is to be started end with this process, however that ends. Linux does so when the thread
// ends that started it: Go ends threads of goroutines alone that end locked to one, which this program has none of.
func endWithParent(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
