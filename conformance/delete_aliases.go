package conformance

import (
	"slices"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

func deleteAliasesChecks() []Check {
	return []Check{
		{ID: "delete-aliases/pages", Promise: "the aliases of a prefix go in pages, each told as it was; others stay, and a page asked for again takes nothing", run: deletePages},
		{ID: "delete-aliases/dry-run", Promise: "a dry run deletes nothing; with its moved_before goes what it told of, and not what was moved since", run: deleteDryRun},
		{ID: "delete-aliases/refused", Promise: "an absent or empty prefix and all = false are refused, and a token of another deletion", run: deleteRefused},
		{ID: "delete-alias/forgets", Promise: "with forget_history the name is as one that never was set, also where its alias is deleted already, and a repeat succeeds", run: deleteForgets},
		{ID: "delete-aliases/forgets", Promise: "with forget_history the names are as if they never were set, and a token is of a deletion that says the same", run: deletesForget},
	}
}

// deleteAliases asks for all pages of a deletion, and gives what they tell of, and the last.
func (p *probe) deleteAliases(r *transcriptv1.DeleteAliasesRequest) (all []*transcriptv1.AliasInfo, last *transcriptv1.DeleteAliasesResponse) {
	r.Namespace, r.PageToken = p.namespace, ""
	for range 1000 {
		page, err := p.DeleteAliases(p.ctx, r)
		p.ok(err, "DeleteAliases")
		all = append(all, page.GetAliases()...)
		if r.PageToken = page.GetNextPageToken(); r.PageToken == "" {
			return all, page
		}
	}
	p.failf("expected a last page of DeleteAliases, got 1000 pages")
	return nil, nil
}

func startsWith(s string) *transcriptv1.DeleteAliasesRequest_Prefix {
	return &transcriptv1.DeleteAliasesRequest_Prefix{Prefix: s}
}

func deletePages(p *probe) {
	id := p.node("", p.user())
	var names []string
	for _, rest := range []string{"x/1", "x/2", "x/3/y", "x/4", "x/5"} {
		names = append(names, p.name(rest))
		p.point(p.name(rest), id)
	}
	p.point(p.name("x"), id)
	first := p.resolve(names[0])
	scope := startsWith(p.name("x/"))
	page, err := p.DeleteAliases(p.ctx, &transcriptv1.DeleteAliasesRequest{Namespace: p.namespace, Scope: scope, PageSize: 2})
	p.ok(err, "DeleteAliases")
	p.same("an alias as it was", page.GetAliases()[0], first)
	for range 2 {
		again, err := p.DeleteAliases(p.ctx, &transcriptv1.DeleteAliasesRequest{
			Namespace: p.namespace, Scope: scope, PageSize: 2, PageToken: page.GetNextPageToken(),
		})
		p.ok(err, "the second page")
		p.holds(len(again.GetAliases()) <= 2, "a page of at most 2, got %d", len(again.GetAliases()))
	}
	p.deleteAliases(&transcriptv1.DeleteAliasesRequest{Scope: scope, PageSize: 2})
	for _, name := range names {
		p.gone(name)
	}
	is(p, "an alias of another prefix", p.resolve(p.name("x")).GetNodeId(), id)
	p.get(id)
}

func deleteDryRun(p *probe) {
	a, b := p.node("", p.user()), p.node("", p.user())
	names := []string{p.name("1"), p.name("2"), p.name("3")}
	for _, name := range names {
		p.point(name, a)
	}
	dry := &transcriptv1.DeleteAliasesRequest{Scope: startsWith(p.name("")), DryRun: true}
	told, last := p.deleteAliases(dry)
	p.holds(slices.Equal(aliasesOf(told), names), "a dry run of three aliases, got %d", len(told))
	p.holds(last.GetMovedBefore() != nil, "the moved_before of a dry run, got none")
	p.point(names[1], b)
	for p.resolve(names[1]).GetMovedAt().AsTime().Before(last.GetMovedBefore().AsTime()) { // within the millisecond of the dry run
		p.point(names[1], a)
		p.point(names[1], b)
	}
	deleted, _ := p.deleteAliases(&transcriptv1.DeleteAliasesRequest{Scope: startsWith(p.name("")), MovedBefore: last.GetMovedBefore()})
	p.holds(slices.Equal(aliasesOf(deleted), []string{names[0], names[2]}), "two of three aliases deleted, got %d", len(deleted))
	is(p, "the alias that was moved since", p.resolve(names[1]).GetNodeId(), b)
}

func deleteRefused(p *probe) {
	id := p.node("", p.user())
	p.point(p.name("1"), id)
	p.point(p.name("2"), id)
	ask := func(r *transcriptv1.DeleteAliasesRequest) (*transcriptv1.DeleteAliasesResponse, error) {
		r.Namespace = p.namespace
		return p.DeleteAliases(p.ctx, r)
	}
	_, err := ask(&transcriptv1.DeleteAliasesRequest{})
	p.refused(err, "INVALID_FIELD", "all", "prefix")
	_, err = ask(&transcriptv1.DeleteAliasesRequest{Scope: startsWith("")})
	p.refused(err, "INVALID_FIELD", "prefix")
	_, err = ask(&transcriptv1.DeleteAliasesRequest{Scope: &transcriptv1.DeleteAliasesRequest_All{}})
	p.refused(err, "INVALID_FIELD", "all")
	page, err := ask(&transcriptv1.DeleteAliasesRequest{Scope: startsWith(p.name("")), DryRun: true, PageSize: 1})
	p.ok(err, "a dry run")
	_, err = ask(&transcriptv1.DeleteAliasesRequest{Scope: startsWith(p.name("")), PageSize: 1, PageToken: page.GetNextPageToken()})
	p.refused(err, "INVALID_PAGE_TOKEN", "page_token")
	is(p, "what a refused deletion leaves", p.resolve(p.name("1")).GetNodeId(), id)
}
