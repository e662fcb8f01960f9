package conformance

import (
	"strings"

	"google.golang.org/protobuf/proto"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

func namespaceChecks() []Check {
	return []Check{
		{ID: "namespaces/apart", Promise: "nodes and aliases of one namespace are not there in another, for any rpc that names them", run: namespacesApart},
		{ID: "namespaces/no-parents-across", Promise: "a parent, a target and a head of another namespace are not found, and nothing is written", run: noParentsAcross},
		{ID: "namespaces/same-node-twice", Promise: "an equal node put in two namespaces has one id and is new in both", run: sameNodeTwice},
		{ID: "namespaces/lists-apart", Promise: "listing and searching all of a namespace shows nothing of another", run: listsApart},
	}
}

func namespacesApart(p *probe) {
	c, name := p.chain("u c1 r1 a"), p.name("chat")
	p.point(name, c.head())
	id := byID(c.head())
	calls := map[string]func(ref *transcriptv1.NodeRef) error{
		"Assemble": func(ref *transcriptv1.NodeRef) error {
			_, err := p.Assemble(p.ctx, &transcriptv1.AssembleRequest{Namespace: p.other, Head: ref})
			return err
		},
		"StreamAssemble": func(ref *transcriptv1.NodeRef) error {
			s, err := p.StreamAssemble(p.ctx, &transcriptv1.StreamAssembleRequest{Namespace: p.other, Head: ref})
			if err == nil {
				_, err = s.Recv()
			}
			return err
		},
		"GetNode": func(ref *transcriptv1.NodeRef) error {
			_, err := p.GetNode(p.ctx, &transcriptv1.GetNodeRequest{Namespace: p.other, Node: ref})
			return err
		},
		"ListChildren": func(ref *transcriptv1.NodeRef) error {
			_, err := p.ListChildren(p.ctx, &transcriptv1.ListChildrenRequest{Namespace: p.other, Node: ref})
			return err
		},
		"ListRunLoops": func(ref *transcriptv1.NodeRef) error {
			_, err := p.ListRunLoops(p.ctx, &transcriptv1.ListRunLoopsRequest{Namespace: p.other, Head: ref})
			return err
		},
		"RecallToolCall": func(ref *transcriptv1.NodeRef) error {
			_, err := p.RecallToolCall(p.ctx, &transcriptv1.RecallToolCallRequest{Namespace: p.other, Head: ref, ToolCallId: proto.String("1")})
			return err
		},
		"Search": func(ref *transcriptv1.NodeRef) error {
			_, err := p.Search(p.ctx, &transcriptv1.SearchRequest{Namespace: p.other, Scope: head(ref), Pattern: words("x")})
			return err
		},
		"ReplayTools": func(ref *transcriptv1.NodeRef) error {
			_, err := p.ReplayTools(p.ctx, &transcriptv1.ReplayToolsRequest{Namespace: p.other, Head: ref})
			return err
		},
		"Describe": func(ref *transcriptv1.NodeRef) error {
			_, err := p.Describe(p.ctx, &transcriptv1.DescribeRequest{Namespace: p.other, Head: ref})
			return err
		},
		"Compact": func(ref *transcriptv1.NodeRef) error {
			_, err := p.Compact(p.ctx, &transcriptv1.CompactRequest{Namespace: p.other, Head: ref, DryRun: true})
			return err
		},
	}
	for method, call := range calls {
		for ref, reason := range map[*transcriptv1.NodeRef]string{id: "NODE_NOT_FOUND", byAlias(name): "ALIAS_NOT_FOUND"} {
			err := call(ref)
			if err == nil {
				p.failf("%s of another namespace: expected %s, got success", method, reason)
			}
			p.refused(err, reason)
		}
	}
	missing, err := p.GetNodes(p.ctx, &transcriptv1.GetNodesRequest{Namespace: p.other, NodeIds: []string{c.head()}})
	p.ok(err, "GetNodes")
	is(p, "nodes that GetNodes gives of another namespace", len(missing.GetNodes()), 0)
	_, err = p.ResolveAlias(p.ctx, &transcriptv1.ResolveAliasRequest{Namespace: p.other, Name: name})
	p.refused(err, "ALIAS_NOT_FOUND")
	_, err = p.ListAliasHistory(p.ctx, &transcriptv1.ListAliasHistoryRequest{Namespace: p.other, Name: name})
	p.refused(err, "ALIAS_NOT_FOUND")
	_, err = p.GetNode(p.ctx, &transcriptv1.GetNodeRequest{Namespace: p.other, Node: byID(c.head()[:12])})
	p.refused(err, "NODE_NOT_FOUND")
}

func noParentsAcross(p *probe) {
	c, name := p.chain("u a"), p.name("chat")
	p.point(name, c.head())
	_, err := p.PutNode(p.ctx, &transcriptv1.PutNodeRequest{Namespace: p.other, Parent: byID(c.head()), Messages: []*transcriptv1.Message{p.user()}})
	p.refused(err, "PARENT_NOT_FOUND")
	_, err = p.PutNode(p.ctx, &transcriptv1.PutNodeRequest{Namespace: p.other, Parent: byAlias(name), Messages: []*transcriptv1.Message{p.user()}})
	p.refused(err, "PARENT_NOT_FOUND")
	_, err = p.Alias(p.ctx, &transcriptv1.AliasRequest{Namespace: p.other, Aliases: []*transcriptv1.AliasMove{{Name: name, Target: byID(c.head())}}})
	p.refused(err, "NODE_NOT_FOUND")
	r, err := p.DeleteAlias(p.ctx, &transcriptv1.DeleteAliasRequest{Namespace: p.other, Name: name})
	p.ok(err, "DeleteAlias")
	is(p, "deleted of an alias of another namespace", r.GetDeleted(), false)
	is(p, "head of the alias in its own namespace", p.resolve(name).GetNodeId(), c.head())
	is(p, "children of the head", len(p.children(c.head())), 0)
}

func sameNodeTwice(p *probe) {
	m := p.user()
	var ids []string
	for _, namespace := range []string{p.namespace, p.other} {
		r, err := p.PutNode(p.ctx, &transcriptv1.PutNodeRequest{Namespace: namespace, Messages: []*transcriptv1.Message{m}})
		p.ok(err, "PutNode")
		is(p, "created", r.GetCreated(), true)
		ids = append(ids, r.GetNodeId())
	}
	is(p, "id in the other namespace", ids[1], ids[0])
}

func listsApart(p *probe) {
	p.point(p.name("a"), p.node("", p.user()))
	other, err := p.ListAliases(p.ctx, &transcriptv1.ListAliasesRequest{Namespace: p.other})
	p.ok(err, "ListAliases")
	for _, a := range other.GetAliases() {
		p.holds(!strings.HasPrefix(a.GetName(), p.name("")), "no alias of another namespace in the list")
	}
	hits, err := p.Search(p.ctx, &transcriptv1.SearchRequest{
		Namespace: p.other, Scope: &transcriptv1.SearchRequest_AliasPrefix{}, Pattern: words(p.kit.mark + " " + p.id),
	})
	p.ok(err, "Search")
	is(p, "hits in another namespace", len(hits.GetHits()), 0)
}
