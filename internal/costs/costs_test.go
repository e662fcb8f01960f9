//go:build !race

package costs

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/testserver"
	"github.com/transcriptd/transcriptd/server"
)

var update = flag.Bool("costs.update", false, "costs: write the numbers that are no longer right to testdata/costs.txt")

// cost is what one call takes, on average over calls that differ in nothing that counts.
type cost [columns]int64

// What is counted. Up to reply it must be as committed; what follows may differ by its allowance.
const (
	// Operations of the database: values by key, searches for a key, steps to the next one, keys written.
	gets = iota
	seeks
	nexts
	sets
	// written is the bytes of these keys and of their values.
	written
	// syncs is how often the log was synced for a commit: once for all that a call writes.
	syncs
	// copied is the bytes of values that the engine copied out of the database's memory, be it into a cache, instead of
	// reading them there.
	copied
	// laid is the bytes of the server's buffers that the reply was laid and encoded into, new or used before: what is copied
	// once more on its way shows up here, or, copied into memory from elsewhere, as allocated.
	laid
	// reply is the bytes of the reply's messages on the wire; of a program that calls the SDK, of the messages it gives.
	reply
	// allocs is the allocations of the whole process, and allocated their bytes, when calls like this one have filled all
	// pools. The client is part of it, the same for each kind of call; it does not decode replies.
	allocs
	allocated
	// cold is the bytes allocated by a call that finds all pools empty, gRPC's too: every buffer that bytes are copied into is
	// allocated then, whatever pool it goes to later. What stays unseen is a copy into a buffer that the same call has used
	// already; of a stream, as many frames show up as are in use at once. The client's buffers, one copy of the reply, are
	// part of it too. It is the middle of several calls, for what goes to a pool while one is emptied is not allocated anew.
	cold
	columns
)

var names = [columns]string{"gets", "seeks", "nexts", "sets", "written", "syncs", "copied", "laid", "reply", "allocs", "allocated", "cold"}

// allowances are the parts of the numbers that a call may take more or less. Between runs, alone and beside other work, with
// 1 to 8 processors, they differ by less.
var allowances = [columns]float64{allocs: 0.02, allocated: 0.02, cold: 0.04}

// Bytes that the reply of a stream may allocate more besides: how many frames are in use at once is up to the scheduler; what is
// laid does not depend on it. aheadBuffers is for where one side may be far ahead of the other: the first read of a chain, while
// the disk is waited for, and the SDK's, while frames are looked at. It is less than a copy of the 1,000 turns.
const (
	streamBuffers = 64 << 10
	aheadBuffers  = 2 << 20
)

const file = "testdata/costs.txt"

// TestCosts fails for a program that takes more than is committed, and for one that takes less: then the number is to be
// written anew, so that it holds. Less of what depends on the moment besides, cold and the bytes of streams, is no failure: on a
// machine that is busy enough a pool is filled by what ends late. A commit that makes a number worse says why.
func TestCosts(t *testing.T) {
	committed, err := read(file)
	if err != nil {
		t.Fatal(err)
	}
	now := count(t)
	t.Logf("What one call takes:\n%s", table(now))
	var rows []row
	for _, r := range now {
		was, known := find(committed, r.name)
		if runtime.GOOS != "linux" {
			r.cost[syncs] = was.cost[syncs] // the database syncs the log there, and does not count it
		}
		wrong := r.judge(was.cost, 1)
		if known && len(r.judge(was.cost, 0.5)) == 0 {
			r = was // the numbers stay where they are until one of them is halfway to being wrong, or they would wander
		}
		rows = append(rows, r)
		for _, w := range wrong {
			if !*update {
				t.Errorf("%s: %s", r.name, w)
			}
		}
	}
	for _, was := range committed {
		if _, known := find(now, was.name); !known && !*update {
			t.Errorf("%s is in %s, and is no program", was.name, file)
		}
	}
	if t.Failed() {
		t.Log("If this is meant, write the numbers with: go test ./internal/costs -costs.update")
		t.Log("and where one is worse, say in the commit why.")
	} else if *update {
		if err := os.WriteFile(file, append([]byte(head), table(rows)...), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// row is what a program takes.
type row struct {
	name string
	cost cost
	// buffers is what may be allocated more, of what is now counted; see program.
	buffers int64
}

func find(rows []row, name string) (row, bool) {
	for _, r := range rows {
		if r.name == name {
			return r, true
		}
	}
	return row{}, false
}

// judge tells in what way a program does not take what is committed, with a share of what is allowed to it; with less than all of
// it, also of what it may take less of.
func (r *row) judge(was cost, share float64) (wrong []string) {
	for i, n := range r.cost {
		allowed := share * allowances[i] * float64(was[i])
		if i >= allocated {
			allowed += share * float64(r.buffers)
		}
		momentary := i == cold || i == allocated && r.buffers > 0
		switch by := float64(n - was[i]); {
		case by > allowed:
			wrong = append(wrong, fmt.Sprintf("takes more: %s %d, %d committed", names[i], n, was[i]))
		case -by > allowed && !(momentary && share == 1):
			wrong = append(wrong, fmt.Sprintf("takes less: %s %d, %d committed", names[i], n, was[i]))
		}
	}
	return wrong
}

func TestJudge(t *testing.T) {
	was := cost{3, 1, 0, 10, 4000, 1, 25, 80, 196, 1000, 50_000, 90_000}
	for _, c := range []struct {
		column int
		by     int64
		want   string
	}{
		{gets, 1, "takes more: gets 4, 3 committed"},
		{nexts, 1, "takes more: nexts 1, 0 committed"},
		{sets, -1, "takes less: sets 9, 10 committed"},
		{written, 1, "takes more: written 4001, 4000 committed"},
		{syncs, 1, "takes more: syncs 2, 1 committed"},
		{copied, 1, "takes more: copied 26, 25 committed"},
		{laid, 1, "takes more: laid 81, 80 committed"},
		{reply, 1, "takes more: reply 197, 196 committed"},
		{allocs, 21, "takes more: allocs 1021, 1000 committed"},
		{allocs, 20, ""},
		{allocated, -1000, ""},
		{allocated, -1001, "takes less: allocated 48999, 50000 committed"},
		{cold, 3600, ""},
		{cold, 3601, "takes more: cold 93601, 90000 committed"},
		{cold, -90_000, ""},
	} {
		r := row{name: "x", cost: was}
		r.cost[c.column] += c.by
		if got := strings.Join(r.judge(was, 1), "; "); got != c.want {
			t.Errorf("%s by %d: %q, want %q", names[c.column], c.by, got, c.want)
		}
	}
	stream := row{"x", was, streamBuffers}
	stream.cost[gets]++
	stream.cost[allocs] += 21
	stream.cost[allocated] += 1000 + streamBuffers
	stream.cost[cold] += 3601 + streamBuffers
	if wrong := stream.judge(was, 1); len(wrong) != 3 {
		t.Errorf("a stream: %q", wrong)
	}
	stream.cost = was
	if stream.cost[allocated] = 1; stream.judge(was, 1) != nil {
		t.Error("fewer bytes of a stream are a failure")
	}
	if stream.judge(was, 0.5) == nil {
		t.Error("fewer bytes of a stream would never be written")
	}
}

const head = `# What one call takes, by program: written by go test ./internal/costs -costs.update. costs_test.go tells what the columns
# are. A commit that makes a number worse says why.
`

// table is the rows below the names of the columns.
func table(rows []row) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%-46s", "#")
	for _, name := range names {
		fmt.Fprintf(&b, " %9s", name)
	}
	for _, r := range rows {
		fmt.Fprintf(&b, "\n%-46s", r.name)
		for _, n := range r.cost {
			fmt.Fprintf(&b, " %9d", n)
		}
	}
	b.WriteByte('\n')
	return b.Bytes()
}

func read(file string) (rows []row, err error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(b)) {
		words := strings.Fields(line)
		if strings.HasPrefix(line, "#") || len(words) == 0 {
			continue
		}
		if len(words) <= columns {
			return nil, fmt.Errorf("%s: %q has not all columns", file, line)
		}
		numbers := len(words) - columns
		r := row{name: strings.Join(words[:numbers], " ")}
		for i, word := range words[numbers:] {
			if r.cost[i], err = strconv.ParseInt(word, 10, 64); err != nil {
				return nil, fmt.Errorf("%s: %q: %w", file, line, err)
			}
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// count runs all programs on a store that was closed and opened again, so that what they read comes from tables: reads where
// each asks the database, reads again where rows and heads that were read lately are kept, and then writes, which leave
// something in memory that later reads would look through.
func count(t *testing.T) (rows []row) {
	dir := t.TempDir()
	c := newConversations()
	r := open(t, dir, badgerstore.Options{})
	c.put(t, r)
	r.close(t)
	first := whole(c.long)
	rows = append(rows, row{"first " + first.name, countFirst(t, dir, first, whole(c.medium)), aheadBuffers})
	r = open(t, dir, badgerstore.Options{RowCacheBytes: -1})
	for _, p := range c.reads() {
		rows = append(rows, r.row(t, p.name, p))
	}
	r.close(t)
	r = open(t, dir, badgerstore.Options{})
	for _, p := range c.reads() {
		rows = append(rows, r.row(t, "again "+p.name, p))
	}
	for _, p := range c.sdkReads(r) {
		rows = append(rows, r.row(t, p.name, p))
	}
	for _, p := range append(c.writes(), c.sdkPut(r)) {
		rows = append(rows, r.row(t, p.name, p))
	}
	return rows
}

// window is more than any reply: that a client asks for more, and when, would depend on the scheduler.
const window = 16 << 20

// open serves the store in a directory as transcriptd does, with metrics, but over a connection in memory.
func open(tb testing.TB, dir string, o badgerstore.Options) *rig {
	tb.Helper()
	now := func() time.Time { return begun }
	o.Now = now
	store, err := badgerstore.Open(dir, o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := store.Close(); err != nil && !errors.Is(err, chainstore.ErrClosed) {
			tb.Error(err)
		}
	})
	r := &rig{store: store}
	srv := server.New(store, server.Config{Version: "test", Now: now, Registerer: prometheus.NewRegistry()})
	r.conn = testserver.Serve(tb, srv, testserver.GRPC(tb, srv, grpc.ChainUnaryInterceptor(r.meet)),
		grpc.WithStaticStreamWindowSize(window), grpc.WithStaticConnWindowSize(window)).Conn
	r.make(tb, unary(transcriptv1.TranscriptService_ListAliases_FullMethodName, &transcriptv1.ListAliasesRequest{Namespace: "nobody"})) // to meet it
	return r
}

// row is what a program takes.
func (r *rig) row(tb testing.TB, name string, p *program) row {
	tb.Helper()
	return row{name, r.count(tb, p), p.buffers}
}

// close closes the store, which can be opened again.
func (r *rig) close(tb testing.TB) {
	tb.Helper()
	if err := r.store.Close(); err != nil {
		tb.Fatal(err)
	}
}
