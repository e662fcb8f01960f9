package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// runToEnd runs the daemon's program until it ends, and returns what it printed and its exit code.
func runToEnd(t *testing.T, args ...string) (output string, code int) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(callContext(t), self, args...)
	cmd.Env = append(os.Environ(), childVariable+"=1")
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// putTexts puts nodes one after the other, each of which is then acknowledged.
func putTexts(t *testing.T, p *process, begin, end int) (ids []string) {
	t.Helper()
	service := transcriptv1.NewTranscriptServiceClient(p.dial(t))
	for i := begin; i < end; i++ {
		reply, err := putText(callContext(t), service, fmt.Sprintf("text %d %s", i, strings.Repeat("word ", 100)))
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, reply.GetNodeId())
	}
	return ids
}

// A bit of the log that flips while the daemon is down is told: it does not start, and changes nothing; a repair tells what would
// be lost, and then loses that and no more; and all of a store that is not damaged is there.
func TestDamagedStore(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	p := startProcess(t, nil, badgerFlag(dir), "--admin-listen=off")
	ids := putTexts(t, p, 0, 40)
	if out, code := runToEnd(t, "repair", badgerFlag(dir)); code != exitFailed || !strings.Contains(out, "in use") {
		t.Errorf("a repair beside a daemon: exit code %d\n%s", code, out)
	}
	p.kill()
	log := filepath.Join(dir, "00001.mem")
	before, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	damaged := append([]byte(nil), before...)
	damaged[9000] ^= 1
	if err := os.WriteFile(log, damaged, 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		out, code := runToEnd(t, badgerFlag(dir), "--listen=127.0.0.1:0", "--admin-listen=off")
		if code != exitFailed || !strings.Contains(out, "00001.mem at byte") || !strings.Contains(out, "transactions lie behind it") ||
			!strings.Contains(out, "transcriptd repair --dry-run --store badger://"+dir) {
			t.Fatalf("exit code %d\n%s", code, out)
		}
	}
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"repair", "--dry-run", badgerFlag(dir)}, "Nothing was changed"},
		{[]string{"repair", badgerFlag(dir)}, "lost: what was written after transaction"},
		{[]string{"repair", badgerFlag(dir)}, "Nothing is damaged"},
	} {
		if out, code := runToEnd(t, c.args...); code != exitOK || !strings.Contains(out, c.says) {
			t.Fatalf("%v: exit code %d\n%s", c.args, code, out)
		}
	}
	p = startProcess(t, nil, badgerFlag(dir), "--admin-listen=off")
	kept := 0
	service := transcriptv1.NewTranscriptServiceClient(p.dial(t))
	for ; kept < len(ids); kept++ {
		if _, err := service.GetNode(callContext(t), &transcriptv1.GetNodeRequest{Node: nodeRef(ids[kept])}); err != nil {
			break
		}
	}
	if kept == 0 || kept == len(ids) {
		t.Errorf("%d of %d nodes are there", kept, len(ids))
	}
	findAll(t, service, putTexts(t, p, kept, len(ids)))
	verifyClean(t, p.dial(t), "")
	p.terminate(t)
}

// TestKilledAtSystemCalls kills the daemon as it enters each of the system calls by which it makes, sizes, renames and removes a file,
// one after the other, while it starts, puts and drains: over a store that was killed, and over none. The next start serves,
// and has all that was acknowledged.
func TestKilledAtSystemCalls(t *testing.T) {
	needStrace(t)
	image := t.TempDir()
	p := startProcess(t, nil, badgerFlag(image), "--admin-listen=off")
	acked := putTexts(t, p, 0, 20)
	p.kill()
	none := t.TempDir()
	for _, c := range []struct {
		image string
		acked []string
		files []string
	}{
		{image, acked, []string{"00001.mem", "00002.mem", "000001.vlog", "000002.vlog", "000001.sst", "DISCARD", "MANIFEST"}},
		{none, nil, []string{"00001.mem", "000001.vlog", "DISCARD", "MANIFEST", "MANIFEST-REWRITE", "KEYREGISTRY", "REWRITE-KEYREGISTRY", ""}},
	} {
		for _, file := range c.files {
			t.Run(fmt.Sprintf("%d puts before, %s", len(c.acked), file), func(t *testing.T) {
				t.Parallel()
				var killed []string
				for _, call := range []string{"openat", "ftruncate", "unlinkat", "renameat", "write", "fsync", "fdatasync"} {
					for n := 1; killedAtCall(t, c.image, file, call, n, c.acked); n++ {
						killed = append(killed, fmt.Sprint(call, " ", n))
					}
				}
				t.Logf("killed at %v", killed)
				if len(killed) == 0 {
					t.Error("it was never killed: it does nothing with the file")
				}
			})
		}
	}
}

// killedAtCall runs the daemon over a copy of a store until one of its threads is killed at its n-th call of a kind that has to do
// with a file; false: none was. Then it starts again.
func killedAtCall(t *testing.T, image, file, call string, n int, acked []string) bool {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(image)); err != nil {
		t.Fatal(err)
	}
	p := launchProcess(t, []string{"strace", "-f", "-o", os.DevNull, "-P", filepath.Join(dir, file), "-e", "trace=" + call,
		"-e", fmt.Sprintf("inject=%s:signal=SIGKILL:when=%d", call, n)}, badgerFlag(dir), "--admin-listen=off")
	if p.serves(t) {
		service := transcriptv1.NewTranscriptServiceClient(p.dial(t))
		for i := range 5 {
			reply, err := putText(callContext(t), service, fmt.Sprintf("put %d", i))
			if err != nil {
				break
			}
			acked = append(acked[:len(acked):len(acked)], reply.GetNodeId())
		}
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGTERM) // it may have ended
		p.waitExit(t)
	}
	again := startProcess(t, nil, badgerFlag(dir), "--admin-listen=off")
	findAll(t, transcriptv1.NewTranscriptServiceClient(again.dial(t)), acked)
	verifyClean(t, again.dial(t), "")
	again.terminate(t)
	return p.exit != nil
}
