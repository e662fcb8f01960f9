package search

import (
	"context"
	"encoding/binary"
	"errors"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

// aliasPoint is where a search of the chains under a prefix stands: its cursor.
//
//	cursor = length and name, length and place, the runs that were reported
//
// It goes on with the place in the chain of the alias name, or, where that is empty, behind that alias.
type aliasPoint struct {
	name     string
	place    *resumePoint
	reported *reportedRuns
}

// cursor is its cursor, with the last of the runs, at most so many.
func (a *aliasPoint) cursor(runs int) (b []byte) {
	var place []byte
	if a.place != nil {
		place = a.place.cursor()
	}
	for _, part := range []string{a.name, string(place)} {
		b = append(binary.AppendUvarint(b, uint64(len(part))), part...)
	}
	return a.reported.append(b, runs)
}

// parseAliasPoint reads the cursor of a search under a prefix.
func parseAliasPoint(b []byte) (*aliasPoint, error) {
	var parts [2][]byte
	for i := range parts {
		length, n := binary.Uvarint(b)
		if n <= 0 || length > uint64(len(b)-n) {
			return nil, wire.BadToken()
		}
		parts[i], b = b[n:n+int(length)], b[n+int(length):]
	}
	a := &aliasPoint{name: string(parts[0])}
	if len(parts[1]) > 0 {
		place, err := parseResumePoint(parts[1])
		if err != nil {
			return nil, err
		}
		a.place = &place
	}
	var err error
	a.reported, err = parseReportedRuns(b)
	return a, err
}

// aliases searches the chains of the aliases under the prefix in the order of their names, each without what a chain
// before has. nil: all were searched.
func (p *page) aliases(ctx context.Context, cursor []byte) ([]byte, error) {
	w := &aliasWalk{page: p, reported: newReportedRuns()}
	if cursor == nil {
		return w.walk(ctx)
	}
	at, err := parseAliasPoint(cursor)
	if err != nil {
		return nil, err
	}
	w.name, w.reported = at.name, at.reported
	if at.place == nil {
		return w.walk(ctx)
	}
	chain, err := p.Store.Chain(ctx, p.query.page.Namespace, chainstore.Ref{ID: at.place.head}, nil)
	switch {
	case errors.Is(err, chainstore.ErrNodeNotFound): // collected since
		return w.walk(ctx)
	case err != nil:
		return nil, err
	}
	if err := at.place.check(chain); err != nil {
		return nil, err
	}
	next, err := w.chain(ctx, at.name, chain, at.place)
	switch {
	case err != nil || next != nil:
		return next, err
	case w.ended():
		return w.cursor(nil), nil
	}
	return w.walk(ctx)
}

// aliasWalk goes from alias to alias.
type aliasWalk struct {
	*page
	// name is the alias, or the name that was one, behind which the walk goes on.
	name     string
	reported *reportedRuns
}

// cursor goes on with a place in the chain of the present alias, or behind it.
func (w *aliasWalk) cursor(place *resumePoint) []byte {
	return (&aliasPoint{w.name, place, w.reported}).cursor(w.Limits.Runs)
}

// walk searches the chains of the aliases behind the present one, of one at least, or looks at as many names that were deleted as
// the store does at once.
func (w *aliasWalk) walk(ctx context.Context) ([]byte, error) {
	for {
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
				return w.cursor(nil), nil
			}
		}
		if next == nil {
			return nil, nil
		}
		if w.name = next.Name; w.ended() {
			return w.cursor(nil), nil
		}
	}
}

// list reads the aliases behind the present one, some at a time.
func (w *aliasWalk) list(ctx context.Context) ([]chainstore.Alias, *chainstore.AliasCursor, error) {
	query := chainstore.AliasQuery{Prefix: w.query.prefix, Limit: wire.ListChunk, Bytes: wire.PageBytes}
	if w.name != "" {
		query.After = &chainstore.AliasCursor{Name: w.name}
	}
	return w.Store.Aliases(ctx, w.query.page.Namespace, query)
}

// alias searches the chain of an alias; nil: all of it.
func (w *aliasWalk) alias(ctx context.Context, a *chainstore.Alias) ([]byte, error) {
	chain, err := w.Store.Chain(ctx, w.query.page.Namespace, chainstore.Ref{ID: a.Node}, nil)
	if errors.Is(err, chainstore.ErrNodeNotFound) { // deleted and collected since it was listed
		w.name = a.Name
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return w.chain(ctx, a.Name, chain, &resumePoint{chain.Head().ID, wholeOf(chain)})
}

// chain searches the rest of an alias's chain; nil: nothing is left of it.
func (w *aliasWalk) chain(ctx context.Context, name string, chain chainstore.Chain, at *resumePoint) ([]byte, error) {
	w.name = name
	before, done, err := w.scan(ctx, &scannedChain{Chain: chain, alias: name}, w.reported.end(chain), at.before)
	if err != nil {
		return nil, err
	}
	if !done {
		return w.cursor(&resumePoint{at.head, before}), nil
	}
	w.reported.add(chain)
	return nil, nil
}
