package main

import (
	"encoding/json"
	"math"
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

// TestWindowIsEconomy: the requests of window, added up, are what economy tells of the same conversation.
func TestWindowIsEconomy(t *testing.T) {
	s := newStack(t)
	s.must("import", "testdata/agent.jsonl")
	policy := []string{"--max-run-loops", "2", "--keep-full-runs", "1", "--tool-trace", "--max-reply-chars", "9"}
	var sent, shown, reused int64
	for _, row := range windowRows(t, s.must(append([]string{"window", "chat/trip", "--output", "json"}, policy...)...)) {
		sent, shown, reused = sent+row.Bytes, shown+row.ShownBytes, reused+row.ReusedBytes
	}
	rows := economyRows(t, s.must(append([]string{"economy", "--json", "testdata/agent.jsonl"}, policy...)...))
	given := rows[len(rows)-1]
	if given.Strategy != "given" || rows[0].InputBytes != sent || given.InputBytes != shown || shown == 0 ||
		math.Abs(given.Reused-float64(reused)/float64(shown)) > 1e-9 {
		t.Errorf("%d sent, %d shown, %d reused; %+v", sent, shown, reused, rows)
	}
}

// TestWindowNodes: a request is made where a node begins with an assistant message, whatever else nodes hold, and of a
// compacted chain at the nodes that were the head then.
func TestWindowNodes(t *testing.T) {
	s := newStack(t)
	put := func(text string) {
		t.Helper()
		args := []string{"--addr", s.addr, "put", "--alias", "chat/1"}
		if s.run("alias", "resolve", "chat/1").code == exitOK {
			args = append(args, "--parent", "chat/1")
		}
		if r := s.runWith(t.Context(), text, args...); r.code != exitOK {
			t.Fatal(r.notes)
		}
	}
	user := `{"role":"user","content":"question"}`
	reply := `{"role":"assistant","content":"answer"}`
	work := `{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]},` +
		`{"role":"tool","tool_call_id":"1","content":"a long result that is not needed any more"}`
	put(`[{"role":"system","content":"s"},` + user + `]`)
	put(`[` + work + `,` + reply + `]`) // a request before it, none within
	put(user)
	put(`[` + reply + `,` + user + `]`)
	put(`[` + work + `]`)
	s.must("compact", "chat/1")
	put(`[` + reply + `]`)
	rows := windowRows(t, s.must("window", "chat/1", "--output", "json"))
	want := []struct{ messages, shown int64 }{{2, 2}, {6, 4}, {8, 6}, {8, 8}}
	if len(rows) != len(want) {
		t.Fatalf("%+v", rows)
	}
	for i, w := range want {
		if rows[i].Messages != w.messages || rows[i].ShownMessages != w.shown {
			t.Errorf("request %d: %+v, want %+v", i, rows[i], w)
		}
	}
}

// TestWindowAges: what a chain's requests showed does not depend on how long ago they were made.
func TestWindowAges(t *testing.T) {
	var day atomic.Int64
	now := func() time.Time { return time.Date(2001, 1, 1+int(day.Load()), 0, 0, 0, 0, time.UTC) }
	s := serveStore(t, memstore.New(memstore.Options{Now: now}))
	s.must("put", "--text", "one", "--alias", "a")
	for _, text := range []string{"two", "three"} {
		s.must("put", "--role", "assistant", "--text", "answer", "--parent", "a", "--alias", "a")
		s.must("put", "--text", text, "--parent", "a", "--alias", "a")
		day.Add(1)
	}
	s.must("put", "--role", "assistant", "--text", "answer", "--parent", "a", "--alias", "a")
	shown := func(args ...string) (n []int64) {
		for _, row := range windowRows(t, s.must(append([]string{"window", "a", "--output", "json"}, args...)...)) {
			n = append(n, row.ShownMessages)
		}
		return n
	}
	for _, test := range []struct {
		args []string
		want [3]int64
	}{
		{nil, [3]int64{1, 3, 5}},
		{[]string{"--max-age", "2h"}, [3]int64{1, 3, 1}},
		{[]string{"--now", "2020-01-01T00:00:00Z"}, [3]int64{1, 1, 1}},
	} {
		if got := shown(test.args...); len(got) != 3 || [3]int64(got) != test.want {
			t.Errorf("%v: %v, want %v", test.args, got, test.want)
		}
	}
}
