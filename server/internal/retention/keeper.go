package retention

import (
	"context"
	"errors"
	"hash/maphash"

	"github.com/transcriptd/transcriptd/chainstore"
)

// ErrHeld says that a legal hold keeps what was to go. Comes in a HeldError.
var ErrHeld = errors.New("a legal hold keeps it")

// HeldError is ErrHeld of what a field of the request names.
type HeldError struct {
	Field, Namespace string
	// Alias is the one that is held; empty where nodes or a namespace were to go, and where the name is forgotten. Prefix is that of the rule that holds:
	// of several rules the shortest.
	Alias, Prefix string
}

// Error says that it is held. It names neither alias nor prefix, since errors are in logs.
func (e *HeldError) Error() string { return ErrHeld.Error() }

// Unwrap is ErrHeld.
func (e *HeldError) Unwrap() error { return ErrHeld }

// Store is what a Keeper asks.
type Store interface {
	chainstore.AliasReader
	Settings(ctx context.Context, namespace string) (chainstore.SettingsNow, error)
	Commit(ctx context.Context, namespace string, change *chainstore.Change) (*chainstore.Committed, error)
	Chain(ctx context.Context, namespace string, head chainstore.Ref, after *chainstore.ID) (chainstore.Chain, error)
	Hold(ctx context.Context) (release func(), err error)
}

// Keeper has what goes for good go by the rules of its namespace, and rules change while nothing goes. There is one for a store.
type Keeper struct {
	store Store
	// rules is shared by what takes something away, from the look at the rules until it is committed; who changes rules has it alone.
	rules *lock
	// gates are those through which aliases are set; a namespace has one of them, by its name under seed.
	gates [gates]gate
	seed  maphash.Seed
}

// gates is so many that namespaces with a hold seldom share one with others.
const gates = 64

// NewKeeper makes the Keeper of a store.
func NewKeeper(store Store) *Keeper {
	k := &Keeper{store: store, rules: newLock(), seed: maphash.MakeSeed()}
	for i := range k.gates {
		k.gates[i].sets, k.gates[i].watches = newLock(), map[*Erasing]bool{}
	}
	return k
}

// Rules are those of a namespace.
func (k *Keeper) Rules(ctx context.Context, namespace string) (Rules, error) {
	now, err := k.store.Settings(ctx, namespace)
	if err != nil {
		return nil, err
	}
	return Of(&now.Settings)
}

// Change runs what changes rules. Once it has returned, nothing goes that these hold, not by what began before either.
func (k *Keeper) Change(ctx context.Context, f func() error) error {
	return k.holding(ctx, func() error { return k.rules.alone(ctx, f) }) // a collection asks before each commit
}

// Delete runs what takes something away, unless judge refuses it by the rules.
func (k *Keeper) Delete(ctx context.Context, namespace string, judge func(Rules) error, f func() error) error {
	return k.rules.shared(ctx, func() error {
		rules, err := k.Rules(ctx, namespace)
		if err == nil {
			err = judge(rules)
		}
		if err != nil {
			return err
		}
		return f()
	})
}

// MayCollect is a HeldError where a namespace has a hold.
func (k *Keeper) MayCollect(ctx context.Context, namespace string) error {
	rules, err := k.Rules(ctx, namespace)
	if err != nil {
		return err
	}
	if prefixes := rules.holding(); len(prefixes) > 0 {
		return &HeldError{Field: "namespace", Namespace: namespace, Prefix: prefixes[0]}
	}
	return nil
}
