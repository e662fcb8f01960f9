package server_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/memstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/testserver"
	"github.com/transcriptd/transcriptd/server"
)

type DeleteAliases = transcriptv1.DeleteAliasesRequest

func startingWith(prefix string) *transcriptv1.DeleteAliasesRequest_Prefix {
	return &transcriptv1.DeleteAliasesRequest_Prefix{Prefix: prefix}
}

// newRigOn serves a store, with its clock.
func newRigOn(t *testing.T, store chainstore.Store, c *clock) *rig {
	t.Helper()
	r := &rig{T: t, registry: prometheus.NewRegistry(), logs: &safeBuffer{}, store: store}
	r.Stack = testserver.StartWith(t, store, server.Config{Version: "v0.0.0-test", Registerer: r.registry, Logger: slog.New(slog.DiscardHandler), Now: c.now})
	r.TranscriptServiceClient = transcriptv1.NewTranscriptServiceClient(r.Conn)
	return r
}

// deletes asks for all pages, and returns the names that they tell of.
func (r *rig) deletes(req *DeleteAliases) (names []string) {
	r.Helper()
	req = proto.CloneOf(req)
	for range 1000 {
		page := must[*transcriptv1.DeleteAliasesResponse](r)(r.DeleteAliases(r.ctx(), req))
		for _, a := range page.Aliases {
			names = append(names, a.Name)
		}
		if req.PageToken = page.NextPageToken; req.PageToken == "" {
			return names
		}
	}
	r.Fatal("the pages have no end")
	return nil
}

func (r *rig) aliasNames(prefix string) (names []string) {
	r.Helper()
	for _, a := range r.listed(&ListAliases{Scope: &transcriptv1.ListAliasesRequest_Prefix{Prefix: prefix}}) {
		names = append(names, a.Name)
	}
	return names
}

// TestDeleteAliases: what was moved before the bound goes, in pages of every size, and nothing else; a dry run tells the same.
func TestDeleteAliases(t *testing.T) {
	for _, size := range []int32{1, 3, 0} {
		clock := &clock{}
		r := newRigOn(t, memstore.New(memstore.Options{Now: clock.now}), clock)
		id := r.put("", user("x"))
		for i := range 10 {
			r.point(fmt.Sprintf("tmp/%d", i), id, "label")
		}
		r.point("tm", id)
		r.point("tmpo", id)
		clock.pass(time.Second)
		bound := clock.at()
		r.point("tmp/late", id)
		r.point("tmp/4", r.put("", user("y")))
		var want []string
		for _, i := range []int{0, 1, 2, 3, 5, 6, 7, 8, 9} {
			want = append(want, fmt.Sprintf("tmp/%d", i))
		}
		req := &DeleteAliases{Scope: startingWith("tmp/"), MovedBefore: bound, DryRun: true, PageSize: size}
		equal(r, "what a dry run tells of", slices.Equal(r.deletes(req), want), true)
		equal(r, "the aliases after it", len(r.aliasNames("")), 13)
		first := must[*transcriptv1.DeleteAliasesResponse](r)(r.DeleteAliases(r.ctx(), req))
		equal(r, "the bound", first.MovedBefore.AsTime(), bound.AsTime())
		equal(r, "an alias as it was", first.Aliases[0].NodeId+first.Aliases[0].Labels["0"], id+"label")
		req.DryRun = false
		equal(r, "what is deleted", slices.Equal(r.deletes(req), want), true)
		equal(r, "what is deleted by the same call again", len(r.deletes(req)), 0)
		if left := r.aliasNames(""); !slices.Equal(left, []string{"tm", "tmp/4", "tmp/late", "tmpo"}) {
			t.Errorf("left are %q", left)
		}
		history := must[*transcriptv1.ListAliasHistoryResponse](r)(r.ListAliasHistory(r.ctx(), &transcriptv1.ListAliasHistoryRequest{Name: "tmp/0"}))
		equal(r, "the states of what was deleted", len(history.Entries), 2)
		equal(r, "the revision of the deletion", history.Entries[0].Revision, first.Aliases[0].Revision+1)
		equal(r, "what all are", len(r.deletes(&DeleteAliases{Scope: &transcriptv1.DeleteAliasesRequest_All{All: true}, PageSize: size})), 4)
		equal(r, "what is left of all", len(r.aliasNames("")), 0)
	}
}

// TestDeletionsAreRepeated: a page that is asked for again, since its reply was lost, leaves what others set since; a token is good for its
// call alone.
func TestDeletionsAreRepeated(t *testing.T) {
	clock := &clock{}
	r := newRigOn(t, memstore.New(memstore.Options{Now: clock.now}), clock)
	id := r.put("", user("x"))
	for i := range 6 {
		r.point(fmt.Sprintf("tmp/%d", i), id)
	}
	req := &DeleteAliases{Scope: startingWith("tmp/"), PageSize: 2}
	first := must[*transcriptv1.DeleteAliasesResponse](r)(r.DeleteAliases(r.ctx(), req))
	equal(r, "the first page", len(first.Aliases), 2)
	clock.pass(time.Second)
	req.PageToken = first.NextPageToken
	second := must[*transcriptv1.DeleteAliasesResponse](r)(r.DeleteAliases(r.ctx(), req))
	equal(r, "the second page", second.Aliases[0].Name+" "+second.Aliases[1].Name, "tmp/2 tmp/3")
	r.point("tmp/2", id)
	r.point("tmp/2a", id)
	r.deletes(req) // from the second page on again
	if left := r.aliasNames(""); !slices.Equal(left, []string{"tmp/2", "tmp/2a"}) {
		t.Errorf("left are %q", left)
	}
	for name, change := range map[string]func(*DeleteAliases){
		"another prefix":    func(q *DeleteAliases) { q.Scope = startingWith("tmp") },
		"all":               func(q *DeleteAliases) { q.Scope = &transcriptv1.DeleteAliasesRequest_All{All: true} },
		"a dry run":         func(q *DeleteAliases) { q.DryRun = true },
		"another bound":     func(q *DeleteAliases) { q.MovedBefore = timestamppb.Now() },
		"another namespace": func(q *DeleteAliases) { q.Namespace = "other" },
	} {
		other := proto.CloneOf(req)
		change(other)
		_, err := r.DeleteAliases(r.ctx(), other)
		if err == nil {
			t.Error(name)
		}
		r.fails(err, codes.InvalidArgument, "INVALID_PAGE_TOKEN", "page_token")
	}
}

// meddler is a store in which others change aliases between a list and the commit that follows.
type meddler struct {
	chainstore.Store
	meddle func()
}

func (m *meddler) Commit(ctx context.Context, namespace string, c *chainstore.Change) (*chainstore.Committed, error) {
	if f := m.meddle; f != nil && len(c.Aliases) > 1 {
		m.meddle = nil
		f()
	}
	return m.Store.Commit(ctx, namespace, c)
}

// narrow is a store that takes few aliases in a commit.
type narrow struct{ chainstore.Store }

func (n narrow) Commit(ctx context.Context, namespace string, c *chainstore.Change) (*chainstore.Committed, error) {
	if len(c.Aliases) > 3 {
		return nil, chainstore.ErrTooLarge
	}
	return n.Store.Commit(ctx, namespace, c)
}

// TestDeletionsLeaveWhatMoves: between its list and its commit others move an alias, which stays, delete one, and label one, which goes.
func TestDeletionsLeaveWhatMoves(t *testing.T) {
	c := &clock{}
	c.pass(time.Hour)
	store := &meddler{Store: memstore.New(memstore.Options{Now: c.now})}
	r := newRigOn(t, store, c)
	id, other := r.put("", user("x")), r.put("", user("y"))
	for i := range 5 {
		r.point(fmt.Sprintf("tmp/%d", i), id)
	}
	store.meddle = func() { // within the millisecond in which the page was asked for
		r.point("tmp/1", other)
		must[*transcriptv1.DeleteAliasResponse](r)(r.DeleteAlias(r.ctx(), &transcriptv1.DeleteAliasRequest{Name: "tmp/2"}))
		r.point("tmp/3", id, "label")
	}
	got := r.deletes(&DeleteAliases{Scope: startingWith("tmp/")})
	if !slices.Equal(got, []string{"tmp/0", "tmp/3", "tmp/4"}) {
		t.Errorf("deleted are %q", got)
	}
	if left := r.aliasNames(""); !slices.Equal(left, []string{"tmp/1"}) {
		t.Errorf("left are %q", left)
	}
}

// TestDeletionsFitCommits: a page that does not fit a commit ends early, and the pages have all.
func TestDeletionsFitCommits(t *testing.T) {
	c := &clock{}
	r := newRigOn(t, narrow{memstore.New(memstore.Options{Now: c.now})}, c)
	id := r.put("", user("x"))
	for i := range 20 {
		r.point(fmt.Sprintf("tmp/%02d", i), id)
	}
	got := r.deletes(&DeleteAliases{Scope: startingWith("tmp/")})
	if len(got) != 20 || !slices.IsSorted(got) || len(r.aliasNames("")) > 0 {
		t.Errorf("deleted are %s", strings.Join(got, " "))
	}
}

// hasty is a store in which others label an alias before each commit of more than some.
type hasty struct {
	chainstore.Store
	most  int
	label func(name string, n int)
	n     int
}

func (h *hasty) Commit(ctx context.Context, namespace string, c *chainstore.Change) (*chainstore.Committed, error) {
	if len(c.Aliases) > h.most {
		h.n++
		h.label(c.Aliases[0].Name, h.n)
	}
	return h.Store.Commit(ctx, namespace, c)
}

// TestDeletionsComeToAnEnd: others who label aliases of a page faster than it is committed do not keep it from being deleted.
func TestDeletionsComeToAnEnd(t *testing.T) {
	c := &clock{}
	store := &hasty{Store: memstore.New(memstore.Options{Now: c.now}), most: 3}
	r := newRigOn(t, store, c)
	id := r.put("", user("x"))
	for i := range 20 {
		r.point(fmt.Sprintf("tmp/%02d", i), id)
	}
	store.label = func(name string, n int) { r.point(name, id, fmt.Sprint(n)) }
	got := r.deletes(&DeleteAliases{Scope: startingWith("tmp/")})
	if len(got) != 20 || !slices.IsSorted(got) || len(r.aliasNames("")) > 0 {
		t.Errorf("deleted are %s", strings.Join(got, " "))
	}
}
