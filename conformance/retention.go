package conformance

import (
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

func retentionChecks() []Check {
	return []Check{
		{ID: "set-namespace/retention", Promise: "rules of alias prefixes are kept in the order of their prefixes; a ttl out of bounds and a prefix that is named twice are refused with their field", run: retentionRules},
		{ID: "set-namespace/hold", Promise: "what is under a legal hold is not forgotten, and no collection deletes a node of its namespace, until the hold is lifted", run: retentionHolds},
		{ID: "delete-namespace/deletes", Promise: "a deleted namespace is as one that was never written to, a repeat tells that there was nothing, and what is put under its name begins anew", run: namespaceDeleted},
		{ID: "delete-namespace/refused", Promise: "a namespace whose name is not confirmed is not deleted", run: namespaceNotDeleted},
	}
}

func retentionRules(p *probe) {
	namespace := p.other + "-rules"
	day := durationpb.New(24 * time.Hour)
	rules := []*transcriptv1.RetentionRule{{Ttl: day}, {AliasPrefix: "a/", LegalHold: true}, {AliasPrefix: "a/b", Ttl: day}, {AliasPrefix: "a/c", Ttl: &durationpb.Duration{}}}
	set := func(rules ...*transcriptv1.RetentionRule) (*transcriptv1.SetNamespaceResponse, error) {
		return p.admin.SetNamespace(p.ctx, &transcriptv1.SetNamespaceRequest{Namespace: namespace, Settings: &transcriptv1.NamespaceSettings{Retention: rules}})
	}
	for _, given := range [][]*transcriptv1.RetentionRule{rules, {rules[3], rules[2], rules[0], rules[1]}} {
		r, err := set(given...)
		p.ok(err, "SetNamespace")
		is(p, "the revision", r.GetRevision(), 1)
		p.same("the settings", p.stats(namespace).GetSettings(), &transcriptv1.NamespaceSettings{Retention: rules})
	}
	for _, ttl := range []*durationpb.Duration{{Nanos: 1}, {Seconds: 59}, {Seconds: 60, Nanos: 1}, {Seconds: -60}, {Seconds: 36525*24*3600 + 1}} {
		_, err := set(rules[1], &transcriptv1.RetentionRule{Ttl: ttl})
		p.refused(err, "INVALID_FIELD", "settings.retention[1].ttl")
	}
	_, err := set(rules[1], &transcriptv1.RetentionRule{AliasPrefix: "b"})
	p.refused(err, "INVALID_FIELD", "settings.retention[1]")
	_, err = set(rules[1], rules[1])
	p.refused(err, "INVALID_FIELD", "settings.retention[1].alias_prefix")
	is(p, "the revision after what was refused", p.stats(namespace).GetSettingsRevision(), 1)
	p.settle(namespace, &transcriptv1.NamespaceSettings{})
}

func retentionHolds(p *probe) {
	p.namespace = p.other + "-held"
	p.point("case/1", p.node("", p.user()))
	p.node("", p.user())
	p.settle(p.namespace, &transcriptv1.NamespaceSettings{Retention: []*transcriptv1.RetentionRule{{AliasPrefix: "case/", LegalHold: true}}})
	forget := &transcriptv1.DeleteAliasRequest{Namespace: p.namespace, Name: "case/1", ForgetHistory: true}
	_, err := p.DeleteAlias(p.ctx, forget)
	p.refused(err, "LEGAL_HOLD", "name")
	_, err = p.DeleteAliases(p.ctx, &transcriptv1.DeleteAliasesRequest{
		Namespace: p.namespace, Scope: &transcriptv1.DeleteAliasesRequest_Prefix{Prefix: "case/"}, ForgetHistory: true,
	})
	p.refused(err, "LEGAL_HOLD", "prefix")
	_, err = p.admin.DeleteNamespace(p.ctx, &transcriptv1.DeleteNamespaceRequest{Namespace: p.namespace, Confirm: p.namespace})
	p.refused(err, "LEGAL_HOLD", "namespace")
	collect := &transcriptv1.CollectGarbageRequest{Namespace: p.namespace, Grace: durationpb.New(0)}
	told, err := p.collected(collect)
	p.ok(err, "CollectGarbage")
	is(p, "nodes deleted and namespaces held", []int64{told.GetNodes(), told.GetNamespacesHeld()}, []int64{0, 1})
	is(p, "nodes under a hold", p.stats(p.namespace).GetNodes(), 2)
	p.settle(p.namespace, &transcriptv1.NamespaceSettings{})
	_, err = p.DeleteAlias(p.ctx, forget)
	p.ok(err, "DeleteAlias once the hold is lifted")
	told, err = p.collected(collect)
	p.ok(err, "CollectGarbage")
	is(p, "nodes deleted and namespaces held", []int64{told.GetNodes(), told.GetNamespacesHeld()}, []int64{2, 0})
}

func namespaceDeleted(p *probe) {
	p.namespace = p.other + "-deleted"
	message := p.user()
	id := p.node("", message)
	p.point("chat", id)
	p.settle(p.namespace, &transcriptv1.NamespaceSettings{MaxNodes: 1 << 40})
	req := &transcriptv1.DeleteNamespaceRequest{Namespace: p.namespace, Confirm: p.namespace}
	for _, want := range []bool{true, false} {
		r, err := p.admin.DeleteNamespace(p.ctx, req)
		p.ok(err, "DeleteNamespace")
		is(p, "deleted", r.GetDeleted(), want)
		p.same("NamespaceStats of a deleted namespace", p.stats(p.namespace), &transcriptv1.NamespaceStatsResponse{})
		_, err = p.GetNode(p.ctx, &transcriptv1.GetNodeRequest{Namespace: p.namespace, Node: byID(id)})
		p.refused(err, "NODE_NOT_FOUND", "node")
		p.never("chat")
	}
	again := p.put(&transcriptv1.PutNodeRequest{Messages: []*transcriptv1.Message{message}})
	is(p, "created of what is put again", again.GetCreated(), true)
	is(p, "the revision of an alias of the same name", p.point("chat", again.GetNodeId()).GetRevision(), 1)
	is(p, "nodes", p.stats(p.namespace).GetNodes(), 1)
}

func namespaceNotDeleted(p *probe) {
	p.namespace = p.other + "-confirmed"
	p.node("", p.user())
	for _, confirm := range []string{"", p.other, "default"} {
		_, err := p.admin.DeleteNamespace(p.ctx, &transcriptv1.DeleteNamespaceRequest{Namespace: p.namespace, Confirm: confirm})
		p.refused(err, "INVALID_FIELD", "confirm")
	}
	is(p, "nodes of a namespace that is not deleted", p.stats(p.namespace).GetNodes(), 1)
}
