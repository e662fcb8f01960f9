package server_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/memstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/retention"
)

// namesAnew is a store that gives names as bytes of their own, as one on disk does.
type namesAnew struct{ chainstore.Store }

func (s namesAnew) Aliases(ctx context.Context, ns string, q chainstore.AliasQuery) ([]chainstore.Alias, *chainstore.AliasCursor, error) {
	page, next, err := s.Store.Aliases(ctx, ns, q)
	for i := range page {
		page[i].Name = strings.Clone(page[i].Name)
	}
	return page, next, err
}

// TestErasureKeepsNoNames: what an erasure knows of aliases that are held does not grow with their names, and its error has one nevertheless.
func TestErasureKeepsNoNames(t *testing.T) {
	const aliases, bytes = 4000, 500
	store := namesAnew{memstore.New(memstore.Options{})}
	r := newRig(t, store)
	var last, name string
	for from := 0; from < aliases; from += 500 {
		req := &transcriptv1.PutNodesRequest{}
		for i := range 500 {
			name = fmt.Sprintf("case/%d/", from+i) + strings.Repeat("x", bytes)
			req.Nodes = append(req.Nodes, &transcriptv1.NewNode{Messages: []*Message{user(fmt.Sprint(from + i))}, Aliases: []*Update{{Name: name}}})
		}
		last = must[*transcriptv1.PutNodesResponse](r)(r.PutNodes(r.ctx(), req)).Nodes[499].NodeId
	}
	r.retain(held("case/"))
	heap() // a first one leaves what pools have
	idle := heap()
	erasing := retention.NewKeeper(store).Erasing("default", func(int) string { return "nodes" })
	err := erasing.Check(t.Context(), []chainstore.ID{storeID(t, last)}, nil)
	heap()
	most := heap()
	erasing.End()
	var refused *retention.HeldError
	if !errors.As(err, &refused) || refused.Alias != name || refused.Prefix != "case/" {
		t.Errorf("it is refused by %v", err)
	}
	if most > idle+aliases*bytes/4 {
		t.Errorf("%d bytes of each alias are kept", (most-idle)/aliases)
	}
}

// TestNoneReachesItAnyMore: where no alias that is held reaches a node any more, an erasure that has seen one looks again, and goes on.
func TestNoneReachesItAnyMore(t *testing.T) {
	store := memstore.New(memstore.Options{})
	r := newRig(t, store)
	once, now := r.chain("case/1", user("once"))[0], r.put("", user("now"))
	r.retain(held("case/"))
	erasing := retention.NewKeeper(store).Erasing("default", func(int) string { return "nodes" })
	defer erasing.End()
	nodes, refused := []chainstore.ID{storeID(t, once)}, &retention.HeldError{}
	if err := erasing.Check(t.Context(), nodes, nil); !errors.As(err, &refused) || refused.Alias != "case/1" {
		t.Fatalf("it is refused by %v", err)
	}
	next := r.put(now, assistant("more"))
	for range chainstore.MaxHistory {
		r.point("case/1", next)
		next, now = now, next
	}
	erased := false
	if err := erasing.Erase(t.Context(), nodes, func() error { erased = true; return nil }); err != nil || !erased {
		t.Errorf("it is refused: %v", err)
	}
}
