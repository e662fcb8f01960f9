package audit_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/transcriptd/transcriptd/internal/audit"
)

// drawn is an audit of several files and starts.
type drawn struct {
	files    []string
	contents [][]byte
	check    audit.Check
}

func draw(tb testing.TB, t *rapid.T) *drawn {
	path := filepath.Join(tb.TempDir(), "audit.jsonl")
	d := &drawn{}
	options := audit.Options{MaxBytes: rapid.Int64Range(600, 4000).Draw(t, "max")}
	if rapid.Bool().Draw(t, "keyed") {
		options.Key = newKey(tb, "k")
		d.check.Keys = []*audit.Key{options.Key}
	}
	for range rapid.IntRange(1, 3).Draw(t, "starts") {
		l := open(tb, path, options)
		add(tb, l, rapid.IntRange(1, 12).Draw(t, "lines"))
		closeLog(tb, l)
		if rapid.IntRange(0, 2).Draw(t, "torn") == 0 {
			tear(tb, path, rapid.IntRange(1, 400).Draw(t, "bytes"))
		}
	}
	closeLog(tb, open(tb, path, options)) // so that a torn end is told of
	d.files = files(tb, path)
	for _, file := range d.files {
		content, err := os.ReadFile(file)
		if err != nil {
			tb.Fatal(err)
		}
		d.contents = append(d.contents, content)
	}
	d.check.Anchors = []string{clean(tb, d.check, d.files...).Hash}
	return d
}

// tear cuts off bytes of the last line.
func tear(tb testing.TB, path string, most int) {
	content, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	last := len(content) - 1 - bytes.LastIndexByte(content[:len(content)-1], '\n')
	if err := os.Truncate(path, int64(len(content)-min(most, last-1))); err != nil {
		tb.Fatal(err)
	}
}

// Whatever is changed, taken out, put in, moved or cut off is found; a cut at the end by the anchor.
func TestFindsEveryChange(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		d := draw(t, r)
		which := rapid.IntRange(0, len(d.files)-1).Draw(r, "file")
		before := d.contents[which]
		how := rapid.SampledFrom([]string{"change", "delete", "swap", "repeat", "insert", "cut", "empty", "byte out", "byte in"}).Draw(r, "how")
		after := changed(r, how, bytes.Clone(before))
		if bytes.Equal(before, after) {
			return
		}
		if err := os.WriteFile(d.files[which], after, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, problems := verify(t, d.check, d.files...); len(problems) == 0 {
			r.Fatalf("%s in file %d of %d: nothing is found", how, which, len(d.files))
		}
	})
}

// changed does something to a file.
func changed(r *rapid.T, how string, content []byte) []byte {
	lines := bytes.SplitAfter(content, []byte("\n"))
	lines = lines[:len(lines)-1]
	line := rapid.IntRange(0, len(lines)-1).Draw(r, "line")
	place := rapid.IntRange(0, len(content)-1).Draw(r, "place")
	switch how {
	case "change":
		content[place] ^= byte(rapid.IntRange(1, 255).Draw(r, "by"))
		return content
	case "delete":
		lines = append(lines[:line], lines[line+1:]...)
	case "swap":
		other := rapid.IntRange(0, len(lines)-1).Draw(r, "other")
		lines[line], lines[other] = lines[other], lines[line]
	case "repeat":
		lines[line] = bytes.Repeat(lines[line], 2)
	case "insert":
		lines[line] = append(rapid.SampledFrom([][]byte{[]byte("\n"), []byte("{}\n"), []byte("x")}).Draw(r, "what"), lines[line]...)
	case "cut":
		return content[:place]
	case "empty":
		return nil
	case "byte out":
		return append(content[:place], content[place+1:]...)
	case "byte in":
		return append(append(bytes.Clone(content[:place]), rapid.Byte().Draw(r, "what")), content[place:]...)
	}
	return bytes.Join(lines, nil)
}

// A file that was left out, or given in another order, is found.
func TestFindsFilesOutOfOrder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l := open(t, path, audit.Options{MaxBytes: 2000})
	add(t, l, 20)
	closeLog(t, l)
	all := files(t, path)
	for how, some := range map[string][]string{
		"left out": {all[0], all[2]}, "turned": {all[1], all[0]}, "twice": {all[0], all[0], all[1]},
	} {
		if _, problems := verify(t, audit.Check{}, some...); len(problems) == 0 {
			t.Errorf("%s: nothing is found", how)
		}
	}
	if verdict := clean(t, audit.Check{}, all[1:]...); verdict.First < 2 {
		t.Errorf("%+v", verdict)
	}
}

// Files as they were written by the first version are verified by each later one, which also goes on behind them. They never change.
func TestGoldenFiles(t *testing.T) {
	for name, key := range map[string]*audit.Key{"unkeyed": nil, "keyed": newKey(t, "k")} {
		check := audit.Check{Last: 8}
		if key != nil {
			check.Keys = []*audit.Key{key}
		}
		content, err := os.ReadFile(filepath.Join("testdata", name+"-1.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "audit.jsonl")
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		closeLog(t, open(t, path, audit.Options{Key: key}))
		if verdict := clean(t, check, path); verdict.Last != 10 || verdict.Torn != 1 {
			t.Errorf("%s: %+v", name, verdict)
		}
	}
}

// A problem names its file and line, and says what is wrong; one change is one problem.
func TestSaysWhatIsWrongAndWhere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l := open(t, path, audit.Options{})
	add(t, l, 6)
	closeLog(t, l)
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(content), "\n")
	join := func(parts ...[]string) string {
		text := ""
		for _, p := range parts {
			text += strings.Join(p, "")
		}
		return text
	}
	for how, one := range map[string]struct {
		content, want string
		check         audit.Check
	}{
		"changed":      {join(lines[:3], []string{strings.Replace(lines[3], "acme", "evil", 1)}, lines[4:]), "audit.jsonl:4: 4: its hash does not fit: it was changed", audit.Check{}},
		"missing":      {join(lines[:3], lines[5:]), "audit.jsonl:4: 6: lines 4 to 5 are missing before it", audit.Check{}},
		"put in":       {join(lines[:3], []string{"{}\n"}, lines[3:]), "audit.jsonl:4: 0: not a line of an audit", audit.Check{}},
		"beginning":    {join(lines[1:]), "audit.jsonl:1: 2: it is the first line of its file, and not one that files begin with: what was before is cut off", audit.Check{}},
		"end by last":  {join(lines[:7]), ":0: 0: the last line is number 7, and number 9 was written: what is behind it was cut off", audit.Check{Last: 9}},
		"end in lines": {join(lines[:7]) + lines[7][:20], "audit.jsonl:8: 0: it is not whole: its end was cut off, or is being written", audit.Check{}},
		"end by anchor": {join(lines[:7]), ":0: 0: no line has the hash 1234…: it was cut off or changed, or is in another file",
			audit.Check{Anchors: []string{"1234"}}},
	} {
		if err := os.WriteFile(path, []byte(one.content), 0o600); err != nil {
			t.Fatal(err)
		}
		_, problems := verify(t, one.check, path)
		if len(problems) != 1 || strings.TrimPrefix(problems[0], ".") != one.want {
			t.Errorf("%s: %q, want %q", how, problems, one.want)
		}
	}
}

// FuzzVerify: no file ends a check but by what it says.
func FuzzVerify(f *testing.F) {
	path := filepath.Join(f.TempDir(), "audit.jsonl")
	l := open(f, path, audit.Options{})
	add(f, l, 3)
	closeLog(f, l)
	content, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(content)
	f.Add(content[:len(content)-9])
	f.Add(bytes.ReplaceAll(content, []byte("\n"), nil))
	f.Add([]byte("{}\n\n"))
	f.Fuzz(func(t *testing.T, other []byte) {
		path := filepath.Join(t.TempDir(), "audit.jsonl")
		if err := os.WriteFile(path, other, 0o600); err != nil {
			t.Fatal(err)
		}
		check := audit.Check{}
		if bytes.Equal(other, content) {
			clean(t, check, path)
			return
		}
		verify(t, check, path)
		l, err := audit.Open(path, audit.Options{OpenFile: (&disk{}).open})
		if err != nil {
			return
		}
		closeLog(t, l)
		if now, err := os.ReadFile(path); err != nil || !bytes.HasPrefix(now, other) {
			t.Errorf("what was there is gone: %v", err)
		}
	})
}
