package conformance

import (
	"fmt"

	"google.golang.org/grpc/status"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

func aliasChecks() []Check {
	return []Check{
		{ID: "alias/preconditions", Promise: "absent, must_not_exist, must_exist and head_id hold where docs/api.md says, and fail with their reasons elsewhere", run: preconditions},
		{ID: "alias/already-there", Promise: "a precondition without revision also holds where the alias points to the target already", run: alreadyThere},
		{ID: "alias/one-commit", Promise: "where one alias of a call fails, none is set, and all that failed are listed", run: aliasOneCommit},
		{ID: "alias/conflicts-are-counted", Promise: "an error lists the first 32 conflicts and counts the rest", run: manyConflicts},
		{ID: "alias/labels", Promise: "absent labels leave those that are there, present ones replace them", run: labels},
		{ID: "alias/rename", Promise: "one call sets a new name to where the old one points, and deletes that", run: rename},
		{ID: "alias/target-not-there", Promise: "a target that is not there is NODE_NOT_FOUND or ALIAS_NOT_FOUND, naming the field", run: targetNotThere},
		{ID: "alias/paths-and-bytes", Promise: "names are bytes of UTF-8 up to 512 and are told exactly as they were set", run: aliasNames},
		{ID: "delete-alias/deletes", Promise: "a deleted alias is not there, its nodes and history stay, and deleting it again succeeds with deleted = false", run: deletes},
		{ID: "delete-alias/preconditions", Promise: "must_exist, head_id and revision hold on a delete as docs/api.md says; must_not_exist is refused", run: deletePreconditions},
		{ID: "delete-alias/in-a-put", Promise: "an alias is deleted in the commit of PutNode, PutNodes and Alias", run: deleteInAPut},
		{ID: "resolve-alias/never-set", Promise: "a name that was never set is ALIAS_NOT_FOUND without a detail, a deleted one has DeletedAlias", run: deletedDetail},
		{ID: "resolve-alias/counters", Promise: "it tells the totals of the chain that ends there", run: resolveCounters},
	}
}

// aliasMove is Alias of one alias, which may be refused.
func (p *probe) aliasMove(m *transcriptv1.AliasMove) (*transcriptv1.AliasResult, error) {
	reply, err := p.Alias(p.ctx, &transcriptv1.AliasRequest{Namespace: p.namespace, Aliases: []*transcriptv1.AliasMove{m}})
	if err != nil {
		return nil, err
	}
	return reply.GetAliases()[0], nil
}

func preconditions(p *probe) {
	a, b := p.node("", p.user()), p.node("", p.user())
	nowhere, there := p.name("nowhere"), p.name("there")
	p.point(there, a)
	for _, c := range []struct {
		what, name string
		on         *transcriptv1.AliasPrecondition
		reason     string
	}{
		{"must_not_exist of an alias that exists", there, absent(), "ALIAS_EXISTS"},
		{"must_exist of a name never set", nowhere, present(), "ALIAS_NOT_FOUND"},
		{"head_id of an alias elsewhere", there, at(b[:63] + "0"), "ALIAS_MOVED"},
		{"head_id of a name never set", nowhere, at(a), "ALIAS_MOVED"},
		{"must_exist of an alias that exists", there, present(), ""},
		{"head_id of the alias's head", there, at(b), ""},
		{"must_not_exist of a name never set", nowhere, absent(), ""},
	} {
		target := b
		_, err := p.aliasMove(&transcriptv1.AliasMove{Name: c.name, Target: byID(target), Precondition: c.on})
		if c.reason == "" {
			p.ok(err, c.what)
			continue
		}
		if err == nil {
			p.failf("%s: expected %s, got success", c.what, c.reason)
		}
		p.refused(err, c.reason)
		p.conflicts(err, 1)
	}
	for _, bad := range []*transcriptv1.AliasPrecondition{
		{Condition: &transcriptv1.AliasPrecondition_MustNotExist{}}, {Condition: &transcriptv1.AliasPrecondition_MustExist{}}, revised(0),
	} {
		_, err := p.aliasMove(&transcriptv1.AliasMove{Name: there, Target: byID(a), Precondition: bad})
		p.refused(err, "INVALID_FIELD")
	}
}

func alreadyThere(p *probe) {
	a, b, name := p.node("", p.user()), p.node("", p.user()), p.name("x")
	p.point(name, a)
	for what, on := range map[string]*transcriptv1.AliasPrecondition{"must_not_exist": absent(), "must_exist": present(), "head_id": at(b), "none": nil} {
		r, err := p.aliasMove(&transcriptv1.AliasMove{Name: name, Target: byID(a), Precondition: on})
		p.ok(err, what)
		is(p, "changed with "+what, r.GetChanged(), false)
		is(p, "previous_id with "+what, r.GetPreviousId(), a)
	}
}

func aliasOneCommit(p *probe) {
	a, b := p.node("", p.user()), p.node("", p.user())
	p.point(p.name("one"), a)
	p.point(p.name("two"), a)
	_, err := p.Alias(p.ctx, &transcriptv1.AliasRequest{Namespace: p.namespace, Aliases: []*transcriptv1.AliasMove{
		{Name: p.name("new"), Target: byID(b)},
		{Name: p.name("one"), Target: byID(b), Precondition: absent()},
		{Name: p.name("two"), Target: byID(b), Precondition: at(b[:63] + "0")},
	}})
	p.refused(err, "ALIAS_MOVED")
	got := p.conflicts(err, 2)
	is(p, "fields of the conflicts", got[0].GetField()+" "+got[1].GetField(), "aliases[1] aliases[2]")
	is(p, "node_id of the conflicts", got[0].GetNodeId()+" "+got[1].GetNodeId(), a+" "+a)
	p.gone(p.name("new"))
	is(p, "head of an alias of the call", p.resolve(p.name("one")).GetNodeId(), a)
}

func manyConflicts(p *probe) {
	id := p.node("", p.user())
	r := &transcriptv1.AliasRequest{Namespace: p.namespace}
	for i := range 35 {
		r.Aliases = append(r.Aliases, &transcriptv1.AliasMove{Name: p.name(fmt.Sprint(i)), Target: byID(id), Precondition: present()})
	}
	_, err := p.Alias(p.ctx, r)
	p.refused(err, "ALIAS_NOT_FOUND")
	p.conflicts(err, 32)
	is(p, "more_conflicts", detail[*transcriptv1.AliasConflicts](status.Convert(err)).GetMoreConflicts(), 3)
}

func labels(p *probe) {
	a, b, name := p.node("", p.user()), p.node("", p.user()), p.name("x")
	set := func(target string, entries map[string]string) {
		m := &transcriptv1.AliasMove{Name: name, Target: byID(target)}
		if entries != nil {
			m.Labels = &transcriptv1.Labels{Entries: entries}
		}
		p.move(m)
	}
	set(a, map[string]string{"k": "1", "l": ""})
	is(p, "labels that were set", p.resolve(name).GetLabels(), map[string]string{"k": "1", "l": ""})
	set(b, nil)
	is(p, "labels after a move without labels", p.resolve(name).GetLabels(), map[string]string{"k": "1", "l": ""})
	set(b, map[string]string{"m": "2"})
	is(p, "labels that were replaced", p.resolve(name).GetLabels(), map[string]string{"m": "2"})
	set(b, map[string]string{})
	is(p, "labels replaced by none", len(p.resolve(name).GetLabels()), 0)
}

func rename(p *probe) {
	id, before, behind := p.node("", p.user()), p.name("before"), p.name("behind")
	p.point(before, id)
	results := p.move(
		&transcriptv1.AliasMove{Name: behind, Target: byAlias(before), Precondition: absent()},
		&transcriptv1.AliasMove{Name: before, Delete: true, Precondition: at(id)},
	)
	is(p, "changed of the new and the old name", []bool{results[0].GetChanged(), results[1].GetChanged()}, []bool{true, true})
	is(p, "head of the new name", p.resolve(behind).GetNodeId(), id)
	p.gone(before)
}

func targetNotThere(p *probe) {
	_, err := p.aliasMove(&transcriptv1.AliasMove{Name: p.name("x"), Target: byID("00000000000000000000000000000000000000000000000000000000000000ff")})
	p.refused(err, "NODE_NOT_FOUND", "aliases[0].target")
	_, err = p.aliasMove(&transcriptv1.AliasMove{Name: p.name("x"), Target: byAlias(p.name("none"))})
	p.refused(err, "ALIAS_NOT_FOUND", "aliases[0].target")
	_, err = p.aliasMove(&transcriptv1.AliasMove{Name: p.name("x")})
	p.refused(err, "INVALID_FIELD")
}

func aliasNames(p *probe) {
	id := p.node("", p.user())
	longest := p.name("")
	for len(longest) < 512 {
		longest += "x"
	}
	for _, name := range []string{longest, p.name("a//b/"), p.name("é😀 \\ sp"), p.name("É"), p.name("e\u0301")} {
		p.point(name, id)
		info := p.resolve(name)
		p.holds(info.GetName() == name, "the name as it was set (%d bytes), got another of %d bytes", len(name), len(info.GetName()))
	}
	p.gone(p.name("é"))
	_, err := p.aliasMove(&transcriptv1.AliasMove{Name: longest + "x", Target: byID(id)})
	p.refused(err, "LIMIT_EXCEEDED", "aliases[0].name")
}

// deleteAlias deletes, or is refused.
func (p *probe) deleteAlias(name string, on *transcriptv1.AliasPrecondition) (*transcriptv1.DeleteAliasResponse, error) {
	return p.DeleteAlias(p.ctx, &transcriptv1.DeleteAliasRequest{Namespace: p.namespace, Name: name, Precondition: on})
}

func deletes(p *probe) {
	id, name := p.node("", p.user()), p.name("x")
	p.point(name, id)
	r, err := p.deleteAlias(name, nil)
	p.ok(err, "DeleteAlias")
	is(p, "deleted", r.GetDeleted(), true)
	is(p, "previous_id", r.GetPreviousId(), id)
	p.gone(name)
	is(p, "id of its node", p.get(id).GetInfo().GetNodeId(), id)
	is(p, "states in its history", len(p.history(name)), 2)
	again, err := p.deleteAlias(name, nil)
	p.ok(err, "DeleteAlias again")
	is(p, "deleted of the second call", again.GetDeleted(), false)
	is(p, "revision after the second call", again.GetRevision(), r.GetRevision())
	never, err := p.deleteAlias(p.name("never"), nil)
	p.ok(err, "DeleteAlias of a name never set")
	is(p, "deleted of a name never set", never.GetDeleted(), false)
	is(p, "revision of a name never set", never.GetRevision(), 0)
}

func deletePreconditions(p *probe) {
	id, other, name, never := p.node("", p.user()), p.node("", p.user()), p.name("x"), p.name("never")
	revision := p.point(name, id).GetRevision()
	for _, c := range []struct {
		what, name string
		on         *transcriptv1.AliasPrecondition
		reason     string
	}{
		{"must_exist of a name never set", never, present(), "ALIAS_NOT_FOUND"},
		{"head_id of a name never set", never, at(id), ""},
		{"head_id of an alias elsewhere", name, at(other), "ALIAS_MOVED"},
		{"another revision", name, revised(revision + 1), "ALIAS_MOVED"},
		{"must_not_exist", name, absent(), "INVALID_FIELD"},
		{"revision of the alias", name, revised(revision), ""},
		{"the same revision, once it was deleted", name, revised(revision), ""},
	} {
		r, err := p.deleteAlias(c.name, c.on)
		if c.reason != "" {
			if err == nil {
				p.failf("%s: expected %s, got success", c.what, c.reason)
			}
			p.refused(err, c.reason)
			continue
		}
		p.ok(err, c.what)
		is(p, "deleted with "+c.what, r.GetDeleted(), c.what == "revision of the alias")
	}
	p.gone(name)
}

func deleteInAPut(p *probe) {
	id := p.node("", p.user())
	names := []string{p.name("put-node"), p.name("put-nodes"), p.name("alias")}
	for _, n := range names {
		p.point(n, id)
	}
	kept := p.name("kept")
	gone := func(name string) []*transcriptv1.AliasUpdate {
		return []*transcriptv1.AliasUpdate{{Name: name, Delete: true, Precondition: at(id)}, {Name: kept}}
	}
	r := p.put(&transcriptv1.PutNodeRequest{Messages: []*transcriptv1.Message{p.user()}, Aliases: gone(names[0])})
	is(p, "changed of the deleted alias", r.GetAliases()[0].GetChanged(), true)
	is(p, "previous_id of the deleted alias", r.GetAliases()[0].GetPreviousId(), id)
	p.putNodes(&transcriptv1.NewNode{Messages: []*transcriptv1.Message{p.user()}, Aliases: gone(names[1])})
	p.move(&transcriptv1.AliasMove{Name: names[2], Delete: true, Precondition: present()})
	for _, n := range names {
		p.gone(n)
	}
	_, err := p.aliasMove(&transcriptv1.AliasMove{Name: kept, Delete: true, Target: byID(id)})
	p.refused(err, "INVALID_FIELD", "aliases[0].target")
}

func deletedDetail(p *probe) {
	id, name := p.node("", p.user()), p.name("x")
	resolve := func(name string) *transcriptv1.DeletedAlias {
		_, err := p.ResolveAlias(p.ctx, &transcriptv1.ResolveAliasRequest{Namespace: p.namespace, Name: name})
		p.refused(err, "ALIAS_NOT_FOUND", "name")
		return detail[*transcriptv1.DeletedAlias](status.Convert(err))
	}
	p.holds(resolve(p.name("never")) == nil, "no DeletedAlias for a name never set, got one")
	p.point(name, id)
	deleted, err := p.deleteAlias(name, nil)
	p.ok(err, "DeleteAlias")
	d := resolve(name)
	p.holds(d != nil, "a DeletedAlias for a deleted name, got none")
	is(p, "revision of the deletion", d.GetRevision(), deleted.GetRevision())
	is(p, "previous_id of the deletion", d.GetPreviousId(), id)
	p.holds(d.GetDeletedAt().GetSeconds() > 0, "the time of the deletion, got none")
}

func resolveCounters(p *probe) {
	c := p.chain("u a u")
	p.point(p.name("x"), c.head())
	r, err := p.ResolveAlias(p.ctx, &transcriptv1.ResolveAliasRequest{Namespace: p.namespace, Name: p.name("x")})
	p.ok(err, "ResolveAlias")
	is(p, "nodes", r.GetCounters().GetFull().GetNodes(), 3)
	is(p, "run loops", r.GetCounters().GetFull().GetRunLoops(), 2)
	p.holds(r.GetAlias().GetMovedAt().GetSeconds() > 0, "moved_at, got none")
}

func revisionChecks() []Check {
	return []Check{
		{ID: "revision/counts-changes", Promise: "each change of head or labels adds one, a deletion too, and what changes nothing adds none", run: countsChanges},
		{ID: "revision/precondition", Promise: "a revision n holds at n, and at n + 1 only for the repeat of the same call", run: revisionPrecondition},
		{ID: "revision/labels-compare-and-set", Promise: "of two callers who read one revision and set other labels one succeeds, and the other is told the new revision", run: labelsCompareAndSet},
		{ID: "revision/sees-away-and-back", Promise: "a revision sees that a head was away, which head_id does not", run: awayAndBack},
		{ID: "revision/goes-on", Promise: "a name that is set again goes on from the revision of its deletion", run: goesOn},
	}
}

func countsChanges(p *probe) {
	a, b, name := p.node("", p.user()), p.node("", p.user()), p.name("x")
	first := p.point(name, a)
	p.holds(first.GetRevision() >= 1 && first.GetRevised(), "a revision of 1 or more, and revised")
	step := func(what string, m *transcriptv1.AliasMove, want int64) {
		m.Name = name
		r := p.move(m)[0]
		is(p, "revision after "+what, r.GetRevision(), first.GetRevision()+want)
	}
	labelled := &transcriptv1.Labels{Entries: map[string]string{"k": "v"}}
	step("setting it where it is", &transcriptv1.AliasMove{Target: byID(a)}, 0)
	step("a move", &transcriptv1.AliasMove{Target: byID(b)}, 1)
	step("new labels", &transcriptv1.AliasMove{Target: byAlias(name), Labels: labelled}, 2)
	step("equal labels", &transcriptv1.AliasMove{Target: byAlias(name), Labels: labelled}, 2)
	is(p, "revision that ResolveAlias tells", p.resolve(name).GetRevision(), first.GetRevision()+2)
	step("a deletion", &transcriptv1.AliasMove{Delete: true}, 3)
	step("a deletion of what is not there", &transcriptv1.AliasMove{Delete: true}, 3)
}

func revisionPrecondition(p *probe) {
	a, b, name := p.node("", p.user()), p.node("", p.user()), p.name("x")
	n := p.point(name, a).GetRevision()
	move := func(target string, on *transcriptv1.AliasPrecondition) (*transcriptv1.AliasResult, error) {
		return p.aliasMove(&transcriptv1.AliasMove{Name: name, Target: byID(target), Precondition: on})
	}
	for _, wrong := range []int64{n + 1, n + 2} {
		_, err := move(b, revised(wrong))
		p.refused(err, "ALIAS_MOVED")
	}
	both := at(b)
	both.Revision = &n
	_, err := move(b, both)
	p.refused(err, "ALIAS_MOVED")
	r, err := move(b, revised(n))
	p.ok(err, "Alias at its revision")
	is(p, "revised of the first call", r.GetRevised(), true)
	r, err = move(b, revised(n))
	p.ok(err, "the repeat of it")
	is(p, "changed and revised of the repeat", []bool{r.GetChanged(), r.GetRevised()}, []bool{false, false})
	_, err = move(a, revised(n))
	p.refused(err, "ALIAS_MOVED")
	is(p, "revision of the conflict", p.conflicts(err, 1)[0].GetRevision(), n+1)
}

func labelsCompareAndSet(p *probe) {
	id, name := p.node("", p.user()), p.name("x")
	n := p.point(name, id).GetRevision()
	set := func(value string) error {
		_, err := p.aliasMove(&transcriptv1.AliasMove{
			Name: name, Target: byAlias(name), Precondition: revised(n), Labels: &transcriptv1.Labels{Entries: map[string]string{"count": value}},
		})
		return err
	}
	p.ok(set("1"), "the first of two writers")
	err := set("2")
	p.refused(err, "ALIAS_MOVED")
	is(p, "revision of the conflict", p.conflicts(err, 1)[0].GetRevision(), n+1)
	p.ok(set("1"), "the repeat of the first")
	is(p, "label", p.resolve(name).GetLabels()["count"], "1")
}

func awayAndBack(p *probe) {
	a, b, name := p.node("", p.user()), p.node("", p.user()), p.name("x")
	n := p.point(name, a).GetRevision()
	p.point(name, b)
	p.point(name, a)
	_, err := p.aliasMove(&transcriptv1.AliasMove{Name: name, Target: byID(b), Precondition: revised(n)})
	p.refused(err, "ALIAS_MOVED")
	_, err = p.aliasMove(&transcriptv1.AliasMove{Name: name, Target: byID(b), Precondition: at(a)})
	p.ok(err, "Alias with head_id")
}

func goesOn(p *probe) {
	id, name := p.node("", p.user()), p.name("x")
	n := p.point(name, id).GetRevision()
	deleted, err := p.deleteAlias(name, nil)
	p.ok(err, "DeleteAlias")
	is(p, "revision of the deletion", deleted.GetRevision(), n+1)
	is(p, "revision of the name set again", p.point(name, id).GetRevision(), n+2)
	revisions := []int64{}
	for _, e := range p.history(name) {
		revisions = append(revisions, e.GetRevision())
	}
	is(p, "revisions in the history, newest first", revisions, []int64{n + 2, n + 1, n})
}
