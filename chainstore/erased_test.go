package chainstore_test

import (
	"math"
	"reflect"
	"testing"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// TestFoldsGoOnWithoutPayloads: folds need no more of a node than its header. So a node whose payload is gone goes on
// counting: what is appended continues from the header, and a compaction folds again over headers.
func TestFoldsGoOnWithoutPayloads(t *testing.T) {
	call := runloop.Call{ID: runloop.Some("c"), Name: runloop.Some("read")}
	say := func(role runloop.Role, length int) runloop.Facts { return runloop.Facts{Role: role, Length: length} }
	calling := say(runloop.Assistant, 40)
	calling.Calls = []runloop.Call{call, {ID: runloop.Some("d")}}
	result := say(runloop.Tool, 500)
	result.CallID, result.PartsLength, result.BareLength = call.ID, 480, 10
	stray := say(runloop.Tool, 30)
	stray.CallID = runloop.Some("x")
	noted := say(runloop.User, 20)
	noted.Note = runloop.Note{SentAt: 7_000, HasSentAt: true, Tokens: 3, HasTokens: true}
	nodes := [][]runloop.Facts{
		{say(runloop.System, 10)}, {say(runloop.User, 11)}, {calling}, {result, stray}, {noted}, {say(runloop.Assistant, 12)},
		{say(runloop.User, 13), say(runloop.User, 14)}, {say(runloop.Assistant, 15)},
	}
	fold := func(s *runloop.State, seq int) *chainstore.Header {
		h := &chainstore.Header{ID: chainstore.ID{byte(seq)}, Seq: uint32(seq), FirstPut: int64(1_000 * seq)}
		marks, stubs, err := s.Fold(runloop.Node{
			Seq: h.Seq, Prefix: h.ID.Prefix(), Times: h.Times(), Messages: nodes[seq],
		}, func(runloop.Optional) bool { return false })
		if err != nil {
			t.Fatal(err)
		}
		for i := range marks {
			h.Messages = append(h.Messages, runloop.BriefOf(&nodes[seq][i], marks[i]))
		}
		h.State, h.Stubs = *s, stubs
		stored, err := chainstore.RawHeader(chainstore.AppendHeader(nil, h)).Decode(h.Seq)
		if err != nil {
			t.Fatal(err)
		}
		return stored
	}
	var whole runloop.State
	var stored []*chainstore.Header
	for seq := range nodes {
		h := fold(&whole, seq)
		stored = append(stored, h)
		if !reflect.DeepEqual(h.State, whole) {
			t.Fatalf("the header of node %d has %+v, want %+v", seq, h.State, whole)
		}
	}
	for erased := range nodes {
		s := stored[erased].State
		for seq := erased + 1; seq < len(nodes); seq++ {
			fold(&s, seq)
		}
		if !reflect.DeepEqual(s, whole) {
			t.Errorf("behind the header of node %d the folds go on to %+v, want %+v", erased, s, whole)
		}
	}
	// A compaction that keeps just what it stands for changes no effective total but the nodes.
	again := runloop.NewRefold(stored[0].State)
	if _, err := again.Compaction(runloop.Node{Seq: 8, Prefix: chainstore.ID{8}.Prefix(), Messages: nodes[1]}); err != nil {
		t.Fatal(err)
	}
	for _, h := range stored[2:] {
		again.Add(h.Folded())
	}
	got, want := again.End(&whole), whole
	got.Effective.Loop.Start, want.Effective.Loop.Start = runloop.Place{}, runloop.Place{}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("folded again over headers: %+v, want %+v", got, want)
	}
}

// TestNextErasures: the number grows with each erasure, whatever the clock does, and with the time, wherever it was before; two commits of one
// millisecond have two.
func TestNextErasures(t *testing.T) {
	const now = 1_700_000_000_000
	first := chainstore.NextErasures(0, now, 7)
	for name, higher := range map[string]uint64{
		"a later commit":                      chainstore.NextErasures(0, now, 8),
		"the same commit again":               chainstore.NextErasures(first, now, 7),
		"a clock that was set back":           chainstore.NextErasures(first, -1, 8),
		"a restore by a store with less":      chainstore.NextErasures(0, now+1, 1),
		"a commit whose number has more bits": chainstore.NextErasures(first, now, 1<<40),
	} {
		if higher <= first || higher > math.MaxInt64 {
			t.Errorf("%s has %d erasures, behind %d", name, higher, first)
		}
	}
}
