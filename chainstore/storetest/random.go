package storetest

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	"pgregory.net/rapid"
)

func randomChecks() []check {
	return []check{{Random, "LikeTheModel", likeTheModel}, {Random, "ForgetsLikeTheModel", forgetsLikeTheModel}}
}

// likeTheModel runs random programs on the store and on the model, each in a namespace of its own: every change does
// the same on both, and all that can be seen is equal. Flag -rapid.checks makes it run more.
func likeTheModel(f *fixture) { randomPrograms(f, (*program).step) }

// randomPrograms runs programs of such steps.
func randomPrograms(f *fixture, step func(*program, *rapid.T) error) {
	t := f.TB.(*testing.T)
	if f.cfg.Model == nil {
		t.Skip("Config.Model is not set")
	}
	model := f.cfg.Model(Options{Now: f.clock.Now})
	t.Cleanup(func() { f.ok(model.Close()) })
	runs := 0
	rapid.Check(t, func(rt *rapid.T) {
		runs++
		g := f.in(fmt.Sprint("random-", runs))
		p := &program{f: g, model: model, store: f.store}
		p.batcher, _ = f.bare.(Batcher)
		beside := &program{f: f.in(g.ns + "-beside"), model: model, store: f.store}
		if err := beside.commit(f.change([]Node{root(user("beside")), under(previous(), assistant("x"))}, set("a", 1, anything()))); err != nil {
			rt.Fatal(err)
		}
		steps := 4 + roll(rt, 24, "steps")
		purges := roll(rt, 8*steps, "purges")
		for i := range steps {
			if err := step(p, rt); err != nil {
				rt.Fatal(err)
			}
			if purger, ok := f.bare.(Purger); ok && i == purges {
				purger.Purged()
			}
		}
		for _, one := range []*program{p, beside} {
			if err := one.compare(one.ids); err != nil {
				rt.Fatal(err)
			}
		}
		if !f.skips(Compaction) && !f.skips(Headers) {
			if err := p.views(); err != nil {
				rt.Fatal(err)
			}
		}
		if !f.skips(Verify) {
			if err := p.verify(p.store); err != nil {
				rt.Fatal(err)
			}
		}
	})
}

// program is a random program under way.
type program struct {
	f            *fixture
	store, model chainstore.Store
	// batcher is the store, if it is one.
	batcher Batcher
	// ids are those of all nodes put so far, last the change before.
	ids  []chainstore.ID
	last *chainstore.Change
	// gone are those of the nodes that were deleted.
	gone []chainstore.ID
}

var (
	randomAliases = []string{"a", "a/b", "a/b/c", "ab", "/c"}
	randomCalls   = []string{"1", "2", ""}
)

func (p *program) step(rt *rapid.T) error {
	switch roll(rt, 16, "what") {
	case 0:
		p.later(rt)
		return nil
	case 1:
		return p.compare(p.ids[max(0, len(p.ids)-4):])
	case 2:
		if p.last == nil {
			return nil
		}
	case 3, 4:
		if p.batcher != nil {
			return p.together(rt)
		}
		p.last = p.change(rt)
	case 10:
		if !p.f.skips(Settings) {
			return p.settle(rt)
		}
		return nil
	case 11:
		return p.collect(rt)
	case 12:
		return p.erase(rt)
	case 13:
		return p.eraseLabels(rt)
	case 14:
		return p.deleteAll(rt)
	default:
		p.last = p.change(rt)
	}
	return p.commit(p.last)
}

// later lets time pass.
func (p *program) later(rt *rapid.T) {
	p.f.clock.Advance(pick(rt, []time.Duration{
		time.Millisecond, time.Hour, 13 * time.Hour, 46 * 24 * time.Hour,
	}, "time"))
}

func (p *program) change(rt *rapid.T) *chainstore.Change {
	kinds := []string{"nodes", "nodes", "aliases", "delete"}
	if !p.f.skips(Mixed) {
		kinds = append(kinds, "mixed")
	}
	var nodes []Node
	var aliases []chainstore.AliasChange
	names := slices.Clone(randomAliases)
	kind := pick(rt, kinds, "kind")
	if len(p.ids) == 0 {
		kind = "nodes"
	}
	if kind == "nodes" || kind == "mixed" {
		for i := range 1 + roll(rt, 4, "nodes") {
			nodes = append(nodes, p.node(rt, i))
		}
		for range roll(rt, 3, "sets") {
			name := takeName(rt, &names)
			c := set(name, roll(rt, len(nodes), "node"), p.condition(rt, name))
			aliases = append(aliases, withLabels(rt, c))
		}
		if kind == "nodes" && roll(rt, 4, "deletes") == 3 {
			aliases = append(aliases, p.remove(rt, &names))
		}
	}
	if kind == "aliases" || kind == "mixed" {
		for range 1 + roll(rt, 2, "moves") {
			name := takeName(rt, &names)
			c := chainstore.AliasChange{Name: name, Condition: p.condition(rt, name)}
			c.Target = chainstore.Target{Kind: chainstore.TargetRef, Ref: p.ref(rt)}
			aliases = append(aliases, withLabels(rt, c))
		}
	}
	if kind == "delete" || kind != "nodes" && rapid.Bool().Draw(rt, "delete too") {
		aliases = append(aliases, p.remove(rt, &names))
	}
	if p.f.skips(Mixed) {
		unmix(aliases, len(nodes)+len(aliases) > 1)
	}
	return p.f.change(nodes, aliases...)
}

// unmix brings aliases into the order of their nodes: of names that begin, one behind another that was forgotten has a higher revision. Beside
// others none is forgotten.
func unmix(aliases []chainstore.AliasChange, others bool) {
	slices.SortStableFunc(aliases, func(a, b chainstore.AliasChange) int { return a.Target.Node - b.Target.Node })
	for i := range aliases {
		aliases[i].Forget = aliases[i].Forget && !others
	}
}

// remove deletes an alias that the change does not name yet.
func (p *program) remove(rt *rapid.T, names *[]string) chainstore.AliasChange {
	name := takeName(rt, names)
	c := remove(name, p.condition(rt, name))
	c.Forget = !p.f.skips(Collect) && roll(rt, 3, "forgets") == 0
	if k := c.Condition.Kind; k == chainstore.MustNotExist || k == chainstore.Extends {
		c.Condition = anything()
	}
	return c
}

func takeName(rt *rapid.T, names *[]string) string {
	i := roll(rt, len(*names), "alias")
	name := (*names)[i]
	*names = slices.Delete(*names, i, i+1)
	return name
}

func withLabels(rt *rapid.T, c chainstore.AliasChange) chainstore.AliasChange {
	switch roll(rt, 4, "labels") {
	case 0:
		c.Labels, c.SetLabels = map[string]string{"k": pick(rt, []string{"", "v", "w"}, "label")}, true
	case 1:
		c.SetLabels = true
	}
	return c
}

// id is that of a node, now and then of none. Late ones come more often, so that chains grow.
func (p *program) id(rt *rapid.T) chainstore.ID {
	n := len(p.ids)
	if len(p.gone) > 0 && roll(rt, 20, "gone") == 19 {
		return pick(rt, p.gone, "of the gone")
	}
	if n == 0 || roll(rt, 40, "unknown") == 39 {
		return unknownID(1)
	}
	if rapid.Bool().Draw(rt, "last") {
		return p.ids[n-1]
	}
	return p.ids[roll(rt, n, "id")]
}

func (p *program) ref(rt *rapid.T) chainstore.Ref {
	if roll(rt, 3, "by alias") == 0 {
		return aliasRef(p.alias(rt))
	}
	return idRef(p.id(rt))
}

func (p *program) condition(rt *rapid.T, name string) chainstore.Condition {
	switch roll(rt, 13, "condition") {
	case 10, 11:
		return atRevision(p.revision(rt, name))
	case 12:
		return headAt(p.headOf(rt, name), p.revision(rt, name))
	case 5:
		return mustNotExist()
	case 6:
		return mustExist()
	case 7, 8:
		return headIs(p.headOf(rt, name))
	case 9:
		if !p.f.skips(Compaction) {
			return extending(p.headOf(rt, name))
		}
	}
	return anything()
}

// revision is mostly that of an alias, or the one before, at which a change that repeats began; else the next.
func (p *program) revision(rt *rapid.T, name string) int64 {
	now := revisionIn(p.model.Alias(p.f.ctx(), p.f.ns, name))
	return max(1, now+pick(rt, []int64{0, 0, -1, -1, 1}, "revision"))
}

// headOf is mostly where an alias points, or an ancestor of that; else some node.
func (p *program) headOf(rt *rapid.T, name string) chainstore.ID {
	path := p.path(byAlias(name))
	switch k := roll(rt, 4, "head"); {
	case len(path) == 0 || k == 3:
		return p.id(rt)
	case k == 2:
		return pick(rt, path, "ancestor").ID
	default:
		return path[len(path)-1].ID
	}
}

func (p *program) node(rt *rapid.T, i int) Node {
	n := Node{Parent: p.parent(rt, i)}
	if !p.f.skips(Compaction) && roll(rt, 3, "compacts") == 2 && p.compaction(rt, &n) {
		return n
	}
	for range roll(rt, 4, "messages") {
		n.Messages = append(n.Messages, randomMessage(rt))
	}
	for _, key := range []string{"var/x", "var/y", "other"} {
		if roll(rt, 5, "sets "+key) == 0 {
			n.Metadata = append(n.Metadata, Entry{key, pick(rt, []string{"", "1"}, "value")})
		}
	}
	if roll(rt, 5, "declares x") == 0 {
		n.Metadata = append(n.Metadata, Entry{"varinfo/x", pick(rt, []string{"", VariableInfo}, "declaration")})
	}
	if roll(rt, 5, "ends the run") == 0 {
		n.Metadata = append(n.Metadata, Entry{"run/end", pick(rt, []string{"replied", "stopped", "failed", "cancelled"}, "outcome")})
	}
	if len(n.Messages)+len(n.Metadata) == 0 {
		n.Messages = []Message{user("x")}
	}
	if roll(rt, 10, "salted") == 0 {
		n.Salt = []byte("sixteen bytes...")
	}
	if roll(rt, 10, "spawned") == 0 {
		n.SpawnedFrom = &chainstore.SpawnedFrom{Node: p.id(rt), CallID: randomID(rt)}
	}
	return n
}

func (p *program) parent(rt *rapid.T, i int) chainstore.Parent {
	switch k := roll(rt, 10, "parent"); {
	case i > 0 && k < 4:
		return previous()
	case len(p.ids) == 0 || k == 7:
		return chainstore.Parent{}
	case k > 7:
		return byAlias(p.alias(rt))
	default:
		return byID(p.id(rt))
	}
}

// alias is mostly the name of one that is there.
func (p *program) alias(rt *rapid.T) string {
	var there []string
	for _, name := range randomAliases {
		if _, err := p.model.Alias(p.f.ctx(), p.f.ns, name); err == nil {
			there = append(there, name)
		}
	}
	if len(there) == 0 || roll(rt, 10, "any alias") == 9 {
		return pick(rt, randomAliases, "alias")
	}
	return pick(rt, there, "alias")
}

// roll is one of 0 to n-1, each as often as another: rapid's own ranges and samples favour the first, and programs of
// changes that mostly fail reach little.
func roll(rt *rapid.T, n int, label string) int {
	bits := rapid.SliceOfN(rapid.Bool(), 10, 10).Draw(rt, label)
	v := 0
	for _, b := range bits {
		v <<= 1
		if b {
			v++
		}
	}
	return v * n >> len(bits)
}

func pick[T any](rt *rapid.T, from []T, label string) T { return from[roll(rt, len(from), label)] }

func randomID(rt *rapid.T) runloop.Optional {
	if roll(rt, 6, "absent") == 0 {
		return runloop.Optional{}
	}
	return runloop.Some(pick(rt, randomCalls, "call id"))
}

func randomMessage(rt *rapid.T) Message {
	m := Message{
		Role: runloop.Role(1 + roll(rt, 5, "role")),
		Text: pick(rt, []string{"", "x", " \n", "é", "a longer text that makes more than a line of it, so that a line in its place is shorter than it is: that takes two hundred bytes or so, which is quite a lot for such a message, really"}, "text"),
	}
	if m.Opaque = m.Role != runloop.Tool && roll(rt, 8, "opaque") == 0; m.Opaque {
		return m
	}
	switch m.Role {
	case runloop.Assistant:
		for range pick(rt, []int{0, 0, 1, 2}, "calls") {
			m.Calls = append(m.Calls, runloop.Call{ID: randomID(rt), Name: randomID(rt)})
		}
	case runloop.Tool:
		m.CallID, m.Error = randomID(rt), rapid.Bool().Draw(rt, "error")
	}
	if roll(rt, 5, "noted") == 0 {
		m.Note = runloop.Note{HasSentAt: true, SentAt: int64(rapid.IntRange(0, 1<<41).Draw(rt, "sent"))}
	}
	if roll(rt, 5, "counted") == 0 {
		m.Note.HasTokens, m.Note.Tokens = true, uint32(roll(rt, 1000, "tokens"))
		m.Note.Estimated = rapid.Bool().Draw(rt, "estimated")
	}
	if roll(rt, 5, "detailed") == 0 {
		m.Detail = pick(rt, []chainstore.Detail{detail(), {Model: "m"}, {FinishReason: "length"}}, "detail")
	}
	return m
}

// became is what became of a change.
type became struct {
	*chainstore.Committed
	err error
}

// commit applies a change to both and compares what they say.
func (p *program) commit(c *chainstore.Change) error {
	want := p.expect(c)
	got, err := p.store.Commit(p.f.ctx(), p.f.ns, c)
	return became{got, err}.is(want)
}

// expect applies a change to the model.
func (p *program) expect(c *chainstore.Change) became {
	want, err := p.model.Commit(p.f.ctx(), p.f.ns, c)
	if err != nil {
		return became{err: err}
	}
	for _, n := range want.Nodes {
		if n.Created {
			p.ids = append(p.ids, n.ID)
		}
	}
	return became{Committed: want}
}

func (got became) is(want became) error {
	if err := sameError(got.err, want.err); err != nil || want.err != nil {
		return err
	}
	if !slices.Equal(got.Nodes, want.Nodes) || !slices.Equal(got.Aliases, want.Aliases) {
		return fmt.Errorf("a change gave %+v, want %+v", *got.Committed, *want.Committed)
	}
	return nil
}

func sameError(got, want error) error {
	for _, known := range []error{
		chainstore.ErrParentNotFound, chainstore.ErrNodeNotFound, chainstore.ErrAliasNotFound, chainstore.ErrAliasExists,
		chainstore.ErrAliasMoved, chainstore.ErrGroupTooLarge, chainstore.ErrNotAncestor, chainstore.ErrAlreadyCovered,
		chainstore.ErrOpenCalls, chainstore.ErrQuota, chainstore.ErrSettingsChanged, chainstore.ErrErased, chainstore.ErrErasedMeanwhile,
		chainstore.ErrBadErasure, chainstore.ErrNotErased,
	} {
		if errors.Is(got, known) != errors.Is(want, known) {
			return fmt.Errorf("error is %w, want %w", got, want)
		}
	}
	if (got == nil) != (want == nil) {
		return fmt.Errorf("error is %w, want %w", got, want)
	}
	var a, b *chainstore.ConflictError
	if errors.As(got, &a) != errors.As(want, &b) || a != nil && !reflect.DeepEqual(a.Conflicts, b.Conflicts) {
		return fmt.Errorf("the conflicts of %w are not those of %w", got, want)
	}
	var erased, other *chainstore.ErasedError
	if errors.As(got, &erased) && errors.As(want, &other) && !reflect.DeepEqual(erased, other) {
		return fmt.Errorf("the node that is erased of %w is not that of %w", got, want)
	}
	var over, above *chainstore.QuotaError
	if errors.As(got, &over) && errors.As(want, &above) && !slices.Equal(over.Over, above.Over) {
		return fmt.Errorf("error is %w, want %w", got, want)
	}
	return nil
}

// compare looks at everything in both that can be seen of some nodes and of all aliases.
func (p *program) compare(ids []chainstore.ID) error {
	d := dumper{f: p.f, ids: append(slices.Clone(ids), unknownID(1)), names: randomAliases, calls: randomCalls}
	want, err := d.dump(p.model)
	if err != nil {
		return fmt.Errorf("the model: %w", err)
	}
	got, err := d.dump(p.store)
	if err != nil {
		return err
	}
	if line := firstDifference(got, want); line != "" {
		return errors.New(line)
	}
	return nil
}

func (p *program) verify(s chainstore.Store) error {
	judge := p.f.cfg.Encoding.Judge
	return s.Verify(p.f.ctx(), chainstore.Check{Namespace: p.f.ns}, judge, func(r chainstore.VerifyReport) error {
		if len(r.Problems) > 0 {
			return fmt.Errorf("verify: %+v", r.Problems)
		}
		return nil
	})
}
