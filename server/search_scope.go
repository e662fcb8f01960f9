package server

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"strings"

	"github.com/transcriptd/transcriptd/chainstore"
)

// aliasSearch is where a search of the chains under a prefix stands: its cursor.
//
//	cursor = varint began, length and window, length and name, [place]
//
// It goes on with the place in the chain of the alias name, or without one behind that alias.
type aliasSearch struct {
	// began is when the first page was asked for, in milliseconds since the epoch.
	began int64
	// window is the name behind which the aliases lie whose nodes were reported, as far as that is remembered.
	window string
	name   string
	place  *searchPlace
}

func (a *aliasSearch) append(b []byte) []byte {
	b = binary.AppendVarint(b, a.began)
	for _, name := range []string{a.window, a.name} {
		b = append(binary.AppendUvarint(b, uint64(len(name))), name...)
	}
	if a.place != nil {
		b = a.place.append(b)
	}
	return b
}

// parseAliasSearch reads the cursor of a search under a prefix, whose names are those of aliases there: nothing else may come
// out of a token that was made up.
func parseAliasSearch(b []byte, prefix string) (*aliasSearch, error) {
	a := &aliasSearch{}
	var n int
	if a.began, n = binary.Varint(b); n <= 0 || a.began < 0 {
		return nil, badToken()
	}
	b = b[n:]
	for _, name := range []*string{&a.window, &a.name} {
		length, n := binary.Uvarint(b)
		if n <= 0 || length > uint64(len(b)-n) {
			return nil, badToken()
		}
		*name, b = string(b[n:n+int(length)]), b[n+int(length):]
	}
	under := func(name string) bool { return isAlias(name) && strings.HasPrefix(name, prefix) }
	if !under(a.name) || a.window != "" && !under(a.window) || a.window > a.name {
		return nil, badToken()
	}
	if len(b) == 0 {
		return a, nil
	}
	place, err := parseSearchPlace(b)
	a.place = &place
	return a, err
}

// aliases searches the chains of the aliases under the prefix in the order of their names, each without what a chain
// before has. nil: all were searched.
func (p *searchPage) aliases(ctx context.Context, cursor []byte) ([]byte, error) {
	w := &aliasWalk{searchPage: p, at: &aliasSearch{began: p.now().UnixMilli()}, seen: coverage{}}
	if cursor == nil {
		p.begin()
		return w.walk(ctx)
	}
	at, err := parseAliasSearch(cursor, p.query.prefix)
	if err != nil {
		return nil, err
	}
	w.at.began, w.at.window, w.at.name = at.began, at.window, at.window
	if err := w.remember(ctx, at); err != nil {
		return nil, err
	}
	w.at.name = at.name
	p.begin()
	if at.place == nil {
		return w.walk(ctx)
	}
	chain, err := p.query.page.chain(ctx, p.store, chainstore.Ref{Alias: at.name}, at.place.head)
	switch {
	case errors.Is(err, chainstore.ErrNodeNotFound): // collected since
		return w.walk(ctx)
	case err != nil:
		return nil, err
	case at.place.before.Seq > chain.Head().Seq:
		return nil, badToken()
	}
	next, err := w.chain(ctx, at.name, chain, at.place)
	switch {
	case err != nil || next != nil:
		return next, err
	case w.ended():
		return w.at.append(nil), nil
	}
	return w.walk(ctx)
}

// aliasWalk goes from alias to alias.
type aliasWalk struct {
	*searchPage
	at   *aliasSearch
	seen coverage
	// passed counts the aliases behind at.window; marks are the names of every so many of them.
	passed int
	marks  []string
}

// walk searches the chains of the aliases behind the present one, of one at least.
func (w *aliasWalk) walk(ctx context.Context) ([]byte, error) {
	for more := true; more; {
		aliases, next, err := w.list(ctx)
		if err != nil {
			return nil, err
		}
		for i := range aliases {
			cursor, err := w.alias(ctx, &aliases[i])
			if err != nil || cursor != nil {
				return cursor, err
			}
			if w.ended() && (i+1 < len(aliases) || next != nil) {
				return w.at.append(nil), nil
			}
		}
		if more = next != nil; more {
			w.at.name = next.Name
		}
	}
	return nil, nil
}

// list reads the aliases behind the present one, some at a time.
func (w *aliasWalk) list(ctx context.Context) ([]chainstore.Alias, *chainstore.AliasCursor, error) {
	query := chainstore.AliasQuery{Prefix: w.query.prefix, Limit: listChunk, Bytes: pageBytes}
	if w.at.name != "" {
		query.After = &chainstore.AliasCursor{Name: w.at.name}
	}
	return w.store.Aliases(ctx, w.query.page.namespace, query)
}

// alias searches the chain of an alias; nil: all of it.
func (w *aliasWalk) alias(ctx context.Context, a *chainstore.Alias) ([]byte, error) {
	chain, err := w.store.Chain(ctx, w.query.page.namespace, chainstore.Ref{ID: a.Node}, nil)
	if errors.Is(err, chainstore.ErrNodeNotFound) { // deleted and collected since it was listed
		w.pass(a.Name)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return w.chain(ctx, a.Name, chain, &searchPlace{chain.Head().ID, wholeOf(chain)})
}

// chain searches the rest of an alias's chain; nil: nothing is left of it.
func (w *aliasWalk) chain(ctx context.Context, name string, chain chainstore.Chain, at *searchPlace) ([]byte, error) {
	before, done, err := w.scan(ctx, &searchChain{Chain: chain, alias: name}, w.seen.end(chain), at.before)
	if err != nil {
		return nil, err
	}
	if !done {
		rest := aliasSearch{w.at.began, w.at.window, name, &searchPlace{at.head, before}}
		return rest.append(nil), nil
	}
	w.seen.add(chain)
	w.pass(name)
	return nil, nil
}

// pass leaves an alias behind, and moves the window so that it holds no fewer aliases than are to be remembered.
func (w *aliasWalk) pass(name string) {
	step := max(1, w.limits.aliases/10)
	w.at.name = name
	if w.passed++; w.passed%step == 0 {
		w.marks = append(w.marks, name)
	}
	for len(w.marks) > 0 && w.passed-step >= w.limits.aliases {
		w.at.window, w.marks, w.passed = w.marks[0], w.marks[1:], w.passed-step
	}
}

// remember finds again what the pages before have reported: the chains of the aliases in the window, as they were. Of more than twice
// as many aliases as a window has, which others made meanwhile or a made-up token tells of, the rest is reported again.
func (w *aliasWalk) remember(ctx context.Context, until *aliasSearch) error {
	for left := 2 * w.limits.aliases; ; {
		aliases, next, err := w.list(ctx)
		if err != nil {
			return err
		}
		for i := range aliases {
			a := &aliases[i]
			if left--; left < 0 || a.Name > until.name || a.Name == until.name && until.place != nil {
				return nil
			}
			chain, err := w.settled(ctx, a)
			if err != nil {
				return err
			}
			if chain != nil {
				w.seen.add(chain)
			}
			w.pass(a.Name)
		}
		if next == nil {
			return nil
		}
		w.at.name = next.Name
	}
}

// settled is the part of an alias's chain that was surely searched, whenever since the search began that was: the whole
// chain, or where the alias has moved since, the chain that it had then if every later one holds it. Else nil, and what
// the alias shares with others is reported again rather than not at all.
func (w *aliasWalk) settled(ctx context.Context, a *chainstore.Alias) (chainstore.Chain, error) {
	node := a.Node
	if a.MovedAt >= w.at.began {
		states, err := w.store.AliasHistory(ctx, w.query.page.namespace, a.Name)
		if err != nil && !errors.Is(err, chainstore.ErrAliasNotFound) {
			return nil, err
		}
		then := 0
		for then < len(states) && states[then].At >= w.at.began {
			then++
		}
		if then == len(states) || states[then].Deleted {
			return nil, nil
		}
		node = states[then].Node
		if ok, err := w.hold(ctx, states[:then], node); err != nil || !ok {
			return nil, err
		}
	}
	chain, err := w.store.Chain(ctx, w.query.page.namespace, chainstore.Ref{ID: node}, nil)
	if errors.Is(err, chainstore.ErrNodeNotFound) {
		return nil, nil
	}
	return chain, err
}

// hold tells whether a node is on the chain of every state.
func (w *aliasWalk) hold(ctx context.Context, states []chainstore.AliasState, node chainstore.ID) (bool, error) {
	for i := range states {
		if states[i].Deleted {
			return false, nil
		}
		_, err := w.store.Chain(ctx, w.query.page.namespace, chainstore.Ref{ID: states[i].Node}, &node)
		if errors.Is(err, chainstore.ErrNotAncestor) || errors.Is(err, chainstore.ErrNodeNotFound) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
	return true, nil
}

// coverage is the nodes that chains have: of each run, the Seq through which. It holds, with a part of a run, all that
// lies before it on the chain.
type coverage map[uint64]uint32

// runsAtOnce is how many runs of a chain are asked for at first.
const runsAtOnce = 64

// end is the Seq of the first node of a chain that no chain before has; behind the head's where they have all.
func (c coverage) end(chain chainstore.Chain) (first uint32) {
	eachRun(chain, func(r chainstore.Run) bool {
		through, ok := c[r.Key]
		if ok {
			first = min(through, r.Through) + 1
		}
		return !ok
	})
	return first
}

// add adds the nodes of a chain.
func (c coverage) add(chain chainstore.Chain) {
	eachRun(chain, func(r chainstore.Run) bool {
		through, ok := c[r.Key]
		if !ok || through < r.Through {
			c[r.Key] = r.Through
		}
		return !ok
	})
}

// eachRun calls f with the runs of a chain, nearest to the head first, until it returns false.
func eachRun(chain chainstore.Chain, f func(chainstore.Run) bool) {
	for done, limit := 0, runsAtOnce; ; limit = min(4*limit, math.MaxInt32) {
		runs := chain.Runs(limit)
		for _, r := range runs[min(done, len(runs)):] {
			if !f(r) {
				return
			}
		}
		if len(runs) < limit {
			return
		}
		done = len(runs)
	}
}
