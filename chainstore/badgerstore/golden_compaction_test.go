package badgerstore

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
	"github.com/transcriptd/transcriptd/chainstore/memstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// The golden store with compaction nodes; its encoding and program are fixed with it, as those of the golden store are.

// goldenCompactions is a store's directory as a format wrote it.
func goldenCompactions(format int) string {
	return fmt.Sprintf("testdata/golden-%d-compaction.tar.gz", format)
}

// TestGoldenCompactions opens what an earlier version wrote, and finds in it what the model says of the same changes.
func TestGoldenCompactions(t *testing.T) {
	if *update {
		makeGoldenCompactions(t)
	}
	eachFormat(t, checkGoldenCompactions)
}

func checkGoldenCompactions(t *testing.T, format int) {
	dir := t.TempDir()
	unpack(t, goldenCompactions(format), dir)
	clock := &goldenClock{}
	s := openAt(t, dir, Options{Now: clock.now})
	model := memstore.New(memstore.Options{Now: clock.now})
	ids := goldenCompactionProgram(t, model, clock)
	checkVersion(t, s, ids[0], format)
	if found := problems(t, s, "default", goldenCompactionJudge); found != nil {
		t.Errorf("verify found %q", found)
	}
	want := everything(t, model, "default", ids, format)
	if format == layout.FirstFormatVersion { // which kept less of a compaction node
		kept, err := os.ReadFile("testdata/golden-1-compaction.txt")
		if err != nil {
			t.Fatal(err)
		}
		want = string(kept)
	}
	if got := everything(t, s, "default", ids, format); got != want {
		t.Errorf("it differs: %s", firstDifference(got, want))
	}
	again := &goldenClock{start: 100 * 24 * time.Hour}
	if !slices.Equal(goldenCompactionProgram(t, s, again), ids) {
		t.Error("the same changes gave other ids")
	}
	goldenCompactionProgram(t, model, &goldenClock{start: 100 * 24 * time.Hour})
	last := ids[len(ids)-1]
	next := goldenCompaction(&last, last, goldenMessage{Role: runloop.User, Text: "and then"})
	goldenPut(t, model, "default", next)
	ids = append(ids, goldenPut(t, s, "default", next)...)
	if got, want := everything(t, s, "default", ids, format), everything(t, model, "default", ids, format); got != want && format == layout.FormatVersion {
		t.Errorf("it goes on otherwise: %s", firstDifference(got, want))
	}
	if found := problems(t, s, "default", goldenCompactionJudge); found != nil {
		t.Errorf("verify found %q later", found)
	}
}

func makeGoldenCompactions(t *testing.T) {
	dir, clock := t.TempDir(), &goldenClock{}
	s, err := Open(dir, Options{Now: clock.now})
	if err != nil {
		t.Fatal(err)
	}
	goldenCompactionProgram(t, s, clock)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	pack(t, dir, goldenCompactions(layout.FormatVersion))
}

// goldenMade gives the messages of a compaction node the origins that their texts tell.
func goldenMade(messages []runloop.Facts, texts func(i int) string) {
	for i := range messages {
		m := &messages[i]
		m.Summary = m.Role == runloop.User && strings.HasPrefix(texts(i), "summary: ")
		m.Made = m.Role == runloop.Tool && strings.HasPrefix(texts(i), "[")
	}
}

func goldenCompactionID(id, covers chainstore.ID) chainstore.ID {
	return goldenSum([]byte("compaction"), id[:], covers[:])
}

// goldenCompaction makes a compaction node. Of every three messages, one is from nowhere.
func goldenCompaction(parent *chainstore.ID, covers chainstore.ID, messages ...goldenMessage) chainstore.NewNode {
	n := goldenNode(parent, messages...)
	goldenMade(n.Messages, func(i int) string { return messages[i].Text })
	n.Compaction = &chainstore.Compaction{Covers: covers}
	for i := range messages {
		p := chainstore.Provenance{Present: i%3 > 0}
		if p.Present {
			p.Place = runloop.Place{Seq: uint32(i % 2), Index: uint32(1000 * i)}
		}
		n.Compaction.Provenance = append(n.Compaction.Provenance, p)
	}
	identify := n.Identify
	n.Identify = func(parent *chainstore.ID) chainstore.ID { return goldenCompactionID(identify(parent), covers) }
	return n
}

func goldenCompactionJudge(h *chainstore.Header, payload, metadata []byte, parent, covers *chainstore.ID) (chainstore.Judgement, error) {
	out, err := goldenJudge(h, payload, metadata, parent, nil)
	if err != nil || covers == nil {
		return out, err
	}
	out.ID = goldenCompactionID(out.ID, *covers)
	lines := slices.Collect(strings.Lines(string(payload)))
	goldenMade(out.Messages, func(i int) string {
		_, text, _ := strings.Cut(lines[i], `"Text":"`)
		return text
	})
	return out, nil
}

// goldenCompactionProgram makes a chain that is compacted again and again, and returns the ids of its nodes.
func goldenCompactionProgram(tb testing.TB, s chainstore.Store, clock *goldenClock) (ids []chainstore.ID) {
	tb.Helper()
	text := func(role runloop.Role, text string) goldenMessage { return goldenMessage{Role: role, Text: text} }
	user := func(s string) goldenMessage { return text(runloop.User, s) }
	reply := func(s string) goldenMessage { return text(runloop.Assistant, s) }
	call := func(id string) goldenMessage {
		return goldenMessage{Role: runloop.Assistant, Calls: []runloop.Call{{ID: runloop.Some(id), Name: runloop.Some("read")}}}
	}
	result := func(id, text string) goldenMessage {
		return goldenMessage{Role: runloop.Tool, CallID: runloop.Some(id), Text: text}
	}
	add := func(n chainstore.NewNode) *chainstore.ID {
		clock.passed += time.Second
		ids = append(ids, goldenPut(tb, s, "default", n)...)
		return &ids[len(ids)-1]
	}
	root := add(setting(goldenNode(nil, text(runloop.System, "You are helpful.")), "model"))
	asked := add(goldenNode(root, text(runloop.Developer, "Be brief."), result("nobody", "?"), user("Read it.")))
	called := add(goldenNode(asked, call("c1"), call("c2")))
	read := add(goldenNode(called, result("c1", strings.Repeat("a line of it ", 40)), result("c2", "nothing"), result("c1", "again")))
	replied := add(setting(goldenNode(read, reply("It says so.")), "mood"))
	second := add(goldenNode(replied, user("And that?")))
	open := add(goldenNode(second, call("c1")))

	short := goldenCompaction(open, *replied, user("Read it."), reply("It says so."))
	short.Salt = []byte("sixteen bytes...")
	covers := *replied
	short.Identify = func(parent *chainstore.ID) chainstore.ID {
		return goldenCompactionID(goldenIdentity(parent, short.Payload, nil, short.Salt, nil), covers)
	}
	first := add(short)
	answered := add(goldenNode(first, result("c1", strings.Repeat("more of it ", 40))))
	closed := add(goldenNode(answered, reply("That says more.")))
	noted := user("Read it.")
	noted.Note = runloop.Note{HasSentAt: true, SentAt: 1_790_000_000_000, HasTokens: true, Tokens: 3, Estimated: true}
	whole := add(goldenCompaction(closed, *closed, user("summary: it was read"), noted, call("c1"), result("c1", "[made]"), call("c9"),
		result("c9", strings.Repeat("a copy ", 60)), reply("That says more.")))
	late := add(goldenNode(whole, result("c2", "late"), result("c9", "again"), call("c9")))
	add(goldenCompaction(late, *whole))                                  // one that shows nothing, and leaves an open call
	last := add(goldenCompaction(late, *whole, user("And that?")))       // a fork
	stopped := add(goldenNode(last, user("Stop."), reply("I stopped."))) // ends the group
	add(goldenNode(open, user("before any compaction")))
	spawned := goldenNode(nil, user("spawned by a compaction node"))
	spawned.SpawnedFrom = &chainstore.SpawnedFrom{Node: *whole}
	add(identified(spawned))
	add(goldenCompaction(stopped, *stopped, user("summary: "+strings.Repeat("a long story ", 25_000)), user("Stop.")))
	goldenAliases(tb, s, clock, ids)
	return ids
}
