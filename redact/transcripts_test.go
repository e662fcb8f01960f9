package redact_test

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/transcriptd/transcriptd/redact"
)

// maxTouched bounds how many strings of the real conversations redaction may change. Conversations with credentials, made up
// or not, were left out when they were gathered, so what is changed there is mostly changed for nothing; the test's log
// (go test -v) shows each.
const maxTouched = 20

func TestRealTranscripts(t *testing.T) {
	dir := os.Getenv("TRANSCRIPTS_DIR")
	if dir == "" {
		t.Skip("TRANSCRIPTS_DIR is not set: the real transcripts are not part of the repository, see docs/data.md")
	}
	var conversations, messages, strs, touched int
	var bytes int64
	seen := map[string]bool{}
	for _, name := range []string{
		"claude-code.jsonl.gz", "tau-airline.jsonl.gz", "api-wire.jsonl.gz", "oasst-paths.jsonl.gz",
		"swe-agent.jsonl.gz", "glaive-zh.jsonl.gz", "gemini-cli.jsonl.gz",
	} {
		eachLine(t, filepath.Join(dir, name), func(line []byte) {
			var c struct {
				ID       string            `json:"id"`
				Messages []json.RawMessage `json:"messages"`
			}
			decode(t, string(line), &c)
			conversations++
			for i, m := range c.Messages {
				messages++
				bytes += int64(len(m))
				got := redact.Text(string(m))
				if !json.Valid([]byte(got)) {
					t.Errorf("%s, message %d of %s is no JSON any more", name, i, c.ID)
				}
				if got == string(m) {
					strs += countStrings(m)
					continue
				}
				var was, is any
				decode(t, string(m), &was)
				decode(t, got, &is)
				diff(was, is, func(a, b string) {
					strs++
					if a == b {
						return
					}
					touched++
					if !seen[a] {
						seen[a] = true
						t.Logf("%s, message %d of %s: %q", name, i, c.ID, firstChange(a, b))
					}
				})
			}
		})
	}
	t.Logf("%d conversations, %d messages, %d MB, %d strings, %d touched, %d of them different", conversations, messages,
		bytes>>20, strs, touched, len(seen))
	if touched > maxTouched {
		t.Errorf("%d strings are touched, at most %d may be", touched, maxTouched)
	}
}

func eachLine(t *testing.T, path string, line func([]byte)) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReaderSize(z, 1<<20)
	for {
		l, err := r.ReadBytes('\n')
		if len(l) > 0 {
			line(l)
		}
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func countStrings(raw []byte) (n int) {
	var v any
	if json.Unmarshal(raw, &v) == nil {
		diff(v, v, func(string, string) { n++ })
	}
	return n
}

// diff calls f with each pair of strings in the same place of two documents.
func diff(a, b any, f func(a, b string)) {
	switch a := a.(type) {
	case string:
		if s, ok := b.(string); ok {
			f(a, s)
		}
	case []any:
		for i, v := range a {
			diff(v, b.([]any)[i], f)
		}
	case map[string]any:
		for k, v := range a {
			if w, ok := b.(map[string]any)[k]; ok {
				diff(v, w, f)
			}
		}
	}
}

// firstChange shows where two texts part.
func firstChange(a, b string) string {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	show := func(s string) string { return strings.ToValidUTF8(s[max(0, n-60):min(len(s), n+60)], "?") }
	return show(a)
}
