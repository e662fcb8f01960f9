package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// asTool makes this test program be transcriptctl.
const asTool = "TRANSCRIPTCTL_TEST_AS_TOOL"

func TestMain(m *testing.M) {
	if os.Getenv(asTool) != "" {
		os.Exit(runUntilSignal())
	}
	// No context of who runs the tests counts.
	_ = os.Setenv("XDG_CONFIG_HOME", filepath.Join(os.TempDir(), "transcriptctl-tests-have-no-contexts"))
	os.Exit(m.Run())
}

// process is transcriptctl as a process of its own.
func (s *stack) process(args ...string) *exec.Cmd {
	c := exec.Command(os.Args[0], append([]string{"--addr", s.addr}, args...)...)
	c.Env = append(os.Environ(), asTool+"=1")
	return c
}

// TestPipeEnds: a reader that has enough is no failure, and nothing is said of it.
func TestPipeEnds(t *testing.T) {
	s := newStack(t)
	s.must("put", "--text", "root", "--alias", "chat/a")
	s.must("put", "testdata/calls.json", "--alias", "calls")
	for range 8 {
		s.must("put", "--text", strings.Repeat("long ", 10_000), "--alias", "chat/a", "--parent", "chat/a")
	}
	for _, args := range [][]string{
		{"export"}, {"log", "chat/a"}, {"assemble", "chat/a"}, {"tree", "--prefix", ""}, {"search", "long", "chat/a"},
		{"loops", "chat/a"}, {"loops", "--stale", "0s"}, {"window", "calls"}, {"replay", "calls"}, {"describe", "chat/a"},
		{"economy", "testdata/economy.jsonl"}, {"import", "--check", "testdata/broken.jsonl"},
	} {
		c := s.process(args...)
		var notes bytes.Buffer
		c.Stderr = &notes
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		c.Stdout = w
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(w.Close(), readSome(args[0], r), r.Close(), c.Wait()); err != nil || notes.Len() > 0 {
			t.Errorf("%v: %v, %q", args, err, notes.String())
		}
	}
}

// readSome reads the beginning of what a command prints, or nothing where it prints little.
func readSome(command string, r io.Reader) error {
	switch command {
	case "export", "log", "assemble":
	default:
		return nil
	}
	_, err := io.ReadFull(r, make([]byte, 10))
	return err
}

// TestInterrupt: a signal ends an import that waits for input, with its own exit code and without losing what it
// stored.
func TestInterrupt(t *testing.T) {
	for _, with := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(with.String(), func(t *testing.T) {
			if signal.Ignored(with) {
				t.Skip("under nohup a tool goes on")
			}
			interrupt(t, with)
		})
	}
}

func interrupt(t *testing.T, with os.Signal) {
	t.Helper()
	s := newStack(t)
	c := s.process("import", "--workers", "1")
	var notes bytes.Buffer
	c.Stderr = &notes
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	kill := time.AfterFunc(20*time.Second, func() { _ = c.Process.Kill() })
	defer kill.Stop()
	if _, err := io.WriteString(in, chatLine(t, "a", "Hello")+chatLine(t, "b", "Hello")); err != nil {
		t.Fatal(err)
	}
	// Once the second is stored by the only worker, the first is counted.
	waitFor(t, func() bool { return s.run("alias", "resolve", "chat/b").code == exitOK })
	if err := c.Process.Signal(with); err != nil {
		t.Fatal(err)
	}
	err = c.Wait()
	if c.ProcessState.ExitCode() != exitInterrupted || !strings.Contains(notes.String(), " stored before it stopped") {
		t.Errorf("%v, %q", err, notes.String())
	}
}

// waitFor waits until something is so.
func waitFor(t *testing.T, is func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal("it took too long")
		}
	}
}
