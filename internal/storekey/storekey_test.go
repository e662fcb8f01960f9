package storekey

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A key that was created is read, its file is its owner's alone, and it is never replaced.
func TestCreate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.key")
	if err := Create(path); err != nil {
		t.Fatal(err)
	}
	key, err := Read(path)
	if err != nil || len(key) != Size {
		t.Fatalf("%d bytes, %v", len(key), err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("its mode is %v, %v", info.Mode(), err)
	}
	if err := Create(path); !errors.Is(err, os.ErrExist) {
		t.Errorf("a second key: %v", err)
	}
	again, err := Read(path)
	if err != nil || !bytes.Equal(again, key) {
		t.Errorf("it is another key now, %v", err)
	}
	other := filepath.Join(t.TempDir(), "other.key")
	if err := Create(other); err != nil {
		t.Fatal(err)
	}
	if second, _ := Read(other); bytes.Equal(second, key) {
		t.Error("two keys are the same")
	}
}

// What 'openssl rand' writes with -hex and -base64 is read; anything else is refused, with what to do and without what the file has.
func TestForms(t *testing.T) {
	secret := make([]byte, Size)
	for n := range secret {
		secret[n] = byte(0xfb - n)
	}
	in64, inHex := base64.StdEncoding.EncodeToString(secret), hex.EncodeToString(secret)
	for name, c := range map[string]struct {
		text string
		ok   bool
	}{
		"base64":            {in64 + "\n", true},
		"base64 unpadded":   {strings.TrimRight(in64, "="), true},
		"hexadecimal":       {inHex + "\n", true},
		"capitals":          {strings.ToUpper(inHex), true},
		"white space":       {"\n " + in64 + " \r\n\n", true},
		"raw bytes":         {string(secret), false},
		"empty":             {"", false},
		"too short":         {inHex[:62], false},
		"too long":          {inHex + "00", false},
		"two lines":         {in64[:20] + "\n" + in64[20:], false},
		"two keys":          {in64 + "\n" + in64, false},
		"other letters":     {"x" + inHex[1:], false},
		"more than is read": {strings.Repeat(" ", maxFile) + in64, false},
	} {
		path := filepath.Join(t.TempDir(), "store.key")
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		key, err := Read(path)
		if c.ok && !bytes.Equal(key, secret) || c.ok != (err == nil) {
			t.Errorf("%s: %v", name, err)
		}
		if !c.ok && (!errors.Is(err, ErrKey) || !strings.Contains(err.Error(), path) || len(c.text) > 9 && strings.Contains(err.Error(), c.text[1:9])) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A file that others may read is refused, and so is one that is not there, or a folder.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "store.key")
	if err := Create(path); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []os.FileMode{0o640, 0o604, 0o660} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(path); !errors.Is(err, ErrKey) || !strings.Contains(err.Error(), "chmod 600") {
			t.Errorf("mode %o: %v", mode, err)
		}
	}
	if _, err := Read(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	private := filepath.Join(dir, "private")
	if err := os.Mkdir(private, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(private); err == nil {
		t.Error("a folder is read")
	}
}
