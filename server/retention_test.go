package server_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/memstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/testserver"
	"github.com/transcriptd/transcriptd/server"
	"github.com/transcriptd/transcriptd/server/internal/retention"
)

// later are rigs whose server's clock runs ahead of its store's by as much as is told.
type laterRig struct {
	*rig
	ahead *atomic.Int64
}

func laterRigs(t *testing.T, f func(laterRig)) {
	bothEngines(t, func(r *rig) {
		ahead := &atomic.Int64{}
		s := testserver.StartWith(r.T, r.store, server.Config{Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }})
		r.Stack, r.TranscriptServiceClient, r.admin = s, transcriptv1.NewTranscriptServiceClient(s.Conn), transcriptv1.NewAdminServiceClient(s.Conn)
		f(laterRig{r, ahead})
	})
}

func (r *rig) retain(rules ...*transcriptv1.RetentionRule) *transcriptv1.SetNamespaceResponse {
	r.Helper()
	return must[*transcriptv1.SetNamespaceResponse](r)(r.admin.SetNamespace(r.ctx(), &transcriptv1.SetNamespaceRequest{
		Settings: &transcriptv1.NamespaceSettings{Retention: rules},
	}))
}

func expires(prefix string, ttl time.Duration) *transcriptv1.RetentionRule {
	return &transcriptv1.RetentionRule{AliasPrefix: prefix, Ttl: durationpb.New(ttl)}
}

func held(prefix string) *transcriptv1.RetentionRule {
	return &transcriptv1.RetentionRule{AliasPrefix: prefix, LegalHold: true}
}

func (r *rig) names() (names []string) {
	r.Helper()
	for _, a := range must[*transcriptv1.ListAliasesResponse](r)(r.ListAliases(r.ctx(), &transcriptv1.ListAliasesRequest{})).Aliases {
		names = append(names, a.Name)
	}
	return names
}

func (r *rig) collectsNow(dryRun bool) *transcriptv1.CollectGarbageResponse {
	r.Helper()
	return must[*transcriptv1.CollectGarbageResponse](r)(r.collected(&transcriptv1.CollectGarbageRequest{DryRun: dryRun, Grace: durationpb.New(0)}))
}

// TestAliasesExpire: an alias goes once its ttl has passed since its head changed, with its history and what it alone kept, by the rule of its
// longest prefix; a hold keeps it, and a deleted one is forgotten.
func TestAliasesExpire(t *testing.T) {
	laterRigs(t, func(r laterRig) {
		heads := map[string]string{}
		for _, name := range []string{"tmp/a", "tmp/b", "tmp/keep/c", "tmp/long/d", "chat", "tmp/gone"} {
			heads[name] = r.chain(name, user(name), assistant("yes"))[1]
		}
		must[*transcriptv1.DeleteAliasResponse](r.rig)(r.DeleteAlias(r.ctx(), &transcriptv1.DeleteAliasRequest{Name: "tmp/gone"}))
		set := r.retain(expires("tmp/long/", 100*time.Hour), expires("tmp/", time.Hour), expires("tmp/keep/", 0))
		equal(r.rig, "the first rule, sorted", set.Settings.Retention[0].AliasPrefix, "tmp/")

		r.ahead.Store(int64(30 * time.Minute))
		equal(r.rig, "the number of aliases that expire too soon", r.collectsNow(false).AliasesExpired, 0)
		r.ahead.Store(int64(2 * time.Hour))
		r.point("tmp/a", heads["tmp/a"], "label")
		equal(r.rig, "the number of aliases that would expire", r.collectsNow(true).AliasesExpired, 3)
		equal(r.rig, "the number of aliases behind a dry run", len(r.names()), 5)

		told := r.collectsNow(false)
		equal(r.rig, "the number of aliases that expired", told.AliasesExpired, 3)
		equal(r.rig, "the number of nodes that nothing kept then", told.Nodes, 6)
		equal(r.rig, "the aliases left", fmt.Sprint(r.names()), "[chat tmp/keep/c tmp/long/d]")
		for _, name := range []string{"tmp/a", "tmp/gone"} {
			_, err := r.ListAliasHistory(r.ctx(), &transcriptv1.ListAliasHistoryRequest{Name: name})
			r.fails(err, codes.NotFound, "ALIAS_NOT_FOUND", "name")
		}
		r.ahead.Store(int64(200 * time.Hour))
		r.retain(expires("", time.Hour), held("chat"))
		told = r.collectsNow(false)
		equal(r.rig, "the number of aliases that expired of all", told.AliasesExpired, 2)
		equal(r.rig, "the number of nodes deleted under a hold", told.Nodes, 0)
		equal(r.rig, "the namespaces held", told.NamespacesHeld, 1)
		equal(r.rig, "the aliases left", fmt.Sprint(r.names()), "[chat]")
		r.retain(expires("", time.Hour))
		equal(r.rig, "the number of aliases that expired once the hold was lifted", r.collectsNow(false).AliasesExpired, 1)
		r.clean("")
	})
}

// TestManyAliasesExpire: more than are read at once, and more than a commit deletes.
func TestManyAliasesExpire(t *testing.T) {
	laterRigs(t, func(r laterRig) {
		id := r.put("", user("one"))
		for i := 0; i < 2100; i += 100 {
			change := &chainstore.Change{}
			for j := range 100 {
				change.Aliases = append(change.Aliases, chainstore.AliasChange{
					Name: fmt.Sprintf("x/%04d", i+j), Target: chainstore.Target{Kind: chainstore.TargetRef, Ref: chainstore.Ref{ID: storeID(t, id)}},
				})
			}
			must[*chainstore.Committed](r.rig)(r.store.Commit(r.ctx(), "default", change))
		}
		r.retain(expires("x", time.Minute))
		r.ahead.Store(int64(time.Hour))
		equal(r.rig, "the number of aliases that expired", r.collectsNow(false).AliasesExpired, 2100)
		equal(r.rig, "the number of aliases left", len(r.names()), 0)
	})
}

func storeID(t *testing.T, id string) chainstore.ID {
	t.Helper()
	parsed, err := chainstore.ParseID(id)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// TestExpiryLeavesWhatChanged: an alias that moves between its listing and its deletion stays.
func TestExpiryLeavesWhatChanged(t *testing.T) {
	store := &movesMeanwhile{Store: memstore.New(memstore.Options{})}
	r := newRig(t, store)
	for _, name := range []string{"a", "b"} {
		r.chain(name, user("one"), assistant("two"))
	}
	r.retain(expires("", time.Minute))
	keeper := retention.NewKeeper(store)
	store.before = func() { r.point("a", r.put("", user("three"))) }
	expired, err := keeper.Expire(t.Context(), "default", time.Now().Add(time.Hour), false, func(int64) error { return nil })
	if err != nil || expired != 1 {
		t.Errorf("%d expired, %v", expired, err)
	}
	equal(r, "the aliases left", fmt.Sprint(r.names()), "[a]")
	store.before = func() { r.retain(expires("", time.Minute), held("a")) }
	if expired, err = keeper.Expire(t.Context(), "default", time.Now().Add(time.Hour), false, func(int64) error { return nil }); err != nil || expired != 0 {
		t.Errorf("%d expired under a hold, %v", expired, err)
	}
}

// movesMeanwhile does something behind each page of aliases, once.
type movesMeanwhile struct {
	chainstore.Store
	before func()
}

func (s *movesMeanwhile) Aliases(ctx context.Context, ns string, q chainstore.AliasQuery) ([]chainstore.Alias, *chainstore.AliasCursor, error) {
	page, next, err := s.Store.Aliases(ctx, ns, q)
	if before := s.before; before != nil {
		s.before = nil
		before()
	}
	return page, next, err
}

// holdsSeen counts those who have a Hold.
type holdsSeen struct {
	movesMeanwhile
	holds atomic.Int32
}

func (s *holdsSeen) Hold(ctx context.Context) (func(), error) {
	release, err := s.movesMeanwhile.Hold(ctx)
	s.holds.Add(1)
	return sync.OnceFunc(func() { s.holds.Add(-1); release() }), err
}

func (s *holdsSeen) Commit(ctx context.Context, ns string, change *chainstore.Change) (*chainstore.Committed, error) {
	if len(change.Aliases) > 0 && change.Aliases[0].Condition.Revision > 0 && s.holds.Load() == 0 {
		return nil, errors.New("the revision may be that of an alias of another namespace of the name")
	}
	return s.movesMeanwhile.Commit(ctx, ns, change)
}

// TestListedAliasesAreOfOneNamespace: between a list of aliases and their deletion the namespace is not deleted and begun anew.
func TestListedAliasesAreOfOneNamespace(t *testing.T) {
	store := &holdsSeen{movesMeanwhile: movesMeanwhile{Store: memstore.New(memstore.Options{})}}
	r := newRig(t, store)
	for _, name := range []string{"old/1", "old/2", "chat/1"} {
		r.chain(name, user(name))
	}
	must[*transcriptv1.DeleteAliasResponse](r)(r.DeleteAlias(r.ctx(), &transcriptv1.DeleteAliasRequest{Name: "old/2"}))
	r.retain(expires("old/", time.Hour))
	expired, err := retention.NewKeeper(store).Expire(t.Context(), "default", time.Now().Add(2*time.Hour), false, func(int64) error { return nil })
	if err != nil || expired != 2 {
		t.Errorf("%d expired, %v", expired, err)
	}
	must[*transcriptv1.DeleteAliasesResponse](r)(r.DeleteAliases(r.ctx(), &transcriptv1.DeleteAliasesRequest{Scope: &transcriptv1.DeleteAliasesRequest_All{All: true}}))
	equal(r, "the aliases", fmt.Sprint(r.names()), "[]")
	equal(r, "who holds yet", store.holds.Load(), 0)
}

// TestLegalHold: what is held is not forgotten, and nothing goes in its namespace, until the hold is lifted.
func TestLegalHold(t *testing.T) {
	bothEngines(t, func(r *rig) {
		for _, name := range []string{"case/1", "case/2", "chat"} {
			r.chain(name, user(name), assistant("yes"))
		}
		r.put("", user("alone"))
		must[*transcriptv1.DeleteAliasResponse](r)(r.DeleteAlias(r.ctx(), &transcriptv1.DeleteAliasRequest{Name: "case/2"}))
		r.retain(held("case/"))
		for _, name := range []string{"case/1", "case/2", "case/never"} {
			_, err := r.DeleteAlias(r.ctx(), &transcriptv1.DeleteAliasRequest{Name: name, ForgetHistory: true})
			r.fails(err, codes.FailedPrecondition, "LEGAL_HOLD", "name")
		}
		for _, dryRun := range []bool{true, false} {
			_, err := r.DeleteAliases(r.ctx(), &transcriptv1.DeleteAliasesRequest{Scope: &transcriptv1.DeleteAliasesRequest_Prefix{Prefix: "c"}, ForgetHistory: true, DryRun: dryRun})
			r.fails(err, codes.FailedPrecondition, "LEGAL_HOLD", "prefix")
			_, err = r.DeleteAliases(r.ctx(), &transcriptv1.DeleteAliasesRequest{Scope: &transcriptv1.DeleteAliasesRequest_All{All: true}, ForgetHistory: true, DryRun: dryRun})
			r.fails(err, codes.FailedPrecondition, "LEGAL_HOLD", "all")
		}
		equal(r, "the aliases", fmt.Sprint(r.names()), "[case/1 chat]")
		for _, scope := range []transcriptv1.Scope{transcriptv1.Scope_SCOPE_NAMESPACE, transcriptv1.Scope_SCOPE_STORE} {
			for _, dryRun := range []bool{true, false} {
				told := must[*transcriptv1.CollectGarbageResponse](r)(r.collected(&transcriptv1.CollectGarbageRequest{Scope: scope, Grace: durationpb.New(0), DryRun: dryRun}))
				equal(r, "the number of nodes deleted under a hold", told.Nodes, 0)
				equal(r, "the number of namespaces held", told.NamespacesHeld, 1)
			}
		}
		must[*transcriptv1.DeleteAliasResponse](r)(r.DeleteAlias(r.ctx(), &transcriptv1.DeleteAliasRequest{Name: "case/1"}))
		must[*transcriptv1.DeleteAliasResponse](r)(r.DeleteAlias(r.ctx(), &transcriptv1.DeleteAliasRequest{Name: "chat", ForgetHistory: true}))
		r.retain()
		must[*transcriptv1.DeleteAliasResponse](r)(r.DeleteAlias(r.ctx(), &transcriptv1.DeleteAliasRequest{Name: "case/1", ForgetHistory: true}))
		told := r.collectsNow(false)
		equal(r, "the number of nodes deleted once the hold is lifted", told.Nodes, 5)
		equal(r, "the number of namespaces held", told.NamespacesHeld, 0)
	})
}

// TestHoldReaches: a node is held that a held alias reaches by its head or its past, over forks; others are not.
func TestHoldReaches(t *testing.T) {
	bothEngines(t, func(r *rig) {
		trunk := r.chain("trunk", user("one"), assistant("two"), user("three"), assistant("four"))
		fork := r.put(trunk[1], user("fork"))
		behind := r.put(fork, assistant("behind"))
		past := r.chain("case/past", user("past"), assistant("gone"))
		r.point("case/past", fork)
		deleted := r.chain("case/deleted", user("deleted"), assistant("gone"))
		must[*transcriptv1.DeleteAliasResponse](r)(r.DeleteAlias(r.ctx(), &transcriptv1.DeleteAliasRequest{Name: "case/deleted"}))
		r.retain(held("case/"))
		keeper := retention.NewKeeper(r.store)
		for id, want := range map[string]bool{
			trunk[0]: true, trunk[1]: true, trunk[2]: false, trunk[3]: false, fork: true, behind: false, past[0]: true, past[1]: true, deleted[1]: true, absent: false,
		} {
			at := -1
			erasing := keeper.Erasing("default", func(i int) string { at = i; return "" })
			err := erasing.Check(r.ctx(), []chainstore.ID{storeID(r.T, absent), storeID(r.T, id)}, nil)
			if err != nil != want || (at == 1) != want || want && !errors.Is(err, retention.ErrHeld) {
				r.Errorf("of %s the place is %d, %v, want that it is held: %v", id, at, err, want)
			}
			erasing.End()
		}
	})
}

// TestHoldEndsACollection: a collection under way deletes nothing once a hold is set.
func TestHoldEndsACollection(t *testing.T) {
	store := &setsHold{Store: memstore.New(memstore.Options{})}
	r := newRig(t, store)
	r.put("", user("dead"))
	store.before = func() { r.retain(held("")) }
	told := r.collectsNow(false)
	equal(r, "the number of nodes deleted", told.Nodes, 0)
	equal(r, "the number of namespaces held", told.NamespacesHeld, 1)
}

// setsHold does something before a collection begins.
type setsHold struct {
	chainstore.Store
	before func()
}

func (s *setsHold) Collect(ctx context.Context, ns string, c chainstore.Collection, report func(chainstore.Collected) error) error {
	s.before()
	return s.Store.Collect(ctx, ns, c, report)
}

// TestRulesChangeWhileNothingGoes: who changes rules waits for what takes something away by those of before.
func TestRulesChangeWhileNothingGoes(t *testing.T) {
	keeper := retention.NewKeeper(memstore.New(memstore.Options{}))
	changed, order := make(chan error), make(chan string, 2)
	err := keeper.Delete(t.Context(), "x", func(retention.Rules) error { return nil }, func() error {
		began := make(chan struct{})
		go func() {
			close(began)
			changed <- keeper.Change(t.Context(), func() error { order <- "changed"; return nil })
		}()
		<-began
		order <- "deleted"
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-changed; err != nil {
		t.Fatal(err)
	}
	if first, second := <-order, <-order; first != "deleted" || second != "changed" {
		t.Errorf("first %s, then %s", first, second)
	}
}

// TestHoldRefusesAnErasure: what a held alias reaches is not erased, and nothing else of the same call is, a dry run tells so too; the rest may go.
func TestHoldRefusesAnErasure(t *testing.T) {
	bothEngines(t, func(r *rig) {
		trunk := r.chain("trunk", user("one"), assistant("two"), user("three"), assistant("four"))
		r.point("case/1", trunk[1])
		alone := r.put("", user("alone"))
		r.retain(held("case/"))
		for kind, req := range map[string]*transcriptv1.EraseRequest{
			"nodes":        {Selector: &transcriptv1.EraseRequest_Nodes{Nodes: &transcriptv1.NodeSelector{Ids: []string{alone, trunk[3], trunk[0]}}}},
			"alias_prefix": {Selector: &transcriptv1.EraseRequest_AliasPrefix{AliasPrefix: "trunk"}},
		} {
			for _, dryRun := range []bool{true, false} {
				req.SharedRoots, req.DryRun = transcriptv1.SharedRoots_SHARED_ROOTS_ERASE, dryRun
				r.fails(r.erasesNow(req), codes.FailedPrecondition, "LEGAL_HOLD", kind)
			}
		}
		for _, id := range append(trunk, alone) {
			equal(r, "that a node is erased", r.isErasedNow(id), false)
		}
		req := &transcriptv1.EraseRequest{
			Selector: &transcriptv1.EraseRequest_Nodes{Nodes: &transcriptv1.NodeSelector{Ids: []string{alone, trunk[3]}}}, SharedRoots: transcriptv1.SharedRoots_SHARED_ROOTS_ERASE,
		}
		if err := r.erasesNow(req); err != nil {
			r.Error(err)
		}
		equal(r, "that what is not held is erased", r.isErasedNow(trunk[3]) && r.isErasedNow(alone), true)

		// Nor does an archive in which it is erased take it away.
		if err := r.putArchived("there", r.archivedNodes("default")...); err != nil {
			r.Fatal(err)
		}
		req = &transcriptv1.EraseRequest{
			Namespace: "there", SharedRoots: transcriptv1.SharedRoots_SHARED_ROOTS_ERASE,
			Selector: &transcriptv1.EraseRequest_Nodes{Nodes: &transcriptv1.NodeSelector{Ids: []string{trunk[0], trunk[2]}}},
		}
		if err := r.erasesNow(req); err != nil {
			r.Fatal(err)
		}
		archived := r.archivedNodes("there")
		r.fails(r.putArchived("default", archived...), codes.FailedPrecondition, "LEGAL_HOLD", "nodes[0].erasure")
		equal(r, "that what an alias that is held reaches is erased", r.isErasedNow(trunk[0]), false)
		r.retain()
		if err := r.putArchived("default", archived...); err != nil {
			r.Error(err)
		}
		equal(r, "that it is erased without a hold", r.isErasedNow(trunk[0]), true)
		r.retain(held("case/"))
		if err := r.putArchived("default", archived...); err != nil {
			r.Errorf("what is erased already: %v", err)
		}
	})
}

// setsMeanwhile does something behind a look at aliases, and behind one at nodes.
type setsMeanwhile struct {
	movesMeanwhile
	behindNodes func()
}

func (s *setsMeanwhile) Nodes(ctx context.Context, ns string, ids []chainstore.ID, yield func(*chainstore.FoundNode) error) error {
	err := s.movesMeanwhile.Nodes(ctx, ns, ids, yield)
	s.behindNodes()
	return err
}

// TestHoldOfAnAliasSetMeanwhile: an alias that is set under a held prefix while an erasure looks keeps what it reaches, and so does one of a hold that
// is set then.
func TestHoldOfAnAliasSetMeanwhile(t *testing.T) {
	for _, when := range []string{"behind the look at aliases", "behind the look at nodes", "by a hold set then", "deleted again", "by a restore"} {
		store := &setsMeanwhile{movesMeanwhile: movesMeanwhile{Store: memstore.New(memstore.Options{})}, behindNodes: func() {}}
		r := newRig(t, store)
		chain := r.chain("chat", user("said"), assistant("so"))
		r.chain("case/other", user("another"))
		switch when {
		case "behind the look at aliases":
			store.before = func() { r.point("case/1", chain[1]) }
		case "behind the look at nodes":
			store.behindNodes = sync.OnceFunc(func() { r.point("case/1", chain[1]) })
		case "deleted again":
			store.behindNodes = sync.OnceFunc(func() {
				r.point("case/1", chain[1])
				must[*transcriptv1.DeleteAliasResponse](r)(r.DeleteAlias(r.ctx(), &transcriptv1.DeleteAliasRequest{Name: "case/1"}))
			})
		case "by a restore":
			store.behindNodes = sync.OnceFunc(func() {
				id := storeID(t, chain[1])
				must[*transcriptv1.RestoreResponse](r)(r.admin.Restore(r.ctx(), &transcriptv1.RestoreRequest{Aliases: []*transcriptv1.ArchiveAlias{{
					Name: "case/1", Revision: 1, States: []*transcriptv1.ArchiveAliasState{{Revision: 1, Node: id[:], BeganAt: timestamppb.New(time.Now())}},
				}}}))
			})
		default:
			store.behindNodes = sync.OnceFunc(func() { r.retain(held("case/"), held("chat")) })
		}
		r.retain(held("case/"))
		err := r.erasesNow(&transcriptv1.EraseRequest{
			Selector: &transcriptv1.EraseRequest_Nodes{Nodes: &transcriptv1.NodeSelector{Ids: []string{chain[1]}}}, SharedRoots: transcriptv1.SharedRoots_SHARED_ROOTS_ERASE,
		})
		if err == nil || r.isErasedNow(chain[1]) {
			t.Errorf("%s: %v", when, err)
			continue
		}
		r.fails(err, codes.FailedPrecondition, "LEGAL_HOLD", "nodes")
	}
}

// settledMeanwhile does something behind a look at settings.
type settledMeanwhile struct {
	chainstore.Store
	behind func()
}

func (s *settledMeanwhile) Settings(ctx context.Context, ns string) (chainstore.SettingsNow, error) {
	now, err := s.Store.Settings(ctx, ns)
	s.behind()
	return now, err
}

// TestErasureLooksAgain: a hold that is set behind the look of an erasure keeps what it holds.
func TestErasureLooksAgain(t *testing.T) {
	store := &settledMeanwhile{Store: memstore.New(memstore.Options{}), behind: func() {}}
	r := newRig(t, store)
	id := storeID(t, r.chain("case/1", user("said"))[0])
	erasing := retention.NewKeeper(store).Erasing("default", func(int) string { return "" })
	defer erasing.End()
	store.behind = sync.OnceFunc(func() {
		store.behind = func() {}
		r.retain(held("case/"))
	})
	err := erasing.Erase(t.Context(), []chainstore.ID{id}, func() error { t.Error("it is erased"); return nil })
	equal(r, "that it is held", errors.Is(err, retention.ErrHeld), true)
}

// TestAliasesWaitForAnErasure: no alias of a namespace with a hold is set while an erasure is committed there, whoever changes rules waits, too, and nobody
// waits longer than he may.
func TestAliasesWaitForAnErasure(t *testing.T) {
	store := memstore.New(memstore.Options{})
	keeper := retention.NewKeeper(store)
	r := newRig(t, store)
	chain := r.chain("chat", user("said"))
	r.retain(held("case/"))
	gated, id := keeper.Gated(store), storeID(t, chain[0])
	sets := &chainstore.Change{Aliases: []chainstore.AliasChange{{Name: "case/1", Target: chainstore.Target{Kind: chainstore.TargetRef, Ref: chainstore.Ref{ID: id}}}}}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	late, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancel()
	erasing := keeper.Erasing("default", func(int) string { return "" })
	defer erasing.End()
	err := erasing.Erase(t.Context(), []chainstore.ID{id}, func() error {
		_, err := gated.Commit(late, "default", sets)
		equal(r, "that it waits in vain", errors.Is(err, chainstore.ErrOverloaded), true)
		_, err = gated.Restore(ended, "default", &chainstore.Restored{Aliases: []chainstore.ExportedAlias{{Name: "case/1"}}})
		equal(r, "that it is canceled", errors.Is(err, context.Canceled), true)
		err = keeper.Change(late, func() error { t.Error("rules change meanwhile"); return nil })
		equal(r, "that rules wait in vain", err != nil, true)
		_, err = gated.Commit(t.Context(), "default", &chainstore.Change{Aliases: []chainstore.AliasChange{{Name: "chat", Target: chainstore.Target{Kind: chainstore.TargetNone}}}})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := gated.Commit(t.Context(), "default", sets); err != nil {
		t.Fatal(err)
	}
	if err := erasing.Erase(t.Context(), []chainstore.ID{id}, func() error { t.Error("it is erased"); return nil }); !errors.Is(err, retention.ErrHeld) {
		t.Errorf("what was set since is held: %v", err)
	}
}

// erasesNow runs an erasure to its end.
func (r *rig) erasesNow(req *transcriptv1.EraseRequest) error {
	r.Helper()
	stream, err := r.admin.Erase(r.ctx(), req)
	for err == nil {
		_, err = stream.Recv()
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func (r *rig) isErasedNow(id string) bool {
	r.Helper()
	_, err := r.store.Receipt(r.ctx(), "default", storeID(r.T, id))
	return err == nil
}

// TestHoldRefusesARestore: an archive does not take the history of a held alias away; one that has all of it goes on.
func TestHoldRefusesARestore(t *testing.T) {
	bothEngines(t, func(r *rig) {
		evidence, other := r.chain("case/1", user("evidence"), assistant("yes")), r.chain("other", user("nothing"))
		r.retain(held("case/"))
		id := storeID(r.T, other[0])
		over := func(name string) error {
			_, err := r.admin.Restore(r.ctx(), &transcriptv1.RestoreRequest{Aliases: []*transcriptv1.ArchiveAlias{{
				Name: name, Revision: 1 << 40, States: []*transcriptv1.ArchiveAliasState{{Revision: 1 << 40, Node: id[:], BeganAt: timestamppb.New(time.Unix(4e9, 0))}},
			}}})
			return err
		}
		r.fails(over("case/1"), codes.FailedPrecondition, "LEGAL_HOLD", "aliases[0].states")
		equal(r, "the head", must[*transcriptv1.ResolveAliasResponse](r)(r.ResolveAlias(r.ctx(), &transcriptv1.ResolveAliasRequest{Name: "case/1"})).Alias.NodeId, evidence[1])
		if err := errors.Join(over("case/new"), over("free")); err != nil {
			r.Error(err)
		}
		data, _, err := r.backedUp(&transcriptv1.BackupRequest{})
		if err != nil {
			r.Fatal(err)
		}
		for _, record := range recordsOf(r, data) {
			if a := record.GetAlias(); a != nil {
				if _, err := r.admin.Restore(r.ctx(), &transcriptv1.RestoreRequest{Aliases: []*transcriptv1.ArchiveAlias{a}}); err != nil {
					r.Errorf("%s restored as it is: %v", a.Name, err)
				}
			}
		}
	})
}

// TestRestoreOfRetention: rules come with an archive, and one of before does not lift a hold.
func TestRestoreOfRetention(t *testing.T) {
	bothEngines(t, func(r *rig) {
		rules := []*transcriptv1.RetentionRule{expires("", time.Hour), held("case/")}
		restore := func(revision int64, rules ...*transcriptv1.RetentionRule) error {
			_, err := r.admin.Restore(r.ctx(), &transcriptv1.RestoreRequest{
				Archived: &transcriptv1.ArchiveNamespace{Settings: &transcriptv1.NamespaceSettings{Retention: rules}, SettingsRevision: revision},
			})
			return err
		}
		if err := restore(5, rules...); err != nil {
			r.Fatal(err)
		}
		r.fails(restore(4), codes.Aborted, "SETTINGS_CHANGED", "")
		r.fails(restore(6, rules[0], rules[0]), codes.InvalidArgument, "INVALID_FIELD", "archived.settings.retention[1].alias_prefix")
		stats := must[*transcriptv1.NamespaceStatsResponse](r)(r.admin.NamespaceStats(r.ctx(), &transcriptv1.NamespaceStatsRequest{}))
		if now := stats.Settings.GetRetention(); stats.SettingsRevision != 5 || len(now) != 2 || !now[1].LegalHold || now[0].Ttl.AsDuration() != time.Hour {
			r.Errorf("the settings are %v at revision %d", stats.Settings, stats.SettingsRevision)
		}
	})
}
