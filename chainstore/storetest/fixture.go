package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// fixture is a test's store, and how it puts and reads.
type fixture struct {
	testing.TB
	cfg   Config
	clock *Clock
	// bare is the store as opened; store is it behind Mangle.
	bare, store chainstore.Store
	ns          string
}

func newFixture(tb testing.TB, c Config) *fixture {
	f := &fixture{TB: tb, cfg: c, clock: NewClock(), ns: "default"}
	f.bare = c.Open(tb, Options{Now: f.clock.Now})
	f.store = Mangle(tb, f.bare)
	tb.Cleanup(func() {
		if err := f.bare.Close(); err != nil && !errors.Is(err, chainstore.ErrClosed) {
			tb.Errorf("close: %v", err)
		}
	})
	return f
}

// in is the same fixture in another namespace.
func (f *fixture) in(namespace string) *fixture {
	g := *f
	g.ns = namespace
	return &g
}

// on is the same fixture reporting to a test within the test.
func (f *fixture) on(tb testing.TB) *fixture {
	g := *f
	g.TB = tb
	return &g
}

func (f *fixture) sub(name string, run func(*fixture)) {
	f.Helper()
	f.TB.(*testing.T).Run(name, func(t *testing.T) { run(f.on(t)) })
}

func (f *fixture) ctx() context.Context { return context.Background() }

func (f *fixture) skips(c Category) bool {
	_, skip := f.cfg.Skip[c]
	return skip
}

// Parents.
func byID(id chainstore.ID) chainstore.Parent {
	return chainstore.Parent{Kind: chainstore.ParentID, ID: id}
}

func byAlias(name string) chainstore.Parent {
	return chainstore.Parent{Kind: chainstore.ParentAlias, Alias: name}
}

func previous() chainstore.Parent { return chainstore.Parent{Kind: chainstore.ParentPrevious} }

// Messages.
func system(text string) Message    { return Message{Role: runloop.System, Text: text} }
func user(text string) Message      { return Message{Role: runloop.User, Text: text} }
func assistant(text string) Message { return Message{Role: runloop.Assistant, Text: text} }

func opaque(role runloop.Role, data string) Message {
	return Message{Role: role, Text: data, Opaque: true}
}

// calling is an assistant message that calls tool NAME with each of the ids.
func calling(name string, ids ...string) Message {
	m := Message{Role: runloop.Assistant}
	for _, id := range ids {
		m.Calls = append(m.Calls, runloop.Call{ID: runloop.Some(id), Name: runloop.Some(name)})
	}
	return m
}

func result(id, text string) Message {
	return Message{Role: runloop.Tool, CallID: runloop.Some(id), Text: text}
}

// Nodes.
func root(messages ...Message) Node { return Node{Messages: messages} }

func under(parent chainstore.Parent, messages ...Message) Node {
	return Node{Parent: parent, Messages: messages}
}

func numbered(parent chainstore.Parent, i int) Node {
	if i%2 == 0 {
		return under(parent, user(fmt.Sprintf("question %d", i)))
	}
	return under(parent, assistant(fmt.Sprintf("answer %d", i)))
}

// Alias changes. set moves an alias to node i of the change, point to a node that is there.
func set(name string, i int, c chainstore.Condition) chainstore.AliasChange {
	return chainstore.AliasChange{
		Name: name, Target: chainstore.Target{Kind: chainstore.TargetNew, Node: i}, Condition: c,
	}
}

func point(name string, id chainstore.ID, c chainstore.Condition) chainstore.AliasChange {
	return chainstore.AliasChange{
		Name: name, Target: chainstore.Target{Kind: chainstore.TargetRef, Ref: chainstore.Ref{ID: id}}, Condition: c,
	}
}

func remove(name string, c chainstore.Condition) chainstore.AliasChange {
	return chainstore.AliasChange{Name: name, Target: chainstore.Target{Kind: chainstore.TargetNone}, Condition: c}
}

// Conditions.
func anything() chainstore.Condition     { return chainstore.Condition{} }
func mustNotExist() chainstore.Condition { return chainstore.Condition{Kind: chainstore.MustNotExist} }
func mustExist() chainstore.Condition    { return chainstore.Condition{Kind: chainstore.MustExist} }
func headIs(id chainstore.ID) chainstore.Condition {
	return chainstore.Condition{Kind: chainstore.HeadIs, Head: id}
}

func atRevision(n int64) chainstore.Condition { return chainstore.Condition{Revision: n} }

func headAt(id chainstore.ID, n int64) chainstore.Condition {
	return chainstore.Condition{Kind: chainstore.HeadIs, Head: id, Revision: n}
}

func idRef(id chainstore.ID) chainstore.Ref { return chainstore.Ref{ID: id} }
func aliasRef(name string) chainstore.Ref   { return chainstore.Ref{Alias: name} }
func unknownID(b byte) (id chainstore.ID)   { id[0], id[31] = b, b; return id }
func millis(t time.Time) int64              { return t.UnixMilli() }
func names(aliases []chainstore.Alias) []string {
	var out []string
	for _, a := range aliases {
		out = append(out, a.Name)
	}
	return out
}

func (f *fixture) change(nodes []Node, aliases ...chainstore.AliasChange) *chainstore.Change {
	c := &chainstore.Change{Aliases: aliases}
	for _, n := range nodes {
		c.Nodes = append(c.Nodes, f.cfg.Encoding.Make(n))
	}
	return c
}

func (f *fixture) try(nodes []Node, aliases ...chainstore.AliasChange) (*chainstore.Committed, error) {
	return f.store.Commit(f.ctx(), f.ns, f.change(nodes, aliases...))
}

func (f *fixture) commit(nodes []Node, aliases ...chainstore.AliasChange) *chainstore.Committed {
	f.Helper()
	out, err := f.try(nodes, aliases...)
	f.ok(err)
	if len(out.Nodes) != len(nodes) || len(out.Aliases) != len(aliases) {
		f.Fatalf("%d nodes and %d aliases came back of %d and %d", len(out.Nodes), len(out.Aliases), len(nodes), len(aliases))
	}
	return out
}

// put commits one node and returns its id.
func (f *fixture) put(n Node, aliases ...chainstore.AliasChange) chainstore.ID {
	f.Helper()
	return f.commit([]Node{n}, aliases...).Nodes[0].ID
}

// chain puts messages as nodes of one message each under parent and returns their ids.
func (f *fixture) chain(parent chainstore.Parent, messages ...Message) []chainstore.ID {
	f.Helper()
	var ids []chainstore.ID
	for _, m := range messages {
		ids = append(ids, f.put(under(parent, m)))
		parent = byID(ids[len(ids)-1])
	}
	return ids
}

// long puts n numbered nodes under parent, many in a change, and returns their ids.
func (f *fixture) long(parent chainstore.Parent, n int) []chainstore.ID {
	f.Helper()
	ids := make([]chainstore.ID, 0, n)
	for len(ids) < n {
		nodes := make([]Node, 0, 500)
		for i := len(ids); i < min(n, len(ids)+500); i++ {
			nodes = append(nodes, numbered(previous(), i))
		}
		nodes[0].Parent = parent
		for _, p := range f.commit(nodes).Nodes {
			ids = append(ids, p.ID)
		}
		parent = byID(ids[len(ids)-1])
	}
	return ids
}

func (f *fixture) ok(err error) {
	f.Helper()
	if err != nil {
		f.Fatalf("unexpected error: %v", err)
	}
}

func (f *fixture) fails(err, want error) {
	f.Helper()
	if !errors.Is(err, want) {
		f.Fatalf("error is %v, want %v", err, want)
	}
}

// missing asserts a MissingError of a place in the change.
func (f *fixture) missing(err, want error, index int) {
	f.Helper()
	f.fails(err, want)
	var missing *chainstore.MissingError
	if !errors.As(err, &missing) || missing.Index != index {
		f.Fatalf("error is %#v, want a MissingError of place %d", err, index)
	}
}

// became asserts what became of an alias, whatever its revision: checks of their own are about revisions.
func (f *fixture) became(what string, got, want chainstore.PutAlias) {
	f.Helper()
	got.Revised, got.Revision = false, 0
	equal(f, what, got, want)
}

// conflicts asserts a ConflictError that adds up to want and lists conflicts, whatever the revisions.
func (f *fixture) conflicts(err, want error, conflicts ...chainstore.Conflict) {
	f.Helper()
	f.fails(err, want)
	var c *chainstore.ConflictError
	if !errors.As(err, &c) {
		f.Fatalf("error %v holds no ConflictError", err)
	}
	got := slices.Clone(c.Conflicts)
	for i := range got {
		got[i].Revision = 0
	}
	if !slices.Equal(got, conflicts) {
		f.Fatalf("conflicts are %+v, want %+v", c.Conflicts, conflicts)
	}
}

func equal[T comparable](f *fixture, what string, got, want T) {
	f.Helper()
	if got != want {
		f.Fatalf("%s is %v, want %v", what, got, want)
	}
}

func equalSlices[T comparable](f *fixture, what string, got, want []T) {
	f.Helper()
	if !slices.Equal(got, want) {
		f.Fatalf("%s are %v, want %v", what, got, want)
	}
}

// kept is a row copied out of a yield.
type kept struct {
	raw                        chainstore.RawHeader
	header                     *chainstore.Header
	payload, metadata, details []byte
}

func (f *fixture) head(ref chainstore.Ref, after *chainstore.ID) chainstore.Chain {
	f.Helper()
	c, err := f.store.Chain(f.ctx(), f.ns, ref, after)
	f.ok(err)
	return c
}

func (f *fixture) rows(c chainstore.Chain, span chainstore.Span) []kept {
	f.Helper()
	var out []kept
	f.ok(c.Rows(f.ctx(), []chainstore.Span{span}, func(r *chainstore.Row) error {
		h, err := r.Header()
		if err != nil {
			return err
		}
		equal(f, "a row's place", r.Seq, span.From+uint32(len(out)))
		out = append(out, kept{
			raw: bytes.Clone(r.Raw), header: h, payload: bytes.Clone(r.Payload), metadata: bytes.Clone(r.Metadata),
			details: bytes.Clone(r.Details),
		})
		return nil
	}))
	return out
}

// all reads a whole chain.
func (f *fixture) all(ref chainstore.Ref) []kept {
	f.Helper()
	c := f.head(ref, nil)
	return f.rows(c, chainstore.Span{Through: c.Head().Seq})
}

func idsOf(rows []kept) []chainstore.ID {
	var ids []chainstore.ID
	for _, r := range rows {
		ids = append(ids, r.header.ID)
	}
	return ids
}

// absent asserts that a node is not there.
func (f *fixture) absent(id chainstore.ID) {
	f.Helper()
	_, err := f.store.Chain(f.ctx(), f.ns, idRef(id), nil)
	f.fails(err, chainstore.ErrNodeNotFound)
}

// points asserts where an alias points.
func (f *fixture) points(name string, id chainstore.ID) {
	f.Helper()
	a, err := f.store.Alias(f.ctx(), f.ns, name)
	f.ok(err)
	equal(f, "the alias's node", a.Node, id)
}

// gone asserts that there is no alias of that name.
func (f *fixture) gone(name string) {
	f.Helper()
	_, err := f.store.Alias(f.ctx(), f.ns, name)
	f.fails(err, chainstore.ErrAliasNotFound)
}

// clean asserts that Verify finds nothing and looks at every node.
func (f *fixture) clean() {
	f.Helper()
	if f.skips(Verify) {
		return
	}
	var last chainstore.VerifyReport
	f.ok(f.store.Verify(f.ctx(), chainstore.Check{Namespace: f.ns}, f.cfg.Encoding.Judge, func(r chainstore.VerifyReport) error {
		for _, p := range r.Problems {
			f.Errorf("verify: %s (node %v)", p.What, p.Node)
		}
		last = r
		return nil
	}))
	st, err := f.store.Stats(f.ctx(), f.ns)
	f.ok(err)
	equal(f, "the number of nodes verified", last.Nodes, st.Nodes)
}
