package badgerstore

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/commit"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
	"github.com/transcriptd/transcriptd/chainstore/storetest"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	"github.com/transcriptd/transcriptd/internal/badgerdb"
	"github.com/transcriptd/transcriptd/internal/badgerdb/canary"
)

// promptly is a purger that does not wait for more, and soon tries again.
func promptly() Options {
	return Options{MemtableBytes: 4 << 20, purges: purgeTimes{
		gather: time.Nanosecond, held: 20 * time.Second, kept: 5 * time.Second, drop: time.Minute, again: 10 * time.Millisecond, longest: 100 * time.Millisecond, alone: time.Nanosecond,
	}}
}

// What is to be found nowhere: in texts, of all roles, in metadata, salts, and details.
const canaryText = "a canary sings "

// singing is a chain of nodes that have canaries in all that an erasure takes, one of them in pieces.
func singing(tb testing.TB, s chainstore.Store, chat string) (ids []chainstore.ID) {
	tb.Helper()
	say := func(role runloop.Role, what string) storetest.Message {
		return storetest.Message{
			Role: role, Text: canaryText + chat + what,
			Detail: chainstore.Detail{Model: "m", Attributes: []chainstore.Attribute{{Key: "a", Value: canaryText + "of a detail"}}},
		}
	}
	calling, result := say(runloop.Assistant, "of a call"), say(runloop.Tool, "of a result")
	calling.Calls, result.CallID = []runloop.Call{{ID: runloop.Some("1"), Name: runloop.Some("tool")}}, runloop.Some("1")
	for i, messages := range [][]storetest.Message{
		{say(runloop.System, "of a system")}, {say(runloop.User, "of a user")}, {calling}, {result},
		{say(runloop.Assistant, strings.Repeat(canaryText, 40_000))}, {say(runloop.User, "at the end")},
	} {
		n := storetest.Node{Messages: messages, Metadata: []storetest.Entry{{Key: "subject", Value: canaryText + "of metadata"}}, Salt: []byte(canaryText)}
		if i > 0 {
			n.Parent = chainstore.Parent{Kind: chainstore.ParentID, ID: ids[i-1]}
		}
		ids = append(ids, put(tb, s, storetest.Simple().Make(n))[0].ID)
	}
	return ids
}

// purged waits until receipts say that nodes are out of the files.
func purged(tb testing.TB, s *Store, ids ...chainstore.ID) {
	tb.Helper()
	for _, id := range ids {
		waitFor(tb, func() bool {
			r, err := s.Receipt(context.Background(), testNamespace, id)
			if err != nil {
				tb.Fatal(err)
			}
			return r.PurgedAt > 0
		})
	}
}

// sung are where the files of a store have canaries.
func sung(tb testing.TB, s *Store, key []byte) []canary.Hit {
	tb.Helper()
	hits, err := canary.Search(s.dir, key, []byte(canaryText))
	if err != nil {
		tb.Fatal(err)
	}
	return hits
}

func mustBeSilent(tb testing.TB, s *Store, key []byte) {
	tb.Helper()
	if hits := sung(tb, s, key); len(hits) > 0 {
		tb.Fatalf("%d times what was erased is in the files: %v", len(hits), hits[0])
	}
}

// TestPurge: what was erased leaves tables and logs, and receipts tell when; what else there is stays as it is.
func TestPurge(t *testing.T) {
	for name, key := range map[string][]byte{"plain": nil, "encrypted": testKey(1)} {
		t.Run(name, func(t *testing.T) {
			dir, o := t.TempDir(), promptly()
			o.EncryptionKey = key
			s := openAt(t, dir, o)
			kept := put(t, s, node(nil, "what stays", noise(5000)))[0].ID
			ids := singing(t, s, "chat ")
			if len(sung(t, s, key)) == 0 {
				t.Fatal("no canary was found before")
			}
			before := time.Now().UnixMilli()
			erase(t, s, ids...)
			purged(t, s, ids...)
			r, err := s.Receipt(t.Context(), testNamespace, ids[0])
			if err != nil || r.PurgedAt < before || r.PurgedAt > time.Now().UnixMilli() {
				t.Errorf("the receipt %+v, %v", r.PurgedAt, err)
			}
			mustBeSilent(t, s, key)
			if p, err := s.Purging(t.Context()); err != nil || p != (chainstore.Purging{}) {
				t.Errorf("%+v is to leave, %v", p, err)
			}
			waitFor(t, func() bool { m := s.Metrics(); return m.Purges > 0 && m.PurgeNodes == 0 && m.PurgeSince == 0 })
			for _, id := range ids {
				mustBeErased(t, s, id.String())
			}
			if n := foundNode(t, s, kept); !bytes.Contains(n.Payload, []byte("what stays")) {
				t.Error("what was not erased is gone")
			}
			soundAll(t, s)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = openAt(t, dir, o)
			if again, err := s.Receipt(t.Context(), testNamespace, ids[0]); err != nil || again.PurgedAt != r.PurgedAt {
				t.Errorf("opened again, it says %v, %v", again.PurgedAt, err)
			}
			soundAll(t, s)
			mustBeSilent(t, s, key)
		})
	}
}

// TestPurgeOfLabels: what aliases had as labels leaves tables and logs, also of those that were deleted, forgotten or labelled anew; longer names are left alone.
func TestPurgeOfLabels(t *testing.T) {
	for name, alone := range map[string]bool{"beside others": false, "alone": true} {
		t.Run(name, func(t *testing.T) {
			o := promptly()
			o.onlyPublic = alone
			s := openAt(t, t.TempDir(), o)
			id := put(t, s, node(nil, "what stays"))[0].ID
			set := func(name string, labels map[string]string) {
				t.Helper()
				change := chainstore.AliasChange{Name: name, SetLabels: true, Labels: labels}
				if labels == nil {
					change.Target, change.SetLabels = chainstore.Target{Kind: chainstore.TargetNone}, false
				} else {
					change.Target = chainstore.Target{Kind: chainstore.TargetRef, Ref: chainstore.Ref{ID: id}}
				}
				if _, err := s.Commit(t.Context(), testNamespace, &chainstore.Change{Aliases: []chainstore.AliasChange{change}}); err != nil {
					t.Fatal(err)
				}
			}
			sings, other := map[string]string{"name": canaryText}, map[string]string{"name": "another"}
			set("a", sings)
			set("deleted", sings)
			set("deleted", nil)
			set("forgotten", sings)
			changeAlias(t, s, chainstore.AliasChange{Name: "forgotten", Target: chainstore.Target{Kind: chainstore.TargetNone}, Forget: true})
			set("anew", sings)
			set("anew", other)
			for _, longer := range []string{"ab", "a/b", "anew/b"} {
				set(longer, other)
			}
			if err := s.Reclaim(t.Context()); err != nil && !alone {
				t.Fatal(err)
			}
			set("a", other)
			set("a", sings)
			had, err := s.EraseLabels(t.Context(), testNamespace, []string{"a", "deleted", "forgotten", "anew", "never", "a"})
			if err != nil || had != 2 {
				t.Fatalf("%d had labels, %v", had, err)
			}
			waitFor(t, func() bool {
				p, err := s.Purging(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				return p == chainstore.Purging{}
			})
			mustBeSilent(t, s, nil)
			for _, longer := range []string{"ab", "a/b", "anew/b"} {
				a, err := s.Alias(t.Context(), testNamespace, longer)
				if err != nil || a.Labels["name"] != "another" {
					t.Errorf("%s: %v, %v", longer, a, err)
				}
			}
			for name, revision := range map[string]int64{"a": 4, "anew": 3} {
				a, err := s.Alias(t.Context(), testNamespace, name)
				if err != nil || len(a.Labels) > 0 || a.Node != id || a.Revision < revision {
					t.Errorf("%s: %+v, %v", name, a, err)
				}
			}
			soundAll(t, s)
		})
	}
}

// TestPurgeOfLabelsSetAnew: aliases that are labelled anew before the purge stay, also where that is more than a log takes.
func TestPurgeOfLabelsSetAnew(t *testing.T) {
	o := promptly()
	o.noPurges = true
	s := openAt(t, t.TempDir(), o)
	id := put(t, s, node(nil, "x"))[0].ID
	label := func(name string, labels map[string]string) {
		t.Helper()
		changeAlias(t, s, chainstore.AliasChange{
			Name: name, Target: chainstore.Target{Kind: chainstore.TargetRef, Ref: chainstore.Ref{ID: id}}, SetLabels: true, Labels: labels,
		})
	}
	var names []string
	for i := range 64 {
		names = append(names, fmt.Sprintf("a%04d", i))
		label(names[i], map[string]string{"name": canaryText})
	}
	if _, err := s.EraseLabels(t.Context(), testNamespace, names); err != nil {
		t.Fatal(err)
	}
	for i, name := range names {
		labels := map[string]string{}
		for j := range 64 {
			labels[fmt.Sprint("k", j)] = noiseOf(uint64(i*64+j), 3000)
		}
		label(name, labels)
	}
	o.noPurges = false
	s.startPurges(&o)
	waitPurged(t, s)
	mustBeSilent(t, s, nil)
	for _, name := range names {
		if a, err := s.Alias(t.Context(), testNamespace, name); err != nil || len(a.Labels) != 64 {
			t.Fatalf("%s is lost: %v", name, err)
		}
	}
	soundAll(t, s)
}

// TestPurgeOfWhatIsDeletedToo: nothing stays of what was erased, or labelled anew, where its namespace is deleted before the purge.
func TestPurgeOfWhatIsDeletedToo(t *testing.T) {
	for name, alone := range map[string]bool{"beside others": false, "alone": true} {
		t.Run(name, func(t *testing.T) {
			o := promptly()
			o.noPurges, o.onlyPublic = true, alone
			s := openAt(t, t.TempDir(), o)
			ids := whole(t, s)
			erase(t, s, ids[1])
			if _, err := s.EraseLabels(t.Context(), testNamespace, []string{"x"}); err != nil {
				t.Fatal(err)
			}
			changeAlias(t, s, chainstore.AliasChange{
				Name: "x", Target: chainstore.Target{Kind: chainstore.TargetRef, Ref: chainstore.Ref{ID: ids[5]}}, SetLabels: true, Labels: map[string]string{"k": canaryText},
			})
			deleteWhole(t, s)
			o.noPurges = false
			s.startPurges(&o)
			waitPurged(t, s)
			mustBeSilent(t, s, nil)
			if rows := left(t, s, 1); len(rows) > 0 {
				t.Errorf("%d rows are left, one is %q", len(rows), rows[0])
			}
			soundAll(t, s)
		})
	}
}

// TestPurgedOfAnErasurePutAgain: a node that was erased, collected and put again as it was erased is told as purged no sooner than it is.
func TestPurgedOfAnErasurePutAgain(t *testing.T) {
	o := promptly()
	o.noPurges = true
	s := openAt(t, t.TempDir(), o)
	id := put(t, s, node(nil, canaryText))[0].ID
	left, size := erasing(t, s, id), len(foundNode(t, s, id).Payload)
	erase(t, s, id)
	collected(t, s, chainstore.Collection{}, nil)
	if _, err := s.Commit(t.Context(), testNamespace, &chainstore.Change{Nodes: []chainstore.NewNode{{
		Identify: func(*chainstore.ID) chainstore.ID { return id }, Payload: left.Payload, Messages: left.Facts, Receipt: left.Receipt,
		Erased: &chainstore.Erased{PayloadDigest: left.PayloadDigest, PayloadLength: size},
	}}}); err != nil {
		t.Fatal(err)
	}
	if r, err := s.Receipt(t.Context(), testNamespace, id); err != nil || r.PurgedAt != 0 {
		t.Errorf("before it is purged the receipt says %d, %v", r.PurgedAt, err)
	}
	o.noPurges = false
	s.startPurges(&o)
	purged(t, s, id)
	mustBeSilent(t, s, nil)
	soundAll(t, s)
}

// TestPurgeBeside: with writers at full speed, and a read that is held open for a while, no acknowledged row is lost.
func TestPurgeBeside(t *testing.T) {
	s := openAt(t, t.TempDir(), promptly())
	ids := singing(t, s, "chat ")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var wg sync.WaitGroup
	tips := make([]chainstore.ID, 4)
	for w := range tips {
		tips[w] = put(t, s, node(nil, fmt.Sprint("writer ", w)))[0].ID
		wg.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				out, err := s.Commit(context.Background(), testNamespace, &chainstore.Change{Nodes: []chainstore.NewNode{node(&tips[w], fmt.Sprint(i), noiseOf(uint64(i%20), 100_000))}})
				if err != nil {
					t.Error(err)
					return
				}
				tips[w] = out.Nodes[0].ID
			}
		})
	}
	held, err := s.source.Open(layout.OwnNamespace)
	if err != nil {
		t.Fatal(err)
	}
	cur := held.Iterate(layout.TableKey(1, layout.TableNodes))
	cur.Seek(layout.TableKey(1, layout.TableNodes))
	erase(t, s, ids...)
	waitFor(t, func() bool { return s.Metrics().PurgeNodes > 0 })
	if r, err := s.Receipt(t.Context(), testNamespace, ids[0]); err != nil || r.PurgedAt != 0 {
		t.Errorf("while a read may see it, the receipt says %v, %v", r.PurgedAt, err)
	}
	cur.Close()
	held.Close()
	purged(t, s, ids...)
	for round := range 4 { // while logs are filled
		more := singing(t, s, fmt.Sprint("chat ", round))
		erase(t, s, more...)
		purged(t, s, more...)
		ids = append(ids, more...)
	}
	stop()
	wg.Wait()
	mustBeSilent(t, s, nil)
	for _, id := range ids {
		mustBeErased(t, s, id.String())
	}
	for _, tip := range tips {
		if _, err := s.Chain(t.Context(), testNamespace, chainstore.Ref{ID: tip}, nil); err != nil {
			t.Error(err)
		}
	}
	soundAll(t, s)
}

// TestPurgeGivesUpOnAHeldRead: where a read stays open it fails, tells so, and goes on when the read is closed; until then that finds all that it may
// see, be it from before the erasure or behind it.
func TestPurgeGivesUpOnAHeldRead(t *testing.T) {
	for _, before := range []bool{true, false} {
		o := promptly()
		o.purges.held, o.purges.kept, o.noPurges = 300*time.Millisecond, 300*time.Millisecond, true
		s := openAt(t, t.TempDir(), o)
		ids := singing(t, s, "chat ")
		if !before {
			erase(t, s, ids...)
		}
		held, err := s.source.Open(layout.OwnNamespace)
		if err != nil {
			t.Fatal(err)
		}
		closeHeld := sync.OnceFunc(held.Close)
		t.Cleanup(closeHeld) // else the store would not be closed
		if before {
			erase(t, s, ids...)
		}
		o.noPurges = false
		s.startPurges(&o)
		waitFor(t, func() bool { return s.Metrics().PurgeFailures > 0 })
		for _, purge := range leavingOf(t, s) {
			for _, key := range purge.Prefixes() {
				if value, found, err := held.Get(key); !found || err != nil || before != bytes.Contains(value, []byte(canaryText)) {
					t.Errorf("the read finds of %q: %v, %v", key, found, err)
				}
			}
		}
		put(t, s, node(nil, "others write"))
		closeHeld()
		purged(t, s, ids...)
		mustBeSilent(t, s, nil)
	}
}

// TestPurgeOfCopies: of a compaction node the messages that are erased leave the files, one by one, and the others stay.
func TestPurgeOfCopies(t *testing.T) {
	s := openAt(t, t.TempDir(), promptly())
	ids := conversation(t, s, "chat", 3)
	copies := compacting(chainstore.Parent{Kind: chainstore.ParentID, ID: ids[6]}, ids[4], said(runloop.System, canaryText+"1"), said(runloop.User, canaryText+"2"), said(runloop.User, "what stays"))
	id := put(t, s, copies)[0].ID
	for i := range 2 {
		n := foundNode(t, s, id)
		one := storetest.Simple().Erase(n.Header, n.Payload, n.Metadata, func(k int) bool { return k == i })
		if erased, err := s.Erase(t.Context(), testNamespace, []chainstore.ErasedNode{one}); erased != 1 || err != nil {
			t.Fatalf("%d nodes were erased, %v", erased, err)
		}
		purged(t, s, id)
		hits, err := canary.Search(s.dir, nil, fmt.Append(nil, canaryText, i+1))
		if err != nil || len(hits) > 0 {
			t.Errorf("%v, %v", hits, err)
		}
	}
	mustBeSilent(t, s, nil)
	if n := foundNode(t, s, id); !bytes.Contains(n.Payload, []byte("what stays")) || bytes.Contains(n.Payload, []byte(canaryText)) {
		t.Error("the messages are not what should be left")
	}
	soundAll(t, s)
}

// TestPurgeOfCollected: of a node that was collected before it was purged nothing stays, and its receipt tells so.
func TestPurgeOfCollected(t *testing.T) {
	o := promptly()
	o.noPurges = true
	s := openAt(t, t.TempDir(), o)
	ids := singing(t, s, "chat ")
	commitAliases(t, s, setAlias("kept", ids[1], chainstore.Condition{}))
	erase(t, s, ids...)
	collected(t, s, chainstore.Collection{}, nil)
	o.noPurges = false
	s.startPurges(&o)
	purged(t, s, ids...)
	mustBeSilent(t, s, nil)
	soundAll(t, s)
	mustBeErased(t, s, ids[1].String())
	if _, err := s.Chain(t.Context(), testNamespace, chainstore.Ref{ID: ids[2]}, nil); err == nil {
		t.Error("what was collected is there")
	}
}

// TestPurgeWhenOpened: what was erased before a store was closed leaves when it is opened, and not where it is opened for reading alone.
func TestPurgeWhenOpened(t *testing.T) {
	dir, o := t.TempDir(), promptly()
	o.noPurges = true
	s := openAt(t, dir, o)
	ids := singing(t, s, "chat ")
	erase(t, s, ids[:2]...)
	erase(t, s, ids[2:]...)
	if p, err := s.Purging(t.Context()); err != nil || p.Nodes != int64(len(ids)) || p.Since == 0 || p.Namespaces != 0 {
		t.Errorf("%+v is to leave, %v", p, err)
	}
	soundAll(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	ro := openAt(t, dir, Options{ReadOnly: true, purges: o.purges})
	if p, err := ro.Purging(t.Context()); err != nil || p.Nodes != int64(len(ids)) || ro.purger != nil {
		t.Errorf("opened for reading, %+v is to leave, %v", p, err)
	}
	if err := ro.Close(); err != nil {
		t.Fatal(err)
	}
	o.noPurges = false
	s = openAt(t, dir, o)
	purged(t, s, ids...)
	mustBeSilent(t, s, nil)
	soundAll(t, s)
}

// TestPurgeAlone: a database that drops while all others wait comes to the same.
func TestPurgeAlone(t *testing.T) {
	o := promptly()
	o.noPurges, o.onlyPublic = true, true
	s := openAt(t, t.TempDir(), o)
	ids := singing(t, s, "chat ")
	commitAliases(t, s, setAlias("kept", ids[4], chainstore.Condition{}))
	erase(t, s, ids...)
	collected(t, s, chainstore.Collection{}, nil)
	o.noPurges = false
	s.startPurges(&o)
	purged(t, s, ids...)
	mustBeSilent(t, s, nil)
	for _, id := range ids[:5] {
		mustBeErased(t, s, id.String())
	}
	soundAll(t, s)
}

// TestPurgesAreOfParts: more than is done at once goes in several purges, and the receipt of each waits for all of its erasure.
func TestPurgesAreOfParts(t *testing.T) {
	s := openAt(t, t.TempDir(), promptly())
	var ids []chainstore.ID
	for from := 0; from < 2200; from += 100 {
		var nodes []chainstore.NewNode
		for i := from; i < from+100; i++ {
			nodes = append(nodes, node(nil, fmt.Sprint(canaryText, i)))
		}
		for _, n := range put(t, s, nodes...) {
			ids = append(ids, n.ID)
		}
	}
	for some := range slices.Chunk(ids, chainstore.MaxErased) {
		erase(t, s, some...)
	}
	purged(t, s, ids[0], ids[len(ids)/2], ids[len(ids)-1])
	mustBeSilent(t, s, nil)
	soundAll(t, s)
}

// TestPurgeAloneThatFails: where not all is saved that a drop takes, nothing is dropped, and nothing stays of what was to stand for it.
func TestPurgeAloneThatFails(t *testing.T) {
	o := promptly()
	o.noPurges, o.onlyPublic, o.MemtableBytes = true, true, 4<<20
	s := openAt(t, t.TempDir(), o)
	ids := singing(t, s, "chat ")
	erase(t, s, ids...)
	collected(t, s, chainstore.Collection{}, nil)
	name := func(i int) string { return fmt.Sprint(i, strings.Repeat("n", 20_000)) } // so that what is written takes several commits
	var long layout.Purge
	for i := range 40 {
		long.Names = append(long.Names, name(i))
	}
	long.Kind, long.Namespace, long.Number = layout.PurgeLabels, 1, 1<<40
	log, err := s.committer.Turn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	write, want, fault := s.committer.Beside, allRows(t, s), fmt.Errorf("%w: for a test", chainstore.ErrDiskFull)
	for fails := 1; ; fails++ { // the committer rests
		n, failed := 0, false
		s.committer.Beside = func(ts uint64, fill func(*badgerdb.Batch) error) error {
			if n++; n == fails {
				failed = true
				return &badgerdb.Unwritten{Err: fault}
			}
			return write(ts, fill)
		}
		err := s.committer.DropAlone(t.Context(), log, append(leavingOf(t, s), long))
		if errors.Is(err, chainstore.ErrFailed) { // what is put again: the next start does that
			if fails < 4 {
				t.Errorf("what is saved takes %d commits", fails-1)
			}
			break
		}
		if !failed || !errors.Is(err, fault) {
			t.Fatal(err)
		}
		if keys := differing(allRows(t, s), want); len(keys) > 0 {
			t.Fatalf("%d rows are not as they were once write %d failed: %.80q", len(keys), fails, keys[0])
		}
	}
}

// TestTakeBack: what was saved, dropped and not put again when the process ended is put back when the store is opened.
func TestTakeBack(t *testing.T) {
	dir := t.TempDir()
	s := openAt(t, dir, Options{})
	ids := singing(t, s, "chat ")
	erase(t, s, ids...)
	rows := map[string]commit.Write{}
	for key, value := range allRows(t, s) {
		if key[layout.KeyPrefix-1] == layout.TableNodes {
			rows[string(layout.SavedKey([]byte(key)))] = commit.Write{Value: layout.SavedValue(value)}
			rows[key] = commit.Write{Deleted: true}
		}
	}
	stray := layout.PlaceKey(1, layout.TableNodes, chainstore.Place{Segment: 77})
	rows[string(stray)], rows[string(layout.SavedKey(stray))] = commit.Write{Value: []byte{}}, commit.Write{Value: layout.SavedValue(nil)}
	want := allRows(t, s)
	if err := s.write(s.source.Versions.Last()+1, rows); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openAt(t, dir, Options{})
	if keys := differing(allRows(t, s), want); len(keys) > 0 {
		t.Errorf("rows %q are not as they were", keys)
	}
	soundAll(t, s)
}

// TestPutBack: rows that are gone once a log was not kept are committed again, and others stay as they are.
func TestPutBack(t *testing.T) {
	s := openAt(t, t.TempDir(), Options{MemtableBytes: 4 << 20})
	ids := singing(t, s, "chat ")
	erase(t, s, ids...)
	want := allRows(t, s)
	purges := leavingOf(t, s)
	again, err := s.committer.WriteAgain(t.Context(), purges)
	if err != nil {
		t.Fatal(err)
	}
	again.Release()
	lost := map[string]commit.Write{}
	for _, prefix := range purges[0].Prefixes()[:2] {
		lost[string(prefix)] = commit.Write{Deleted: true}
	}
	if err := s.write(s.source.Versions.Last()+1, lost); err != nil {
		t.Fatal(err)
	}
	if n, err := s.committer.PutBack(t.Context(), again); n != len(lost) || err != nil {
		t.Errorf("%d of %d rows were put back, %v", n, len(lost), err)
	}
	got := allRows(t, s)
	for key := range want {
		if key[layout.KeyPrefix-1] == layout.TableNodes && got[key] == nil {
			t.Errorf("row %q is gone", key)
		}
	}
	mustBeClean(t, s)
}

func leavingOf(t *testing.T, s *Store) (all []layout.Purge) {
	t.Helper()
	v, err := s.source.Open(layout.OwnNamespace)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	if err := leaving(t.Context(), v, func(p layout.Purge) { all = append(all, p) }); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestPurgeOfANamespace: of a namespace that is purged as a whole nothing stays, under its number or in the files.
func TestPurgeOfANamespace(t *testing.T) {
	for _, alone := range []bool{false, true} {
		o := promptly()
		o.noPurges, o.onlyPublic = true, alone
		s := openAt(t, t.TempDir(), o)
		singing(t, s, "chat ")
		p := layout.Purge{Number: s.source.Versions.Last() + 1, Kind: layout.PurgeNamespace, At: 1, Namespace: 1}
		if err := s.write(p.Number, map[string]commit.Write{string(p.Key()): {Value: p.Value()}}); err != nil {
			t.Fatal(err)
		}
		if sum, err := s.Purging(t.Context()); err != nil || sum != (chainstore.Purging{Namespaces: 1, Since: 1}) {
			t.Errorf("%+v is to leave, %v", sum, err)
		}
		o.noPurges = false
		s.startPurges(&o)
		s.purger.tell()
		waitFor(t, func() bool { sum, err := s.Purging(t.Context()); return err == nil && sum == chainstore.Purging{} })
		mustBeSilent(t, s, nil)
		for key := range allRows(t, s) {
			if layout.NamespaceOf(key) == 1 {
				t.Errorf("key %q is there", key)
			}
		}
	}
}

// TestVerifyKnowsPurges: rows of what is to leave the files, and the key that receipts are signed with, are checked.
func TestVerifyKnowsPurges(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(rows map[string]commit.Write)
		want  string
	}{
		"a part that cannot be read": {func(rows map[string]commit.Write) {
			p := layout.Purge{Number: 1, Namespace: 1}
			rows[string(p.Key())] = commit.Write{Value: p.Value()}
		}, "a value of table J"},
		"a time that cannot be read": {func(rows map[string]commit.Write) { rows[string(layout.PurgedKey(1))] = commit.Write{Value: []byte{}} }, "a value of table J"},
		"a saved row without a value": {func(rows map[string]commit.Write) {
			rows[string(layout.SavedKey([]byte("k")))] = commit.Write{Value: []byte{2}}
		}, "a value of table J"},
		"another state": {func(rows map[string]commit.Write) {
			rows[string(append(layout.PurgesSaved()[:layout.KeyPrefix], 9))] = commit.Write{Value: []byte{1}}
		}, "a key of table J"},
		"no key to sign with": {func(rows map[string]commit.Write) { rows[string(layout.SigningKey())] = commit.Write{Deleted: true} }, "the key that receipts are signed with"},
		"half a key to sign with": {func(rows map[string]commit.Write) {
			rows[string(layout.SigningKey())] = commit.Write{Value: make([]byte, 16)}
		}, "the key that receipts are signed with"},
	} {
		t.Run(name, func(t *testing.T) {
			s := openStore(t, Options{})
			erase(t, s, put(t, s, node(nil, "x"))[0].ID)
			if _, err := s.SigningKey(t.Context()); err != nil {
				t.Fatal(err)
			}
			soundAll(t, s)
			rows := map[string]commit.Write{}
			c.spoil(rows)
			if err := s.write(s.source.Versions.Last()+1, rows); err != nil {
				t.Fatal(err)
			}
			var found []string
			err := s.Verify(t.Context(), chainstore.Check{WholeStore: true}, storetest.Simple().Judge, func(r chainstore.VerifyReport) error {
				for _, p := range r.Problems {
					found = append(found, p.What)
				}
				return nil
			})
			if err != nil || len(found) != 1 || !strings.Contains(found[0], c.want) {
				t.Errorf("verify found %q, want %q, %v", found, c.want, err)
			}
			if _, err := s.SigningKey(t.Context()); strings.Contains(c.want, "signed") && !errors.Is(err, chainstore.ErrCorrupt) {
				t.Errorf("another key is drawn: %v", err)
			}
		})
	}
}

// TestPurgesAreNotExported: what was only committed again is of no later span, and what was erased in a span is of that.
func TestPurgesAreNotExported(t *testing.T) {
	s := openAt(t, t.TempDir(), promptly())
	ids := singing(t, s, "chat ")
	put := pointOf(t, s)
	erase(t, s, ids...)
	erased := pointOf(t, s)
	purged(t, s, ids...)
	for _, c := range []struct {
		span chainstore.ExportSpan
		want int
	}{
		{chainstore.ExportSpan{Through: put}, len(ids)}, {chainstore.ExportSpan{After: put, Through: erased}, len(ids)},
		{chainstore.ExportSpan{After: erased, Through: pointOf(t, s)}, 0},
	} {
		nodes, _, err := s.ExportNodes(t.Context(), testNamespace, c.span, nil, 1<<30)
		if err != nil || len(nodes) != c.want {
			t.Errorf("%d nodes of %+v, want %d, %v", len(nodes), c.span, c.want, err)
		}
	}
}

func pointOf(t *testing.T, s *Store) chainstore.Point {
	t.Helper()
	p, err := s.Point(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestPurgesGoFirst: a Reclaim that is under way rests for a purge, and goes on behind it; one that begins meanwhile waits.
func TestPurgesGoFirst(t *testing.T) {
	m, steps := newMerges(), make(chan string)
	done := make(chan error)
	go func() {
		done <- m.reclaim(t.Context(), func(ctx context.Context) error {
			steps <- "reclaim"
			select {
			case <-ctx.Done():
				return ctx.Err()
			case steps <- "end":
				return nil
			}
		})
	}()
	<-steps
	end, err := m.purge(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	select {
	case what := <-steps:
		t.Errorf("%q beside a purge", what)
	default:
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := m.reclaim(gone, func(context.Context) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	end()
	if first, last := <-steps, <-steps; first != "reclaim" || last != "end" {
		t.Errorf("then %q and %q", first, last)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestContractOfAPurgingStore runs what erases, and random programs, while all that is erased is purged at once.
func TestContractOfAPurgingStore(t *testing.T) {
	skip := map[storetest.Category]string{}
	for _, c := range []storetest.Category{
		storetest.RoundTrip, storetest.Retries, storetest.Conditions, storetest.Restore, storetest.Elsewhere, storetest.Mixed, storetest.Batches,
		storetest.Revisions, storetest.Aliases, storetest.Lists, storetest.ListReach, storetest.History, storetest.Forks, storetest.LongChains,
		storetest.Limits, storetest.Children, storetest.Namespaces, storetest.Contexts, storetest.Judging, storetest.Closing, storetest.Reopening,
		storetest.Linearizable, storetest.Reads, storetest.TokenKeys, storetest.Settings, storetest.Quotas, storetest.Signing,
	} {
		skip[c] = "TestContract runs it"
	}
	storetest.Run(t, storetest.Config{
		Open: func(tb testing.TB, o storetest.Options) chainstore.Store {
			options := promptly()
			options.Now, options.MemtableBytes = o.Now, 8<<20
			dir := tb.TempDir()
			mustHaveForgotten(tb, dir, options)
			return purging{openAt(tb, dir, options), tb}
		},
		Model: model, PutOrder: true, Skip: skip,
	})
}

// purging is a store that can be waited for; see storetest.Purger.
type purging struct {
	*Store
	tb testing.TB
}

// Purged waits.
func (p purging) Purged() { waitPurged(p.tb, p.Store) }

// mustHaveForgotten opens a store again at the end of a test, lets it purge what there is to purge, and finds no row of a namespace that was deleted.
func mustHaveForgotten(tb testing.TB, dir string, o Options) {
	tb.Cleanup(func() {
		s := openAt(tb, dir, o)
		waitPurged(tb, s)
		mustHaveNoneOfTheGone(tb, s)
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
}

// mustHaveNoneOfTheGone finds no row of a namespace that was deleted, and tells how many were.
func mustHaveNoneOfTheGone(tb testing.TB, s *Store) int {
	tb.Helper()
	rows, gone := allRows(tb, s), map[uint32]bool{}
	for key := range rows {
		if bytes.HasPrefix([]byte(key), layout.TableKey(layout.OwnNamespace, layout.TableGone)) {
			number, err := layout.ParseGoneKey([]byte(key))
			if err != nil {
				tb.Fatal(err)
			}
			gone[number] = true
		}
	}
	for key := range rows {
		if gone[layout.NamespaceOf(key)] {
			tb.Errorf("row %q is left of a namespace that was deleted, of %d", key, len(gone))
		}
	}
	return len(gone)
}

// purgeDirectory tells the child process where to write.
const purgeDirectory = "BADGERSTORE_PURGE_DIRECTORY"

// TestPurgeKilled kills a process that writes, erases and purges, again and again: all that it acknowledged is there, or erased, and purged in
// the end.
func TestPurgeKilled(t *testing.T) {
	dir, erased, tips := t.TempDir(), []chainstore.ID{}, map[string]chainstore.ID{}
	for cycle := range *crashCycles {
		child := exec.Command(os.Args[0], "-test.run=^TestPurgeChild$")
		child.Env, child.Stderr = append(os.Environ(), purgeDirectory+"="+dir, crashCycle+"="+strconv.Itoa(cycle)), os.Stderr
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		lines, purges := bufio.NewScanner(out), 0
		for lines.Scan() {
			what, hex, _ := strings.Cut(lines.Text(), " = ")
			if what == "purging" {
				if purges++; purges == 2 { // in the middle, sooner or later
					time.AfterFunc(time.Duration(cycle*13%150)*time.Millisecond, func() { _ = child.Process.Kill() })
				}
			} else if id, err := chainstore.ParseID(hex); err == nil && what == "erased" {
				erased = append(erased, id)
			} else if err == nil {
				tips[what] = id
			}
		}
		if err := child.Wait(); err == nil {
			t.Fatal("the child ended by itself")
		}
		s := openAt(t, dir, promptly())
		if left := stillSinging(t, s); len(left) > 0 { // put, and not erased any more
			erase(t, s, left...)
			erased = append(erased, left...)
		}
		purged(t, s, erased...)
		mustBeSilent(t, s, nil)
		for _, id := range erased {
			mustBeErased(t, s, id.String())
		}
		for who, id := range tips {
			if _, err := s.Chain(t.Context(), testNamespace, chainstore.Ref{ID: id}, nil); err != nil {
				t.Fatalf("of %s: %v", who, err)
			}
		}
		soundAll(t, s)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// stillSinging are the nodes that have canaries.
func stillSinging(t *testing.T, s *Store) (ids []chainstore.ID) {
	t.Helper()
	nodes, _, err := s.ExportNodes(t.Context(), testNamespace, chainstore.ExportSpan{Through: pointOf(t, s)}, nil, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	for i := range nodes {
		if bytes.Contains(nodes[i].Payload, []byte(canaryText)) {
			ids = append(ids, nodes[i].Header.ID)
		}
	}
	return ids
}

// TestPurgeChild is the child process of TestPurgeKilled.
func TestPurgeChild(t *testing.T) {
	dir := os.Getenv(purgeDirectory)
	if dir == "" {
		t.Skip("it is the child process of TestPurgeKilled")
	}
	s := openAt(t, dir, promptly())
	for w := range 2 {
		go func() {
			who := fmt.Sprint("writer ", os.Getenv(crashCycle), w)
			tip := put(t, s, node(nil, who))[0].ID
			for i := 0; ; i++ {
				tip = put(t, s, node(&tip, fmt.Sprint(i), noiseOf(uint64(i), 10_000)))[0].ID
				fmt.Printf("%s = %s\n", who, tip)
			}
		}()
	}
	for i := 0; ; i++ {
		ids := singing(t, s, fmt.Sprintf("chat %s of cycle %d ", os.Getenv(crashCycle), i))
		erase(t, s, ids...)
		for _, id := range ids {
			fmt.Printf("erased = %s\n", id)
		}
		fmt.Println("purging = ")
		purged(t, s, ids...)
	}
}

// TestSigningKeyOfAReadOnlyStore: opened for reading, a store has the key that it has, and draws none.
func TestSigningKeyOfAReadOnlyStore(t *testing.T) {
	for _, drawn := range []bool{true, false} {
		dir := t.TempDir()
		s := openAt(t, dir, Options{})
		put(t, s, node(nil, "x"))
		var want chainstore.Secret
		if drawn {
			var err error
			if want, err = s.SigningKey(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = openAt(t, dir, Options{ReadOnly: true})
		got, err := s.SigningKey(t.Context())
		if drawn != (err == nil) || got != want {
			t.Errorf("drawn before: %v; that it is the same: %v, %v", drawn, got == want, err)
		}
	}
}
