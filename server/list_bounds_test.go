package server_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/memstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

// readStore counts what is read of aliases and heads.
type readStore struct {
	chainstore.Store
	pages, chains, histories int
	// bytes are of the aliases of all pages.
	bytes int
}

func (s *readStore) Aliases(ctx context.Context, namespace string, q chainstore.AliasQuery) ([]chainstore.Alias, *chainstore.AliasCursor, error) {
	page, next, err := s.Store.Aliases(ctx, namespace, q)
	s.pages++
	for i := range page {
		s.bytes += page[i].Size()
	}
	return page, next, err
}

func (s *readStore) Chain(ctx context.Context, namespace string, head chainstore.Ref, after *chainstore.ID) (chainstore.Chain, error) {
	s.chains++
	return s.Store.Chain(ctx, namespace, head, after)
}

func (s *readStore) AliasHistory(ctx context.Context, namespace, name string) ([]chainstore.AliasState, error) {
	s.histories++
	return s.Store.AliasHistory(ctx, namespace, name)
}

// deleteMany sets n aliases, with labels, to a node, and deletes them.
func (r *rig) deleteMany(store chainstore.Store, id string, n int) {
	r.Helper()
	head := must[chainstore.ID](r)(chainstore.ParseID(id))
	for _, target := range []chainstore.Target{{Kind: chainstore.TargetRef, Ref: chainstore.Ref{ID: head}}, {Kind: chainstore.TargetNone}} {
		change := &chainstore.Change{}
		for i := range n {
			change.Aliases = append(change.Aliases, chainstore.AliasChange{Name: fmt.Sprintf("chat/gone%06d", i), Target: target})
		}
		must[*chainstore.Committed](r)(store.Commit(r.ctx(), "default", change))
	}
}

// TestPagesReadLittle: for a page of aliases or of Search no more is read than about what a page of aliases holds, whatever labels
// there are.
func TestPagesReadLittle(t *testing.T) {
	store := &readStore{Store: memstore.New(memstore.Options{})}
	r := newRig(t, store)
	id := r.put("", user("x"))
	labels := repeat(60, strings.Repeat("l", 4<<10))
	for i := range 40 {
		r.point(fmt.Sprint("chat/", i), id, labels...)
	}
	const most = 1<<20 + 256<<10
	for name, call := range map[string]func() error{
		"ListAliases by prefix": func() error {
			_, err := r.ListAliases(r.ctx(), &transcriptv1.ListAliasesRequest{})
			return err
		},
		"ListAliases by folder": func() error {
			_, err := r.ListAliases(r.ctx(), &transcriptv1.ListAliasesRequest{Scope: &transcriptv1.ListAliasesRequest_Folder{Folder: "chat"}})
			return err
		},
		"Search": func() error {
			req := underPrefix("chat/", "x")
			req.PageSize = 1
			_, err := searchWith(store, searchLimits{})(r.ctx(), req)
			return err
		},
	} {
		store.bytes = 0
		if err := call(); err != nil || store.bytes == 0 || store.bytes > most {
			t.Errorf("%s reads %d bytes of aliases, %v", name, store.bytes, err)
		}
	}
}

// TestPagesBehindDeletedNames: a page that has looked at many deleted names ends, and those behind it have what is left.
func TestPagesBehindDeletedNames(t *testing.T) {
	store := &readStore{Store: memstore.New(memstore.Options{})}
	r := newRig(t, store)
	id := r.put("", user("x"))
	r.deleteMany(store, id, 3*chainstore.AliasReach)
	r.point("chat/z", id)
	for name, req := range map[string]*transcriptv1.ListAliasesRequest{
		"prefix": {Scope: &transcriptv1.ListAliasesRequest_Prefix{Prefix: "chat/"}},
		"all":    {},
	} {
		var got []string
		pages := 0
		for {
			store.pages = 0
			page := must[*transcriptv1.ListAliasesResponse](r)(r.ListAliases(r.ctx(), req))
			equal(r, name+": the pages of the store that one takes", store.pages, 1)
			for _, a := range page.Aliases {
				got = append(got, a.Name)
			}
			pages++
			if req.PageToken = page.NextPageToken; req.PageToken == "" {
				break
			}
		}
		equal(r, name+": the names", fmt.Sprint(got), "[chat/z]")
		equal(r, name+": the pages", pages, 4)
	}
}

// TestSearchPagesCostTheSame: a page far behind many aliases, with any history, takes as few reads as the first.
func TestSearchPagesCostTheSame(t *testing.T) {
	store := &readStore{Store: memstore.New(memstore.Options{})}
	r := newRig(t, store)
	const aliases, size = 200, 10
	for i := range aliases {
		r.chain(fmt.Sprintf("chat/%03d", i), user(fmt.Sprint("needle ", i)))
	}
	req := underPrefix("chat/", "needle")
	req.PageSize = size
	for page := 0; ; page++ {
		store.pages, store.chains, store.histories = 0, 0, 0
		reply := must[*SearchResponse](r)(searchWith(store, searchLimits{})(r.ctx(), req))
		equal(r, "the hits of a page", len(reply.Hits), size)
		if store.pages > 1 || store.chains > size || store.histories > 0 {
			t.Errorf("page %d reads %d lists, %d chains and %d histories", page, store.pages, store.chains, store.histories)
		}
		for i := range 5 { // as much as moves while a search is under way
			r.point(fmt.Sprintf("chat/%03d", (page*size+i)%aliases), reply.Hits[0].Place.NodeId)
		}
		if req.PageToken = reply.NextPageToken; req.PageToken == "" {
			equal(r, "the pages", page+1, aliases/size)
			break
		}
	}
}

// TestSearchPagesEndBehindDeletedNames: a page ends at its time where nothing is left but names that were deleted.
func TestSearchPagesEndBehindDeletedNames(t *testing.T) {
	store := &readStore{Store: memstore.New(memstore.Options{})}
	r := newRig(t, store)
	id := r.put("", user("needle"))
	r.deleteMany(store, id, 5*chainstore.AliasReach)
	r.point("chat/z", id)
	now := time.Unix(0, 0)
	clock := func() time.Time { now = now.Add(time.Second); return now }
	req := underPrefix("chat/", "needle")
	hits, pages := 0, 0
	for {
		store.pages = 0
		reply := must[*SearchResponse](r)(searchWith(store, searchLimits{Now: clock})(r.ctx(), req))
		equal(r, "the lists that a page reads", store.pages, 1)
		hits, pages = hits+len(reply.Hits), pages+1
		if req.PageToken = reply.NextPageToken; req.PageToken == "" {
			break
		}
	}
	equal(r, "the hits", hits, 1)
	equal(r, "the pages", pages, 6)
}

// TestSearchTokensAreTaken: a token with as many runs as it may have, of the largest numbers, is taken back.
func TestSearchTokensAreTaken(t *testing.T) {
	r := newRig(t)
	r.chain("chat", user("needle"))
	req := underPrefix("chat", "needle")
	scope := must[[]byte](r)(proto.MarshalOptions{Deterministic: true}.Marshal(req))
	cursor := append([]byte{4}, "chat\x00"...)
	for i := range uint64(10_000) {
		cursor = binary.AppendUvarint(binary.AppendUvarint(cursor, math.MaxUint64-i), math.MaxUint32-1)
	}
	page := wire.Page{RPC: "Search", Namespace: wire.DefaultNamespace, Scope: string(scope)}
	req.PageToken = must[string](r)(wire.NewTokens(r.store, time.Now).Token(r.ctx(), page, cursor))
	must[*SearchResponse](r)(r.Search(r.ctx(), req))
}
