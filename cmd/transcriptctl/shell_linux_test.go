package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// terminal is a shell on a terminal of its own.
type terminal struct {
	t    *testing.T
	main *os.File
	mu   sync.Mutex
	seen strings.Builder
}

// newTerminal starts a shell.
func newTerminal(t *testing.T, c *exec.Cmd) *terminal {
	t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skipf("there is no terminal to be had: %v", err)
	}
	main := os.NewFile(uintptr(fd), "/dev/ptmx")
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 50, Col: 250})
	}
	if err != nil {
		t.Fatal(err)
	}
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	c.Stdin, c.Stdout, c.Stderr = tty, tty, tty
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	term := &terminal{t: t, main: main}
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
		_ = main.Close()
	})
	_ = tty.Close()
	go term.read()
	return term
}

func (term *terminal) read() {
	b := make([]byte, 4096)
	for {
		n, err := term.main.Read(b)
		term.mu.Lock()
		term.seen.Write(b[:n])
		term.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// shown is what the terminal has shown.
func (term *terminal) shown() string {
	term.mu.Lock()
	defer term.mu.Unlock()
	return term.seen.String()
}

// key presses keys.
func (term *terminal) key(keys string) {
	term.t.Helper()
	if _, err := term.main.WriteString(keys); err != nil {
		term.t.Fatal(err)
	}
}

// TestShells: bash, zsh and fish complete commands, flags, values, files and aliases, also with what they part or quote.
func TestShells(t *testing.T) {
	for shell, start := range map[string][]string{
		"bash": {"--norc", "--noprofile", "-i"}, "zsh": {"-f", "-i"}, "fish": {"--no-config", "-i"},
	} {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			inShell(t, shell, start)
		})
	}
}

func inShell(t *testing.T, shell string, start []string) {
	path, err := exec.LookPath(shell)
	if err != nil {
		t.Skip("is not installed")
	}
	s := newStack(t)
	s.must("put", "--text", "one", "--alias", "chat/a b")
	s.must("put", "--text", "two", "--alias", "branch/x:y=z")
	bin, work := t.TempDir(), t.TempDir()
	if err := os.Symlink(os.Args[0], filepath.Join(bin, "transcriptctl")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(work, "some file.json"), []byte(`{"role":"user","content":"three"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(context.Background(), path, start...)
	c.Dir = work
	c.Env = append(os.Environ(), asTool+"=1", "PATH="+bin+":"+os.Getenv("PATH"), "TRANSCRIPTCTL_ADDR="+s.addr, "TERM=vt100",
		"HOME="+work, "XDG_DATA_HOME="+bin, "LC_ALL=C.UTF-8")
	term := newTerminal(t, c)
	load := map[string]string{
		"bash": "source <(transcriptctl completions bash)",
		"zsh":  "autoload -U compinit; compinit -D -u; source <(transcriptctl completions zsh)",
		"fish": "transcriptctl completions fish | source",
	}[shell]
	for _, line := range []struct{ keys, want string }{
		{load + "; echo rea''dy", "ready\r\n"},
		{"transcriptctl put so\t --ali\tchat/new", "chat/new (new)"},
		{"transcriptctl ali\tres\tchat/a\t --outp\tjson", `"name":"chat/a b"`},
		{"transcriptctl alias resolve bra\t --output=js\t", `"name":"branch/x:y=z"`},
		{"transcriptctl alias resolve branch/x:\t --output=json", `"name":"branch/x:y=z"`},
		{"transcriptctl show alias:bran\t", "branch/x:y=z\r\n"},
	} {
		before := len(term.shown())
		term.key(line.keys + "\r")
		waitFor(t, func() bool { return strings.Contains(term.shown()[before:], line.want) })
	}
}
