package badgerstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/commit"
	"github.com/transcriptd/transcriptd/chainstore/memstore"
	"github.com/transcriptd/transcriptd/chainstore/storetest"
	"pgregory.net/rapid"
)

// aliasProgram moves aliases of a store and of the model alike, several changes in a commit, by a clock that also goes back.
type aliasProgram struct {
	*testing.T
	clock   *storetest.Clock
	dir, ns string
	store   *Store
	model   chainstore.Store
	nodes   []chainstore.ID
	// revisions has what each name was at a revision.
	revisions map[string]map[int64]string
}

// open opens the store with memtables so small that versions of a row lie in several tables.
func (p *aliasProgram) open() {
	p.store = openAt(p, p.dir, Options{Now: p.clock.Now, MemtableBytes: 512 << 10, CacheBytes: 2 << 20})
}

// modelNames are names at the edges of folders and of what a key can end in.
var modelNames = []string{
	"a", "a/", "a/b", "a//b", "a/b/c", "ab", "/", "//", "/a", "é/ü", "é", "\U0010ffff", "a/\U0010ffff", "1/2/3/4/5/6/7/8", "1/2/3/4/5/6/7/8/9/10",
}

func pickOf[T any](rt *rapid.T, label string, from ...T) T { return from[rollOf(rt, label, len(from))] }

// rollOf is one of 0 to n-1, each as often as another: rapid's own ranges favour the first.
func rollOf(rt *rapid.T, label string, n int) (v int) {
	const bits = 8
	for _, b := range rapid.SliceOfN(rapid.Bool(), bits, bits).Draw(rt, label) {
		if v <<= 1; b {
			v++
		}
	}
	return v * n >> bits
}

// change is one of a few aliases, each once.
func (p *aliasProgram) change(rt *rapid.T) *chainstore.Change {
	out := &chainstore.Change{}
	names := slices.Clone(modelNames)
	for range 1 + rollOf(rt, "names", 4) {
		i := rollOf(rt, "name", len(names))
		name := names[i]
		names = slices.Delete(names, i, i+1)
		c := chainstore.AliasChange{Name: name}
		var revision int64
		a, err := p.model.Alias(p.Context(), p.ns, name)
		var deleted *chainstore.DeletedError
		if errors.As(err, &deleted) {
			revision = deleted.Revision
		} else if err == nil {
			revision = a.Revision
		}
		switch rollOf(rt, "target", 10) {
		case 0, 1, 2:
			c.Target.Kind = chainstore.TargetNone
		case 3:
			c.Target = chainstore.Target{Kind: chainstore.TargetRef, Ref: chainstore.Ref{Alias: pickOf(rt, "other", modelNames...)}}
		default:
			c.Target = chainstore.Target{Kind: chainstore.TargetRef, Ref: chainstore.Ref{ID: pickOf(rt, "node", p.nodes...)}}
		}
		if c.Target.Kind != chainstore.TargetNone && rapid.Bool().Draw(rt, "labels") {
			c.SetLabels, c.Labels = true, map[string]string{"k": pickOf(rt, "label", "", "v")}
		}
		switch rollOf(rt, "condition", 10) {
		case 0:
			c.Condition.Revision = max(1, revision-pickOf[int64](rt, "behind", 0, 1, 2))
		case 1:
			c.Condition = chainstore.Condition{Kind: chainstore.HeadIs, Head: pickOf(rt, "head", p.nodes...)}
		}
		out.Aliases = append(out.Aliases, c)
	}
	return out
}

// commit applies changes, in one batch of the store, and one after the other to the model.
func (p *aliasProgram) commit(rt *rapid.T, changes ...*chainstore.Change) {
	var requests []*commit.Request
	for _, c := range changes {
		requests = append(requests, queuedChange(p.ns, c))
	}
	together(p.store, requests...)
	for i, c := range changes {
		want, err := p.model.Commit(p.Context(), p.ns, c)
		if got := requests[i]; (got.Err == nil) != (err == nil) || err == nil && !slices.Equal(got.Committed.Aliases, want.Aliases) {
			rt.Fatalf("a change gave %+v, %v, want %+v, %v", got.Committed, got.Err, want, err)
		}
		for _, name := range modelNames {
			p.note(rt, name)
		}
	}
}

// note keeps what an alias is at its revision, which is that for good.
func (p *aliasProgram) note(rt *rapid.T, name string) {
	a, err := p.model.Alias(p.Context(), p.ns, name)
	revision, what := int64(0), "deleted"
	var deleted *chainstore.DeletedError
	switch {
	case err == nil:
		revision, what = a.Revision, fmt.Sprint(a.Node, a.Labels)
	case errors.As(err, &deleted):
		revision = deleted.Revision
	default:
		return
	}
	if p.revisions[name] == nil {
		p.revisions[name] = map[int64]string{}
	}
	if was, ok := p.revisions[name][revision]; ok && was != what {
		rt.Fatalf("%q at revision %d is %s, was %s", name, revision, what, was)
	}
	p.revisions[name][revision] = what
}

// list pages through some list of both.
func (p *aliasProgram) list(rt *rapid.T) {
	q := chainstore.AliasQuery{Limit: 1 + rollOf(rt, "limit", 4), Reverse: rapid.Bool().Draw(rt, "reverse")}
	if q.ByFolder = rapid.Bool().Draw(rt, "by folder"); q.ByFolder {
		q.Folder = pickOf(rt, "folder", append(slices.Collect(chainstore.Folders(pickOf(rt, "of", modelNames...))), "none", "a/")...)
	} else {
		name := pickOf(rt, "prefix of", modelNames...)
		q.Prefix = string([]rune(name)[:rollOf(rt, "runes", len([]rune(name))+1)])
	}
	if rapid.Bool().Draw(rt, "from within") {
		at := p.clock.Now().UnixMilli() - pickOf[int64](rt, "ago", 0, 1, 2, 3600_000)
		if name := pickOf(rt, "after", modelNames...); !q.ByFolder || chainstore.IsUnder(name, q.Folder) {
			q.After = &chainstore.AliasCursor{Name: name, MovedAt: at}
		}
	}
	other := q
	for {
		got, next, err := p.store.Aliases(p.Context(), p.ns, q)
		want, then, errModel := p.model.Aliases(p.Context(), p.ns, other)
		if err != nil || errModel != nil || fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) || (next == nil) != (then == nil) {
			rt.Fatalf("%+v gave\n%+v, %v, %v, want\n%+v, %v, %v", q, got, next, err, want, then, errModel)
		}
		if next == nil {
			return
		}
		q.After, other.After = next, then
	}
}

func (p *aliasProgram) histories(rt *rapid.T) {
	for _, name := range modelNames {
		got, err := p.store.AliasHistory(p.Context(), p.ns, name)
		want, errModel := p.model.AliasHistory(p.Context(), p.ns, name)
		if !slices.Equal(got, want) || (err == nil) != (errModel == nil) {
			rt.Fatalf("the states of %q are %v, %v, want %v, %v", name, got, err, want, errModel)
		}
		a, err := p.store.Alias(p.Context(), p.ns, name)
		b, errModel := p.model.Alias(p.Context(), p.ns, name)
		if fmt.Sprintf("%+v %v", a, err) != fmt.Sprintf("%+v %v", b, errModel) {
			rt.Fatalf("%q is %+v, %v, want %+v, %v", name, a, err, b, errModel)
		}
	}
}

func (p *aliasProgram) step(rt *rapid.T) {
	switch rollOf(rt, "step", 20) {
	case 0, 1, 2, 3:
		p.clock.Advance(pickOf(rt, "time", time.Millisecond, -time.Millisecond, time.Hour, -time.Hour, 46*24*time.Hour, 91*24*time.Hour, -91*24*time.Hour))
	case 4, 5, 6, 7, 8, 9:
		p.list(rt)
	case 10:
		p.histories(rt)
	case 11:
		if rollOf(rt, "reopen", 4) > 0 {
			return
		}
		if rapid.Bool().Draw(rt, "as earlier") { // what an open takes up is as it was
			asEarlier(p, p.store, 1)
		}
		if err := p.store.Close(); err != nil {
			rt.Fatal(err)
		}
		p.open()
	default:
		var changes []*chainstore.Change
		for range 1 + rollOf(rt, "changes", 4) {
			changes = append(changes, p.change(rt))
		}
		p.commit(rt, changes...)
	}
}

// TestAliasesAreLikeTheModel: heads, labels, revisions, histories, and lists in both orders, at whatever time.
func TestAliasesAreLikeTheModel(t *testing.T) {
	p := &aliasProgram{T: t, clock: storetest.NewClock()}
	runs := 0
	rapid.Check(t, func(rt *rapid.T) {
		if runs%100 == 0 {
			p.dir = t.TempDir()
			p.open()
			p.model = memstore.New(memstore.Options{Now: p.clock.Now})
		}
		runs++
		p.ns, p.revisions, p.nodes = fmt.Sprint("run-", runs), map[string]map[int64]string{}, nil
		nodes := &chainstore.Change{Nodes: []chainstore.NewNode{node(nil, "x"), node(nil, "y"), node(nil, "z")}}
		for _, s := range []chainstore.Store{p.store, p.model} {
			out, err := s.Commit(context.Background(), p.ns, nodes)
			if err != nil {
				rt.Fatal(err)
			}
			p.nodes = []chainstore.ID{out.Nodes[0].ID, out.Nodes[1].ID, out.Nodes[2].ID}
		}
		for range 10 + rollOf(rt, "steps", 40) {
			p.step(rt)
		}
		p.histories(rt)
		if found := problems(p, p.store, p.ns, storetest.Simple().Judge); found != nil {
			rt.Fatalf("verify found %q", found)
		}
	})
}
