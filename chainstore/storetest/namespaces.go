package storetest

import (
	"errors"
	"fmt"
	"slices"

	"github.com/transcriptd/transcriptd/chainstore"
	"pgregory.net/rapid"
)

func settingsChecks() []check {
	return []check{
		{Settings, "ListsNames", listsNames},
		{Settings, "Replaced", settingsReplaced},
		{Settings, "Conditions", settingsConditions},
		{Settings, "MakeAName", settingsMakeAName},
		{Settings, "Reopened", settingsReopened},
		{Concurrency, "SettingsChangedAtOnce", settingsAtOnce},
		{Quotas, "OfEach", quotasOfEach},
		{Quotas, "RefuseNoRepeat", quotasRefuseNoRepeat},
		{Quotas, "Lowered", quotasLowered},
		{Quotas, "OrderOfErrors", quotasComeLast},
		{Quotas, "CompactionsCount", quotasOfCompactions},
		{Concurrency, "QuotasAtOnce", quotasAtOnce},
	}
}

func (f *fixture) namespaces(prefix, after string, limit int) []string {
	f.Helper()
	names, err := f.store.Namespaces(f.ctx(), chainstore.NamespaceQuery{Prefix: prefix, After: after, Limit: limit})
	f.ok(err)
	return names
}

func (f *fixture) settings() chainstore.SettingsNow {
	f.Helper()
	now, err := f.store.Settings(f.ctx(), f.ns)
	f.ok(err)
	return now
}

func (f *fixture) settle(s chainstore.Settings) chainstore.SettingsNow {
	f.Helper()
	now, err := f.store.SetSettings(f.ctx(), f.ns, chainstore.SettingsChange{Settings: s})
	f.ok(err)
	return now
}

func (f *fixture) settleAt(revision int64, s chainstore.Settings) (chainstore.SettingsNow, error) {
	return f.store.SetSettings(f.ctx(), f.ns, chainstore.SettingsChange{Settings: s, Conditioned: true, Revision: revision})
}

// over fails the test unless an error is of these quotas, in order.
func (f *fixture) over(err error, want ...chainstore.Quota) {
	f.Helper()
	f.fails(err, chainstore.ErrQuota)
	var quota *chainstore.QuotaError
	if !errors.As(err, &quota) || quota.Namespace != f.ns || !slices.Equal(quota.Over, want) {
		f.Fatalf("error is %v, want the quotas %v of %s", err, want, f.ns)
	}
}

func nodesQuota(limit int64) chainstore.Quota { return chainstore.Quota{What: "nodes", Limit: limit} }
func bytesQuota(limit int64) chainstore.Quota {
	return chainstore.Quota{What: "message bytes", Limit: limit}
}
func aliasQuota(limit int64) chainstore.Quota { return chainstore.Quota{What: "aliases", Limit: limit} }

// listsNames: the names of all namespaces that were written to, in order, in pages, by prefix.
func listsNames(f *fixture) {
	equal(f, "the names of an empty store", len(f.namespaces("", "", 10)), 0)
	for _, name := range []string{"b", "a.b", "a", "ab", "c-1", "c-2"} {
		f.in(name).put(root(user("u")))
	}
	never := f.in("aa")
	never.commit(nil, remove("x", anything()))
	_, err := never.try([]Node{under(byID(unknownID(1)), user("x"))})
	never.fails(err, chainstore.ErrParentNotFound)
	for _, c := range []struct {
		prefix, after string
		limit         int
		want          []string
	}{
		{"", "", 10, []string{"a", "a.b", "ab", "b", "c-1", "c-2"}},
		{"", "", 2, []string{"a", "a.b"}},
		{"", "a.b", 2, []string{"ab", "b"}},
		{"", "aa", 10, []string{"ab", "b", "c-1", "c-2"}},
		{"", "c-2", 10, nil},
		{"a", "", 10, []string{"a", "a.b", "ab"}},
		{"a", "a", 10, []string{"a.b", "ab"}},
		{"c-", "a", 10, []string{"c-1", "c-2"}},
		{"a", "b", 10, nil},
		{"d", "", 10, nil},
	} {
		equalSlices(f, fmt.Sprintf("the names under %q behind %q", c.prefix, c.after), f.namespaces(c.prefix, c.after, c.limit), c.want)
	}
}

// settingsReplaced: settings replace those before as a whole; the revision counts changes, and the first time is one.
func settingsReplaced(f *fixture) {
	f.put(root(user("u")))
	equal(f, "settings that were never set", f.settings(), chainstore.SettingsNow{})
	for i, c := range []struct {
		set      chainstore.Settings
		revision int64
	}{
		{chainstore.Settings{}, 1},
		{chainstore.Settings{MaxNodes: 10, MaxMessageBytes: 1 << 50}, 2},
		{chainstore.Settings{MaxNodes: 10, MaxMessageBytes: 1 << 50}, 2},
		{chainstore.Settings{MaxAliases: 3}, 3},
		{chainstore.Settings{MaxAliases: 3, Retention: "chat/"}, 4},
		{chainstore.Settings{MaxAliases: 3, Retention: "chat/"}, 4},
		{chainstore.Settings{Retention: "chat/old/"}, 5},
		{chainstore.Settings{}, 6},
	} {
		want := chainstore.SettingsNow{Settings: c.set, Revision: c.revision}
		equal(f, fmt.Sprint("what change ", i, " gave"), f.settle(c.set), want)
		equal(f, fmt.Sprint("the settings after change ", i), f.settings(), want)
	}
	equal(f, "the settings of another namespace", f.in("other").settings(), chainstore.SettingsNow{})
	f.clean()
}

// settingsConditions: a change at a revision is made there, and holds at the next if it is what was set.
func settingsConditions(f *fixture) {
	first, second := chainstore.Settings{MaxNodes: 1}, chainstore.Settings{MaxNodes: 2}
	for i, c := range []struct {
		at   int64
		set  chainstore.Settings
		want int64 // 0: refused
	}{
		{1, first, 0}, {0, first, 1}, {0, first, 1}, {0, second, 0}, {2, first, 0}, {1, second, 2}, {1, second, 2}, {1, first, 0}, {0, second, 0},
		{2, second, 2}, {3, second, 0}, {2, first, 3},
	} {
		now, err := f.settleAt(c.at, c.set)
		if c.want == 0 {
			f.fails(err, chainstore.ErrSettingsChanged)
			continue
		}
		f.ok(err)
		equal(f, fmt.Sprint("what change ", i, " gave"), now, chainstore.SettingsNow{Settings: c.set, Revision: c.want})
	}
	equal(f, "the settings in the end", f.settings(), chainstore.SettingsNow{Settings: first, Revision: 3})
}

// settingsMakeAName: settings are something that was written, and hold from the first put on; what was refused leaves no name.
func settingsMakeAName(f *fixture) {
	_, err := f.in("refused").settleAt(1, chainstore.Settings{MaxNodes: 1})
	f.fails(err, chainstore.ErrSettingsChanged)
	g := f.in("acme")
	g.settle(chainstore.Settings{MaxNodes: 1})
	equalSlices(f, "the names", f.namespaces("", "", 10), []string{"acme"})
	st, err := f.store.Stats(f.ctx(), g.ns)
	f.ok(err)
	equal(f, "the statistics", st, chainstore.Stats{})
	g.put(root(user("u")))
	_, err = g.try([]Node{root(user("v"))})
	g.over(err, nodesQuota(1))
	f.put(root(user("u")))
	f.put(root(user("v")))
	g.clean()
	f.clean()
}

// settingsReopened: settings outlive a Close, and are heeded then.
func settingsReopened(f *fixture) {
	if f.cfg.Reopen == nil {
		return
	}
	f.put(root(user("u")), set("x", 0, anything()))
	want := f.settle(chainstore.Settings{MaxNodes: 1, MaxAliases: 1})
	f.ok(f.bare.Close())
	f.bare = f.cfg.Reopen(f.TB, Options{Now: f.clock.Now})
	f.store = Mangle(f.TB, f.bare)
	_, err := f.try([]Node{root(user("v"))}, set("y", 0, anything()))
	f.over(err, nodesQuota(1), aliasQuota(1))
	equal(f, "the settings of the store that was opened again", f.settings(), want)
	f.clean()
}

// settingsAtOnce: of those who change settings at one revision, one does.
func settingsAtOnce(f *fixture) {
	for revision := range int64(3) {
		errs := atOnce(callers, func(i int) error {
			_, err := f.settleAt(revision, chainstore.Settings{MaxNodes: 1 + revision*callers + int64(i)})
			return err
		})
		won := 0
		for _, err := range errs {
			if err == nil {
				won++
				continue
			}
			f.fails(err, chainstore.ErrSettingsChanged)
		}
		equal(f, "how many changed the settings", won, 1)
		equal(f, "the revision", f.settings().Revision, revision+1)
	}
}

// quotasOfEach: each quota is of what Stats counts; what is refused changes nothing.
func quotasOfEach(f *fixture) {
	n := root(user("u"), assistant("a"))
	size := int64(len(f.change([]Node{n}).Nodes[0].Payload))
	other := root(user("v"), assistant("a"))
	for _, c := range []struct {
		set  chainstore.Settings
		want []chainstore.Quota
	}{
		{chainstore.Settings{MaxNodes: 2, MaxMessageBytes: 2 * size, MaxAliases: 2}, nil},
		{chainstore.Settings{MaxNodes: 1}, []chainstore.Quota{nodesQuota(1)}},
		{chainstore.Settings{MaxMessageBytes: 2*size - 1}, []chainstore.Quota{bytesQuota(2*size - 1)}},
		{chainstore.Settings{MaxAliases: 1}, []chainstore.Quota{aliasQuota(1)}},
		{chainstore.Settings{MaxNodes: 1, MaxMessageBytes: 1, MaxAliases: 1}, []chainstore.Quota{nodesQuota(1), bytesQuota(1), aliasQuota(1)}},
	} {
		g := f.in(fmt.Sprintf("of-%d-%d-%d", c.set.MaxNodes, c.set.MaxMessageBytes, c.set.MaxAliases))
		g.put(n, set("x", 0, anything()))
		g.settle(c.set)
		before, err := f.store.Stats(f.ctx(), g.ns)
		f.ok(err)
		_, err = g.try([]Node{other}, set("y", 0, anything()))
		if c.want == nil {
			g.ok(err)
			continue
		}
		g.over(err, c.want...)
		after, err := f.store.Stats(f.ctx(), g.ns)
		f.ok(err)
		equal(f, "the statistics", after, before)
		g.gone("y")
		g.absent(f.idOf(other, nil))
		g.clean()
	}
}

// quotasRefuseNoRepeat: what adds nothing goes at a quota: what took place before, moves, labels, and deletes.
func quotasRefuseNoRepeat(f *fixture) {
	n, child := root(user("u")), under(previous(), assistant("a"))
	nodes := []Node{n, child}
	ids := f.commit(nodes, set("x", 1, mustNotExist()), set("y", 0, anything())).Nodes
	f.settle(chainstore.Settings{MaxNodes: 1, MaxMessageBytes: 1, MaxAliases: 1})
	out := f.commit(nodes, set("x", 1, mustNotExist()))
	equal(f, "created", out.Nodes[0].Created || out.Nodes[1].Created, false)
	f.commit(nil, point("x", ids[0].ID, anything()))
	f.commit(nil, f.labelled("x", ids[0].ID, map[string]string{"k": "v"}))
	_, err := f.try([]Node{n}, set("z", 0, anything()))
	f.over(err, aliasQuota(1))
	f.commit([]Node{n}, set("z", 0, anything()), remove("y", anything()))
	f.commit(nil, remove("x", mustExist()), remove("z", mustExist()))
	f.commit(nil, point("x", ids[1].ID, anything()))
	_, err = f.try([]Node{root(user("v"))})
	f.over(err, nodesQuota(1), bytesQuota(1))
	f.clean()
}

// quotasLowered: a quota below what there is refuses what adds to it, and nothing else; one that is raised lets it in.
func quotasLowered(f *fixture) {
	f.long(chainstore.Parent{}, 20)
	f.settle(chainstore.Settings{MaxNodes: 5})
	_, err := f.try([]Node{root(user("v"))})
	f.over(err, nodesQuota(5))
	f.settle(chainstore.Settings{MaxNodes: 21})
	f.put(root(user("v")))
	_, err = f.try([]Node{root(user("w"))})
	f.over(err, nodesQuota(21))
	f.settle(chainstore.Settings{})
	f.put(root(user("w")))
	f.clean()
}

// quotasComeLast: what is wrong with a change itself is told before its quota.
func quotasComeLast(f *fixture) {
	id := f.put(root(user("u")), set("x", 0, anything()))
	f.settle(chainstore.Settings{MaxNodes: 1})
	_, err := f.try([]Node{root(user("v")), under(byID(unknownID(1)), user("x"))})
	f.fails(err, chainstore.ErrParentNotFound)
	_, err = f.try([]Node{root(user("v"))}, set("x", 0, mustNotExist()))
	f.conflicts(err, chainstore.ErrAliasExists, chainstore.Conflict{Kind: chainstore.MustNotExist, Exists: true, Node: id})
}

// quotasOfCompactions: a compaction node is a node as any other.
func quotasOfCompactions(f *fixture) {
	if f.skips(Compaction) {
		return
	}
	ids := f.chain(chainstore.Parent{}, system("s"), user("a"), assistant("b"))
	f.settle(chainstore.Settings{MaxNodes: 3})
	compacting := compacted(ids[2], ids[2], user("so far"))
	_, err := f.try([]Node{compacting})
	f.over(err, nodesQuota(3))
	f.settle(chainstore.Settings{MaxNodes: 4})
	f.put(compacting)
	f.clean()
}

// quotasAtOnce: however many write at once, and change settings, what there is is never over a quota, and it is used up.
func quotasAtOnce(f *fixture) {
	const limit = callers/2 + 1
	f.settle(chainstore.Settings{MaxNodes: limit, MaxAliases: limit - 2})
	outcomes := f.tryAtOnce(callers, func(i int) *chainstore.Change {
		if i%2 == 0 {
			return f.change([]Node{root(user(fmt.Sprint(i)))})
		}
		return f.change([]Node{root(user(fmt.Sprint(i)))}, set(fmt.Sprint("x/", i), 0, anything()))
	})
	var nodes, aliases int64
	for i, o := range outcomes {
		if o.err != nil {
			f.fails(o.err, chainstore.ErrQuota)
			continue
		}
		nodes, aliases = nodes+1, aliases+int64(i%2)
	}
	st, err := f.store.Stats(f.ctx(), f.ns)
	f.ok(err)
	equal(f, "the nodes", st.Nodes, limit)
	equal(f, "the nodes acknowledged", nodes, limit)
	equal(f, "the aliases", st.Aliases, aliases)
	equal(f, "that there are too many aliases", aliases > limit-2, false)
	f.clean()
}

// settle changes the settings in both, to quotas about what there is, and compares what they say.
func (p *program) settle(rt *rapid.T) error {
	st, err := p.model.Stats(p.f.ctx(), p.f.ns)
	if err != nil {
		return err
	}
	now, err := p.model.Settings(p.f.ctx(), p.f.ns)
	if err != nil {
		return err
	}
	about := func(n int64, what string) int64 { return pick(rt, []int64{0, 0, n, n + 2, n + n/4, 1}, what) }
	c := chainstore.SettingsChange{Settings: chainstore.Settings{
		MaxNodes: about(st.Nodes, "nodes allowed"), MaxMessageBytes: about(st.MessageBytes, "bytes allowed"), MaxAliases: about(st.Aliases, "aliases allowed"),
		Retention: pick(rt, []string{"", "", "a", "b/"}, "retention"),
	}}
	if roll(rt, 5, "same settings") == 0 {
		c.Settings = now.Settings
	}
	if c.Conditioned = rapid.Bool().Draw(rt, "conditioned"); c.Conditioned {
		c.Revision = max(0, now.Revision+pick(rt, []int64{0, 0, -1, 1}, "revision of settings"))
	}
	want, wantErr := p.model.SetSettings(p.f.ctx(), p.f.ns, c)
	got, err := p.store.SetSettings(p.f.ctx(), p.f.ns, c)
	if err := sameError(err, wantErr); err != nil {
		return err
	}
	if got != want {
		return fmt.Errorf("a change of settings gave %+v, want %+v", got, want)
	}
	return nil
}
