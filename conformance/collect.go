package conformance

import (
	"errors"
	"io"
	"time"

	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// collected runs a collection to its end, and gives its last report.
func (p *probe) collected(r *transcriptv1.CollectGarbageRequest) (last *transcriptv1.CollectGarbageResponse, err error) {
	stream, err := p.admin.CollectGarbage(p.ctx, r)
	if err != nil {
		return nil, err
	}
	for {
		report, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			p.holds(last.GetDone(), "a last report that says done")
			return last, nil
		}
		if err != nil {
			return nil, err
		}
		p.holds(!last.GetDone(), "no report behind the one that says done")
		p.holds(report.GetProgress() >= 0 && report.GetProgress() <= 1, "a progress from 0 to 1, not %v", report.GetProgress())
		last = report
	}
}

// collects collects a namespace without a grace, and holds how many nodes that deletes, or would.
func (p *probe) collects(namespace string, dryRun bool, nodes int64) {
	last, err := p.collected(&transcriptv1.CollectGarbageRequest{Namespace: namespace, DryRun: dryRun, Grace: durationpb.New(0)})
	p.ok(err, "CollectGarbage")
	is(p, "nodes", last.GetNodes(), nodes)
}

// litter puts a chain of two nodes with an alias on the second, a fork of the first, and a root, in a namespace of the check's own.
func (p *probe) litter(namespace string) (chain []string) {
	put := func(parent string, aliases ...*transcriptv1.AliasUpdate) string {
		r := &transcriptv1.PutNodeRequest{Namespace: namespace, Messages: []*transcriptv1.Message{p.user()}, Aliases: aliases}
		if parent != "" {
			r.Parent = byID(parent)
		}
		reply, err := p.PutNode(p.ctx, r)
		p.ok(err, "PutNode")
		return reply.GetNodeId()
	}
	first := put("")
	second := put(first, &transcriptv1.AliasUpdate{Name: "chat"})
	put(first)
	put("")
	return []string{first, second}
}

func collectKeeps(p *probe) {
	namespace := p.other + "-collected"
	chain := p.litter(namespace)
	last, err := p.collected(&transcriptv1.CollectGarbageRequest{Namespace: namespace, Grace: durationpb.New(24 * time.Hour)})
	p.ok(err, "CollectGarbage")
	is(p, "nodes within the grace", last.GetNodes(), 0)
	p.collects(namespace, true, 2)
	is(p, "nodes behind a dry run", p.stats(namespace).GetNodes(), 4)
	p.collects(namespace, false, 2)
	p.collects(namespace, false, 0)
	is(p, "nodes behind a collection", p.stats(namespace).GetNodes(), 2)
	r, err := p.Assemble(p.ctx, &transcriptv1.AssembleRequest{
		Namespace: namespace, Head: byAlias("chat"), View: transcriptv1.View_VIEW_FULL, NodeDetail: transcriptv1.NodeDetail_NODE_DETAIL_IDS,
	})
	p.ok(err, "Assemble")
	var ids []string
	for _, n := range r.GetNodes() {
		ids = append(ids, n.GetNodeId())
	}
	is(p, "the chain", ids, chain)
	_, err = p.DeleteAlias(p.ctx, &transcriptv1.DeleteAliasRequest{Namespace: namespace, Name: "chat", ForgetHistory: true})
	p.ok(err, "DeleteAlias with forget_history")
	p.collects(namespace, false, 2)
}

func collectForgets(p *probe) {
	namespace := p.other + "-forgotten"
	chain := p.litter(namespace)
	p.collects(namespace, false, 2)
	_, err := p.Alias(p.ctx, &transcriptv1.AliasRequest{Namespace: namespace, Aliases: []*transcriptv1.AliasMove{{Name: "chat", Target: byID(chain[0])}}})
	p.ok(err, "Alias")
	p.collects(namespace, false, 0)
	_, err = p.DeleteAlias(p.ctx, &transcriptv1.DeleteAliasRequest{Namespace: namespace, Name: "chat"})
	p.ok(err, "DeleteAlias")
	p.collects(namespace, false, 0)
	for range 2 {
		_, err = p.DeleteAlias(p.ctx, &transcriptv1.DeleteAliasRequest{Namespace: namespace, Name: "chat", ForgetHistory: true})
		p.ok(err, "DeleteAlias with forget_history")
	}
	_, err = p.ListAliasHistory(p.ctx, &transcriptv1.ListAliasHistoryRequest{Namespace: namespace, Name: "chat"})
	p.refused(err, "ALIAS_NOT_FOUND")
	p.collects(namespace, false, 2)
	is(p, "nodes behind a collection", p.stats(namespace).GetNodes(), 0)
}

func collectGone(p *probe) {
	p.namespace = p.other + "-gone"
	kept := p.node("", p.user())
	p.point(p.name("kept"), kept)
	before, words := p.stats(p.namespace), []*transcriptv1.Message{p.user(), p.user(), p.user()}
	root := p.node("", words[0])
	gone := []string{root, p.node(root, words[1]), p.node(kept, words[2])}
	ask := &transcriptv1.CollectGarbageRequest{Namespace: p.namespace, Grace: durationpb.New(0), DryRun: true}
	told, err := p.collected(ask)
	p.ok(err, "a dry run")
	is(p, "nodes and messages", []int64{told.GetNodes(), told.GetMessages()}, []int64{3, 3})
	is(p, "message_bytes", told.GetMessageBytes(), p.stats(p.namespace).GetMessageBytes()-before.GetMessageBytes())
	ask.DryRun = false
	did, err := p.collected(ask)
	p.ok(err, "CollectGarbage")
	p.same("the last report", did, told)
	there, err := p.GetNodes(p.ctx, &transcriptv1.GetNodesRequest{Namespace: p.namespace, NodeIds: append(gone, kept)})
	p.ok(err, "GetNodes")
	is(p, "missing_ids", there.GetMissingIds(), gone)
	for _, id := range gone {
		_, err := p.GetNode(p.ctx, &transcriptv1.GetNodeRequest{Namespace: p.namespace, Node: byID(id)})
		p.refused(err, "NODE_NOT_FOUND", "node")
	}
	is(p, "children of what stays", len(p.children(kept)), 0)
	p.same("NamespaceStats", p.stats(p.namespace), before)
	_, err = p.PutNode(p.ctx, &transcriptv1.PutNodeRequest{Namespace: p.namespace, Parent: byID(gone[1]), Messages: words[:1]})
	p.refused(err, "PARENT_NOT_FOUND", "parent")
	again := p.put(&transcriptv1.PutNodeRequest{Messages: words[:1]})
	is(p, "id of what is put again", again.GetNodeId(), root)
	is(p, "created of what is put again", again.GetCreated(), true)
	reports := p.verify(p.namespace)
	is(p, "problems that Verify finds", reports[len(reports)-1].GetProblemsFound(), 0)
}

func collectRefused(p *probe) {
	for _, grace := range []*durationpb.Duration{{Nanos: 1}, {Seconds: 11 * 366 * 24 * 3600}, {Seconds: 1, Nanos: -1e6}, {Seconds: 1 << 60}} {
		_, err := p.collected(&transcriptv1.CollectGarbageRequest{Namespace: p.other, Grace: grace, DryRun: true})
		p.refused(err, "INVALID_FIELD", "grace")
	}
	for field, r := range map[string]*transcriptv1.CollectGarbageRequest{
		"namespace":            {Scope: transcriptv1.Scope_SCOPE_STORE, Namespace: p.namespace, DryRun: true},
		"scope":                {Namespace: p.other, Scope: 99, DryRun: true},
		"grace":                {Namespace: p.other, Grace: durationpb.New(-time.Second), DryRun: true},
		"reclaim_space":        {Namespace: p.other, ReclaimSpace: true},
		"max_nodes_per_second": {Namespace: p.other, MaxNodesPerSecond: -1, DryRun: true},
	} {
		_, err := p.collected(r)
		p.refused(err, "INVALID_FIELD", field)
	}
}

// never holds that a name is as one that never was set: its deletion is not told of either.
func (p *probe) never(name string) {
	_, err := p.ResolveAlias(p.ctx, &transcriptv1.ResolveAliasRequest{Namespace: p.namespace, Name: name})
	p.refused(err, "ALIAS_NOT_FOUND")
	p.holds(detail[*transcriptv1.DeletedAlias](status.Convert(err)) == nil, "nothing told of the deletion of a forgotten name")
	_, err = p.ListAliasHistory(p.ctx, &transcriptv1.ListAliasHistoryRequest{Namespace: p.namespace, Name: name})
	p.refused(err, "ALIAS_NOT_FOUND", "name")
}

func deleteForgets(p *probe) {
	id, name := p.node("", p.user()), p.name("x")
	ask := func() *transcriptv1.DeleteAliasResponse {
		r, err := p.DeleteAlias(p.ctx, &transcriptv1.DeleteAliasRequest{Namespace: p.namespace, Name: name, ForgetHistory: true})
		p.ok(err, "DeleteAlias with forget_history")
		return r
	}
	revision := p.point(name, id).GetRevision()
	p.same("the reply", ask(), &transcriptv1.DeleteAliasResponse{Deleted: true, PreviousId: id, Revision: revision + 1})
	p.never(name)
	p.same("the reply for a forgotten name", ask(), &transcriptv1.DeleteAliasResponse{})
	p.holds(p.point(name, id).GetRevision() > revision+1, "a higher revision than before for a name that is set again")
	_, err := p.DeleteAlias(p.ctx, &transcriptv1.DeleteAliasRequest{Namespace: p.namespace, Name: name})
	p.ok(err, "DeleteAlias")
	is(p, "deleted of an alias that is deleted already", ask().GetDeleted(), false)
	p.never(name)
}

func deletesForget(p *probe) {
	id := p.node("", p.user())
	names := []string{p.name("x/1"), p.name("x/2"), p.name("x/3")}
	for _, name := range names {
		p.point(name, id)
	}
	_, last := p.deleteAliases(&transcriptv1.DeleteAliasesRequest{Scope: startsWith(p.name("x/")), DryRun: true})
	r := &transcriptv1.DeleteAliasesRequest{
		Namespace: p.namespace, Scope: startsWith(p.name("x/")), MovedBefore: last.GetMovedBefore(), ForgetHistory: true, PageSize: 1,
	}
	page, err := p.DeleteAliases(p.ctx, r)
	p.ok(err, "DeleteAliases with forget_history")
	r.PageToken, r.ForgetHistory = page.GetNextPageToken(), false
	_, err = p.DeleteAliases(p.ctx, r)
	p.refused(err, "INVALID_PAGE_TOKEN", "page_token")
	is(p, "the alias behind a refused page", p.resolve(names[2]).GetNodeId(), id)
	r.ForgetHistory = true
	p.deleteAliases(r)
	for _, name := range names {
		p.never(name)
	}
}
