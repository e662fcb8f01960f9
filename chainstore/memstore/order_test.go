package memstore_test

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"testing"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/memstore"
	"github.com/transcriptd/transcriptd/chainstore/storetest"
)

// TestContractOfAnotherOrder: a store that orders nodes by the time of their puts and then by their ids, as an engine with several
// servers may, keeps the contract.
func TestContractOfAnotherOrder(t *testing.T) {
	skip := map[storetest.Category]string{}
	for _, c := range []storetest.Category{
		storetest.RoundTrip, storetest.Headers, storetest.Retries, storetest.Conditions, storetest.Mixed, storetest.Batches, storetest.Revisions,
		storetest.Aliases, storetest.Lists, storetest.ListReach, storetest.History, storetest.Forks, storetest.LongChains, storetest.Limits,
		storetest.Find, storetest.Calls, storetest.Tables, storetest.Namespaces, storetest.Contexts, storetest.Statistics, storetest.Verify,
		storetest.Judging, storetest.Closing, storetest.Reopening, storetest.Linearizable, storetest.Runs, storetest.Reads, storetest.TokenKeys, storetest.Concurrency,
	} {
		skip[c] = "TestContract runs it"
	}
	storetest.Run(t, storetest.Config{
		Open:  func(tb testing.TB, o storetest.Options) chainstore.Store { return ordered{open(tb, o)} },
		Model: func(o storetest.Options) chainstore.Store { return memstore.New(memstore.Options{Now: o.Now}) },
		Skip:  skip,
	})
}

// ordered orders nodes otherwise than the store.
type ordered struct{ chainstore.Store }

// byTime is the order: whole seconds, then the ids, the highest first.
func byTime(a, b *chainstore.Header) int {
	return cmp.Or(cmp.Compare(a.FirstPut/1000, b.FirstPut/1000), bytes.Compare(b.ID[:], a.ID[:]))
}

func (s ordered) Children(ctx context.Context, ns string, node chainstore.Ref, after *chainstore.ID, limit int) ([]*chainstore.Header, error) {
	all, err := s.Store.Children(ctx, ns, node, nil, 1<<20)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, byTime)
	if after != nil {
		at := slices.IndexFunc(all, func(h *chainstore.Header) bool { return h.ID == *after })
		if at < 0 {
			return nil, chainstore.ErrNodeNotFound
		}
		all = all[at+1:]
	}
	return all[:min(len(all), limit)], nil
}

func (s ordered) Chain(ctx context.Context, ns string, head chainstore.Ref, after *chainstore.ID) (chainstore.Chain, error) {
	c, err := s.Store.Chain(ctx, ns, head, after)
	if err != nil {
		return nil, err
	}
	return orderedChain{c}, nil
}

type orderedChain struct{ chainstore.Chain }

func (c orderedChain) Spawned(ctx context.Context, limit int) ([]*chainstore.Header, bool, error) {
	all, more, err := c.Chain.Spawned(ctx, 1<<20)
	if err != nil {
		return nil, false, err
	}
	seqs := map[chainstore.ID]uint32{}
	err = c.Rows(ctx, []chainstore.Span{{Through: c.Head().Seq, HeadersOnly: true}}, func(r *chainstore.Row) error {
		h, err := r.Header()
		seqs[h.ID] = h.Seq
		return err
	})
	slices.SortFunc(all, func(a, b *chainstore.Header) int {
		return cmp.Or(cmp.Compare(seqs[b.SpawnedFrom.Node], seqs[a.SpawnedFrom.Node]), byTime(a, b))
	})
	chosen := all[:min(len(all), limit)]
	slices.SortFunc(chosen, byTime)
	return chosen, more || len(all) > limit, err
}
