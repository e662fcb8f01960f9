package retention

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/transcriptd/transcriptd/chainstore"
)

// page is how many aliases are read at once.
const page = 1000

// Erasing is an erasure of nodes under way, of a namespace. It looks once at what aliases that are held reach, which may take long and keeps nobody
// waiting, and behind that only at those that are set meanwhile, the last time while none is. It is for one goroutine.
type Erasing struct {
	*Keeper
	namespace string
	// field names the field of a request that has the node at a place.
	field func(held int) string
	// known says that what is held by settings is known, reached tells of what is held, by the key of the run. A state that is not told of any more since
	// stays in it.
	known    bool
	settings chainstore.SettingsNow
	reached  map[uint64]reached

	// held are the rules of settings; set are the aliases that they hold and that were set since they were looked at. Both are the gate's.
	held Rules
	set  map[string]bool
}

// reached is how much of a run is held: through a Seq, by an alias that the rule of a place holds. It has no name, which would take more memory than all else.
type reached struct {
	through uint32
	rule    int32
}

// Erasing begins an erasure, which End ends. field names the field of the request that has the node at a place.
func (k *Keeper) Erasing(namespace string, field func(held int) string) *Erasing {
	return &Erasing{Keeper: k, namespace: namespace, field: field}
}

// End ends it.
func (e *Erasing) End() {
	g := e.gate(e.namespace)
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.watches, e)
	e.known, e.reached, e.set = false, nil, nil
}

// Check tells whether a hold keeps one of some nodes or aliases by now: a HeldError. Nodes that are not there are passed over.
func (e *Erasing) Check(ctx context.Context, nodes []chainstore.ID, names []string) error {
	if err := e.look(ctx); err != nil {
		return err
	}
	if err := e.refuse(ctx, e.held, names); err != nil {
		return err
	}
	return e.judge(ctx, nodes)
}

// Erase runs what takes the content of nodes away, unless a hold keeps one of them.
func (e *Erasing) Erase(ctx context.Context, nodes []chainstore.ID, f func() error) error {
	for {
		if err := e.look(ctx); err != nil {
			return err
		}
		changed := false
		err := e.rules.shared(ctx, func() error {
			now, err := e.store.Settings(ctx, e.namespace)
			if changed = now != e.settings; err != nil || changed {
				return err
			}
			if !e.held.Held() {
				return f()
			}
			return e.gate(e.namespace).sets.alone(ctx, func() error {
				if err := e.catchUp(ctx); err != nil {
					return err
				}
				if err := e.judge(ctx, nodes); err != nil {
					return err
				}
				return f()
			})
		})
		if err != nil || !changed {
			return err
		}
	}
}

// Labels runs what takes the labels of aliases away, unless a hold keeps one of these.
func (e *Erasing) Labels(ctx context.Context, names []string, f func() error) error {
	return e.Delete(ctx, e.namespace, func(rules Rules) error { return e.refuse(ctx, rules, names) }, f)
}

// refuse is a HeldError of the first of some aliases that is held. It does not name one that is forgotten: nothing else that a caller may read does.
func (e *Erasing) refuse(ctx context.Context, rules Rules, names []string) error {
	i := slices.IndexFunc(names, rules.Holds)
	if i < 0 {
		return nil
	}
	_, err := e.store.AliasHistory(ctx, e.namespace, names[i])
	switch {
	case err == nil:
		return rules.Refuse(e.namespace, e.field(0), names[i])
	case errors.Is(err, chainstore.ErrAliasNotFound):
		return &HeldError{Field: e.field(0), Namespace: e.namespace, Prefix: rules[rules.hold(names[i])].AliasPrefix}
	}
	return err
}

// catchUps is how often an erasure looks at what was set meanwhile before it has the aliases stand still, unless these are few.
const (
	catchUps = 10
	few      = 10
)

// look looks at what is held, or only at what was set since it did so.
func (e *Erasing) look(ctx context.Context) (err error) {
	now, err := e.store.Settings(ctx, e.namespace)
	if err != nil {
		return err
	}
	if !e.known || now != e.settings {
		e.known, e.settings, e.reached = false, now, map[uint64]reached{}
		if err := e.watch(); err != nil {
			return err
		}
		for _, prefix := range e.held.holding() {
			if err := e.names(ctx, e.namespace, prefix, func(name string) error { return e.alias(ctx, name) }); err != nil {
				return err
			}
		}
		e.known = true
	}
	for i := 0; i < catchUps && err == nil && e.waiting() > few; i++ {
		err = e.catchUp(ctx)
	}
	return err
}

// watch has what is set from now on told of, where something is held.
func (e *Erasing) watch() error {
	rules, err := Of(&e.settings.Settings)
	if err != nil {
		return err
	}
	g := e.gate(e.namespace)
	g.mu.Lock()
	defer g.mu.Unlock()
	e.held, e.set = rules, map[string]bool{}
	if delete(g.watches, e); rules.Held() {
		g.watches[e] = true
	}
	return nil
}

// waiting is how many aliases were set that were not looked at since.
func (e *Erasing) waiting() int {
	g := e.gate(e.namespace)
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(e.set)
}

// catchUp looks at the aliases that were set since they were looked at.
func (e *Erasing) catchUp(ctx context.Context) error {
	g := e.gate(e.namespace)
	g.mu.Lock()
	set := e.set
	e.set = map[string]bool{}
	g.mu.Unlock()
	for name := range set {
		if err := e.alias(ctx, name); err != nil {
			e.known = false
			return err
		}
	}
	return nil
}

// judge is a HeldError of the first of some nodes that is held.
func (e *Erasing) judge(ctx context.Context, nodes []chainstore.ID) error {
	if len(e.reached) == 0 {
		return nil
	}
	for i := range nodes {
		run, found, err := e.last(ctx, e.namespace, nodes[i])
		if err != nil {
			return err
		}
		if held, has := e.reached[run.Key]; found && has && held.through >= run.Through {
			return &HeldError{Field: e.field(i), Namespace: e.namespace, Prefix: e.held[held.rule].AliasPrefix}
		}
	}
	return nil
}

// alias adds what an alias reaches.
func (e *Erasing) alias(ctx context.Context, name string) error {
	states, err := e.store.AliasHistory(ctx, e.namespace, name)
	if errors.Is(err, chainstore.ErrAliasNotFound) { // it was forgotten since
		return nil
	}
	rule := e.held.hold(name)
	for i := range states {
		if s := &states[i]; err == nil && !s.Deleted {
			err = e.path(ctx, rule, s.Node)
		}
	}
	return err
}

// path adds a path, which an alias reaches that a rule holds.
func (e *Erasing) path(ctx context.Context, rule int, head chainstore.ID) error {
	chain, err := e.store.Chain(ctx, e.namespace, chainstore.Ref{ID: head}, nil)
	if err != nil {
		return gone(err)
	}
	for _, run := range chain.Runs(math.MaxInt32) {
		if now, has := e.reached[run.Key]; has && now.through >= run.Through {
			return nil // and so is what comes before it
		}
		e.reached[run.Key] = reached{run.Through, int32(rule)}
	}
	return nil
}

// last is the run that ends with a node, if it is there.
func (k *Keeper) last(ctx context.Context, namespace string, id chainstore.ID) (run chainstore.Run, found bool, err error) {
	chain, err := k.store.Chain(ctx, namespace, chainstore.Ref{ID: id}, nil)
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

// each runs f on pages of the aliases with a prefix. Until f has returned the namespace of a page is not deleted: revisions begin again in one of its name.
func (k *Keeper) each(ctx context.Context, namespace, prefix string, f func([]chainstore.Alias) error) error {
	query := chainstore.AliasQuery{Prefix: prefix, Limit: page}
	for {
		var next *chainstore.AliasCursor
		err := k.holding(ctx, func() (err error) {
			var aliases []chainstore.Alias
			if aliases, next, err = k.store.Aliases(ctx, namespace, query); err == nil {
				err = f(aliases)
			}
			return err
		})
		if err != nil || next == nil {
			return err
		}
		query.After = next
	}
}

// holding runs f while no node is collected and no namespace deleted.
func (k *Keeper) holding(ctx context.Context, f func() error) error {
	release, err := k.store.Hold(ctx)
	if err != nil {
		return err
	}
	defer release()
	return f()
}

// eachDeleted runs f on pages of the names with a prefix that were deleted, as each does.
func (k *Keeper) eachDeleted(ctx context.Context, namespace, prefix string, f func([]chainstore.DeletedAlias) error) error {
	for after := ""; ; {
		next := ""
		err := k.holding(ctx, func() (err error) {
			var names []chainstore.DeletedAlias
			if names, next, err = k.store.DeletedAliases(ctx, namespace, prefix, after, page); err == nil {
				err = f(names)
			}
			return err
		})
		if err != nil || next == "" {
			return err
		}
		after = next
	}
}
