package conformance

import (
	"errors"
	"io"
	"time"

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
	p.litter(namespace)
	p.collects(namespace, false, 2)
	_, err := p.DeleteAlias(p.ctx, &transcriptv1.DeleteAliasRequest{Namespace: namespace, Name: "chat"})
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

func collectRefused(p *probe) {
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
