package conformance

import (
	"slices"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/status"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

func settingsChecks() []Check {
	return []Check{
		{ID: "list-namespaces/in-order", Promise: "namespaces that were written to, or have settings, are listed in the order of their bytes, in pages, each once; others are not", run: listNamespaces},
		{ID: "list-namespaces/refused", Promise: "a negative page_size, and a token of another list, are refused", run: listNamespacesRefused},
		{ID: "set-namespace/replaces", Promise: "settings replace those before as a whole; each change counts the revision up, and what changes nothing does not", run: settingsReplace},
		{ID: "set-namespace/revision", Promise: "a revision holds where it is the settings' own, or the one before and the call a repeat; else the call changes nothing", run: settingsAtRevision},
		{ID: "set-namespace/refused", Promise: "settings that are absent or negative, and a negative revision, are refused with their field", run: settingsRefused},
		{ID: "set-namespace/quotas", Promise: "a write that would go over a quota is refused whole and names the quota; repeats, deletes and what adds nothing are not", run: quotasHold},
	}
}

// namespaces reads all pages of namespaces.
func (p *probe) namespaces(size int32, pages int) (names []string) {
	r := &transcriptv1.ListNamespacesRequest{PageSize: size}
	for range pages {
		page, err := p.ListNamespaces(p.ctx, r)
		p.ok(err, "ListNamespaces")
		p.holds(len(page.GetNamespaces()) <= int(size), "a page of at most %d, got %d", size, len(page.GetNamespaces()))
		for _, n := range page.GetNamespaces() {
			names = append(names, n.GetName())
		}
		if r.PageToken = page.GetNextPageToken(); r.PageToken == "" {
			break
		}
	}
	p.holds(slices.IsSorted(names) && len(slices.Compact(slices.Clone(names))) == len(names), "names in the order of their bytes, each once")
	return names
}

func listNamespaces(p *probe) {
	p.node("", p.user())
	settled, never := p.other+"-listed", p.other+"-never"
	p.settle(settled, &transcriptv1.NamespaceSettings{})
	p.stats(never)
	all := p.namespaces(1000, 1000)
	for _, name := range []string{p.namespace, settled} {
		p.holds(slices.Contains(all, name), "the namespace that was written to in the list")
	}
	p.holds(!slices.Contains(all, never), "no namespace in the list that was only read")
	p.namespaces(1, 5)
}

func listNamespacesRefused(p *probe) {
	_, err := p.ListNamespaces(p.ctx, &transcriptv1.ListNamespacesRequest{PageSize: -1})
	p.refused(err, "INVALID_FIELD", "page_size")
	p.point(p.name("a"), p.node("", p.user()))
	p.point(p.name("b"), p.node("", p.user()))
	page, err := p.ListAliases(p.ctx, &transcriptv1.ListAliasesRequest{Namespace: p.namespace, PageSize: 1})
	p.ok(err, "ListAliases")
	for _, token := range []string{page.GetNextPageToken(), p.kit.mark} {
		_, err = p.ListNamespaces(p.ctx, &transcriptv1.ListNamespacesRequest{PageToken: token})
		p.refused(err, "INVALID_PAGE_TOKEN", "page_token")
	}
}

// settle sets settings and returns their revision.
func (p *probe) settle(namespace string, s *transcriptv1.NamespaceSettings) int64 {
	r, err := p.admin.SetNamespace(p.ctx, &transcriptv1.SetNamespaceRequest{Namespace: namespace, Settings: s})
	p.ok(err, "SetNamespace")
	p.same("the settings after the call", r.GetSettings(), s)
	return r.GetRevision()
}

func settingsReplace(p *probe) {
	namespace := p.other + "-settings"
	before := p.stats(namespace)
	p.holds(before.GetSettings() == nil && before.GetSettingsRevision() == 0, "no settings, and revision 0, where they were never set")
	for _, c := range []struct {
		set  *transcriptv1.NamespaceSettings
		want int64
	}{
		{&transcriptv1.NamespaceSettings{}, 1}, {&transcriptv1.NamespaceSettings{MaxNodes: 5, MaxAliases: 1 << 40}, 2},
		{&transcriptv1.NamespaceSettings{MaxNodes: 5, MaxAliases: 1 << 40}, 2}, {&transcriptv1.NamespaceSettings{MaxMessageBytes: 7}, 3},
	} {
		is(p, "the revision", p.settle(namespace, c.set), c.want)
		now := p.stats(namespace)
		p.same("the settings", now.GetSettings(), c.set)
		is(p, "the revision that NamespaceStats tells", now.GetSettingsRevision(), c.want)
	}
}

func settingsAtRevision(p *probe) {
	namespace := p.other + "-revision"
	for _, c := range []struct{ at, nodes, want int64 }{
		{1, 5, 0}, {0, 5, 1}, {0, 5, 1}, {0, 6, 0}, {1, 6, 2}, {1, 6, 2}, {1, 5, 0}, {3, 6, 0}, {2, 6, 2},
	} {
		r, err := p.admin.SetNamespace(p.ctx, &transcriptv1.SetNamespaceRequest{
			Namespace: namespace, Settings: &transcriptv1.NamespaceSettings{MaxNodes: c.nodes}, Revision: &c.at,
		})
		if c.want == 0 {
			p.refused(err, "SETTINGS_CHANGED")
			continue
		}
		p.ok(err, "SetNamespace")
		is(p, "the revision", r.GetRevision(), c.want)
	}
	is(p, "max_nodes in the end", p.stats(namespace).GetSettings().GetMaxNodes(), 6)
}

func settingsRefused(p *probe) {
	negative := int64(-1)
	for field, r := range map[string]*transcriptv1.SetNamespaceRequest{
		"settings":                   {},
		"settings.max_nodes":         {Settings: &transcriptv1.NamespaceSettings{MaxNodes: -1}},
		"settings.max_message_bytes": {Settings: &transcriptv1.NamespaceSettings{MaxMessageBytes: -1}},
		"settings.max_aliases":       {Settings: &transcriptv1.NamespaceSettings{MaxAliases: -1}},
		"revision":                   {Settings: &transcriptv1.NamespaceSettings{}, Revision: &negative},
	} {
		r.Namespace = p.other + "-refused"
		_, err := p.admin.SetNamespace(p.ctx, r)
		p.refused(err, "INVALID_FIELD", field)
	}
	is(p, "the revision of settings that were refused", p.stats(p.other+"-refused").GetSettingsRevision(), 0)
}

func quotasHold(p *probe) {
	namespace := p.other + "-quotas"
	put := func(words, alias string) error {
		_, err := p.PutNode(p.ctx, &transcriptv1.PutNodeRequest{
			Namespace: namespace, Messages: []*transcriptv1.Message{text(transcriptv1.Role_ROLE_USER, words)}, Aliases: []*transcriptv1.AliasUpdate{{Name: alias}},
		})
		return err
	}
	over := func(err error, want ...string) {
		p.refused(err, "QUOTA_EXCEEDED")
		var got []string
		for _, d := range status.Convert(err).Details() {
			if failure, ok := d.(*errdetails.QuotaFailure); ok {
				for _, v := range failure.GetViolations() {
					got = append(got, v.GetSubject()+": "+v.GetDescription())
				}
			}
		}
		is(p, "the violations of google.rpc.QuotaFailure", got, want)
	}
	subject := "namespace:" + namespace
	p.ok(put("first", "a"), "PutNode")
	size := p.stats(namespace).GetMessageBytes()
	p.settle(namespace, &transcriptv1.NamespaceSettings{MaxNodes: 1, MaxMessageBytes: size, MaxAliases: 1})
	is(p, "message_bytes under a quota", p.stats(namespace).GetMessageBytes(), size)
	p.ok(put("first", "a"), "a repeat at the quotas")
	before := p.stats(namespace)
	err := put("second", "b")
	p.refused(err, "QUOTA_EXCEEDED")
	p.same("the namespace after a refusal", p.stats(namespace), before)
	over(put("first", "b"), subject+": at most 1 aliases")
	_, err = p.DeleteAlias(p.ctx, &transcriptv1.DeleteAliasRequest{Namespace: namespace, Name: "a"})
	p.ok(err, "DeleteAlias at the quotas")
	p.ok(put("first", "b"), "an alias once there is room")
	p.settle(namespace, &transcriptv1.NamespaceSettings{MaxNodes: 1})
	over(put("second", "b"), subject+": at most 1 nodes")
	p.settle(namespace, &transcriptv1.NamespaceSettings{})
	p.ok(put("second", "b"), "a put without quotas")
}
