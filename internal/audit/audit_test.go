package audit_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/transcriptd/transcriptd/internal/audit"
)

// disk is files that take up to so many bytes in all, and whose syncs cost nothing.
type disk struct {
	mu     sync.Mutex
	full   bool
	room   int
	unsafe error // what syncs come to
	syncs  int
}

func (d *disk) open(name string, flag int, perm os.FileMode) (audit.File, error) {
	f, err := os.OpenFile(name, flag, perm)
	return &diskFile{f, d}, err
}

type diskFile struct {
	*os.File
	disk *disk
}

func (f *diskFile) Write(b []byte) (int, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if !f.disk.full || len(b) <= f.disk.room {
		return f.File.Write(b)
	}
	n, err := f.File.Write(b[:f.disk.room])
	f.disk.room = 0
	return n, errors.Join(syscall.ENOSPC, err)
}

func (f *diskFile) Sync() error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	f.disk.syncs++
	return f.disk.unsafe
}

func (d *disk) fill(room int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.full, d.room = true, room
}

func (d *disk) empty() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.full = false
}

func open(tb testing.TB, path string, options audit.Options) *audit.Log {
	tb.Helper()
	if options.OpenFile == nil {
		options.OpenFile = (&disk{}).open
	}
	l, err := audit.Open(path, options)
	if err != nil {
		tb.Fatal(err)
	}
	return l
}

func closeLog(tb testing.TB, l *audit.Log) {
	tb.Helper()
	if err := l.Close(); err != nil {
		tb.Error(err)
	}
}

func newKey(tb testing.TB, text string) *audit.Key {
	tb.Helper()
	key, err := audit.NewKey([]byte(strings.Repeat(text, 32)))
	if err != nil {
		tb.Fatal(err)
	}
	return key
}

// record is of a call that changed something.
func record(i int) *audit.Record {
	return &audit.Record{
		Principal: "acme", Method: "transcript.v1.TranscriptService/PutNode", Namespace: "team-a", Code: "OK", RequestID: fmt.Sprintf("%016x", i),
		Nodes: []string{strings.Repeat("ab", 32)}, NodeCount: 1, Aliases: []string{"chat/planted-alias"}, AliasCount: 1, Peer: "10.0.0.1:4711",
	}
}

func add(tb testing.TB, l *audit.Log, n int) {
	tb.Helper()
	for i := range n {
		if err := l.Add(record(i)); err != nil {
			tb.Fatal(err)
		}
	}
}

// files are those of an audit, in order.
func files(tb testing.TB, path string) []string {
	tb.Helper()
	old, err := filepath.Glob(path + ".[0-9]*")
	if err != nil {
		tb.Fatal(err)
	}
	slices.Sort(old)
	return append(old, path)
}

// verify verifies an audit, and gives its problems as texts.
func verify(tb testing.TB, check audit.Check, names ...string) (audit.Verdict, []string) {
	tb.Helper()
	var problems []string
	check.Found = func(p audit.Problem) error {
		problems = append(problems, fmt.Sprintf("%s:%d: %d: %s", filepath.Base(p.File), p.Line, p.Number, p.What))
		return nil
	}
	verdict, err := check.Verify(names)
	if err != nil {
		problems = append(problems, err.Error())
	}
	return verdict, problems
}

func clean(tb testing.TB, check audit.Check, names ...string) audit.Verdict {
	tb.Helper()
	verdict, problems := verify(tb, check, names...)
	if len(problems) > 0 {
		tb.Fatalf("%d problems: %.2000s", len(problems), strings.Join(problems, "\n"))
	}
	return verdict
}

// The numbers and hashes go on over restarts and rotations; no file is over its size by more than a line; the log has an anchor for each end.
func TestGoesOnOverRestartsAndRotations(t *testing.T) {
	for _, key := range []*audit.Key{nil, newKey(t, "a")} {
		path := filepath.Join(t.TempDir(), "audit.jsonl")
		var told bytes.Buffer
		options := audit.Options{Key: key, MaxBytes: 4000, Logger: slog.New(slog.NewTextHandler(&told, nil))}
		for range 3 {
			l := open(t, path, options)
			add(t, l, 20)
			closeLog(t, l)
		}
		all, check := files(t, path), audit.Check{}
		if key != nil {
			check.Keys = []*audit.Key{key}
		}
		for _, word := range strings.Fields(told.String()) {
			if hash, is := strings.CutPrefix(word, "hash="); is {
				check.Anchors = append(check.Anchors, hash)
			}
		}
		if len(all) < 5 || len(check.Anchors) != len(all)-1+6 {
			t.Errorf("%d files and %d anchors: %v\n%s", len(all), len(check.Anchors), all, told.String())
		}
		verdict := clean(t, check, all...)
		if want := 3*22 + len(all); verdict.Lines != want || verdict.Last != uint64(want) || verdict.First != 1 || !verdict.Stopped {
			t.Errorf("%+v, want %d lines", verdict, want)
		}
		for _, file := range all {
			if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 || info.Size() > 5000 {
				t.Errorf("%s: %v, %v", file, info, err)
			}
		}
	}
}

// A change of the key begins a file, whose first line follows the last one under the other key.
func TestAnotherKeyBeginsAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	keys := []*audit.Key{nil, newKey(t, "a"), newKey(t, "b")}
	for _, key := range keys {
		l := open(t, path, audit.Options{Key: key})
		add(t, l, 3)
		closeLog(t, l)
	}
	all := files(t, path)
	if len(all) != 3 {
		t.Fatal(all)
	}
	clean(t, audit.Check{}, all[0])
	clean(t, audit.Check{Keys: keys[1:]}, all[1:]...)
	if _, problems := verify(t, audit.Check{Keys: keys[1:2]}, all[2]); len(problems) == 0 {
		t.Error("lines under another key pass")
	}
	if _, problems := verify(t, audit.Check{Keys: keys[1:2]}, all[0]); len(problems) == 0 {
		t.Error("lines under no key pass for such as are under one")
	}
	var errs error
	_, errs = audit.Check{Found: func(audit.Problem) error { return nil }}.Verify(all[1:])
	if !errors.Is(errs, audit.ErrOtherKey) {
		t.Errorf("without keys: %v", errs)
	}
}

// Whatever is left behind the last whole line stays, and a line tells of it; nothing is cut.
func TestATornEndStays(t *testing.T) {
	for _, key := range []*audit.Key{nil, newKey(t, "a")} {
		check := audit.Check{}
		if key != nil {
			check.Keys = []*audit.Key{key}
		}
		path := filepath.Join(t.TempDir(), "audit.jsonl")
		l := open(t, path, audit.Options{Key: key})
		add(t, l, 2)
		closeLog(t, l)
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		begin := bytes.LastIndexByte(whole[:len(whole)-1], '\n') + 1
		for _, cut := range []int{begin, begin + 1, begin + 50, len(whole) - 2, len(whole) - 1, len(whole)} {
			if err := os.WriteFile(path, whole[:cut], 0o600); err != nil {
				t.Fatal(err)
			}
			closeLog(t, open(t, path, audit.Options{Key: key}))
			now, err := os.ReadFile(path)
			if err != nil || !bytes.HasPrefix(now, whole[:cut]) {
				t.Errorf("cut at %d of %d: %v\n%s", cut, len(whole), err, now)
			}
			want := 0
			if cut > begin && cut < len(whole)-1 {
				want = 1
			}
			if verdict := clean(t, check, path); verdict.Torn != want {
				t.Errorf("cut at %d of %d: %+v", cut, len(whole), verdict)
			}
			if want == 1 { // what was torn belongs to it
				if err := os.WriteFile(path, bytes.Replace(now, whole[begin:cut], nil, 1), 0o600); err != nil {
					t.Fatal(err)
				}
				if _, problems := verify(t, check, path); len(problems) == 0 {
					t.Error("what was torn is gone, and nothing tells")
				}
			}
		}
		// Lines that were changed at the end are not a torn end, though the next start goes on behind them.
		if err := os.WriteFile(path, bytes.Replace(whole, []byte(`"stop"`), []byte(`"halt"`), 1), 0o600); err != nil {
			t.Fatal(err)
		}
		closeLog(t, open(t, path, audit.Options{Key: key}))
		if _, problems := verify(t, check, path); len(problems) != 1 {
			t.Errorf("a changed end: %v", problems)
		}
	}
}

// Files that are no audits, and those that others write, are left alone.
func TestRefusesOtherFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	for _, content := range []string{"", "notes\n", `{"seq":1}` + "\n"} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := audit.Open(path, audit.Options{}); !errors.Is(err, audit.ErrNotAudit) {
			t.Errorf("%q: %v", content, err)
		}
	}
	path += "2"
	l := open(t, path, audit.Options{})
	defer closeLog(t, l)
	if _, err := audit.Open(path, audit.Options{}); !errors.Is(err, audit.ErrLocked) {
		t.Errorf("a second one: %v", err)
	}
}

// While the disk is full, lines wait, and are written first when there is room. Those beyond what memory holds are counted.
func TestAFullDisk(t *testing.T) {
	path, d := filepath.Join(t.TempDir(), "audit.jsonl"), &disk{}
	var told bytes.Buffer
	l := open(t, path, audit.Options{OpenFile: d.open, Logger: slog.New(slog.NewTextHandler(&told, nil))})
	add(t, l, 3)
	d.fill(100)
	for i := range 10 {
		if err := l.Add(record(i)); !errors.Is(err, audit.ErrUnwritten) || !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
	}
	if err := l.Ready(); !errors.Is(err, audit.ErrUnwritten) {
		t.Error(err)
	}
	d.empty()
	if err := l.Ready(); err != nil || l.Numbers().WaitingBytes != 0 {
		t.Errorf("with room again: %v, %+v", err, l.Numbers())
	}
	if n := clean(t, audit.Check{}, path).Lines; n != 2+3+10 {
		t.Errorf("%d lines", n)
	}
	d.fill(0)
	for i := 0; l.Numbers().Lost < 5; i++ {
		_ = l.Add(record(i))
	}
	if n := l.Numbers().WaitingBytes; n > 2<<20 {
		t.Errorf("%d bytes wait", n)
	}
	d.empty()
	add(t, l, 1)
	closeLog(t, l)
	if verdict := clean(t, audit.Check{}, path); verdict.Lost != 5 {
		t.Errorf("%+v", verdict)
	}
	if n := strings.Count(told.String(), "cannot be written"); n != 1 {
		t.Errorf("%d lines of the log in less than a minute", n)
	}
}

// A process that ends while a line is half written leaves it to the next one.
func TestEndsWhileTheDiskIsFull(t *testing.T) {
	path, d := filepath.Join(t.TempDir(), "audit.jsonl"), &disk{}
	l := open(t, path, audit.Options{OpenFile: d.open})
	d.fill(70)
	_ = l.Add(record(1))
	if err := l.Close(); !errors.Is(err, audit.ErrUnwritten) {
		t.Error(err)
	}
	closeLog(t, open(t, path, audit.Options{}))
	if verdict := clean(t, audit.Check{}, path); verdict.Torn != 1 {
		t.Errorf("%+v", verdict)
	}
}

// On a full disk an audit that is there is gone on with, unless lines are required.
func TestBeginsWhileTheDiskIsFull(t *testing.T) {
	path, d := filepath.Join(t.TempDir(), "audit.jsonl"), &disk{}
	closeLog(t, open(t, path, audit.Options{OpenFile: d.open}))
	d.fill(0)
	if _, err := audit.Open(path, audit.Options{OpenFile: d.open, Required: true}); !errors.Is(err, audit.ErrUnwritten) {
		t.Errorf("where lines are required: %v", err)
	}
	l := open(t, path, audit.Options{OpenFile: d.open})
	_ = l.Add(record(1))
	d.empty()
	closeLog(t, l)
	if verdict := clean(t, audit.Check{}, path); verdict.Lines != 3+3 {
		t.Errorf("%+v", verdict)
	}
}

// Where lines are required, each that tells of a change is synced; after a sync that failed nothing is ready any more, even if the next succeeds.
func TestRequiredLinesAreSynced(t *testing.T) {
	path, d := filepath.Join(t.TempDir(), "audit.jsonl"), &disk{}
	l := open(t, path, audit.Options{OpenFile: d.open, Required: true})
	before := d.syncs
	add(t, l, 5)
	if d.syncs-before < 5 {
		t.Errorf("%d syncs", d.syncs-before)
	}
	d.mu.Lock()
	d.unsafe = syscall.EIO
	d.mu.Unlock()
	if err := l.Add(record(1)); !errors.Is(err, audit.ErrUnwritten) || !errors.Is(err, syscall.EIO) {
		t.Error(err)
	}
	d.mu.Lock()
	d.unsafe = nil
	d.mu.Unlock()
	if err := l.Ready(); !errors.Is(err, audit.ErrUnwritten) {
		t.Errorf("ready after a sync that failed: %v", err)
	}
	if err := l.Close(); !errors.Is(err, audit.ErrUnwritten) {
		t.Error(err)
	}
}

// Callers who wait for a sync at the same time share it, and each line is in the file, once.
func TestManyCallers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l := open(t, path, audit.Options{Required: true, MaxBytes: 20_000})
	var callers sync.WaitGroup
	for range 16 {
		callers.Go(func() {
			for i := range 50 {
				if err := l.Add(record(i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	callers.Wait()
	closeLog(t, l)
	all := files(t, path)
	if n := clean(t, audit.Check{}, all...).Lines; n != 800+2+len(all) {
		t.Errorf("%d lines in %d files", n, len(all))
	}
}

// Calls that changed nothing take a bounded part of the disk, however many come, and all of them are counted; others are told one by one.
func TestAFloodOfRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "audit.jsonl")
		l := open(t, path, audit.Options{})
		refusal := &audit.Record{Code: "UNAUTHENTICATED", Reason: "UNAUTHENTICATED", Unchanged: true}
		const tenths, each = 100, 300
		for range tenths {
			for i := range each {
				refusal.Method = fmt.Sprint("method", i%30)
				if err := l.Add(refusal); err != nil {
					t.Fatal(err)
				}
			}
			add(t, l, 1)
			<-time.After(100 * time.Millisecond)
		}
		closeLog(t, l)
		lines := clean(t, audit.Check{}, path).Lines
		if most := 3 + tenths + 100 + 10*10 + 11; lines > most {
			t.Errorf("%d lines, more than %d", lines, most)
		}
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		counted := 0
		for text := range strings.Lines(string(content)) {
			var line struct {
				Call *struct{ Code string }
				Sum  *struct{ Methods map[string]int }
			}
			if err := json.Unmarshal([]byte(text), &line); err != nil {
				t.Fatal(err)
			}
			if line.Call != nil && line.Call.Code == refusal.Code {
				counted++
			}
			if line.Sum != nil {
				for _, n := range line.Sum.Methods {
					counted += n
				}
			}
		}
		if counted != tenths*each {
			t.Errorf("%d refusals are told of, %d were", counted, tenths*each)
		}
	})
}

// A file that was moved away has lines up to some moment, and the next file follows it. Another file in its place is left alone.
func TestAFileThatIsMovedAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "audit.jsonl")
		l := open(t, path, audit.Options{})
		add(t, l, 2)
		if err := os.Rename(path, path+".away"); err != nil {
			t.Fatal(err)
		}
		add(t, l, 2)
		<-time.After(2 * time.Second)
		add(t, l, 2)
		clean(t, audit.Check{Last: 9}, path+".away", path)
		if err := errors.Join(os.Rename(path, path+".away2"), os.WriteFile(path, []byte("notes"), 0o600)); err != nil {
			t.Fatal(err)
		}
		<-time.After(2 * time.Second)
		if err := l.Add(record(1)); !errors.Is(err, audit.ErrUnwritten) {
			t.Errorf("beside another file: %v", err)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		<-time.After(2 * time.Second)
		add(t, l, 1)
		closeLog(t, l)
		clean(t, audit.Check{Last: 13}, path+".away", path+".away2", path)
	})
}

// An empty file in place of one that was moved away, as logrotate makes, is none: the next file takes its place.
func TestAFileThatIsMovedAwayAndMadeAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "audit.jsonl")
		l := open(t, path, audit.Options{Required: true})
		add(t, l, 2)
		if err := errors.Join(os.Rename(path, path+".1"), os.WriteFile(path, nil, 0o644)); err != nil {
			t.Fatal(err)
		}
		<-time.After(2 * time.Second)
		add(t, l, 2)
		closeLog(t, l)
		clean(t, audit.Check{}, path+".1", path)
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info.Mode(), err)
		}
	})
}

// A line that sums up says whose calls it counts, also where one makes nearly all of them and very many make the others.
func TestSumsTellWhose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "audit.jsonl")
		l := open(t, path, audit.Options{})
		denied := func(who string, n int) {
			for range n {
				r := &audit.Record{Principal: who, Method: "m", Code: "PERMISSION_DENIED", Reason: "PERMISSION_DENIED", Unchanged: true}
				if err := l.Add(r); err != nil {
					t.Fatal(err)
				}
			}
		}
		denied("greedy", 1000)
		denied("other", 1)
		for i := range 40 {
			denied(fmt.Sprint(strings.Repeat("<", 250), i), 1)
		}
		<-time.After(2 * time.Second)
		closeLog(t, l)
		clean(t, audit.Check{}, path)
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		of, named, others := map[string]int{}, 0, 0
		for text := range strings.Lines(string(content)) {
			var line struct {
				Sum *struct {
					Principals map[string]int
					Others     int `json:"other_principals"`
				}
			}
			if err := json.Unmarshal([]byte(text), &line); err != nil {
				t.Fatal(err)
			}
			if line.Sum != nil {
				for who, n := range line.Sum.Principals {
					of[who] += n
					named += n
				}
				others += line.Sum.Others
			}
		}
		if of["greedy"] != 900 || of["other"] != 1 || len(of) != 32 || named+others != 941 {
			t.Errorf("greedy %d, other %d, %d principals, %d and %d calls", of["greedy"], of["other"], len(of), named, others)
		}
	})
}

// A process that was killed between the two steps of a rotation left no file: the next one goes on behind the newest that was full.
func TestGoesOnBehindAFullFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l := open(t, path, audit.Options{MaxBytes: 2000})
	add(t, l, 12)
	closeLog(t, l)
	if err := os.Rename(path, fmt.Sprintf("%s.%012d", path, l.Numbers().Lines)); err != nil {
		t.Fatal(err)
	}
	closeLog(t, open(t, path, audit.Options{}))
	all := files(t, path)
	if verdict := clean(t, audit.Check{}, all...); len(all) < 3 || verdict.First != 1 {
		t.Errorf("%v: %+v", all, verdict)
	}
}

// Names of aliases are not in the file, and what stands for them differs by key, file, namespace and name; long texts are cut.
func TestNamesStayOut(t *testing.T) {
	dir, seen := t.TempDir(), map[string]bool{}
	for i, key := range []*audit.Key{nil, nil, newKey(t, "a"), newKey(t, "b")} {
		path := filepath.Join(dir, fmt.Sprint(i))
		l := open(t, path, audit.Options{Key: key})
		r := record(1)
		r.Principal = strings.Repeat("é", 10_000)
		r.Nodes, r.NodeCount = slices.Repeat(r.Nodes, 1000), 1000
		for _, namespace := range []string{"a", "b"} {
			r.Namespace = namespace
			if err := l.Add(r); err != nil {
				t.Fatal(err)
			}
		}
		closeLog(t, l)
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(content, []byte("planted-alias")) || len(content) > 8000 {
			t.Errorf("%d bytes: %s", len(content), content)
		}
		for _, text := range strings.Split(string(content), `"aliases":["`)[1:] {
			seen[text[:32]] = true
		}
	}
	if len(seen) != 8 {
		t.Errorf("8 names of files, namespaces and keys are %d", len(seen))
	}
}

// Who has the files, and the keys, finds the lines of an alias by its name: in each file, and in its namespace only.
func TestAbout(t *testing.T) {
	path, keys := filepath.Join(t.TempDir(), "audit.jsonl"), []*audit.Key{newKey(t, "a"), newKey(t, "b")}
	for _, key := range []*audit.Key{nil, keys[0], keys[1]} {
		l := open(t, path, audit.Options{Key: key, MaxBytes: 2000})
		add(t, l, 10)
		closeLog(t, l)
	}
	count := func(keys []*audit.Key, namespace, alias string) (n int, err error) {
		err = audit.About(files(t, path), keys, namespace, alias, func([]byte) error { n++; return nil })
		return n, err
	}
	if n, err := count(keys, "team-a", "chat/planted-alias"); n != 30 || err != nil {
		t.Errorf("%d lines, %v", n, err)
	}
	for _, other := range [][2]string{{"team-b", "chat/planted-alias"}, {"team-a", "chat/planted"}} {
		if n, err := count(keys, other[0], other[1]); n != 0 || err != nil {
			t.Errorf("%v: %d lines, %v", other, n, err)
		}
	}
	if _, err := count(keys[:1], "team-a", "chat/planted-alias"); !errors.Is(err, audit.ErrOtherKey) {
		t.Errorf("without one of the keys: %v", err)
	}
}

// A key is 32 bytes at least, in a file that others may not read, and is not shown.
func TestKeys(t *testing.T) {
	path, secret := filepath.Join(t.TempDir(), "key"), strings.Repeat("k", 32)
	for _, one := range []struct {
		content string
		mode    os.FileMode
		good    bool
	}{{secret, 0o600, true}, {secret + " \n", 0o400, true}, {secret, 0o640, false}, {secret[1:] + "\n", 0o600, false}, {strings.Repeat("k", 5000), 0o600, false}} {
		_ = os.Remove(path)
		if err := errors.Join(os.WriteFile(path, []byte(one.content), 0o600), os.Chmod(path, one.mode)); err != nil {
			t.Fatal(err)
		}
		key, err := audit.ReadKey(path)
		if (err == nil) != one.good || err != nil && !errors.Is(err, audit.ErrKey) {
			t.Errorf("%d bytes of mode %o: %v", len(one.content), one.mode, err)
		}
		if text := fmt.Sprintf("%v %+v %#v %s %x", key, key, key, key, key); one.good && text != strings.TrimSpace(strings.Repeat("audit key "+key.ID()+" ", 5)) {
			t.Error(text)
		}
	}
	if _, err := audit.ReadKey(path + "2"); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}
