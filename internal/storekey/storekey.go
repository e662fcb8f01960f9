// Package storekey is the key that a store is encrypted with, as a file has it: 32 random bytes in base64 or in hexadecimal, on one line.
package storekey

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"github.com/transcriptd/transcriptd/internal/syncdir"
)

// Size is how many bytes a key has.
const Size = 32

// maxFile bounds what is read of a file.
const maxFile = 4096

// ErrKey says that a file has no key that can be used. Nothing of what it has is in errors.
var ErrKey = errors.New("not a key of a store")

// Read reads a key from a regular file that nobody but its owner may read.
func Read(path string) ([]byte, error) {
	// Before it is opened: to open a pipe waits for who writes to it.
	switch info, err := os.Stat(path); {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, fmt.Errorf("%w: %s is a folder: name the file in it", ErrKey, path)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%w: %s is no regular file, such as a pipe or a device: keep the key in a file", ErrKey, path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if mode := info.Mode().Perm(); runtime.GOOS != "windows" && mode&0o077 != 0 {
		return nil, fmt.Errorf("%w: others may read %s, whose mode is %04o: chmod 600 it", ErrKey, path, mode)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	key, ok := parse(bytes.TrimSpace(text))
	if !ok {
		return nil, fmt.Errorf("%w: %s must have %d random bytes in base64, or as %d hexadecimal digits, and nothing else: "+
			"'transcriptd key create FILE' makes one, and 'openssl rand -base64 %d'", ErrKey, path, Size, 2*Size, Size)
	}
	return key, nil
}

// parse reads what a file has. No text is a key in both forms.
func parse(text []byte) (key []byte, ok bool) {
	for _, decode := range []func(string) ([]byte, error){
		hex.DecodeString, base64.StdEncoding.Strict().DecodeString, base64.RawStdEncoding.Strict().DecodeString,
	} {
		if key, err := decode(string(text)); err == nil && len(key) == Size && !bytes.ContainsAny(text, "\r\n") {
			return key, true
		}
	}
	return nil, false
}

// Create makes a file with a new key, which its owner alone may read, and makes it durable. A file that is there is left as it is:
// os.ErrExist.
func Create(path string) (err error) {
	key := make([]byte, Size)
	if _, err := rand.Read(key); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(base64.StdEncoding.EncodeToString(key) + "\n")
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return syncdir.Sync(filepath.Dir(path))
}
