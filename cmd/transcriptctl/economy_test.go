package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/transcriptd/transcriptd/canonical"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// economyFile has two conversations of user, assistant and tool messages: one of 14 short run loops with a long question
// and a long answer, one with 30 calls in a loop, some with long arguments, whose results answers quote. No results follow each
// other, so that each message is a node.
const economyFile = "testdata/economy.jsonl"

// TestEconomy holds what economy tells against a model of the rules of docs/views.md that is written for this file alone:
// all that a loop but the last has is a user message, calls with results, and a reply.
func TestEconomy(t *testing.T) {
	strategies := []struct {
		name string
		bounds
	}{
		{"everything", bounds{whole: true}}, {"conversation", bounds{}}, {"default", bounds{loops: 10, chars: 500}},
		{"coding", bounds{loops: 10, chars: 500, clear: &clears{5, 10, false}}}, {"long", bounds{loops: 10, chars: 500, clear: &clears{10, 10, false}}},
		{"frugal", bounds{loops: 10, chars: 500, clear: &clears{2, 10, true}}}, {"given", bounds{loops: 4, chars: 20, clear: &clears{1, 40, false}}},
	}
	var want []economyRow
	var naive economyRow
	for _, one := range strategies {
		row := modelRow(t, one.bounds)
		if one.whole {
			naive = row
		}
		row.Strategy, row.Saved, row.OfNaive = one.name, 1-float64(row.InputBytes)/float64(naive.InputBytes), row.OfNaive/naive.OfNaive
		want = append(want, row)
	}
	if want[2].Forgotten != 0 || want[3].Forgotten == 0 || want[3].Forgotten == want[5].Forgotten {
		t.Errorf("the file shows little: %+v", want)
	}

	s := newStack(t)
	args := []string{
		"economy", "--keep", "-o", "json", economyFile, "--max-run-loops", "4", "--keep-tool-results", "1", "--cached-percent", "40",
		"--max-user-chars", "20", "--max-reply-chars", "20",
	}
	compareRows(t, economyRows(t, s.must(args...)), want)
	if s.nodes() != 0 || !strings.Contains(s.must("stats", "--namespace", "economy"), "nodes     93\n") {
		t.Error("the conversations are not in the namespace economy")
	}
	// Again, where everything is stored already, in another namespace, and with the flag of all commands.
	compareRows(t, economyRows(t, s.must(args...)), want)
	compareRows(t, economyRows(t, s.must("economy", economyFile, "--keep", "--namespace", "mine", "--output", "json")), want[:6])
	if !strings.Contains(s.must("stats", "--namespace", "mine"), "nodes     93\n") {
		t.Error("the conversations are not in the namespace that was given")
	}

	// Of a server of its own it leaves nothing behind, whether another is named or not.
	args = slices.DeleteFunc(args, func(arg string) bool { return arg == "--keep" })
	compareRows(t, economyRows(t, s.must(append(args, "--namespace", "elsewhere")...)), want)
	if !strings.Contains(s.must("stats", "--namespace", "elsewhere"), "nodes     0\n") {
		t.Error("without --keep conversations are left behind")
	}
	t.Setenv("TRANSCRIPTCTL_ADDR", "")
	var out, notes bytes.Buffer
	if err := run(t.Context(), args, strings.NewReader(""), &out, &notes); err != nil || notes.Len() > 0 {
		t.Fatal(err, notes.String())
	}
	compareRows(t, economyRows(t, out.String()), want)
}

func economyRows(t *testing.T, out string) []economyRow {
	t.Helper()
	return economyOf(t, out).Strategies
}

func economyOf(t *testing.T, out string) (reply economyReply) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(out))
	d.DisallowUnknownFields()
	if err := d.Decode(&reply); err != nil {
		t.Fatal(err, out)
	}
	return reply
}

func compareRows(t *testing.T, got, want []economyRow) {
	t.Helper()
	near := func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }
	if !slices.EqualFunc(got, want, func(a, b economyRow) bool {
		return a.Strategy == b.Strategy && a.InputBytes == b.InputBytes && near(a.Reused, b.Reused) &&
			near(a.OfNaive, b.OfNaive) && near(a.Saved, b.Saved) && a.Quoted == b.Quoted && near(a.Forgotten, b.Forgotten) && a.HiddenUnseen == b.HiddenUnseen && a.InterruptedUnseen == b.InterruptedUnseen
	}) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// TestEconomyBadLine: a line that cannot be read ends it, and nothing is said of flags that it does not have.
func TestEconomyBadLine(t *testing.T) {
	s := newStack(t)
	for _, text := range []string{"{", `{"id":"a","messages":[]}`, `{"id":"a","messages":[{"role":"robot"}]}`} {
		r := s.runWith(t.Context(), text, "economy", "-")
		if r.code != exitUsage || !strings.Contains(r.notes, "standard input:1: ") || strings.Contains(r.notes, "--skip-bad") {
			t.Errorf("exit code %d, %s", r.code, r.notes)
		}
	}
}

// TestEconomyInterrupted: results that a user's message followed before a model was asked are counted by themselves, and
// are not hidden; what shows them has none.
func TestEconomyInterrupted(t *testing.T) {
	s := newStack(t)
	args := []string{"economy", "testdata/agent.jsonl", "--preset", "unbounded", "--keep-whole-run-loops", "1"}
	want := []int64{0, 2, 2, 2, 2, 2, 0}
	rows := economyRows(t, s.must(append(args, "-o", "json")...))
	for i, row := range rows {
		if len(rows) != len(want) || row.HiddenUnseen != 0 || row.InterruptedUnseen != want[i] {
			t.Errorf("%+v, want %d", row, want)
		}
	}
	lines := strings.Split(s.must(args...), "\n")
	for i, n := range want {
		if fields := strings.Fields(lines[i+1]); fields[len(fields)-1] != fmt.Sprint(n) {
			t.Errorf("%q, want %d", lines[i+1], n)
		}
	}
}

// TestNews: the results that no model has seen, and which of them another request lacks.
func TestNews(t *testing.T) {
	message := func(role transcriptv1.Role, text string) *transcriptv1.Message {
		return modelText(&transcriptv1.Message{Role: role}, text)
	}
	encode := func(messages ...*transcriptv1.Message) *request {
		r := &request{}
		for _, m := range messages {
			m.Origin = 0
			if strings.HasPrefix(m.GetParts()[0].GetText(), "stub") {
				m.Origin = transcriptv1.Origin_ORIGIN_STUB
			}
			r.messages = append(r.messages, canonical.AppendMessage(nil, m))
		}
		return r
	}
	const (
		system, user      = transcriptv1.Role_ROLE_SYSTEM, transcriptv1.Role_ROLE_USER
		assistant, result = transcriptv1.Role_ROLE_ASSISTANT, transcriptv1.Role_ROLE_TOOL
	)
	r := encode(message(result, "old"), message(assistant, "c"), message(result, "x"), message(result, "stub"),
		message(user, "u"), message(result, "y"), message(result, "y"), message(system, "s"))
	all, err := r.news()
	if err != nil || len(all.open) != 2 || len(all.interrupted) != 1 {
		t.Fatal(all, err)
	}
	other, err := encode(message(assistant, "c"), message(result, "y")).news()
	if err != nil {
		t.Fatal(err)
	}
	if n := without(all.open, other.open); n != 1 {
		t.Errorf("%d are hidden", n)
	}
	if n := without(all.interrupted, other.interrupted); n != 1 {
		t.Errorf("%d are interrupted", n)
	}
	if n := without(other.open, all.open); n != 0 {
		t.Errorf("%d are hidden where all are shown", n)
	}
	if _, err := (&request{messages: [][]byte{{0xff}}}).news(); err == nil || errors.Is(err, errUnexplained) {
		t.Error(err)
	}
}

// TestTemporary: the session's own server is reached through a directory of the user's alone, and leaves nothing behind.
func TestTemporary(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	s, err := open(&commandLine{Timeout: time.Minute}, nil, nil, nil)
	if err != nil || s.addrGiven || s.flags.Addr != defaultAddr {
		t.Fatal(err, s)
	}
	own, err := s.temporary(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := own.Stats(t.Context()); err != nil {
		t.Error(err)
	}
	made, err := os.ReadDir(dir)
	if err != nil || len(made) != 1 {
		t.Fatal(made, err)
	}
	if info, err := made[0].Info(); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
	if err := errors.Join(own.Close(), s.Close()); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Error(left, err)
	}
}
