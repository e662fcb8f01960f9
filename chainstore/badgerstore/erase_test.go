package badgerstore

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/commit"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
	"github.com/transcriptd/transcriptd/chainstore/internal/cache"
	"github.com/transcriptd/transcriptd/chainstore/storetest"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// foundNode is a copy of a node that is there.
func foundNode(tb testing.TB, s *Store, id chainstore.ID) (n chainstore.FoundNode) {
	tb.Helper()
	err := s.Nodes(context.Background(), testNamespace, []chainstore.ID{id}, func(found *chainstore.FoundNode) error {
		n = *found
		n.Payload, n.Metadata, n.Details = bytes.Clone(found.Payload), bytes.Clone(found.Metadata), bytes.Clone(found.Details)
		return nil
	})
	if err != nil || n.Header == nil {
		tb.Fatalf("node %v is not there: %v", id, err)
	}
	return n
}

// erasing is what is to be left of a node that is there.
func erasing(tb testing.TB, s *Store, id chainstore.ID) chainstore.ErasedNode {
	tb.Helper()
	n := foundNode(tb, s, id)
	return storetest.Simple().Erase(n.Header, n.Payload, n.Metadata, func(int) bool { return true })
}

func erase(tb testing.TB, s *Store, ids ...chainstore.ID) {
	tb.Helper()
	var nodes []chainstore.ErasedNode
	for _, id := range ids {
		nodes = append(nodes, erasing(tb, s, id))
	}
	if n, err := s.Erase(context.Background(), testNamespace, nodes); err != nil || n != len(ids) {
		tb.Fatalf("%d of %d nodes were erased, %v", n, len(ids), err)
	}
}

// TestErasureIsAFeature: the first erasure names it in the store's header, as required, and in the same commit; no other change does.
func TestErasureIsAFeature(t *testing.T) {
	s := openStore(t, Options{})
	ids := put(t, s, node(nil, "x"), node(nil, "y"))
	if features := s.Info().Features; len(features) > 0 {
		t.Errorf("before anything is erased it has %q", features)
	}
	for range 2 {
		before := s.source.Versions.Last()
		erase(t, s, ids[0].ID)
		h, err := layout.ParseStoreHeader(allRows(t, s)[string(headerKey)])
		if err != nil || !slices.Equal(h.Required, []string{"erasure"}) || !slices.Equal(h.Optional, []string{"purges"}) || !slices.Equal(s.Info().Features, h.Features()) {
			t.Errorf("it has %q, its header %+v, %v", s.Info().Features, h, err)
		}
		if commits := s.source.Versions.Last() - before; commits != 1 {
			t.Errorf("an erasure took %d commits", commits)
		}
		ids = ids[1:]
	}
	mustBeClean(t, s)
}

// TestErasureLeavesNoRow: no row has what was erased, whole or in pieces, and the pieces of a long payload are gone.
func TestErasureLeavesNoRow(t *testing.T) {
	s := openStore(t, Options{})
	long := strings.Repeat("a canary sings ", 60_000)
	first := put(t, s, node(nil, long))[0].ID
	second := put(t, s, node(&first, "a canary", "so"))[0].ID
	before := len(allRows(t, s))
	erase(t, s, first, second)
	rows := allRows(t, s)
	for key, value := range rows {
		if bytes.Contains(value, []byte("canary")) {
			t.Errorf("a row of table %c has what was erased", key[layout.KeyPrefix-1])
		}
	}
	if pieces := layout.ChunksOf(len(long)); len(rows) != before-pieces+3 { // receipts, and what is to leave the files
		t.Errorf("there are %d rows, and were %d, %d of them pieces", len(rows), before, pieces)
	}
}

// TestVerifyKnowsReceipts: a node that was erased has a receipt, a receipt is of one that was erased or is not there, and where there are
// receipts the counters have erasures.
func TestVerifyKnowsReceipts(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(v *spoilt)
		want  string
	}{
		"no receipt":              {func(v *spoilt) { v.rows[string(v.receipt(v.ids[0]))] = commit.Write{Deleted: true} }, "it was erased, and has no receipt"},
		"a receipt too many":      {func(v *spoilt) { v.rows[string(v.receipt(v.ids[2]))] = commit.Write{Value: []byte("r")} }, "it has a receipt, and was not erased"},
		"a receipt of none":       {func(v *spoilt) { v.rows[string(v.receipt(chainstore.ID{1}))] = commit.Write{Value: []byte("r")} }, ""},
		"a key too long":          {func(v *spoilt) { v.rows[string(v.receipt(v.ids[0]))+"x"] = commit.Write{Value: []byte("r")} }, "a key of table Q does not parse"},
		"no erasures":             {func(v *spoilt) { v.count(0) }, "the counters have no erasures, and there are receipts"},
		"another digest":          {func(v *spoilt) { v.header(v.ids[0], func(h *chainstore.Header) { h.Erased.PayloadDigest[0] ^= 1 }) }, "its bytes give another id"},
		"another length":          {func(v *spoilt) { v.header(v.ids[0], func(h *chainstore.Header) { h.Messages[0].Was++ }) }, "its header differs from what follows from its bytes and its parent"},
		"another counted payload": {func(v *spoilt) { v.header(v.ids[0], func(h *chainstore.Header) { h.Erased.PayloadLength++ }) }, "the counters differ from what there is"},
	} {
		t.Run(name, func(t *testing.T) {
			s := openStore(t, Options{})
			v := &spoilt{t: t, s: s, rows: map[string]commit.Write{}}
			for _, n := range put(t, s, node(nil, "x"), node(nil, "y"), node(nil, "z")) {
				v.ids = append(v.ids, n.ID)
			}
			erase(t, s, v.ids[:2]...)
			mustBeClean(t, s)
			v.namespace = layout.FirstNamespace
			c.spoil(v)
			if err := s.write(s.source.Versions.Last()+1, v.rows); err != nil {
				t.Fatal(err)
			}
			s.source.Caches.Forget(s.source.Versions.Last(), &cache.Forgotten{Namespace: v.namespace, From: map[uint64]uint32{1: 0, 2: 0, 3: 0}})
			found := problems(t, s, testNamespace, storetest.Simple().Judge)
			if c.want == "" && found == nil || slices.ContainsFunc(found, func(what string) bool { return strings.Contains(what, c.want) && c.want != "" }) {
				return
			}
			t.Errorf("verify found %q, want %q", found, c.want)
		})
	}
}

// spoilt are rows that a test writes past the store.
type spoilt struct {
	t         *testing.T
	s         *Store
	namespace uint32
	ids       []chainstore.ID
	rows      map[string]commit.Write
}

func (v *spoilt) receipt(id chainstore.ID) []byte { return layout.ReceiptKey(v.namespace, id) }

// count writes another number of erasures.
func (v *spoilt) count(erasures uint64) {
	key := string(layout.CountersKey(v.namespace))
	c, err := layout.ParseCounters(allRows(v.t, v.s)[key])
	if err != nil {
		v.t.Fatal(err)
	}
	c.Erasures = erasures
	v.rows[key] = commit.Write{Value: layout.AppendCounters(nil, &c)}
}

// header writes another header of a node.
func (v *spoilt) header(id chainstore.ID, change func(*chainstore.Header)) {
	rows := allRows(v.t, v.s)
	at, err := layout.ParsePlaceValue(rows[string(layout.IDKey(v.namespace, id))], layout.TableIDs)
	if err != nil {
		v.t.Fatal(err)
	}
	key := string(layout.PlaceKey(v.namespace, layout.TableNodes, at))
	row, _, err := layout.ParseRow(rows[key])
	if err != nil {
		v.t.Fatal(err)
	}
	h, err := row.Header.Decode(at.Seq)
	if err != nil {
		v.t.Fatal(err)
	}
	change(h)
	row.Header = chainstore.AppendHeader(nil, h)
	v.rows[key] = commit.Write{Value: layout.AppendRow(nil, &row)}
}

// TestRederivedErasures: what follows from nodes that were erased is made again of what is left of them, and they stay erased.
func TestRederivedErasures(t *testing.T) {
	dir := t.TempDir()
	s := openAt(t, dir, Options{})
	n := storetest.Simple().Make(storetest.Node{
		Messages: []storetest.Message{{Role: runloop.Assistant, Text: "x", Calls: []runloop.Call{{ID: runloop.Some("1")}}}, {Role: runloop.Tool, CallID: runloop.Some("1"), Text: "y"}},
		Metadata: []storetest.Entry{{Key: "var/x", Value: "1"}, {Key: "run/end", Value: "failed"}},
	})
	first := put(t, s, n)[0].ID
	second := put(t, s, node(&first, "z"))[0].ID
	erase(t, s, first, second)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openAt(t, dir, Options{}) // nothing is being committed
	before, err := s.Erasures(t.Context(), testNamespace)
	if err != nil {
		t.Fatal(err)
	}
	want := allRows(t, s)
	spoils := map[string]commit.Write{}
	for key := range want {
		if table := key[layout.KeyPrefix-1]; strings.ContainsRune("IRUVC", rune(table)) {
			spoils[key] = commit.Write{Deleted: true}
		}
	}
	if len(spoils) != 6 {
		t.Errorf("%d rows are to be made again", len(spoils))
	}
	if err := s.write(s.source.Versions.Last()+1, spoils); err != nil {
		t.Fatal(err)
	}
	err = s.rederive(context.Background(), chainstore.Check{Namespace: testNamespace}, storetest.Simple().Judge, func(chainstore.VerifyReport) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	counters := string(layout.CountersKey(layout.FirstNamespace))
	if keys := differing(allRows(t, s), want); !slices.Equal(keys, []string{counters}) { // the number of the erasures is another one
		t.Errorf("rows %q are not as they were", keys)
	}
	if erasures, err := s.Erasures(t.Context(), testNamespace); err != nil || erasures <= before {
		t.Errorf("%d erasures, %v", erasures, err)
	}
	mustBeClean(t, s)
}

// TestErasesInEarlierFormats: nodes that earlier versions wrote are erased, keep the version of their headers and their folds, and are found in order.
func TestErasesInEarlierFormats(t *testing.T) {
	eachFormat(t, func(t *testing.T, format int) {
		for name, judge := range map[string]chainstore.Judge{goldenArchive(format): goldenJudge, goldenCompactions(format): goldenCompactionJudge} {
			dir := t.TempDir()
			unpack(t, name, dir)
			s := openAt(t, dir, Options{Now: (&goldenClock{}).now})
			point, err := s.Point(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			nodes, _, err := s.ExportNodes(t.Context(), testNamespace, chainstore.ExportSpan{Through: point}, nil, 1<<30)
			if err != nil || len(nodes) < 10 {
				t.Fatalf("%s: %d nodes, %v", name, len(nodes), err)
			}
			var left []chainstore.ErasedNode
			for i := range nodes {
				left = append(left, goldenErasure(t, &nodes[i], judge))
			}
			if n, err := s.Erase(t.Context(), testNamespace, left); err != nil || n != len(nodes) {
				t.Fatalf("%s: %d of %d nodes were erased, %v", name, n, len(nodes), err)
			}
			found := problems(t, s, testNamespace, func(h *chainstore.Header, payload, metadata []byte, parent, covers *chainstore.ID) (chainstore.Judgement, error) {
				is, err := judge(h, payload, metadata, parent, covers)
				is.ID = h.Erased.PayloadDigest // see goldenErasure
				return is, err
			})
			if found != nil {
				t.Errorf("%s: verify found %q", name, found)
			}
			for i := range nodes {
				was, is := nodes[i].Header, foundNode(t, s, nodes[i].Header.ID).Header
				if is.Version1 != (format == 1) || is.Erased == nil || !reflect.DeepEqual(is.State, was.State) || is.FirstPut != was.FirstPut {
					t.Errorf("%s: node %d is %+v, and was %+v", name, i, is, was)
				}
			}
		}
	})
}

// goldenErasure is what is to be left of a golden node. The golden encoding has no digests: the id stands for both.
func goldenErasure(t *testing.T, n *chainstore.ExportedNode, judge chainstore.Judge) chainstore.ErasedNode {
	was, err := judge(n.Header, n.Payload, n.Metadata, n.Parent, n.Covers)
	if err != nil {
		t.Fatal(err)
	}
	out := chainstore.ErasedNode{ID: n.Header.ID, PayloadDigest: n.Header.ID, Variables: was.Variables, Receipt: []byte("r")}
	for line := range strings.Lines(string(n.Payload)) {
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatal(err)
		}
		f := &was.Messages[len(out.Facts)]
		if out.Facts = append(out.Facts, *f); m["Text"] != nil && !f.Summary && !f.Made && !f.LeftOutLine && !f.Partial && !f.Opaque { // which the text tells
			m["Text"] = "erased"
		}
		marker, _ := json.Marshal(m)
		out.Payload = append(append(out.Payload, marker...), '\n')
	}
	is, err := judge(n.Header, out.Payload, nil, n.Parent, n.Covers)
	if err != nil {
		t.Fatal(err)
	}
	out.Facts = is.Messages
	return out
}

// TestErasuresAreAlone: what erases is in a batch of its own, whatever waits beside it, so that nothing of its batch has what is known of the nodes, and
// no change that is refused takes back what caches are to forget.
func TestErasuresAreAlone(t *testing.T) {
	for name, erases := range map[string]func(s *Store, id chainstore.ID, left chainstore.ErasedNode) error{
		"erased": func(s *Store, _ chainstore.ID, left chainstore.ErasedNode) error {
			_, err := s.Erase(context.Background(), testNamespace, []chainstore.ErasedNode{left})
			return err
		},
		"put as erased": func(s *Store, id chainstore.ID, left chainstore.ErasedNode) error {
			_, err := s.Commit(context.Background(), testNamespace, &chainstore.Change{Nodes: []chainstore.NewNode{{
				Identify: func(*chainstore.ID) chainstore.ID { return id }, Payload: left.Payload, Messages: left.Facts, Receipt: left.Receipt,
				Erased: &chainstore.Erased{PayloadDigest: left.PayloadDigest, PayloadLength: 100},
			}}})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := openStore(t, Options{})
			id := put(t, s, node(nil, "a canary"))[0].ID
			foundNode(t, s, id)
			left := erasing(t, s, id)
			// While the first batch is written, the others gather behind it.
			began, goes := make(chan struct{}), make(chan struct{})
			durable, batches := s.committer.Durable, 0
			s.committer.Durable = func(w map[string]commit.Write, ts uint64) error {
				if batches++; batches == 1 {
					close(began)
					<-goes
				}
				return durable(w, ts)
			}
			var all sync.WaitGroup
			errs := make([]error, 5)
			change := func(i int, does func() error) {
				all.Go(func() { errs[i] = does() })
				if i == 0 {
					<-began
					return
				}
				waitFor(t, func() bool { return queuedIn(s) == i })
			}
			puts := func(n chainstore.NewNode) func() error {
				return func() error {
					_, err := s.Commit(context.Background(), testNamespace, &chainstore.Change{Nodes: []chainstore.NewNode{n}})
					return err
				}
			}
			change(0, puts(node(nil, "first")))
			change(1, puts(node(nil, "before")))
			change(2, func() error { return erases(s, id, left) })
			change(3, puts(node(&chainstore.ID{1}, "of no parent")))
			change(4, puts(node(nil, "behind")))
			close(goes)
			all.Wait()
			if err := errors.Join(errs[0], errs[1], errs[2], errs[4]); err != nil || !errors.Is(errs[3], chainstore.ErrParentNotFound) || batches != 4 {
				t.Errorf("%v, %v, in %d batches", err, errs[3], batches)
			}
			if n := foundNode(t, s, id); n.Header.Erased == nil || bytes.Contains(n.Payload, []byte("canary")) {
				t.Errorf("the node is %s, %+v", n.Payload, n.Header)
			}
			mustBeClean(t, s)
		})
	}
}

// queuedIn is how many requests wait.
func queuedIn(s *Store) int {
	s.committer.Waiting.Mu.Lock()
	defer s.committer.Waiting.Mu.Unlock()
	return s.committer.Waiting.Requests.Len()
}
