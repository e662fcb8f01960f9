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
	return []check{{Random, "LikeTheModel", likeTheModel}}
}

// likeTheModel runs random programs on the store and on the model, each in a namespace of its own: every change does
// the same on both, and all that can be seen is equal. Flag -rapid.checks makes it run more.
func likeTheModel(f *fixture) {
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
		for range rapid.IntRange(4, 40).Draw(rt, "steps") {
			if err := p.step(rt); err != nil {
				rt.Fatal(err)
			}
		}
		if err := p.compare(); err != nil {
			rt.Fatal(err)
		}
		if !f.skips(Verify) {
			if err := p.verify(); err != nil {
				rt.Fatal(err)
			}
		}
	})
}

// program is a random program under way.
type program struct {
	f            *fixture
	store, model chainstore.Store
	// ids are those of all nodes put so far.
	ids []chainstore.ID
}

var (
	randomAliases = []string{"a", "a/b", "a/c", "ab", "c"}
	randomCalls   = []string{"1", "2", ""}
)

func (p *program) step(rt *rapid.T) error {
	switch rapid.IntRange(0, 9).Draw(rt, "what") {
	case 0:
		p.f.clock.Advance(rapid.SampledFrom([]time.Duration{
			time.Millisecond, time.Hour, 13 * time.Hour, 46 * 24 * time.Hour,
		}).Draw(rt, "time"))
		return nil
	case 1:
		return p.compare()
	default:
		return p.commit(p.change(rt))
	}
}

func (p *program) change(rt *rapid.T) *chainstore.Change {
	kinds := []string{"nodes", "aliases", "delete"}
	if !p.f.skips(Mixed) {
		kinds = append(kinds, "mixed")
	}
	var nodes []Node
	var aliases []chainstore.AliasChange
	names := slices.Clone(randomAliases)
	kind := rapid.SampledFrom(kinds).Draw(rt, "kind")
	if kind == "nodes" || kind == "mixed" {
		for i := range rapid.IntRange(1, 4).Draw(rt, "nodes") {
			nodes = append(nodes, p.node(rt, i))
		}
		for range rapid.IntRange(0, 2).Draw(rt, "sets") {
			c := set(takeName(rt, &names), rapid.IntRange(0, len(nodes)-1).Draw(rt, "node"), p.condition(rt))
			aliases = append(aliases, withLabels(rt, c))
		}
	}
	if kind == "aliases" || kind == "mixed" {
		for range rapid.IntRange(1, 2).Draw(rt, "moves") {
			c := chainstore.AliasChange{Name: takeName(rt, &names), Condition: p.condition(rt)}
			c.Target = chainstore.Target{Kind: chainstore.TargetRef, Ref: p.ref(rt)}
			aliases = append(aliases, withLabels(rt, c))
		}
	}
	if kind == "delete" || kind == "mixed" && rapid.Bool().Draw(rt, "delete too") {
		c := remove(takeName(rt, &names), p.condition(rt))
		if c.Condition.Kind == chainstore.MustNotExist {
			c.Condition = anything()
		}
		aliases = append(aliases, c)
	}
	return p.f.change(nodes, aliases...)
}

func takeName(rt *rapid.T, names *[]string) string {
	i := rapid.IntRange(0, len(*names)-1).Draw(rt, "alias")
	name := (*names)[i]
	*names = slices.Delete(*names, i, i+1)
	return name
}

func withLabels(rt *rapid.T, c chainstore.AliasChange) chainstore.AliasChange {
	switch rapid.IntRange(0, 3).Draw(rt, "labels") {
	case 0:
		c.Labels, c.SetLabels = map[string]string{"k": rapid.SampledFrom([]string{"", "v", "w"}).Draw(rt, "label")}, true
	case 1:
		c.SetLabels = true
	}
	return c
}

// id is that of a node, now and then of none. Late ones come more often, so that chains grow.
func (p *program) id(rt *rapid.T) chainstore.ID {
	n := len(p.ids)
	if n == 0 || rapid.IntRange(0, 19).Draw(rt, "unknown") == 0 {
		return unknownID(1)
	}
	if rapid.Bool().Draw(rt, "last") {
		return p.ids[n-1]
	}
	return p.ids[rapid.IntRange(0, n-1).Draw(rt, "id")]
}

func (p *program) ref(rt *rapid.T) chainstore.Ref {
	if rapid.IntRange(0, 2).Draw(rt, "by alias") == 0 {
		return aliasRef(rapid.SampledFrom(randomAliases).Draw(rt, "target"))
	}
	return idRef(p.id(rt))
}

func (p *program) condition(rt *rapid.T) chainstore.Condition {
	switch rapid.IntRange(0, 6).Draw(rt, "condition") {
	case 0:
		return mustNotExist()
	case 1:
		return mustExist()
	case 2, 3:
		name := rapid.SampledFrom(randomAliases).Draw(rt, "head of")
		if a, err := p.model.Alias(p.f.ctx(), p.f.ns, name); err == nil {
			return headIs(a.Node)
		}
		return headIs(p.id(rt))
	default:
		return anything()
	}
}

func (p *program) node(rt *rapid.T, i int) Node {
	n := Node{Parent: p.parent(rt, i)}
	for range rapid.IntRange(0, 3).Draw(rt, "messages") {
		n.Messages = append(n.Messages, randomMessage(rt))
	}
	for _, key := range []string{"var/x", "var/y", "other"} {
		if rapid.IntRange(0, 4).Draw(rt, "sets "+key) == 0 {
			n.Metadata = append(n.Metadata, Entry{key, rapid.SampledFrom([]string{"", "1"}).Draw(rt, "value")})
		}
	}
	if len(n.Messages)+len(n.Metadata) == 0 {
		n.Messages = []Message{user("x")}
	}
	if rapid.IntRange(0, 9).Draw(rt, "salted") == 0 {
		n.Salt = []byte("sixteen bytes...")
	}
	if rapid.IntRange(0, 9).Draw(rt, "spawned") == 0 {
		n.SpawnedFrom = &chainstore.SpawnedFrom{Node: p.id(rt), CallID: randomID(rt)}
	}
	return n
}

func (p *program) parent(rt *rapid.T, i int) chainstore.Parent {
	switch k := rapid.IntRange(0, 9).Draw(rt, "parent"); {
	case k == 0:
		return chainstore.Parent{}
	case k < 4 && i > 0:
		return previous()
	case k < 6:
		return byAlias(rapid.SampledFrom(randomAliases).Draw(rt, "parent alias"))
	default:
		return byID(p.id(rt))
	}
}

func randomID(rt *rapid.T) runloop.Optional {
	if rapid.IntRange(0, 5).Draw(rt, "absent") == 0 {
		return runloop.Optional{}
	}
	return runloop.Some(rapid.SampledFrom(randomCalls).Draw(rt, "call id"))
}

func randomMessage(rt *rapid.T) Message {
	m := Message{
		Role: runloop.Role(rapid.IntRange(1, 5).Draw(rt, "role")),
		Text: rapid.SampledFrom([]string{"", "x", " \n", "é", "a longer text that makes more than a line of it, so that a line in its place is shorter than it is: that takes two hundred bytes or so, which is quite a lot for such a message, really"}).Draw(rt, "text"),
	}
	switch m.Role {
	case runloop.Assistant:
		for range rapid.SampledFrom([]int{0, 0, 1, 2}).Draw(rt, "calls") {
			m.Calls = append(m.Calls, runloop.Call{ID: randomID(rt), Name: randomID(rt)})
		}
	case runloop.Tool:
		m.CallID, m.Error = randomID(rt), rapid.Bool().Draw(rt, "error")
	}
	if rapid.IntRange(0, 4).Draw(rt, "noted") == 0 {
		m.Note = runloop.Note{HasSentAt: true, SentAt: int64(rapid.IntRange(0, 1<<41).Draw(rt, "sent"))}
	}
	if rapid.IntRange(0, 4).Draw(rt, "counted") == 0 {
		m.Note.HasTokens, m.Note.Tokens = true, uint32(rapid.IntRange(0, 999).Draw(rt, "tokens"))
		m.Note.Estimated = rapid.Bool().Draw(rt, "estimated")
	}
	return m
}

// commit applies a change to both and compares what they say.
func (p *program) commit(c *chainstore.Change) error {
	want, wantErr := p.model.Commit(p.f.ctx(), p.f.ns, c)
	got, err := p.store.Commit(p.f.ctx(), p.f.ns, c)
	if err := sameError(err, wantErr); err != nil {
		return err
	}
	if wantErr != nil {
		return nil
	}
	if !slices.Equal(got.Nodes, want.Nodes) || !slices.Equal(got.Aliases, want.Aliases) {
		return fmt.Errorf("a change gave %+v, want %+v", *got, *want)
	}
	for _, n := range got.Nodes {
		if n.Created {
			p.ids = append(p.ids, n.ID)
		}
	}
	return nil
}

func sameError(got, want error) error {
	for _, known := range []error{
		chainstore.ErrParentNotFound, chainstore.ErrNodeNotFound, chainstore.ErrAliasNotFound, chainstore.ErrAliasExists,
		chainstore.ErrAliasMoved, chainstore.ErrGroupTooLarge,
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
	return nil
}

// compare looks at everything in both.
func (p *program) compare() error {
	d := dumper{f: p.f, ids: append(slices.Clone(p.ids), unknownID(1)), names: randomAliases, calls: randomCalls}
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

func (p *program) verify() error {
	judge := p.f.cfg.Encoding.Judge
	return p.store.Verify(p.f.ctx(), p.f.ns, judge, func(r chainstore.VerifyReport) error {
		if len(r.Problems) > 0 {
			return fmt.Errorf("verify: %+v", r.Problems)
		}
		return nil
	})
}
