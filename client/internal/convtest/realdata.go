// Package convtest holds what the tests of both converters share: the real transcripts, which lie outside the repository
// (see docs/data.md), random messages, and equality of JSON.
package convtest

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// Dir is the directory that TRANSCRIPTS_DIR names; without it the test is skipped.
func Dir(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("TRANSCRIPTS_DIR")
	if dir == "" {
		t.Skip("TRANSCRIPTS_DIR is not set: the real transcripts are not part of the repository, see docs/data.md")
	}
	return dir
}

// Normalised names the files of conversations in OpenAI's form.
func Normalised() []string {
	return []string{
		"claude-code.jsonl.gz", "tau-airline.jsonl.gz", "api-wire.jsonl.gz", "oasst-paths.jsonl.gz",
		"swe-agent.jsonl.gz", "glaive-zh.jsonl.gz", "gemini-cli.jsonl.gz",
	}
}

// Lines gives each line of a file, unpacked where its name ends in .gz. A missing file fails the test.
func Lines(t testing.TB, name string, line func(line []byte)) {
	t.Helper()
	f, err := os.Open(filepath.Join(Dir(t), name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var r io.Reader = f
	if strings.HasSuffix(name, ".gz") {
		if r, err = gzip.NewReader(f); err != nil {
			t.Fatal(err)
		}
	}
	lines := bufio.NewReaderSize(r, 1<<20)
	for {
		l, err := lines.ReadBytes('\n')
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

// Equal tells whether two JSON texts are equal: members in any order, numbers by their spelling.
func Equal(a, b []byte) bool {
	x, errX := decode(a)
	y, errY := decode(b)
	return errX == nil && errY == nil && reflect.DeepEqual(x, y)
}

func decode(text []byte) (any, error) {
	var v any
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber()
	err := d.Decode(&v)
	return v, err
}

// Conversations yields the messages of each conversation of the normalised files, in OpenAI's form.
func Conversations(t *testing.T, each func(id string, messages json.RawMessage)) {
	t.Helper()
	for _, file := range Normalised() {
		Lines(t, file, func(line []byte) {
			var c struct {
				ID       string
				Messages json.RawMessage
			}
			if err := json.Unmarshal(line, &c); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			each(c.ID, c.Messages)
		})
	}
}
