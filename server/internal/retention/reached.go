package retention

import (
	"context"
	"errors"
	"math"

	"github.com/transcriptd/transcriptd/chainstore"
)

// page is how many aliases are read at once.
const page = 1000

// Reached tells which of some nodes an alias that is held reaches, by its head or a past state of it: the place of the first; -1: none is. Nodes
// that are not there are passed over.
func (k *Keeper) Reached(ctx context.Context, namespace string, rules Rules, nodes []chainstore.ID) (int, error) {
	if !rules.Held() || len(nodes) == 0 {
		return -1, nil
	}
	h := held{Keeper: k, namespace: namespace, through: map[uint64]uint32{}, seen: map[chainstore.ID]bool{}}
	for _, prefix := range rules.holding() {
		if err := k.names(ctx, namespace, prefix, func(name string) error { return h.alias(ctx, name) }); err != nil {
			return -1, err
		}
	}
	for i := range nodes {
		run, found, err := k.last(ctx, namespace, nodes[i])
		if err != nil {
			return -1, err
		}
		if through, has := h.through[run.Key]; found && has && through >= run.Through {
			return i, nil
		}
	}
	return -1, nil
}

// held is what aliases reach: of each run, that of the highest Seq.
type held struct {
	*Keeper
	namespace string
	through   map[uint64]uint32
	seen      map[chainstore.ID]bool
}

// alias adds what an alias reaches.
func (h *held) alias(ctx context.Context, name string) error {
	states, err := h.Store.AliasHistory(ctx, h.namespace, name)
	if errors.Is(err, chainstore.ErrAliasNotFound) { // it was forgotten since
		return nil
	}
	for i := range states {
		if s := &states[i]; err == nil && !s.Deleted && !h.seen[s.Node] {
			h.seen[s.Node] = true
			err = h.path(ctx, s.Node)
		}
	}
	return err
}

// path adds a path.
func (h *held) path(ctx context.Context, head chainstore.ID) error {
	chain, err := h.Store.Chain(ctx, h.namespace, chainstore.Ref{ID: head}, nil)
	if err != nil {
		return gone(err)
	}
	for _, run := range chain.Runs(math.MaxInt32) {
		if now, has := h.through[run.Key]; has && now >= run.Through {
			return nil // and so is what comes before it
		}
		h.through[run.Key] = run.Through
	}
	return nil
}

// last is the run that ends with a node, if it is there.
func (k *Keeper) last(ctx context.Context, namespace string, id chainstore.ID) (run chainstore.Run, found bool, err error) {
	chain, err := k.Store.Chain(ctx, namespace, chainstore.Ref{ID: id}, nil)
	if err != nil {
		return run, false, gone(err)
	}
	return chain.Runs(1)[0], true, nil
}

// gone lets errors through but that a node is not there.
func gone(err error) error {
	if errors.Is(err, chainstore.ErrNodeNotFound) {
		return nil
	}
	return err
}

// names runs f on the names with a prefix that are set, or were deleted and are not forgotten.
func (k *Keeper) names(ctx context.Context, namespace, prefix string, f func(name string) error) error {
	if err := k.each(ctx, namespace, prefix, func(a []chainstore.Alias) error {
		for i := range a {
			if err := f(a[i].Name); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		return err
	}
	return k.eachDeleted(ctx, namespace, prefix, func(a []chainstore.DeletedAlias) error {
		for i := range a {
			if err := f(a[i].Name); err != nil {
				return err
			}
		}
		return nil
	})
}

// each runs f on pages of the aliases with a prefix.
func (k *Keeper) each(ctx context.Context, namespace, prefix string, f func([]chainstore.Alias) error) error {
	for query := (chainstore.AliasQuery{Prefix: prefix, Limit: page}); ; {
		aliases, next, err := k.Store.Aliases(ctx, namespace, query)
		if err == nil {
			err = f(aliases)
		}
		if err != nil || next == nil {
			return err
		}
		query.After = next
	}
}

// eachDeleted runs f on pages of the names with a prefix that were deleted.
func (k *Keeper) eachDeleted(ctx context.Context, namespace, prefix string, f func([]chainstore.DeletedAlias) error) error {
	for after := ""; ; {
		names, next, err := k.Store.DeletedAliases(ctx, namespace, prefix, after, page)
		if err == nil {
			err = f(names)
		}
		if err != nil || next == "" {
			return err
		}
		after = next
	}
}
