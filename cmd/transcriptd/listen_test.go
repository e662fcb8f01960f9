package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// socketFolder is one whose path is short enough for sockets.
func socketFolder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "td") //nolint:usetesting // the test's own folder has its name in it, too long a one for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// TestSocket: a server on a unix socket is its owner's alone, its path goes with it, and is taken over from one that was killed.
func TestSocket(t *testing.T) {
	path := filepath.Join(socketFolder(t), "grpc.sock")
	serve := func() *process {
		p := startProcess(t, nil, "--store=memory:", "--admin-listen=off", "--listen=unix://"+path)
		if p.addr != "unix://"+path {
			t.Errorf("it is announced as %s", p.addr)
		}
		there, err := os.Lstat(path)
		if err != nil || there.Mode() != os.ModeSocket|0o600 {
			t.Fatalf("the socket is %v, %v", there, err)
		}
		conn, err := grpc.NewClient(p.addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		if _, err := putText(callContext(t), transcriptv1.NewTranscriptServiceClient(conn), "hello"); err != nil {
			t.Error(err)
		}
		return p
	}
	serve().kill()
	p := serve()
	if err := run(t.Context(), []string{"--listen=unix://" + path, "--admin-listen=off", "--store=memory:"}, os.Stdout, os.Stderr); err == nil ||
		!strings.Contains(err.Error(), "another process listens on "+path) {
		t.Errorf("%v; want an error that says that another process listens", err)
	}
	p.terminate(t)
	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(left) > 0 {
		t.Errorf("%v are left, %v", left, err)
	}
}

// TestSocketsLeaveOthersAlone: what is no dead socket stays, and so does what took the path meanwhile.
func TestSocketsLeaveOthersAlone(t *testing.T) {
	dir := socketFolder(t)
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		file: "is no socket", link: "is no socket", dir: "is no socket", filepath.Join(dir, "none", "s"): "give a path in a folder that is there",
	} {
		if l, err := listenUnix(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v; want an error of %q", path, l, err, want)
		}
	}
	if b, err := os.ReadFile(link); err != nil || string(b) != "mine" {
		t.Errorf("the file has %q, %v", b, err)
	}

	path := filepath.Join(dir, "s")
	first, err := listenUnix(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	second, err := listenUnix(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatalf("the socket that took the path is gone: %v", err)
	}
	_ = conn.Close()
	if err := second.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("the path stays: %v", err)
	}
}

// TestSocketsAreNeverOpen: the socket has its mode before it has its path, whatever the umask.
func TestSocketsAreNeverOpen(t *testing.T) {
	dir := socketFolder(t)
	seen := make(chan os.FileMode, 1)
	stop := make(chan struct{})
	path := filepath.Join(dir, "s")
	go func() {
		defer close(seen)
		for {
			select {
			case <-stop:
				return
			default:
			}
			if there, err := os.Lstat(path); err == nil && there.Mode().Perm() != 0o600 {
				seen <- there.Mode()
				return
			}
		}
	}()
	for range 200 {
		l, err := listenUnix(path)
		if err != nil {
			t.Fatal(err)
		}
		_ = l.Close()
	}
	close(stop)
	if mode, ok := <-seen; ok {
		t.Errorf("the socket was there as %v", mode)
	}
}
