package archive_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/archive"
)

// chained are archives that go on from each other, each of some records.
func chained(tb testing.TB, files ...[]*record) []archive.File {
	tb.Helper()
	var out []archive.File
	var since []byte
	for i, records := range files {
		file := write(tb, &transcriptv1.ArchiveHeader{Kind: transcriptv1.ArchiveKind_ARCHIVE_KIND_BACKUP, Since: since}, records...)
		open := func() *archive.Reader {
			r, err := archive.NewReader(bytes.NewReader(file))
			if err != nil {
				tb.Fatal(err)
			}
			return r
		}
		first := open()
		for {
			if _, err := first.Next(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				tb.Fatal(err)
			}
		}
		digest := first.Digest()
		since, out = digest[:], append(out, archive.File{Name: fmt.Sprint(i), Reader: open()})
	}
	return out
}

// TestNamespacesOfAChain: which namespaces are there at the end, and which are others with the same name, by numbers, and by names where there are none.
func TestNamespacesOfAChain(t *testing.T) {
	root, id := node(nil, "one")
	child, _ := node(&id, "two")
	numbered := func(name string, number int64) *record {
		r := namespace(name)
		r.GetNamespace().Number = number
		return r
	}
	for what, c := range map[string]struct {
		files [][]*record
		// want has the names that are there, and which of the namespaces each is.
		want, fails string
	}{
		"one goes on":                           {[][]*record{{numbered("a", 1), root}, {numbered("a", 1), child}}, "a:1", ""},
		"one without numbers goes on":           {[][]*record{{namespace("a"), root}, {namespace("a"), child}}, "a:1", ""},
		"one gets a number":                     {[][]*record{{namespace("a"), root}, {numbered("a", 1), child}, {namespace("a")}, {numbered("a", 1)}}, "a:1", ""},
		"one is deleted":                        {[][]*record{{numbered("a", 1), root, numbered("b", 2)}, {numbered("b", 2)}}, "b:2", ""},
		"one is begun anew":                     {[][]*record{{numbered("a", 1), root}, {numbered("a", 2), root, child}}, "a:2", ""},
		"one is begun anew, without numbers":    {[][]*record{{namespace("a"), root}, {namespace("b")}, {namespace("b"), namespace("a"), root}}, "a:3 b:2", ""},
		"all are deleted":                       {[][]*record{{namespace("a"), root}, {}}, "", ""},
		"a child of a node of before":           {[][]*record{{numbered("a", 1), root}, {numbered("a", 2), child}}, "", "does not stand before it"},
		"a child of a node of before, by names": {[][]*record{{namespace("a"), root}, {}, {namespace("a"), child}}, "", "does not stand before it"},
	} {
		chain, err := archive.NewChain(chained(t, c.files...)...)
		for err == nil {
			_, _, err = chain.Next()
		}
		if c.fails != "" {
			if !errors.Is(err, archive.ErrBroken) || !strings.Contains(err.Error(), c.fails) {
				t.Errorf("%s: %v", what, err)
			}
			continue
		}
		var got []string
		for _, name := range []string{"a", "b"} {
			if is, there := chain.Namespaces()[name]; there {
				got = append(got, fmt.Sprintf("%s:%d", name, is.Which))
			}
		}
		if line := strings.Join(got, " "); !errors.Is(err, io.EOF) || line != c.want {
			t.Errorf("%s: there are %s, not %s (%v)", what, line, c.want, err)
		}
	}
}
