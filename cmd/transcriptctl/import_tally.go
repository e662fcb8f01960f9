package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// fate is what became of a conversation.
type fate string

// The fates.
const (
	fateNew    fate = "new"       // stored for the first time
	fateGrown  fate = "grown"     // continued
	fateSame   fate = "unchanged" // there as it is
	fateBehind fate = "behind"    // there, and longer
	fateMoved  fate = "moved"     // another was there; the alias was moved
)

// tally counts what an import does. It may be used by several goroutines.
type tally struct {
	mu             sync.Mutex
	start          time.Time
	fates          map[fate]int64
	bad            int64
	created, there int64
	bytes          int64
	surrogates     int64
	unkept         map[string]bool
	// requests are those that were compared with the list, one at each conversation's end; differing those that differ from
	// it, differences where.
	requests, differing int64
	// behindCompaction are the requests that were not compared, since their effective view is a compacted one.
	behindCompaction int64
	lines            int64
	differences      []difference
	moreDifferences  int64
}

// maxDifferences is how many differences are remembered.
const maxDifferences = 10_000

// checked counts a request that was compared.
func (t *tally) checked(differs bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.requests++
	if differs {
		t.differing++
	}
}

// behind counts a request that was not compared: it lies behind a compaction.
func (t *tally) behind() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.behindCompaction++
}

// differs remembers a difference.
func (t *tally) differs(d difference) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.differences) == maxDifferences {
		t.moreDifferences++
		return
	}
	t.differences = append(t.differences, d)
}

// printDifferences prints where requests differ from the list, in the order of the files' lines.
func (t *tally) printDifferences(s *session) error {
	slices.SortStableFunc(t.differences, func(a, b difference) int {
		return cmp.Compare(a.order, b.order)
	})
	for i := range t.differences {
		d := &t.differences[i]
		err := s.printJSONOr(d, d.text())
		if err != nil {
			return err
		}
	}
	if t.moreDifferences > 0 {
		s.remark("%s more", count(t.moreDifferences, "difference"))
	}
	return nil
}

func newTally() *tally {
	return &tally{start: time.Now(), fates: map[fate]int64{}, unkept: map[string]bool{}}
}

// maxUnkept is how many names of members that are not stored are remembered.
const maxUnkept = 20

// read counts a line that was read, and tells which it is.
func (t *tally) read(c *conversation) (order int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines++
	t.bytes += int64(c.bytes)
	for _, name := range c.unkept {
		if len(t.unkept) < maxUnkept {
			t.unkept[name] = true
		}
	}
	return t.lines
}

// stored counts a conversation with its nodes.
func (t *tally) stored(f fate, created, there, surrogates int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.fates[f]++
	t.created += int64(created)
	t.there += int64(there)
	t.surrogates += int64(surrogates)
}

// skip counts a bad line.
func (t *tally) skip() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.bad++
}

// conversations is how many are stored.
func (t *tally) conversations() (n int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, of := range t.fates {
		n += of
	}
	return n
}

// text is the state, for a progress line.
func (t *tally) text(place string) string {
	n := t.conversations()
	t.mu.Lock()
	defer t.mu.Unlock()
	return fmt.Sprintf("%s: %s, %s created, %s", place, count(n, "conversation"), count(t.created, "node"), size(t.bytes))
}

// importSummary is what import prints with --output json.
type importSummary struct {
	Conversations int64   `json:"conversations"`
	New           int64   `json:"new"`
	Grown         int64   `json:"grown"`
	Unchanged     int64   `json:"unchanged"`
	Behind        int64   `json:"behind"`
	Moved         int64   `json:"moved"`
	BadLines      int64   `json:"badLines"`
	NodesCreated  int64   `json:"nodesCreated"`
	NodesThere    int64   `json:"nodesThere"`
	Bytes         int64   `json:"bytes"`
	Seconds       float64 `json:"seconds"`
	// Check is what --check compared; absent without it.
	Check *checkSummary `json:"check,omitempty"`
}

// checkSummary is what import --check prints beside.
type checkSummary struct {
	Requests         int64 `json:"requests"`
	Differing        int64 `json:"differing"`
	BehindCompaction int64 `json:"behindCompaction"`
}

// check is what was compared; nil where nothing was to be.
func (t *tally) check(checks bool) *checkSummary {
	if !checks {
		return nil
	}
	return &checkSummary{t.requests, t.differing, t.behindCompaction}
}

// print prints the sums.
func (t *tally) print(s *session, checks bool) error {
	if t.surrogates > 0 {
		s.remark("lone surrogates in %s became U+FFFD", count(t.surrogates, "string"))
	}
	if len(t.unkept) > 0 {
		names := slices.Sorted(maps.Keys(t.unkept))
		s.remark("members of lines that are not stored: %s", name(strings.Join(names, ", ")))
	}
	if err := t.printDifferences(s); err != nil {
		return err
	}
	if s.json {
		return s.printJSON(importSummary{
			Check:         t.check(checks),
			Conversations: t.conversations(), New: t.fates[fateNew], Grown: t.fates[fateGrown],
			Unchanged: t.fates[fateSame], Behind: t.fates[fateBehind], Moved: t.fates[fateMoved], BadLines: t.bad,
			NodesCreated: t.created, NodesThere: t.there, Bytes: t.bytes, Seconds: time.Since(t.start).Seconds(),
		})
	}
	rows := [][2]string{
		{"conversations", fmt.Sprintf("%d (%s)", t.conversations(), t.fateText())},
		{"bad lines", fmt.Sprint(t.bad)},
		{"nodes", fmt.Sprintf("%d created, %d there already", t.created, t.there)},
		{"read", size(t.bytes) + " in " + since(t.start)},
	}
	if checks {
		text := fmt.Sprintf("%d equal to the list, %d differ as told above", t.requests-t.differing, t.differing)
		if t.behindCompaction > 0 {
			text += fmt.Sprintf(", %d behind a compaction not compared", t.behindCompaction)
		}
		rows = append(rows, [2]string{"requests", text})
	}
	return s.printRows(rows)
}

// fateText names the fates that befell any.
func (t *tally) fateText() string {
	var words []string
	for _, f := range []fate{fateNew, fateGrown, fateSame, fateBehind, fateMoved} {
		if n := t.fates[f]; n > 0 {
			words = append(words, fmt.Sprintf("%d %s", n, f))
		}
	}
	if len(words) == 0 {
		return "none"
	}
	return strings.Join(words, ", ")
}
