package main

import (
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// TestTooManyFiles lowers the limit of a running transcriptd to hardly more than it has open: writes are refused with a reason, reads
// go on, connections in great number take none of what is left; and when the limit is raised from outside, writes go on.
func TestTooManyFiles(t *testing.T) {
	p := startProcess(t, nil, badgerFlag(t.TempDir()), "--admin-listen=127.0.0.1:0")
	service := transcriptv1.NewTranscriptServiceClient(p.dial(t))
	first, err := putText(callContext(t), service, "first")
	if err != nil {
		t.Fatal(err)
	}
	open := p.openFiles(t)
	before := p.limitFiles(t, uint64(open+open/4)) // of which writes leave a quarter
	soon(t, "writes are refused", func() bool {
		_, err := putText(callContext(t), service, fmt.Sprint(time.Now()))
		return reason(err) == "TOO_MANY_FILES" && status.Code(err) == codes.ResourceExhausted
	})
	node := &transcriptv1.NodeRef{Ref: &transcriptv1.NodeRef_NodeId{NodeId: first.NodeId}}
	if _, err := service.GetNode(callContext(t), &transcriptv1.GetNodeRequest{Node: node}); err != nil {
		t.Errorf("a read: %v", err)
	}
	var connections []net.Conn
	for range 200 {
		conn, err := net.Dial("tcp", p.addr)
		if err != nil {
			t.Fatal(err)
		}
		connections = append(connections, conn)
	}
	soon(t, "connections are closed", func() bool { return strings.Contains(p.log(), "new connections are closed") })
	if n := p.openFiles(t); n > open+2 {
		t.Errorf("with 200 connections, %d descriptors are open instead of %d", n, open)
	}
	for _, conn := range connections {
		_ = conn.Close()
	}
	if n := strings.Count(p.log(), "more than half of a limit is in use"); n != 1 {
		t.Errorf("that half of the limit is in use is told %d times", n)
	}
	p.limitFiles(t, before)
	soon(t, "writes go on", func() bool {
		_, err := putText(callContext(t), service, fmt.Sprint(time.Now()))
		return err == nil
	})
	p.terminate(t)
}

// soon waits until something is so.
func soon(t *testing.T, what string, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !so(); {
		if time.Now().After(deadline) {
			t.Fatalf("it is not so that %s", what)
		}
	}
}

// reason is that of an error of a call, without its prefix.
func reason(err error) string {
	for _, d := range status.Convert(err).Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok {
			return info.Reason
		}
	}
	return ""
}

// openFiles counts what the process has open.
func (p *process) openFiles(t *testing.T) int {
	t.Helper()
	names, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	return len(names)
}

// limitFiles sets how many descriptors the process may have, as prlimit does, and returns how many it might.
func (p *process) limitFiles(t *testing.T, n uint64) (before uint64) {
	t.Helper()
	prlimit := func(set, get *syscall.Rlimit) {
		_, _, err := syscall.RawSyscall6(syscall.SYS_PRLIMIT64, uintptr(p.cmd.Process.Pid), syscall.RLIMIT_NOFILE,
			uintptr(unsafe.Pointer(set)), uintptr(unsafe.Pointer(get)), 0, 0)
		if err != 0 {
			t.Fatal(err)
		}
	}
	var limit syscall.Rlimit
	prlimit(nil, &limit)
	before, limit.Cur = limit.Cur, n
	prlimit(&limit, nil)
	return before
}
