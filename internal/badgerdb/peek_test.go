package badgerdb

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"testing"
)

// TestAdmit: who opens a database sees before anything is changed what keys have, in tables as in logs, after a close as after a kill; and
// where it is not admitted nothing is changed.
func TestAdmit(t *testing.T) {
	for name, key := range map[string][]byte{"plain": nil, "encrypted": testKey(1)} {
		t.Run(name, func(t *testing.T) { testAdmit(t, key) })
	}
}

func testAdmit(t *testing.T, key []byte) {
	dir := t.TempDir()
	peek := [][]byte{[]byte("a"), []byte("k05"), []byte("never"), []byte("gone"), []byte("packed")}
	refused := errors.New("refused")
	// look is what is seen in a copy of the directory.
	look := func(dir string) (seen [][]byte) {
		t.Helper()
		to := t.TempDir()
		if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		before := contents(t, to)
		_, err := Open(to, Options{MemtableBytes: 1 << 20, EncryptionKey: key, Peek: peek, Admit: func(values [][]byte) error {
			seen = values
			return refused
		}})
		if !errors.Is(err, refused) || !maps.Equal(before, contents(t, to)) {
			t.Errorf("error is %v, and the files were %v, are %v", err, before, contents(t, to))
		}
		return seen
	}
	check := func(when string, want ...[]byte) {
		t.Helper()
		for n, got := range look(dir) {
			if !bytes.Equal(got, want[n]) || (got == nil) != (want[n] == nil) {
				t.Errorf("%s: %q has %q, want %q", when, peek[n], got, want[n])
			}
		}
	}
	check("new", nil, nil, nil, nil, nil)
	ts := uint64(0)
	open := func() *DB {
		d, err := Open(dir, Options{MemtableBytes: 1 << 20, EncryptionKey: key})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	write := func(d *DB, key, value string) {
		t.Helper()
		ts++
		if err := d.Write(ts, func(b *Batch) error { return b.Set([]byte(key), []byte(value)) }); err != nil {
			t.Fatal(err)
		}
	}
	d := open()
	write(d, "a", "")
	for n := range 10 {
		write(d, fmt.Sprintf("k%02d", n), fmt.Sprint("value ", n))
	}
	write(d, "gone", "x")
	write(d, "packed", string(bytes.Repeat([]byte("x"), 5000)))
	logged := [][]byte{{}, []byte("value 5"), nil, []byte("x"), nil}
	check("in a log", logged...)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	check("in a table", logged...)
	d = open()
	write(d, "a", "again")
	ts++
	if err := d.Write(ts, func(b *Batch) error { return b.Delete([]byte("gone")) }); err != nil {
		t.Fatal(err)
	}
	check("in a log and a table", []byte("again"), logged[1], nil, nil, nil)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	check("in two tables", []byte("again"), logged[1], nil, nil, nil)
}

// TestPeekAtNoBlock: bytes that are no block are passed over.
func TestPeekAtNoBlock(t *testing.T) {
	p := &peek{keys: [][]byte{[]byte("zzzz")}}
	for _, b := range [][]byte{
		{0, 0, 0, 0}, {0, 0, 0, 1}, {255, 255, 255, 255}, {9, 0, 0, 0, 0, 0, 0, 1}, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
		{0, 0, 9, 0, 'a', 0, 0, 0, 0, 0, 0, 0, 1}, {9, 0, 0, 0, 'a', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
	} {
		if p.block(b) || p.found != nil {
			t.Errorf("%v was read", b)
		}
	}
}
