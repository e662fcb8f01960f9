package badgerstore

import (
	"slices"
	"strings"
	"testing"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/commit"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// goldenCompactionRows opens a copy of the golden store with compaction nodes and returns its rows.
func goldenCompactionRows(tb testing.TB) (*Store, map[string][]byte) {
	tb.Helper()
	dir := tb.TempDir()
	unpack(tb, goldenCompactions(layout.FormatVersion), dir)
	s := openAt(tb, dir, Options{})
	return s, allRows(tb, s)
}

// TestVerifyMindsRowsOfCompactions loses and spoils rows of a store with compaction nodes, one at a time.
func TestVerifyMindsRowsOfCompactions(t *testing.T) {
	s, rows := goldenCompactionRows(t)
	for table, keys := range byTable(rows) {
		if !strings.ContainsRune("SIKRUVWX", rune(table)) {
			continue // the others do not follow from nodes alone
		}
		for _, key := range sample(keys, 7) {
			rewrite(t, s, map[string]commit.Write{key: {Deleted: true}})
			if problems(t, s, "default", goldenCompactionJudge) == nil {
				t.Errorf("nobody misses row %x", key)
			}
			all := spoilings(rows[key])
			if r, _, err := layout.ParseRow(rows[key]); table == layout.TableNodes && err == nil && r.Chunks > 0 {
				all = all[:len(all)-1] // where a message was put first, which ends the row, follows from nothing else
			}
			for _, spoilt := range all {
				rewrite(t, s, map[string]commit.Write{key: {Value: spoilt}})
				if problems(t, s, "default", goldenCompactionJudge) == nil {
					t.Errorf("row %x may be %.100x instead of %.100x", key, spoilt, rows[key])
				}
			}
			rewrite(t, s, map[string]commit.Write{key: {Value: rows[key]}})
		}
	}
	if found := problems(t, s, "default", goldenCompactionJudge); found != nil {
		t.Fatalf("verify found %q after all was put back", found)
	}
}

// spoiltCompaction changes the header of the node at a seq of the golden program's first segment, and says what is then
// found.
type spoiltCompaction struct {
	name  string
	seq   uint32
	spoil func(h *chainstore.Header)
	found string
}

const differs = "its header differs from what follows from its bytes and its parent"

// In the first segment are: system, a preamble's end and a question [1], calls [2], results [3], a reply [4], a question
// [5], a call [6], a compaction that covers 4 [7], a result [8], a reply [9], a compaction that covers 9 [10], results and
// a call [11], an empty compaction that covers 10 [12].
var spoiltCompactions = []spoiltCompaction{
	{"nothing", 7, func(*chainstore.Header) {}, ""},
	{"another one covered", 10, func(h *chainstore.Header) { h.Covers.Seq-- }, "its bytes give another id"},
	{"less than before", 10, func(h *chainstore.Header) { h.Covers.Seq = 3 }, "it covers less than the preamble, or than what is covered before it"},
	{"as much as before", 10, func(h *chainstore.Header) { h.Covers.Seq = 4 }, "its bytes give another id"},
	{"less than the preamble", 7, func(h *chainstore.Header) { h.Covers.Seq = 0 }, "it covers less than the preamble, or than what is covered before it"},
	{"open calls", 7, func(h *chainstore.Header) { h.Covers.Seq = 6 }, "a call is unanswered where it ends what it covers"},
	{"itself", 7, func(h *chainstore.Header) { h.Covers.Seq = 7 }, "it covers a node that is not before it"},
	{"a plain node", 7, func(h *chainstore.Header) { h.Covers, h.Provenance = chainstore.Link{}, nil }, "its bytes give another id"},
	{"a compaction of a plain one", 9, func(h *chainstore.Header) { h.Covers = chainstore.Link{Present: true, Seq: 4} }, "its bytes give another id"},
	{"a root", 0, func(h *chainstore.Header) { h.Covers = chainstore.Link{Present: true} }, "it covers a node that is not before it"},
	{"another link", 10, func(h *chainstore.Header) { h.Compaction.Seq = 7 }, differs},
	{"no link", 10, func(h *chainstore.Header) { h.Compaction = chainstore.Link{} }, differs},
	{"no link behind", 11, func(h *chainstore.Header) { h.Compaction.Seq = 7 }, differs},
	{"too few places", 10, func(h *chainstore.Header) { h.Provenance = h.Provenance[1:] }, "it does not tell of each of its messages where that was put"},
	{"a place too many", 12, func(h *chainstore.Header) { h.Provenance = make([]chainstore.Provenance, 1) }, "it does not tell of each of its messages where that was put"},
	{"a shorter index", 10, func(h *chainstore.Header) { h.Provenance[5].Place.Index = 5 }, differs},
	{"no index", 10, func(h *chainstore.Header) { h.Provenance[5].Present = false }, differs},
	{"the line", 10, func(h *chainstore.Header) { h.Messages[5].Mark.LineLength-- }, differs},
	{"the loops", 7, func(h *chainstore.Header) { h.Messages[0].Mark.BeginsLoop = false }, differs},
	{"a summary", 10, func(h *chainstore.Header) { h.Messages[0].Summary = false }, differs},
	{"the full fold", 7, func(h *chainstore.Header) { h.State.Full.Nodes++ }, differs},
	{"the effective fold", 7, func(h *chainstore.Header) { h.State.Effective.Bytes++ }, differs},
	{"the last loop", 7, func(h *chainstore.Header) { h.State.Effective.Loop.Start.Index++ }, differs},
	{"the last user", 7, func(h *chainstore.Header) { h.State.Effective.LatestUser++ }, differs},
	{"the repairs", 7, func(h *chainstore.Header) { h.State.Repairs++ }, differs},
	{"the group", 7, func(h *chainstore.Header) { h.State.Group = runloop.Group{} }, differs},
	{"the preamble", 7, func(h *chainstore.Header) { h.State.PreambleEnd.Index++ }, differs},
	{"the tools", 10, func(h *chainstore.Header) { h.Tools.Seq = 10 }, differs},
	{"the variables", 10, func(h *chainstore.Header) { h.Variables.Seq = 10 }, differs},
}

func TestVerifyFindsSpoiltCompactions(t *testing.T) {
	s, rows := goldenCompactionRows(t)
	segment := uint64(1)
	for _, c := range spoiltCompactions {
		key := string(layout.PlaceKey(1, layout.TableNodes, chainstore.Place{Segment: segment, Seq: c.seq}))
		r, present, err := layout.ParseRow(rows[key])
		if err != nil || !present {
			t.Fatalf("there is no row %x: %v", key, err)
		}
		h, err := r.Header.Decode(c.seq)
		if err != nil {
			t.Fatal(err)
		}
		c.spoil(h)
		r.Header = chainstore.AppendHeader(nil, h)
		rewrite(t, s, map[string]commit.Write{key: {Value: layout.AppendRow(nil, &r)}})
		found := problems(t, s, "default", goldenCompactionJudge)
		if c.found == "" && found != nil || c.found != "" && !slices.ContainsFunc(found, func(what string) bool {
			return strings.Contains(what, c.found)
		}) {
			t.Errorf("%s: verify found %q, want %q", c.name, found, c.found)
		}
		rewrite(t, s, map[string]commit.Write{key: {Value: rows[key]}})
	}
}
