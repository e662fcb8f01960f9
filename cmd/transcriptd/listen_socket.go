package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
)

// maxSocketPath is how long the path of a unix socket may be: systems take 103 bytes at least.
const maxSocketPath = 103

// socket is a unix socket that its owner alone can connect to. Closing it removes its path, unless that is another's by then.
type socket struct {
	*net.UnixListener
	path  string
	made  fs.FileInfo
	close func() error
}

// listenUnix makes a socket in a folder that is its owner's alone, and gives it its mode before it moves to its path, so that nobody else
// could connect at any time. It replaces a socket that nobody listens on, and nothing else.
func listenUnix(path string) (net.Listener, error) {
	folder, err := os.MkdirTemp(filepath.Dir(path), ".t")
	if err != nil {
		return nil, fmt.Errorf("%w (give a path in a folder that is there, and that transcriptd may write to)", err)
	}
	defer func() { _ = os.RemoveAll(folder) }() // empty but where something failed
	apart := filepath.Join(folder, "s")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: apart, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("%w (a shorter path may do)", err)
	}
	l.SetUnlinkOnClose(false) // it is elsewhere by then
	s := &socket{UnixListener: l, path: path}
	s.close = sync.OnceValue(s.removeAndClose)
	if err := s.move(apart); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return s, nil
}

func (s *socket) move(from string) error {
	if err := os.Chmod(from, 0o600); err != nil {
		return err
	}
	var err error
	if s.made, err = os.Lstat(from); err != nil {
		return err
	}
	if err := replaceable(s.path); err != nil {
		return err
	}
	return os.Rename(from, s.path)
}

// replaceable is the error of a path with something that must stay.
func replaceable(path string) error {
	there, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case there.Mode().Type() != fs.ModeSocket:
		return fmt.Errorf("%s is there and is no socket: remove it, or give another path", path)
	}
	conn, err := net.Dial("unix", path)
	switch {
	case err == nil:
		_ = conn.Close()
		return fmt.Errorf("another process listens on %s: end it, or give another path", path)
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, fs.ErrNotExist):
		return nil // whoever listened is gone
	default:
		return fmt.Errorf("whether another process listens on %s cannot be told: %w", path, err)
	}
}

// Addr has the path where clients find it.
func (s *socket) Addr() net.Addr { return &net.UnixAddr{Name: s.path, Net: "unix"} }

// Close removes the path first: who comes from then on is told that nothing is there.
func (s *socket) Close() error { return s.close() }

func (s *socket) removeAndClose() error {
	if there, err := os.Lstat(s.path); err == nil && os.SameFile(there, s.made) {
		_ = os.Remove(s.path) // a socket that stays is replaced by the next
	}
	return s.UnixListener.Close()
}
