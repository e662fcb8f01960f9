package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/transcriptd/transcriptd/client/openai"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
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
	changes        changes
	// timesRead are the times that became notes; unread those that were not read, of as many kinds as are remembered, and of more.
	timesRead, moreUnread int64
	unread                map[unreadTime]int64
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
	rows := make([][]string, len(t.differences))
	for i := range t.differences {
		rows[i] = t.differences[i].cells()
	}
	print := s.table(left("PLACE"), left("ALIAS"), left("REQUEST"), right("MESSAGE"), left("DIFFERENCE"))
	print.fit(rows)
	for i := range t.differences {
		if err := print.print(&t.differences[i], rows[i]...); err != nil {
			return err
		}
	}
	if t.moreDifferences > 0 {
		s.remark("%s more", count(t.moreDifferences, "difference"))
	}
	return nil
}

func newTally() *tally {
	return &tally{start: time.Now(), fates: map[fate]int64{}, unread: map[unreadTime]int64{}}
}

// read counts a line that was read, and tells which it is.
func (t *tally) read(c *conversation) (order int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines++
	t.bytes += int64(c.bytes)
	for _, member := range c.unkept {
		t.changes.add(t.lines, notStored, member, c.place)
	}
	return t.lines
}

// stored counts a conversation with its nodes.
func (t *tally) stored(f fate, created, there int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.fates[f]++
	t.created += int64(created)
	t.there += int64(there)
}

// converted counts what the conversion of a conversation changed.
func (t *tally) converted(c *conversation, report openai.Report) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.changes.report(c.order, c.place, report)
}

// maxUnread is how many kinds of times that were not read are remembered.
const maxUnread = 20

// times counts the times of a conversation that became notes, and those that were not read.
func (t *tally) times(file string, notes []*transcriptv1.MessageNote, unread []unreadTime) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, n := range notes {
		if n.GetSentAt() != nil {
			t.timesRead++
		}
	}
	for _, u := range unread {
		u.file = file
		if t.unread[u] == 0 && len(t.unread) == maxUnread {
			t.moreUnread++
			continue
		}
		t.unread[u]++
	}
}

// timesNotRead is how many there were.
func (t *tally) timesNotRead() (n int64) {
	for _, of := range t.unread {
		n += of
	}
	return n + t.moreUnread
}

// remarkTimes tells which times were not read, file by file.
func (t *tally) remarkTimes(s *session) {
	kinds := slices.SortedFunc(maps.Keys(t.unread), func(a, b unreadTime) int {
		return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.member, b.member), cmp.Compare(a.form, b.form))
	})
	for _, u := range kinds {
		why := "they are in the member " + u.member + ": see --time-member"
		if u.form != "" {
			why = "the member " + u.member + " is " + u.form
		}
		s.remark("%s: %s not read: %s", name(u.file), count(t.unread[u], "time"), name(why))
	}
	if t.moreUnread > 0 {
		s.remark("%s more not read, in other files or of other forms", count(t.moreUnread, "time"))
	}
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
	Conversations int64 `json:"conversations,string"`
	New           int64 `json:"new,string"`
	Grown         int64 `json:"grown,string"`
	Unchanged     int64 `json:"unchanged,string"`
	Behind        int64 `json:"behind,string"`
	Moved         int64 `json:"moved,string"`
	BadLines      int64 `json:"badLines,string"`
	// Times are the times of messages that were read, TimesNotRead those that were not; absent where there are none.
	Times        int64   `json:"times,string,omitempty"`
	TimesNotRead int64   `json:"timesNotRead,string,omitempty"`
	NodesCreated int64   `json:"nodesCreated,string"`
	NodesThere   int64   `json:"nodesThere,string"`
	Bytes        int64   `json:"bytes,string"`
	Seconds      float64 `json:"seconds"`
	// Changes are what is not stored as the lines have it; absent where all is.
	Changes []*changed `json:"changes,omitempty"`
	// Check is what --check compared; absent without it.
	Check *checkSummary `json:"check,omitempty"`
}

// checkSummary is what import --check prints beside.
type checkSummary struct {
	Requests         int64 `json:"requests,string"`
	Differing        int64 `json:"differing,string"`
	BehindCompaction int64 `json:"behindCompaction,string"`
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
	t.changes.remark(s)
	t.remarkTimes(s)
	if err := t.printDifferences(s); err != nil {
		return err
	}
	if s.json {
		return s.printJSON(importSummary{
			Check:         t.check(checks),
			Changes:       t.changes.list(),
			Conversations: t.conversations(), New: t.fates[fateNew], Grown: t.fates[fateGrown],
			Unchanged: t.fates[fateSame], Behind: t.fates[fateBehind], Moved: t.fates[fateMoved], BadLines: t.bad,
			Times: t.timesRead, TimesNotRead: t.timesNotRead(),
			NodesCreated: t.created, NodesThere: t.there, Bytes: t.bytes, Seconds: time.Since(t.start).Seconds(),
		})
	}
	rows := [][2]string{
		{"conversations", fmt.Sprintf("%d (%s)", t.conversations(), t.fateText())},
		{"bad lines", fmt.Sprint(t.bad)},
		{"nodes", fmt.Sprintf("%d created, %d there already", t.created, t.there)},
		{"read", size(t.bytes) + " in " + took(t.start)},
	}
	if read, not := t.timesRead, t.timesNotRead(); read+not > 0 {
		rows = append(rows, [2]string{"times", fmt.Sprintf("%d read, %d not read", read, not)})
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
