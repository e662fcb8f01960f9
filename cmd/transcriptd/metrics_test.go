package main

import (
	"context"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/transcriptd/transcriptd/chainstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// storeSamples are the samples of the store in /metrics, by name and label.
func storeSamples(t *testing.T, p *process) map[string]float64 {
	t.Helper()
	samples := map[string]float64{}
	for line := range strings.Lines(get(t, p.admin+"/metrics")) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok || !strings.HasPrefix(name, "transcriptd_store_") {
			continue
		}
		v, err := strconv.ParseFloat(value, 64)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		samples[name] = v
	}
	return samples
}

func TestStoreMetrics(t *testing.T) {
	dir := t.TempDir()
	p := startProcess(t, nil, badgerFlag(dir), "--admin-listen=127.0.0.1:0", "--cache-mib=32")
	conn := p.dial(t)
	client := transcriptv1.NewTranscriptServiceClient(conn)
	root, err := putText(callContext(t), client, "hello")
	if err != nil {
		t.Fatal(err)
	}
	target := &transcriptv1.NodeRef{Ref: &transcriptv1.NodeRef_NodeId{NodeId: root.NodeId}}
	if _, err := client.Alias(callContext(t), &transcriptv1.AliasRequest{Aliases: []*transcriptv1.AliasMove{{Name: "a", Target: target}}}); err != nil {
		t.Fatal(err)
	}
	before := storeSamples(t, p)
	assemble := func() {
		head := &transcriptv1.NodeRef{Ref: &transcriptv1.NodeRef_Alias{Alias: "a"}}
		if _, err := client.Assemble(callContext(t), &transcriptv1.AssembleRequest{Head: head}); err != nil {
			t.Fatal(err)
		}
	}
	assemble()
	read := storeSamples(t, p)
	for _, text := range []string{"hello", "a second"} { // the first is there
		if _, err := putText(callContext(t), client, text); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := transcriptv1.NewAdminServiceClient(conn).NamespaceStats(callContext(t), &transcriptv1.NamespaceStatsRequest{}); err != nil { // copies the counters
		t.Fatal(err)
	}
	written := storeSamples(t, p)

	type samples = map[string]float64
	moved := func(what string, from, to samples, want samples) {
		t.Helper()
		for name, by := range want {
			if got := to["transcriptd_store_"+name] - from["transcriptd_store_"+name]; got != by {
				t.Errorf("%s: %s moved by %v, not %v", what, name, got, by)
			}
		}
	}
	moved("Assemble", before, read, samples{"gets_total": 1, "seeks_total": 1, "sets_total": 0, "written_bytes_total": 0, "commits_total": 0})
	moved("PutNode", read, written, samples{"commits_total": 1, "committed_changes_total": 1, `cache_hits_total{cache="nodes"}`: 1})
	for _, name := range []string{"gets_total", "sets_total", "written_bytes_total", "copied_bytes_total", "disk_bytes", `cache_bytes{cache="nodes"}`} {
		if name = "transcriptd_store_" + name; written[name] <= read[name] && name != "transcriptd_store_disk_bytes" || written[name] == 0 {
			t.Errorf("%s went from %v to %v with a put and a NamespaceStats", name, read[name], written[name])
		}
	}
	if now := written["transcriptd_store_queue_bytes"]; now != 0 || written["transcriptd_store_queue_limit_bytes"] < 1<<20 {
		t.Errorf("the queue has %v bytes when nobody waits", now)
	}
	if pauses, told := written["transcriptd_store_paused_seconds_total"]; !told || pauses != 0 {
		t.Errorf("two small puts were held back for %v s; told: %v", pauses, told)
	}
	limits := 0.0
	for _, cache := range []string{"blocks", "indexes", "rows", "aliases", "nodes"} {
		limits += written[`transcriptd_store_cache_limit_bytes{cache="`+cache+`"}`]
	}
	if limits != 32<<20 {
		t.Errorf("the caches may hold %v bytes together, not --cache-mib", limits)
	}
	p.terminate(t)

	p = startProcess(t, nil, badgerFlag(dir), "--admin-listen=127.0.0.1:0", "--cache-mib=32")
	client = transcriptv1.NewTranscriptServiceClient(p.dial(t))
	assemble() // from tables on disk
	first := storeSamples(t, p)
	for _, cache := range []string{"blocks", "rows", "aliases", "nodes"} {
		if first[`transcriptd_store_cache_misses_total{cache="`+cache+`"}`] == 0 {
			t.Errorf("a first read from tables finds all in the cache of %s: %v", cache, first)
		}
	}
	assemble()
	second := storeSamples(t, p)
	if tables, bytes := first[`transcriptd_store_tables{level="0"}`], first[`transcriptd_store_table_bytes{level="0"}`]; tables < 1 || bytes < 100 {
		t.Errorf("opened again, the first level has %v tables of %v bytes", tables, bytes)
	}
	if tables, told := first[`transcriptd_store_tables{level="6"}`]; !told || tables != 0 || first["transcriptd_store_merge_pending_bytes"] != 0 {
		t.Errorf("the last level has %v tables, told: %v; %v bytes wait", tables, told, first["transcriptd_store_merge_pending_bytes"])
	}
	for _, kind := range []string{"descriptors", "maps"} {
		handles := func(what string) float64 { return first["transcriptd_store_handles"+what+`{kind="`+kind+`"}`] }
		if runtime.GOOS == "linux" && (handles("") < 5 || handles("_kept") < 100 || handles("_limit") < handles("_kept")) {
			t.Errorf("%v of %v %s, %v kept", handles(""), handles("_limit"), kind, handles("_kept"))
		}
	}
	assemble()
	moved("a third read", second, storeSamples(t, p), samples{
		`cache_hits_total{cache="rows"}`: 1, `cache_hits_total{cache="nodes"}`: 1, `cache_hits_total{cache="aliases"}`: 1,
		`cache_misses_total{cache="rows"}`: 0, `cache_misses_total{cache="nodes"}`: 0, `cache_misses_total{cache="aliases"}`: 0,
	})
	const held = `transcriptd_store_cache_bytes{cache="blocks"}`
	for deadline := time.Now().Add(30 * time.Second); storeSamples(t, p)[held] == 0; { // it takes a block a moment after it was read
		if time.Now().After(deadline) {
			t.Fatal("the cache of blocks stays empty")
		}
	}
}

func TestStoreInMemoryHasNoMetrics(t *testing.T) {
	p := startProcess(t, nil, "--store=memory:", "--admin-listen=127.0.0.1:0")
	if samples := storeSamples(t, p); len(samples) > 0 {
		t.Errorf("a store in memory tells %v", samples)
	}
}

// counting tells how much space is dead, and counts how often it was asked.
type counting struct {
	chainstore.Reclaimer
	asked int64
	err   error
}

func (c *counting) Space(context.Context) (chainstore.Space, error) {
	c.asked++
	return chainstore.Space{Files: 100, Dead: c.asked}, c.err
}

// TestDeadSpace: how much is dead is measured every ten minutes at most, also where it could not be, and is not told then.
func TestDeadSpace(t *testing.T) {
	store, d, now := &counting{}, deadSpace{}, time.Unix(1000, 0)
	for _, c := range []struct {
		after time.Duration
		want  int64
	}{{0, 1}, {9 * time.Minute, 1}, {time.Minute, 2}} {
		now = now.Add(c.after)
		if got, found := d.read(store, now); got != c.want || !found {
			t.Errorf("%d, %v, want %d", got, found, c.want)
		}
	}
	store.err = chainstore.ErrClosed
	for _, after := range []time.Duration{time.Hour, time.Minute} {
		now = now.Add(after)
		if _, found := d.read(store, now); found || store.asked != 3 {
			t.Errorf("told by a store that is closed: %v, which was asked %d times, want 3", found, store.asked)
		}
	}
}
