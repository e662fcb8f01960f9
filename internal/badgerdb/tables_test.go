package badgerdb

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dgraph-io/badger/v4"

	"github.com/dgraph-io/badger/v4/options"
)

// closedTables makes a database of tables and closes it; it tells which files they are.
func closedTables(t *testing.T) (dir string, files []string) {
	t.Helper()
	dir = t.TempDir()
	random := rand.New(rand.NewPCG(1, 2))
	for ts := range uint64(2) { // each close writes a table
		db, err := Open(dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		err = db.Commit(ts+1, func(txn *badger.Txn) (int64, error) {
			for i := range 400 {
				value := make([]byte, 300)
				for k := range value {
					value[k] = "0123456789abcdef"[random.IntN(16)]
				}
				if err := txn.Set(fmt.Appendf(nil, "%d key %d", ts, i), value); err != nil {
					return 0, err
				}
			}
			return 0, nil
		})
		if err := errors.Join(err, db.Close()); err != nil {
			t.Fatal(err)
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.sst"))
	if err != nil || len(files) != 2 {
		t.Fatalf("%d tables, %v", len(files), err)
	}
	return dir, files
}

// damagedTables checks all tables: the names of all files, and what is said of those that are damaged.
func damagedTables(t *testing.T, dir string) (files []string, damaged map[string]error) {
	t.Helper()
	db, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	damaged = map[string]error{}
	for _, file := range db.TableFiles() {
		damage, err := db.CheckTable(file, goOn)
		if err != nil {
			t.Fatal(err)
		}
		if files = append(files, file); damage != nil {
			damaged[file] = damage
		}
	}
	if damage, err := db.CheckTable("000099.sst", goOn); damage != nil || err != nil {
		t.Errorf("of a file that is no table's: %v, %v", damage, err)
	}
	return files, damaged
}

// TestCheckTables flips a bit in several places of each block of a table: it is named each time, and no other is.
func TestCheckTables(t *testing.T) {
	dir, files := closedTables(t)
	if checked, damaged := damagedTables(t, dir); len(checked) != 2 || len(damaged) != 0 {
		t.Fatalf("before anything was done: %v, %v", checked, damaged)
	}
	whole, err := os.ReadFile(files[1])
	if err != nil {
		t.Fatal(err)
	}
	r, err := newTableReader()
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	r.file, r.size, r.compression = bytes.NewReader(whole), int64(len(whole)), options.ZSTD
	_, all, err := r.read()
	if err != nil {
		t.Fatal(err)
	}
	last := all[len(all)-1]
	end := last.offset + last.length
	blocks := map[string]bool{}
	for at := int64(3); at < end; at += end / 40 {
		spoilt := append([]byte{}, whole...)
		spoilt[at] ^= 1 << (at % 8)
		if err := os.WriteFile(files[1], spoilt, 0o600); err != nil {
			t.Fatal(err)
		}
		damage, _ := checkTable(files[1], nil, goOn)
		if damage == nil {
			t.Errorf("nobody minds bit %d of byte %d", at%8, at)
			continue
		}
		block, _, _ := strings.Cut(damage.Error(), " of ")
		blocks[block] = true
	}
	if len(blocks) < 4 {
		t.Errorf("only blocks %v were damaged", blocks)
	}
	whole[3] ^= 1 // of the first block: Badger reads the last one as it opens a table
	if err := os.WriteFile(files[1], whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if checked, damaged := damagedTables(t, dir); len(checked) != 2 || len(damaged) != 1 || damaged[filepath.Base(files[1])] == nil {
		t.Errorf("of a damaged file: %v, %v", checked, damaged)
	}
}

// TestCheckTable: a file that was cut, is longer, or has another index is damaged, whatever it says of its own lengths.
func TestCheckTable(t *testing.T) {
	_, files := closedTables(t)
	whole, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	n := len(whole)
	for name, spoilt := range map[string][]byte{
		"empty":        {},
		"cut to 3":     whole[:3],
		"cut by 1":     whole[:n-1],
		"cut in half":  whole[:n/2],
		"longer":       append(whole[:n:n], 0),
		"longer by 4":  append(whole[:n:n], 0, 0, 0, 0),
		"zeros":        make([]byte, n),
		"huge lengths": append(whole[:n-4:n-4], 0xff, 0xff, 0xff, 0xff),
		"index":        append(append(whole[:n-40:n-40], whole[n-40]^1), whole[n-39:]...),
		"moved":        append([]byte{0}, whole...),
	} {
		if err := os.WriteFile(files[0], spoilt, 0o600); err != nil {
			t.Fatal(err)
		}
		if damage, _ := checkTable(files[0], nil, goOn); damage == nil {
			t.Errorf("%s: nobody minds", name)
		}
	}
	if err := os.WriteFile(files[0], whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if damage, err := checkTable(files[0], nil, goOn); damage != nil || err != nil {
		t.Error(damage, err)
	}
}

func goOn(int) error { return nil }

// TestCheckTableEnds where it is told to, before any block.
func TestCheckTableEnds(t *testing.T) {
	_, files := closedTables(t)
	stop, steps := errors.New("stop"), 0
	_, err := checkTable(files[0], nil, func(int) error {
		if steps++; steps == 2 {
			return stop
		}
		return nil
	})
	if !errors.Is(err, stop) || steps != 2 {
		t.Errorf("%d steps, %v", steps, err)
	}
}

// BenchmarkCheckTable tells how many bytes of tables are checked in a second.
func BenchmarkCheckTable(b *testing.B) {
	dir := b.TempDir()
	db, err := Open(dir, Options{})
	if err != nil {
		b.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for ts := range uint64(10) {
		err := db.Commit(ts+1, func(txn *badger.Txn) (int64, error) {
			for i := range 200 {
				var text strings.Builder
				for text.Len() < 10_000 {
					fmt.Fprintf(&text, "word-%d of the text ", random.IntN(5000))
				}
				if err := txn.Set(fmt.Appendf(nil, "%d %d", ts, i), []byte(text.String())); err != nil {
					return 0, err
				}
			}
			return 0, nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		b.Fatal(err)
	}
	file := filepath.Join(dir, "000001.sst")
	info, err := os.Stat(file)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(info.Size())
	for b.Loop() {
		if damage, err := checkTable(file, nil, goOn); damage != nil || err != nil {
			b.Fatal(damage, err)
		}
	}
}
