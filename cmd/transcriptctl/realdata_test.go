package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/transcriptd/transcriptd/chainstore/badgerstore"
)

// realFiles are the files of the real data, with their conversations.
func realFiles() map[string]int {
	return map[string]int{
		"api-wire.jsonl.gz": 156, "claude-code.jsonl.gz": 80, "gemini-cli.jsonl.gz": 2, "glaive-zh.jsonl.gz": 150,
		"oasst-paths.jsonl.gz": 360, "swe-agent.jsonl.gz": 22, "tau-airline.jsonl.gz": 200,
	}
}

// realConversations is how many there are in all.
const realConversations = 970

// TestRealData imports every file of the real data into a server on disk, exports it, and finds each conversation
// equal in id and messages; importing again adds nothing; equal prefixes are shared.
func TestRealData(t *testing.T) {
	dir := realDir(t)
	store, err := badgerstore.Open(t.TempDir(), badgerstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := serveStore(t, store)

	want := map[string]any{}
	trie := rawTrie{}
	var paths []string
	begin := time.Now()
	for file, conversations := range realFiles() {
		path := filepath.Join(dir, file)
		paths = append(paths, path)
		before, all := len(trie), len(want)
		readRaw(t, path, want, trie)
		if len(want)-all != conversations {
			t.Errorf("%s holds %d conversations that no other has, not %d", file, len(want)-all, conversations)
		}
		sum := s.importAs(t, path)
		if sum.New != int64(conversations) || sum.NodesCreated != int64(len(trie)-before) {
			t.Errorf("%s: %d new conversations, %d nodes; want %d and %d", file, sum.New, sum.NodesCreated, conversations, len(trie)-before)
		}
	}
	t.Logf("%d conversations imported in %v as %d nodes", len(want), time.Since(begin).Round(time.Millisecond), len(trie))
	first := s.must("stats", "--output", "json")
	compareExport(t, s, want)

	begin = time.Now()
	again := s.importAs(t, paths...)
	if again.Unchanged != realConversations || again.NodesCreated != 0 {
		t.Errorf("importing again: %+v", again)
	}
	t.Logf("imported again in %v", time.Since(begin).Round(time.Millisecond))
	checkSame(t, first, s.must("stats", "--output", "json"))
	s.must("verify")
}

// checkSame tells whether nothing was added between two stats.
func checkSame(t *testing.T, before, after string) {
	t.Helper()
	var a, b map[string]any
	if err := json.Unmarshal([]byte(before), &a); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(after), &b); err != nil {
		t.Fatal(err)
	}
	delete(a, "diskBytes")
	delete(b, "diskBytes")
	if !reflect.DeepEqual(a, b) {
		t.Errorf("stats before %v, after %v", a, b)
	}
}

// importAs imports files and gives the sums.
func (s *stack) importAs(t *testing.T, args ...string) (sum importSummary) {
	t.Helper()
	out := s.must(append([]string{"import", "--output", "json"}, args...)...)
	if err := json.Unmarshal([]byte(out), &sum); err != nil {
		t.Fatal(err)
	}
	return sum
}

// compareExport exports everything, and compares it as JSON, numbers by their spelling.
func compareExport(t *testing.T, s *stack, want map[string]any) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "export.jsonl.gz")
	s.must("export", "--file", file)
	got := map[string]any{}
	lines := readRaw(t, file, got, rawTrie{})
	equal := 0
	for id, messages := range want {
		if reflect.DeepEqual(got[id], messages) {
			equal++
		} else {
			t.Errorf("a conversation came back as something else, or not at all")
		}
	}
	if equal != len(want) || lines != len(want) {
		t.Errorf("%d of %d conversations came back equal, in %d lines", equal, len(want), lines)
	}
}

// rawTrie counts nodes independently of the code under test: it holds each prefix of conversations once, cut as import
// cuts them, by the JSON that json.Marshal makes of the messages as they were read.
type rawTrie map[string]bool

func (trie rawTrie) add(messages []any) {
	prefix := ""
	for n := 0; n < len(messages); {
		group := 1
		for isTool(messages[n]) && n+group < len(messages) && isTool(messages[n+group]) {
			group++
		}
		node, _ := json.Marshal(messages[n : n+group]) // what was read as JSON always encodes
		prefix = prefixName(prefix, node)
		trie[prefix] = true
		n += group
	}
}

func isTool(message any) bool { return message.(map[string]any)["role"] == "tool" }

// readRaw reads a file's conversations with the standard library alone; it gives the number of lines.
func readRaw(t *testing.T, file string, into map[string]any, trie rawTrie) (lines int) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bufio.NewReader(z))
	d.UseNumber()
	for {
		var c struct {
			ID       string `json:"id"`
			Messages []any  `json:"messages"`
		}
		if err := d.Decode(&c); err == io.EOF {
			return lines
		} else if err != nil {
			t.Fatal(err)
		}
		into[c.ID] = c.Messages
		trie.add(c.Messages)
		lines++
	}
}

// prefixName names a prefix by what comes before and its last node.
func prefixName(prefix string, node []byte) string {
	h := sha256.New()
	h.Write([]byte(prefix))
	h.Write(node)
	return string(h.Sum(nil))
}

// realDir is the directory with the real data; without it the test is skipped.
func realDir(tb testing.TB) string {
	tb.Helper()
	dir := os.Getenv("TRANSCRIPTS_DIR")
	if dir == "" {
		tb.Skip("TRANSCRIPTS_DIR is not set, so nothing is tried on real conversations; set it to the directory that has " +
			"api-wire.jsonl.gz and its like (docs/data.md)")
	}
	return dir
}

// TestRealEconomy: on real coding sessions the strategies cost no more than they should, and hide nothing that no model
// has seen.
func TestRealEconomy(t *testing.T) {
	file := filepath.Join(realDir(t), "claude-code.jsonl.gz")
	t.Setenv("TRANSCRIPTCTL_ADDR", "")
	var out, notes bytes.Buffer
	begin := time.Now()
	if err := run(t.Context(), []string{"economy", "-o", "json", file}, strings.NewReader(""), &out, &notes); err != nil {
		t.Fatal(err, notes.String())
	}
	t.Logf("%v\n%s%s", time.Since(begin).Round(time.Millisecond), out.String(), notes.String())
	// docs/views.md has these figures.
	limits := []struct {
		strategy                  string
		ofNaive, reuse, forgotten float64
		interrupted               int64
	}{
		{"everything", 1, 0, 0, 0}, {"conversation", 0.34, 0.94, 0.28, 20}, {"default", 0.31, 0.93, 0.28, 20},
		{"coding", 0.270, 0.88, 0.38, 20}, {"long", 0.286, 0.90, 0.33, 20}, {"frugal", 0.234, 0.85, 0.46, 20},
	}
	rows := economyRows(t, out.String())
	if len(rows) != len(limits) {
		t.Fatalf("%d strategies", len(rows))
	}
	for i, limit := range limits {
		r := rows[i]
		if r.Strategy != limit.strategy || r.OfNaive > limit.ofNaive || r.Reused < limit.reuse || r.Reused > 1 ||
			r.Quoted != rows[0].Quoted || r.Quoted < 2000 || r.Forgotten > limit.forgotten || r.HiddenUnseen != 0 || r.InterruptedUnseen != limit.interrupted || r.InputBytes == 0 {
			t.Errorf("%+v; want %+v", r, limit)
		}
	}
}

// TestRealCheck: before every assistant message and at the end of every real conversation the effective view is the list,
// but for what its report tells.
func TestRealCheck(t *testing.T) {
	dir := realDir(t)
	s := newStack(t)
	begin := time.Now()
	var conversations int64
	var sum checkSummary
	var differences []difference
	for _, file := range slices.Sorted(maps.Keys(realFiles())) {
		lines := strings.Split(strings.TrimSpace(s.must("import", "--check", "--output", "json", filepath.Join(dir, file))), "\n")
		last := len(lines) - 1
		for _, line := range lines[:last] {
			var d difference
			if err := json.Unmarshal([]byte(line), &d); err != nil {
				t.Fatal(err)
			}
			differences = append(differences, d)
		}
		own := result{out: lines[last]}.sums(t)
		t.Logf("%s: %d conversations, %+v", file, own.Conversations, *own.Check)
		conversations += own.Conversations
		sum = checkSummary{sum.Requests + own.Check.Requests, sum.Differing + own.Check.Differing, sum.BehindCompaction + own.Check.BehindCompaction}
	}
	why, differing, atEnd := map[string]int{}, map[string]bool{}, 0
	for _, d := range differences {
		why[d.Why] += d.Count
		differing[fmt.Sprint(d.File, ":", d.Line)] = true
		if d.End {
			atEnd += d.Count
		}
	}
	t.Logf("%+v, of %d conversations: %v, %d at ends; %v", sum, len(differing), why, atEnd, time.Since(begin).Round(time.Millisecond))
	// docs/migration.md has these figures.
	wantWhy := map[string]int{"orphan_result": 3, "unanswered_call": 14}
	if conversations != realConversations || (sum != checkSummary{Requests: 9223, Differing: 139}) || len(differing) != 13 ||
		!maps.Equal(why, wantWhy) || atEnd != 3 {
		t.Errorf("%d conversations: %+v, of %d: %v, %d at ends", conversations, sum, len(differing), why, atEnd)
	}
}
