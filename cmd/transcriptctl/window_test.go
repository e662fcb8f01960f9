package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/transcriptd/transcriptd/chainstore/memstore"
)

// windowRows is what window prints with --output json.
func windowRows(t *testing.T, out string) (rows []windowRow) {
	t.Helper()
	for line := range strings.Lines(out) {
		var row windowRow
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	return rows
}

// TestWindowIsEconomy: the requests of window, added up, are what economy tells of the same conversations.
func TestWindowIsEconomy(t *testing.T) {
	for _, test := range []struct {
		file           string
		chats, policy  []string
		quoted, hidden int64
	}{
		{"testdata/agent.jsonl", []string{"chat/trip"}, []string{
			"--max-run-loops", "2", "--keep-whole-run-loops", "1", "--tool-trace", "--max-reply-chars", "9",
		}, 0, 0},
		{economyFile, []string{"chat/turns", "chat/work"}, []string{"--preset", "frugal"}, 9, 6},
	} {
		s := newStack(t)
		s.must("import", test.file)
		var sent, shown, reused, quoted, hidden int64
		for _, chat := range test.chats {
			for _, row := range windowRows(t, s.must(append([]string{"window", chat, "--output", "json"}, test.policy...)...)) {
				sent, shown, reused = sent+row.Bytes, shown+row.ShownBytes, reused+row.ReusedBytes
				quoted, hidden = quoted+row.Quoted, hidden+row.QuotedHidden
			}
		}
		rows := economyRows(t, s.must(append([]string{"economy", "-o", "json", test.file}, test.policy...)...))
		given := rows[len(rows)-1]
		if given.Strategy != "given" || rows[0].InputBytes != sent || given.InputBytes != shown || shown == 0 ||
			math.Abs(given.Reused-float64(reused)/float64(shown)) > 1e-9 ||
			given.Quoted != quoted || math.Abs(given.Forgotten-ratio(float64(hidden), float64(quoted))) > 1e-9 {
			t.Errorf("%d sent, %d shown, %d reused, %d of %d forgotten; %+v", sent, shown, reused, hidden, quoted, rows)
		}
		if quoted != test.quoted || hidden != test.hidden {
			t.Errorf("%d of %d quotes forgotten, want %d of %d", hidden, quoted, test.hidden, test.quoted)
		}
	}
}

// TestWindowQuotes: a quote is told of the head that the message follows, also where that node holds more than one step, and
// of no message within a node.
func TestWindowQuotes(t *testing.T) {
	s := newStack(t)
	s.putJSON("chat/1", userJSON)
	s.putJSON("chat/1", `[`+workJSON+`,{"role":"assistant","content":"result that is not needed"}]`) // a quote that no row has
	s.putJSON("chat/1", `[{"role":"assistant","content":"that is not needed any more"}]`)
	s.putJSON("chat/1", userJSON)
	s.putJSON("chat/1", `[{"role":"assistant","content":"a long result that is not"}]`)
	var got [][2]int64
	for _, row := range windowRows(t, s.must("window", "chat/1", "--output", "json")) {
		got = append(got, [2]int64{row.Quoted, row.QuotedHidden})
	}
	if want := [][2]int64{{0, 0}, {1, 0}, {1, 1}}; !slices.Equal(got, want) {
		t.Errorf("quoted and hidden %v, want %v", got, want)
	}
	if out := s.must("window", "chat/1"); !strings.HasSuffix(out, "; 1 of 2 quotes forgotten\n") {
		t.Error(out)
	}
}

// putJSON appends a node of messages to the chain of an alias.
func (s *stack) putJSON(alias, messages string) {
	s.tb.Helper()
	args := []string{"--addr", s.addr, "put", "--alias", alias}
	if s.run("alias", "resolve", alias).code == exitOK {
		args = append(args, "--parent", alias)
	}
	if r := s.runWith(context.Background(), messages, args...); r.code != exitOK {
		s.tb.Fatal(r.notes)
	}
}

const (
	userJSON  = `{"role":"user","content":"question"}`
	replyJSON = `{"role":"assistant","content":"answer"}`
	workJSON  = `{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]},` +
		`{"role":"tool","tool_call_id":"1","content":"a long result that is not needed any more"}`
)

// compareWindow holds the lines of window against what they should have: messages in all, those shown, and requests within.
func compareWindow(t *testing.T, got []windowRow, want [][3]int64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%+v; want %v", got, want)
	}
	for i, w := range want {
		if w != [3]int64{got[i].Messages, got[i].ShownMessages, got[i].Within} {
			t.Errorf("line %d: %+v, want %v", i, got[i], w)
		}
	}
}

// TestWindowNodes: a request is made where a node begins with an assistant message, whatever else nodes hold; a node with
// requests within is told whole, and once, also where the next begins with an assistant message; and a compacted chain at
// the nodes that were the head then.
func TestWindowNodes(t *testing.T) {
	s := newStack(t)
	s.putJSON("chat/1", `[{"role":"system","content":"s"},`+userJSON+`]`)
	s.putJSON("chat/1", `[`+workJSON+`,`+replyJSON+`]`) // a request before it, one within
	s.putJSON("chat/1", `[`+replyJSON+`]`)
	s.putJSON("chat/1", userJSON)
	s.putJSON("chat/1", `[`+replyJSON+`,`+userJSON+`]`)
	s.putJSON("chat/1", `[`+workJSON+`]`)
	s.must("compact", "chat/1")
	s.putJSON("chat/1", `[`+replyJSON+`]`)
	r := s.run("window", "chat/1", "--output", "json")
	compareWindow(t, windowRows(t, r.out), [][3]int64{{2, 2, 0}, {5, 5, 1}, {7, 4, 0}, {9, 6, 0}, {8, 8, 0}})
	if !strings.Contains(r.notes, "1 request made within nodes") {
		t.Error(r.notes)
	}
	if out := s.must("window", "chat/1"); strings.Count(out, "%                1\n") != 1 || !strings.Contains(out, "\n4 requests and 1 node: ") {
		t.Error(out)
	}
}

// TestWindowTurns: a chain whose nodes are whole turns is told node by node, with the reason.
func TestWindowTurns(t *testing.T) {
	s := newStack(t)
	for range 3 {
		s.putJSON("chat/1", `[`+userJSON+`,`+workJSON+`,`+replyJSON+`]`)
	}
	r := s.run("window", "chat/1", "--output", "json")
	compareWindow(t, windowRows(t, r.out), [][3]int64{{4, 4, 2}, {8, 6, 2}, {12, 8, 2}})
	if r.code != exitOK || !strings.Contains(r.notes, "6 requests made within nodes, where nothing can be assembled") {
		t.Errorf("exit code %d, %s", r.code, r.notes)
	}
	if out := s.must("window", "chat/1"); strings.Count(out, "%                2\n") != 3 || !strings.Contains(out, "\n0 requests and 3 nodes: ") {
		t.Error(out)
	}
}

// TestWindowNothing: where no model was asked anything there is nothing to tell, and that is said.
func TestWindowNothing(t *testing.T) {
	s := newStack(t)
	s.putJSON("chat/1", userJSON)
	s.putJSON("chat/2", replyJSON)
	for _, alias := range []string{"chat/1", "chat/2"} {
		if out := s.must("window", alias); out != "0 requests: nothing comes before an assistant message\n" {
			t.Error(out)
		}
		if out := s.must("window", alias, "--output", "json"); out != "" {
			t.Error(out)
		}
	}
}

// TestWindowAges: what a chain's requests showed does not depend on how long ago they were made, and --max-age drops nothing: it
// condenses what it finds too old to be shown whole.
func TestWindowAges(t *testing.T) {
	var day atomic.Int64
	now := func() time.Time { return time.Date(2001, 1, 1+int(day.Load()), 0, 0, 0, 0, time.UTC) }
	s := serveStore(t, memstore.New(memstore.Options{Now: now}))
	s.must("put", "--text", strings.Repeat("one ", 20), "--alias", "a")
	for _, text := range []string{"two ", "three "} {
		s.must("put", "--role", "assistant", "--text", "answer", "--parent", "a", "--alias", "a")
		day.Add(1)
		s.must("put", "--text", strings.Repeat(text, 20), "--parent", "a", "--alias", "a")
	}
	s.must("put", "--role", "assistant", "--text", "answer", "--parent", "a", "--alias", "a")
	whole := windowRows(t, s.must("window", "a", "--output", "json", "--preset", "unbounded"))
	shown := func(args ...string) (less [3]bool) {
		args = append([]string{"window", "a", "--output", "json", "--max-user-chars", "5", "--keep-whole-run-loops", "9"}, args...)
		for i, row := range windowRows(t, s.must(args...)) {
			if less[i] = row.ShownBytes < whole[i].ShownBytes; row.ShownMessages != int64(1+2*i) {
				t.Errorf("%v: %d messages in request %d", args, row.ShownMessages, i)
			}
		}
		return less
	}
	for range 2 {
		for age, want := range map[string][3]bool{"0s": {}, "168h": {}, "36h": {false, false, true}, "1h": {false, true, true}} {
			if got := shown("--max-age", age); got != want {
				t.Errorf("--max-age %s on day %d: shortened are %v, want %v", age, day.Load(), got, want)
			}
		}
		day.Add(400)
	}
}

// TestConversationsHaveDefaults: without flags of a policy a conversation has the default bounds, and with --preset unbounded none.
func TestConversationsHaveDefaults(t *testing.T) {
	s := newStack(t)
	s.must("put", "--text", "question 0", "--alias", "a")
	for i := range 14 {
		s.must("put", "--role", "assistant", "--text", "answer", "--parent", "a", "--alias", "a")
		s.must("put", "--text", fmt.Sprint("question ", i+1), "--parent", "a", "--alias", "a")
	}
	for _, test := range []struct {
		args []string
		want int
	}{{nil, 10}, {[]string{"--preset", "unbounded"}, 15}, {[]string{"--max-run-loops", "0"}, 15}, {[]string{"--preset", "unbounded", "--max-run-loops", "4"}, 5}} {
		out := s.must(append([]string{"assemble", "a", "--view", "conversation"}, test.args...)...)
		if n := strings.Count(out, "question"); n != test.want {
			t.Errorf("%v: %d run loops, want %d", test.args, n, test.want)
		}
	}
}
