package badgerdb

import (
	"bytes"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dgraph-io/badger/v4"
)

// scanBytes scans what a log holds.
func scanBytes(t testing.TB, b []byte, keys dataKeys, known uint64) *logScan {
	t.Helper()
	r := &logReader{file: bytes.NewReader(b), size: int64(len(b)), nextData: func(from int64) int64 { return from }}
	s, err := scanLog(logName(1), r, keys, known)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A log that Badger writes, encrypted or not, is read as Badger reads it.
func TestScanOfBadgersLog(t *testing.T) {
	for name, key := range map[string][]byte{"plain": nil, "encrypted": []byte("a key of 16 byte")} {
		t.Run(name, func(t *testing.T) {
			o := smallStore().complete()
			dir := t.TempDir()
			db, err := badger.OpenManaged(badgerOptions(dir, &o, 0).WithEncryptionKey(key).WithIndexCacheSize(1 << 20))
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			const last = 300
			for n := uint64(1); n <= last; n++ {
				txn := db.NewTransactionAt(n-1, true)
				for k := range rand.IntN(5) + 1 {
					value := make([]byte, rand.IntN(2000))
					if err := txn.Set(fmt.Appendf(nil, "%d of %d", k, n), value); err != nil {
						t.Fatal(err)
					}
				}
				if err := txn.CommitAt(n, nil); err != nil {
					t.Fatal(err)
				}
			}
			keys, err := badger.OpenKeyRegistry(badger.KeyRegistryOptions{Dir: dir, ReadOnly: true, EncryptionKey: key})
			if err != nil {
				t.Fatal(err)
			}
			b, err := os.ReadFile(filepath.Join(dir, logName(1)))
			if err != nil {
				t.Fatal(err)
			}
			s := scanBytes(t, b, keys, 0)
			if !s.clean() || s.first != 1 || s.last != last || s.marks != 0 {
				t.Fatalf("%+v", s)
			}
			for range 200 {
				at := logHeader + rand.IntN(int(s.end)-logHeader)
				damaged := bytes.Clone(b)
				damaged[at] ^= 1 << rand.IntN(8)
				s := scanBytes(t, damaged, keys, 0)
				if s.clean() || s.end > int64(at) {
					t.Fatalf("a bit at %d: %+v", at, s)
				}
				if s.last+1 < last && s.damage(s.last, 0) == "" {
					t.Fatalf("a bit at %d, in transaction %d of %d, goes unnoticed: %+v", at, s.last+1, last, s)
				}
			}
		})
	}
}

// someLogs are a log of transactions 1 to 60, with the offset at which each ends, and one of 61 to 70; none: nil.
type someLogs struct {
	a, b []byte
	ends []int
}

func (l *someLogs) second() []byte {
	l.b, _ = logBytes(61, 70, 500)
	return l.b
}

// in is an offset in the value of a transaction of the first log.
func (l *someLogs) in(number int) int { return l.ends[number-1] - 200 }

func (l *someLogs) flip(at int) { l.a[at] ^= 4 }

// What is done to logs, and what comes of it: an open that has the transactions up to a number, or a refusal that names a log,
// the transaction in which the damage begins, and how many are behind it.
func TestDamagedLogs(t *testing.T) {
	for name, c := range map[string]struct {
		damage func(l *someLogs)
		opens  uint64
		log    int
		begins int // 0: not said
		text   string
	}{
		"nothing": {damage: func(*someLogs) {}, opens: 60},
		"a bit of the first": {damage: func(l *someLogs) { l.flip(l.in(1)) },
			log: 1, begins: 1, text: "59 transactions lie behind it, up to number 60"},
		"a bit of one in the middle": {damage: func(l *someLogs) { l.flip(l.in(30)) },
			log: 1, begins: 30, text: "30 transactions lie behind it, up to number 60"},
		"a bit of the last but one": {damage: func(l *someLogs) { l.flip(l.in(59)) },
			log: 1, begins: 59, text: "1 transactions lie behind it, up to number 60"},
		"a bit of the end mark of the last but one": {damage: func(l *someLogs) { l.flip(l.ends[58] - 10) },
			log: 1, begins: 59, text: "1 transactions lie behind it, up to number 60"},
		"zeros over two but for the end of the last": {damage: func(l *someLogs) { clear(l.a[l.in(59):l.in(60)]) },
			log: 1, begins: 59, text: "1 transactions lie behind it, up to number 60"},
		"zeros over a page in the middle": {damage: func(l *someLogs) { clear(l.a[8192:12288]) }, log: 1, text: "up to number 60"},
		"zeros over the first page":       {damage: func(l *someLogs) { clear(l.a[:4096]) }, log: 1, begins: 1, text: "59 transactions"},
		"one left out":                    {damage: func(l *someLogs) { l.a = slices.Delete(l.a, l.ends[29], l.ends[30]) }, log: 1, text: "does not follow"},
		"a length in the last":            {damage: func(l *someLogs) { copy(l.a[l.ends[58]+4:], "\xff\x7f") }, log: 1, begins: 60, text: "length"},
		"cut in an entry":                 {damage: func(l *someLogs) { l.a = l.a[:l.in(31)] }, log: 1, begins: 31, text: "cut short"},
		"cut in the head of an entry":     {damage: func(l *someLogs) { l.a = l.a[:l.ends[29]+3] }, log: 1, begins: 31, text: "cut short"},
		"cut in the header":               {damage: func(l *someLogs) { l.a = l.a[:10] }, log: 1, text: "cut short"},
		"a data key that there is not":    {damage: func(l *someLogs) { l.flip(7) }, log: 1, text: "data key"},
		"more than a transaction can be": {damage: func(l *someLogs) { copy(l.a[l.ends[58]+5:], bytes.Repeat([]byte("more"), 70_000)) },
			log: 1, begins: 60, text: "more is damaged"},
		"bytes behind the end": {damage: func(l *someLogs) { l.a = append(l.a, "more"...) }, log: 1, text: "damaged"},
		"a bit of the last of a log that an open cut": {damage: func(l *someLogs) { l.flip(l.in(60)); l.a = l.a[:l.ends[59]] },
			log: 1, begins: 60, text: "damaged"},

		"a bit of the last but one, and the last is torn": {damage: func(l *someLogs) { l.flip(l.in(59)); clear(l.a[l.in(60):]) },
			log: 1, begins: 59, text: "damaged"},
		"one left out, and nothing behind the next": {damage: func(l *someLogs) {
			clear(l.a[l.ends[30]-60:])
			l.a = append(slices.Delete(l.a, l.ends[28], l.ends[29]), 0)
		}, log: 1, text: "damaged"},

		// What a loss of power, or a kill, can leave of the last one, and what cannot be told from it.
		"a bit of the last":                   {damage: func(l *someLogs) { l.flip(l.in(60)) }, opens: 59},
		"a bit of the end mark of the last":   {damage: func(l *someLogs) { l.flip(l.ends[59] - 10) }, opens: 59},
		"zeros over the last":                 {damage: func(l *someLogs) { clear(l.a[l.ends[58]:]) }, opens: 59},
		"zeros over a part of the last":       {damage: func(l *someLogs) { clear(l.a[l.in(60) : l.in(60)+50]) }, opens: 59},
		"zeros from somewhere in the last on": {damage: func(l *someLogs) { clear(l.a[l.in(60):]) }, opens: 59},
		"zeros over the header":               {damage: func(l *someLogs) { clear(l.a[:logHeader]) }, opens: 60},
		"zeros over all":                      {damage: func(l *someLogs) { clear(l.a) }, opens: 0},
		"empty":                               {damage: func(l *someLogs) { l.a = nil }, opens: 0},
		"cut behind a transaction":            {damage: func(l *someLogs) { l.a = l.a[:l.ends[29]] }, opens: 30},
		"cut behind the last":                 {damage: func(l *someLogs) { l.a = l.a[:l.ends[59]] }, opens: 60},
		"the counter of no encryption":        {damage: func(l *someLogs) { l.flip(12) }, opens: 60},

		"two logs": {damage: func(l *someLogs) { l.second() }, opens: 70},
		"a bit of the older": {damage: func(l *someLogs) { l.second(); l.flip(l.in(30)) },
			log: 1, begins: 30, text: "40 transactions lie behind it, up to number 70"},
		"a bit of the last of the older": {damage: func(l *someLogs) { l.second(); l.flip(l.in(60)) },
			log: 1, begins: 60, text: "10 transactions lie behind it, up to number 70"},
		"a bit of the last of the older, and of the newer": {damage: func(l *someLogs) { l.second()[200] ^= 1; l.flip(l.in(60)) },
			log: 1, begins: 60, text: "10 transactions lie behind it, up to number 70"},
		"zeros over the last of the older":                         {damage: func(l *someLogs) { l.second(); clear(l.a[l.ends[58]:]) }, log: 2, text: "60 to 60 are missing"},
		"zeros over the older":                                     {damage: func(l *someLogs) { l.second(); clear(l.a) }, log: 2, text: "1 to 60 are missing"},
		"an older that is empty":                                   {damage: func(l *someLogs) { l.second(); l.a = nil }, log: 2, text: "1 to 60 are missing"},
		"a bit of the last of the older, and nothing in the newer": {damage: func(l *someLogs) { clear(l.second()); l.flip(l.in(60)) }, opens: 59},
		"a newer that is empty":                                    {damage: func(l *someLogs) { l.b = []byte{} }, opens: 60},
		"a torn end that an open left, and its number given anew": {damage: func(l *someLogs) {
			l.b, _ = logBytes(60, 70, 500)
			clear(l.a[l.in(60):])
		}, opens: 70},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := &someLogs{}
			l.a, l.ends = logBytes(1, 60, 500)
			c.damage(l)
			logs := [][]byte{l.a}
			if l.b != nil {
				logs = append(logs, l.b)
			}
			dir := logAlone(t, logs...)
			if c.log == 0 {
				mustOpenWith(t, dir, smallStore(), c.opens)
				return
			}
			d := mustRefuse(t, dir, logName(c.log))
			if !strings.Contains(d.What, c.text) {
				t.Errorf("it says %q, want %q", d.What, c.text)
			}
			if n := c.begins; n > 0 && (d.Offset >= int64(l.ends[n-1]) || n > 1 && d.Offset < int64(l.ends[n-2])) {
				t.Errorf("it begins at %d, want in transaction %d of %d", d.Offset, n, l.ends)
			}
		})
	}
}

// A transaction of which a loss of power has left any of its pages, or a kill any beginning, is cut off, and what was acknowledged
// before is there. What was cut is kept aside, and one line tells of it.
func TestTornEnds(t *testing.T) {
	const acknowledged = 20
	var end int
	image := killed(t, func(d *DB) {
		commitNumbers(t, d, 1, acknowledged, 700)
		s := scanStore(t, d.Opts().Dir)
		end = int(s.end)
		commitNumbers(t, d, acknowledged+1, acknowledged+1, 90<<10)
	})
	name := filepath.Join(image, logName(1))
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	dataEnd := len(bytes.TrimRight(whole, "\x00"))
	torn := func() []byte {
		b := bytes.Clone(whole)
		if rand.IntN(2) == 0 {
			clear(b[end+rand.IntN(dataEnd-end):])
			return b
		}
		for page := end &^ 4095; page < dataEnd; page += 4096 {
			if rand.IntN(3) == 0 {
				clear(b[max(page, end) : page+4096])
			}
		}
		return b
	}
	for range 300 {
		b := torn()
		s := scanBytes(t, b, keyring(nil), 0)
		if what := s.damage(s.last, 0); s.last < acknowledged || what != "" && !s.clean() {
			t.Fatalf("it has the transactions up to %d, and then: %s, %+v", s.last, what, s)
		}
	}
	for range 5 {
		dir := copyStore(t, image)
		b := torn()
		clear(b[dataEnd-60:]) // it is not whole
		change(t, filepath.Join(dir, logName(1)), func([]byte) []byte { return b })
		var told strings.Builder
		o := smallStore()
		o.Logger = slog.New(slog.NewTextHandler(&told, nil))
		mustOpenWith(t, dir, o, acknowledged)
		kept, err := filepath.Glob(filepath.Join(dir, asideFolder, "*"))
		if cut := len(bytes.TrimRight(b[end:], "\x00")); cut == 0 {
			continue
		}
		if err != nil || len(kept) != 1 || strings.Count(told.String(), "\n") != 1 || !strings.Contains(told.String(), kept[0][len(dir)+1:]) {
			t.Fatalf("kept are %v, told is %q: %v", kept, told.String(), err)
		}
		if k, err := os.ReadFile(kept[0]); err != nil || !bytes.Equal(k, bytes.TrimRight(b[end:], "\x00")) {
			t.Errorf("%d bytes are kept, %d were cut: %v", len(k), dataEnd-end, err)
		}
	}
}

// Of torn ends as many as keptTorn are kept, however often a store is killed.
func TestFewTornEndsAreKept(t *testing.T) {
	dir := killed(t, func(*DB) {})
	for n := range uint64(3 * keptTorn) {
		b, ends := logBytes(n+1, n+2, 100)
		clear(b[ends[1]-20:])
		if err := os.WriteFile(filepath.Join(dir, logName(1)), b, 0o600); err != nil {
			t.Fatal(err)
		}
		d, err := Open(dir, smallStore())
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if kept, err := os.ReadDir(filepath.Join(dir, asideFolder)); err != nil || len(kept) != keptTorn {
		t.Errorf("%d are kept: %v", len(kept), err)
	}
}

// scanStore scans the only log of a store.
func scanStore(t *testing.T, dir string) *logScan {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, logName(1)))
	if err != nil {
		t.Fatal(err)
	}
	return scanBytes(t, b, keyring(nil), 0)
}

// A scan ends without a panic whatever a log holds, and finds no more than there is.
func FuzzScanLog(f *testing.F) {
	b, ends := logBytes(1, 3, 10)
	f.Add(b[:ends[2]+100])
	f.Add(b[:ends[1]+5])
	f.Add(bytes.Repeat([]byte(endMarkHead+"\x01\x00"), 100))
	f.Fuzz(func(t *testing.T, b []byte) {
		s := scanBytes(t, b, keyring(nil), 0)
		if s.end < 0 || s.end > s.bad || s.bad > s.size || s.dataEnd < s.end || s.dataEnd > s.size || s.markEnd > s.dataEnd {
			t.Errorf("%+v", s)
		}
		_ = s.damage(s.last, 0)
	})
}

// A log whose transactions are in a table, as one is that was not removed yet, may be damaged: nothing is lost.
func TestDamagedLogOfATable(t *testing.T) {
	dir := killed(t, func(*DB) {})
	d, err := Open(dir, smallStore())
	must(t, err)
	commitNumbers(t, d, 1, 30, 10)
	must(t, d.Close())
	b, ends := logBytes(21, 30, 500)
	b[ends[3]+100] ^= 1
	must(t, os.WriteFile(filepath.Join(dir, logName(1)), b, 0o600))
	mustOpenWith(t, dir, smallStore(), 30)
}
