package badgerdb

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/pb"
)

// testKey is a key of a store; another for each number.
func testKey(n byte) []byte { return bytes.Repeat([]byte{n}, 32) }

// encryptedStore is smallStore, encrypted with testKey(1), with another data key for each file.
func encryptedStore() Options {
	o := smallStore()
	o.EncryptionKey, o.DataKeyRotation = testKey(1), time.Nanosecond
	return o
}

// encryptedImage is an encrypted store of three tables, each with 30 transactions, and a log with 20, as a kill leaves it.
func encryptedImage(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for n := range uint64(3) {
		d, err := Open(dir, encryptedStore())
		must(t, err)
		commitNumbers(t, d, n*30+1, n*30+30, 3000)
		must(t, d.Close())
	}
	d, err := Open(dir, encryptedStore())
	must(t, err)
	commitNumbers(t, d, 91, 110, 500)
	image := copyStore(t, dir)
	must(t, d.Close())
	return image
}

// dataKeyIDs are the ids of the data keys of a store, in order.
func dataKeyIDs(t *testing.T, dir string, key []byte) []uint64 {
	t.Helper()
	keys, err := keysOf(dir, key)
	must(t, err)
	ids := keys.newestFirst()
	slices.Reverse(ids)
	return ids
}

// mustRefuseKey opens a store, repairs it and changes its key, with a key that is not its own: it is ErrKey, with these words, and all stays as it is.
func mustRefuseKey(t *testing.T, dir string, key []byte, words string) {
	t.Helper()
	before := contents(t, dir)
	o := smallStore()
	o.EncryptionKey = key
	d, err := Open(dir, o)
	if err == nil {
		t.Fatalf("it opens, up to %d; close: %v", d.MaxVersion(), d.Close())
	}
	for what, err := range map[string]error{
		"open": err, "repair": Repair(dir, o, false, func(string) {}), "rekey": Rekey(dir, o, testKey(9)),
	} {
		if !errors.Is(err, ErrKey) || errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v; it does not say %q", what, err, words)
		}
	}
	if after := contents(t, dir); !maps.Equal(before, after) {
		t.Errorf("it was changed: %v, was %v", after, before)
	}
}

// A store opens with its key alone, after a kill, after a stop, and however little of it was made.
func TestKeyOfAStore(t *testing.T) {
	const noKey, another, notEncrypted = "no key was given", "encrypted with another", "begun without encryption"
	killedStore := encryptedImage(t)
	closed := copyStore(t, killedStore)
	d, err := Open(closed, encryptedStore())
	must(t, err)
	must(t, d.Close())
	begun := t.TempDir() // no transaction was written
	d, err = Open(begun, encryptedStore())
	must(t, err)
	justBegun := copyStore(t, begun)
	must(t, d.Close())
	headOnly := t.TempDir() // killed before the first data key was made
	for _, name := range []string{badger.ManifestFilename, badger.KeyRegistryFileName} {
		b, err := os.ReadFile(filepath.Join(justBegun, name))
		must(t, err)
		if name == badger.KeyRegistryFileName {
			b = b[:registryHead]
		}
		must(t, os.WriteFile(filepath.Join(headOnly, name), b, 0o600))
	}
	unheaded := copyStore(t, headOnly) // and its first log has no header yet
	must(t, os.WriteFile(filepath.Join(unheaded, logName(1)), make([]byte, 2<<20), 0o600))
	noRegistry := copyStore(t, headOnly)
	must(t, os.Remove(filepath.Join(noRegistry, badger.KeyRegistryFileName)))
	must(t, os.WriteFile(filepath.Join(noRegistry, badger.KeyRegistryRewriteFileName), []byte("half"), 0o600))
	for name, c := range map[string]struct {
		dir string
		has uint64
	}{"killed": {killedStore, 110}, "closed": {closed, 110}, "begun": {justBegun, 0}, "head only": {headOnly, 0}, "log without a header": {unheaded, 0}} {
		t.Run(name, func(t *testing.T) {
			mustRefuseKey(t, copyStore(t, c.dir), nil, noKey)
			mustRefuseKey(t, copyStore(t, c.dir), testKey(2), another)
			mustOpenWith(t, copyStore(t, c.dir), encryptedStore(), c.has)
		})
	}
	plain := tablesAndLogs(t)
	closedPlain := copyStore(t, plain)
	mustOpenWith(t, closedPlain, smallStore(), 110)
	unregistered := copyStore(t, plain)
	must(t, os.Remove(filepath.Join(unregistered, badger.KeyRegistryFileName)))
	for name, dir := range map[string]string{"killed": plain, "closed": closedPlain, "unregistered": unregistered} {
		t.Run("plain, "+name, func(t *testing.T) { mustRefuseKey(t, dir, testKey(1), notEncrypted) })
	}
	t.Run("no registry", func(t *testing.T) { // it is whatever it is opened as
		mustOpenWith(t, copyStore(t, noRegistry), smallStore(), 0)
		mustOpenWith(t, copyStore(t, noRegistry), encryptedStore(), 0)
		if files := contents(t, noRegistry); len(files) != 2 {
			t.Error(files)
		}
	})
}

// Without the registry nothing can be read, and nothing else is damaged; a copy of it mends that.
func TestLostRegistry(t *testing.T) {
	image := encryptedImage(t)
	lost := copyStore(t, image)
	path := filepath.Join(lost, badger.KeyRegistryFileName)
	b, err := os.ReadFile(path)
	must(t, err)
	for name, left := range map[string][]byte{"removed": nil, "zeroed": make([]byte, len(b)), "emptied": {}, "cut": b[:20]} {
		must(t, os.WriteFile(path, left, 0o600))
		if name == "removed" {
			must(t, os.Remove(path))
		}
		mustRefuseKey(t, lost, nil, "no key was given")
		_, err := Open(lost, encryptedStore())
		if !errors.Is(err, ErrBeyondRepair) || !strings.Contains(err.Error(), "put back a copy") {
			t.Errorf("%s: %v", name, err)
		}
		if err := Repair(lost, encryptedStore(), false, func(string) {}); !errors.Is(err, ErrBeyondRepair) {
			t.Errorf("%s, repair: %v", name, err)
		}
	}
	must(t, os.WriteFile(path, b, 0o600))
	mustOpenWith(t, lost, encryptedStore(), 110)
}

// A data key that was being written when the process or the machine ended is cut off, wherever it ends; of one that is in use, whoever
// needs it tells. A damage before the last one is told.
func TestRegistryEnds(t *testing.T) {
	image := encryptedImage(t)
	whole, err := os.ReadFile(filepath.Join(image, badger.KeyRegistryFileName))
	must(t, err)
	keys, ok := readRegistry(whole).unlock(testKey(1))
	if !ok {
		t.Fatal("the key is not the store's")
	}
	next, err := appendKey(nil, keys[1], testKey(1))
	must(t, err)
	for _, n := range []int{1, 7, 8, 9, len(next) - 1} {
		dir := copyStore(t, image)
		change(t, filepath.Join(dir, badger.KeyRegistryFileName), func(b []byte) []byte { return append(b, next[:n]...) })
		mustOpenWith(t, dir, encryptedStore(), 110)
	}
	for name, c := range map[string]struct {
		change func(b []byte) []byte
		words  string
	}{
		"the last, in use":   {func(b []byte) []byte { return b[:len(b)-1] }, "KEYREGISTRY does not have"},
		"a bit of the first": {func(b []byte) []byte { b[registryHead+20] ^= 1; return b }, "a data key is damaged there"},
		"longer than a key":  {func(b []byte) []byte { return append(b, make([]byte, 4096)...) }, "a data key is damaged there"},
	} {
		dir := copyStore(t, image)
		change(t, filepath.Join(dir, badger.KeyRegistryFileName), c.change)
		before := contents(t, dir)
		if _, err := Open(dir, encryptedStore()); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: %v", name, err)
		}
		if after := contents(t, dir); !maps.Equal(before, after) {
			t.Errorf("%s: it was changed", name)
		}
	}
}

// The registry that Badger writes is read as Badger reads it, and Badger reads what is written here; a byte that is another is not passed over.
func TestRegistryIsBadgers(t *testing.T) {
	dir := t.TempDir()
	o := badger.KeyRegistryOptions{Dir: dir, EncryptionKey: testKey(1)}
	theirs, err := badger.OpenKeyRegistry(o)
	must(t, err)
	for range 3 { // no time passes before another is made
		_, err := theirs.LatestDataKey()
		must(t, err)
	}
	must(t, theirs.Close())
	path := filepath.Join(dir, badger.KeyRegistryFileName)
	b, err := os.ReadFile(path)
	must(t, err)
	same := func(keys keyring) {
		t.Helper()
		if len(keys) != 3 {
			t.Fatalf("%d keys", len(keys))
		}
		for id, key := range keys {
			if their, err := theirs.DataKey(id); err != nil || !bytes.Equal(their.GetData(), key.GetData()) || their.GetCreatedAt() != key.GetCreatedAt() {
				t.Errorf("key %d is another: %v", id, err)
			}
		}
	}
	r := readRegistry(b)
	keys, ok := r.unlock(testKey(1))
	if !ok || r.plain() || r.end != int64(len(b)) {
		t.Fatalf("%v %+v", ok, r)
	}
	same(keys)
	if _, ok := r.unlock(testKey(2)); ok {
		t.Error("another key does as well")
	}
	for n := range b {
		flipped := bytes.Clone(b)
		flipped[n] ^= 1
		damaged := readRegistry(flipped)
		_, ok := damaged.unlock(testKey(1))
		if ok && damaged.end == int64(len(b)) {
			t.Errorf("nobody minds byte %d", n)
		}
	}
	ours, err := registryBytes(keys, testKey(2))
	must(t, err)
	must(t, os.WriteFile(path, ours, 0o600))
	o.EncryptionKey = testKey(2)
	theirs, err = badger.OpenKeyRegistry(o)
	must(t, err)
	defer theirs.Close()
	same(keys)
}

// New files get another data key once the one before is old enough, and what has the old ones is read on.
func TestDataKeyRotation(t *testing.T) {
	dir := t.TempDir()
	o := encryptedStore()
	for n := range uint64(4) {
		d, err := Open(dir, o)
		must(t, err)
		commitNumbers(t, d, n*10+1, n*10+10, 100)
		must(t, d.Close())
	}
	ids := dataKeyIDs(t, dir, o.EncryptionKey)
	if len(ids) < 5 || ids[0] != 1 || ids[len(ids)-1] != uint64(len(ids)) {
		t.Errorf("it has the data keys %v", ids)
	}
	o.DataKeyRotation = 0 // the default
	mustOpenWith(t, dir, o, 40)
	if again := dataKeyIDs(t, dir, o.EncryptionKey); len(again) != len(ids) {
		t.Errorf("within ten days it has %v, had %v", again, ids)
	}
	o.DataKeyRotation = 1<<63 - 1 // a store that never gets another has one all the same
	never := t.TempDir()
	mustOpenWith(t, never, o, 0)
	if ids := dataKeyIDs(t, never, o.EncryptionKey); !slices.Equal(ids, []uint64{1}) {
		t.Errorf("it has the data keys %v", ids)
	}
	d, err := Open(dir, o)
	must(t, err)
	defer d.Close()
	for _, file := range d.TableFiles() {
		if damage, err := d.CheckTable(file, goOn); damage != nil || err != nil {
			t.Errorf("%s: %v, %v", file, damage, err)
		}
	}
}

// A key is changed as a whole: the new one opens all that is there, the old one nothing; what is written from then on has a data key
// that the old one never was of.
func TestRekey(t *testing.T) {
	dir := encryptedImage(t)
	before := contents(t, dir)
	ids := dataKeyIDs(t, dir, testKey(1))
	o := encryptedStore()
	o.DataKeyRotation = 0
	for _, wrong := range [][]byte{nil, testKey(3)} {
		o.EncryptionKey = wrong
		if err := Rekey(dir, o, testKey(2)); !errors.Is(err, ErrKey) {
			t.Errorf("with a key that is not its own: %v", err)
		}
	}
	o.EncryptionKey = testKey(1)
	if err := Rekey(dir, o, testKey(1)); !errors.Is(err, ErrKey) {
		t.Errorf("with its key as the new one: %v", err)
	}
	if after := contents(t, dir); !maps.Equal(before, after) {
		t.Error("a refusal changed it")
	}
	must(t, Rekey(dir, o, testKey(2)))
	after := contents(t, dir)
	for path, was := range before {
		if changed := after[path] != was; changed != (filepath.Base(path) == badger.KeyRegistryFileName) {
			t.Errorf("%s was changed: %t", path, changed)
		}
	}
	must(t, Rekey(dir, o, testKey(2))) // repeated, as after a crash
	if again := contents(t, dir); !maps.Equal(after, again) {
		t.Error("a repeat changed it")
	}
	if now := dataKeyIDs(t, dir, testKey(2)); !slices.Equal(now, append(ids, ids[len(ids)-1]+1)) {
		t.Errorf("it has the data keys %v, had %v", now, ids)
	}
	mustRefuseKey(t, dir, testKey(1), "encrypted with another")
	o.EncryptionKey = testKey(2)
	mustOpenWith(t, dir, o, 110)
	i, err := inspect(dir, testKey(2))
	must(t, err)
	if newest := i.tables[slices.IndexFunc(i.tables, func(t *tableFile) bool { return t.maxVersion == 111 })]; newest.keyID != ids[len(ids)-1]+1 {
		t.Errorf("what was written last has the data key %d", newest.keyID)
	}
	d, err := Open(dir, o)
	must(t, err)
	defer d.Close()
	if err := Rekey(dir, o, testKey(3)); !errors.Is(err, ErrLocked) {
		t.Errorf("while it is open: %v", err)
	}
}

// Whatever cuts a change of the key short, the store has the old key or the new one, and the change can be repeated.
func TestRekeyCutShort(t *testing.T) {
	image := encryptedImage(t)
	i, err := inspect(image, testKey(1))
	must(t, err)
	b, err := registryBytes(i.keys, testKey(2))
	must(t, err)
	for n := range len(b) + 1 {
		if n%120 != 0 && n != len(b) {
			continue
		}
		dir := copyStore(t, image) // killed before the rename
		must(t, os.WriteFile(filepath.Join(dir, badger.KeyRegistryRewriteFileName), b[:n], 0o600))
		mustRefuseKey(t, dir, testKey(2), "encrypted with another")
		other := copyStore(t, dir)
		mustOpenWith(t, other, encryptedStore(), 110)
		if _, err := os.Stat(filepath.Join(other, badger.KeyRegistryRewriteFileName)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("what was to be the registry is left: %v", err)
		}
		must(t, Rekey(dir, encryptedStore(), testKey(2)))
		o := encryptedStore()
		o.EncryptionKey = testKey(2)
		mustOpenWith(t, dir, o, 110)
	}
}

// A store that is not there has no key to change, nor one that is not encrypted.
func TestRekeyRefuses(t *testing.T) {
	if err := Rekey(filepath.Join(t.TempDir(), "none"), encryptedStore(), testKey(2)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no directory: %v", err)
	}
	if err := Rekey(t.TempDir(), encryptedStore(), testKey(2)); !errors.Is(err, ErrFormat) {
		t.Errorf("an empty directory: %v", err)
	}
	dir := encryptedImage(t)
	change(t, filepath.Join(dir, "000002.sst"), func(b []byte) []byte { return b[:len(b)-1] })
	if err := Rekey(dir, encryptedStore(), testKey(2)); !errors.Is(err, ErrDamaged) {
		t.Errorf("a damaged store: %v", err)
	}
}

// A MANIFEST that has lost its last changes is told, and mended, though it alone says which data key a table has.
func TestRepairEncrypted(t *testing.T) {
	image := encryptedImage(t)
	dir := copyStore(t, image)
	change(t, filepath.Join(dir, badger.ManifestFilename), func(b []byte) []byte { return b[:len(b)-1] })
	if _, err := Open(dir, encryptedStore()); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "it does not name 000003.sst") {
		t.Fatal(err)
	}
	must(t, Repair(dir, encryptedStore(), false, func(string) {}))
	mustOpenWith(t, dir, encryptedStore(), 110)
	dir = copyStore(t, image) // and a log is cut
	change(t, filepath.Join(dir, logName(1)), func(b []byte) []byte { b[3000] ^= 1; return b })
	said := ""
	must(t, Repair(dir, encryptedStore(), false, func(line string) { said += line + "\n" }))
	if !strings.Contains(said, "lost: what was written after transaction") {
		t.Error(said)
	}
	d, err := Open(dir, encryptedStore())
	must(t, err)
	defer d.Close()
	if n := numbersIn(t, d); n < 91 || n >= 110 {
		t.Errorf("it has the transactions up to %d", n)
	}
}

// A bit that flips anywhere in an encrypted table is found when the table is read, whichever data key it has; one that is whole is not damaged.
func TestCheckEncryptedTable(t *testing.T) {
	image := encryptedImage(t)
	keys, err := keysOf(image, testKey(1))
	must(t, err)
	for _, name := range []string{"000001.sst", "000003.sst"} {
		path := filepath.Join(image, name)
		if damage, err := checkTable(path, keys, goOn); damage != nil || err != nil {
			t.Fatal(damage, err)
		}
		whole, err := os.ReadFile(path)
		must(t, err)
		for at := 0; at < len(whole); at += 1 + len(whole)/97 {
			spoilt := bytes.Clone(whole)
			spoilt[at] ^= 1 << (at % 8)
			must(t, os.WriteFile(path, spoilt, 0o600))
			if damage, _ := checkTable(path, keys, goOn); damage == nil {
				t.Errorf("%s: nobody minds bit %d of byte %d", name, at%8, at)
			}
		}
		must(t, os.WriteFile(path, whole, 0o600))
		other, err := keysOf(encryptedImage(t), testKey(1))
		must(t, err)
		if damage, _ := checkTable(path, other, goOn); damage == nil {
			t.Errorf("%s: another store's data keys do as well", name)
		}
	}
}

// Nothing of keys and values is in any file of an encrypted store: in logs, tables, what is set aside, after a kill or a stop.
func TestNoPlainText(t *testing.T) {
	dir := t.TempDir()
	canary := func(n int) string { return fmt.Sprintf("canary-%04d-of-plain-text", n) }
	o := encryptedStore()
	d, err := Open(dir, o)
	must(t, err)
	write := func(from, to int) {
		for n := from; n < to; n++ {
			must(t, d.Write(uint64(n+1), func(b *Batch) error { // text that zstd leaves raw in parts, and a value that is packed
				return errors.Join(b.Set([]byte("key "+canary(n)), []byte("value "+canary(n)+strings.Repeat("word ", n%50*20))),
					b.Set([]byte("packed "+canary(n)), []byte(strings.Repeat(canary(n), 200))))
			}))
		}
	}
	write(0, 300)
	must(t, d.Close())
	d, err = Open(dir, o)
	must(t, err)
	write(300, 400)
	image := copyStore(t, dir)
	must(t, d.Close())
	torn := copyStore(t, image)
	logs, err := filepath.Glob(filepath.Join(torn, "*"+walSuffix))
	must(t, err)
	i, err := inspect(torn, o.EncryptionKey)
	must(t, err)
	end := i.logs[len(i.logs)-1].end
	change(t, logs[len(logs)-1], func(b []byte) []byte { b[end-10] ^= 1; return b })
	t.Run("torn", func(t *testing.T) {
		d, err := Open(torn, o)
		must(t, err)
		must(t, d.Close())
		if aside, _ := filepath.Glob(filepath.Join(torn, asideFolder, "*")); len(aside) == 0 {
			t.Error("nothing was set aside")
		}
	})
	for name, dir := range map[string]string{"closed": dir, "killed": image, "torn": torn} {
		read := 0
		must(t, filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			b, err := os.ReadFile(path)
			read += len(b)
			for _, text := range []string{"canary", "plain-text", "value ", "packed ", "word word"} {
				if bytes.Contains(b, []byte(text)) || strings.Contains(filepath.Base(path), text) {
					t.Errorf("%s: %s has %q", name, filepath.Base(path), text)
				}
			}
			return err
		}))
		if read < 10<<10 {
			t.Errorf("%s: only %d bytes were read", name, read)
		}
	}
}

// FuzzReadRegistry reads what may be left of a registry. Whatever it is, its keys end where it says, and what is read is written and read again.
func FuzzReadRegistry(f *testing.F) {
	keys := keyring{}
	for id := range uint64(3) {
		keys[id+1] = &pb.DataKey{KeyId: id + 1, Data: testKey(byte(id)), Iv: testKey(9)[:16], CreatedAt: 1 << 30}
	}
	whole, err := registryBytes(keys, testKey(1))
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range [][]byte{whole, whole[:len(whole)-1], whole[:registryHead], append(bytes.Clone(whole), make([]byte, 100)...), nil} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r := readRegistry(b)
		if r == nil {
			return
		}
		if r.end < int64(registryHead) || r.end > r.size || r.size != int64(len(b)) {
			t.Fatalf("%+v", r)
		}
		_ = r.torn(b)
		read, ok := r.unlock(testKey(1))
		if !ok {
			return
		}
		again, err := registryBytes(read, testKey(2))
		must(t, err)
		if back, ok := readRegistry(again).unlock(testKey(2)); !ok || len(back) != len(read) {
			t.Errorf("%d keys are written, and %d read", len(read), len(back))
		}
	})
}
