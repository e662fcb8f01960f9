package conformance

import (
	"strings"

	"google.golang.org/grpc/status"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

func errorChecks() []Check {
	return []Check{
		{ID: "errors/codes-fit-reasons", Promise: "each reason comes with its code, ErrorInfo of the domain transcript.v1 and RequestInfo, and tells no content", run: codesFit},
		{ID: "errors/fields", Promise: "INVALID_ARGUMENT about a field names it; where no member of a oneof is set, each of its members", run: errorFields},
		{ID: "errors/change-nothing", Promise: "a call that fails changes nothing", run: changeNothing},
	}
}

// codesFit provokes a refusal for each reason that can be provoked at once.
func codesFit(p *probe) {
	c, name := p.chain("s | u c1 R1 a | u c2"), p.name("x")
	p.point(name, c.head())
	user := []*transcriptv1.Message{p.user()}
	put := func(r *transcriptv1.PutNodeRequest) error { return p.putError(r) }
	provoked := map[string]error{
		"INVALID_FIELD":    put(&transcriptv1.PutNodeRequest{Messages: []*transcriptv1.Message{{Role: 99}}}),
		"LIMIT_EXCEEDED":   put(&transcriptv1.PutNodeRequest{Messages: user, Metadata: []*transcriptv1.MetadataEntry{{Key: p.name(fill(257))}}}),
		"DUPLICATE_ALIAS":  put(&transcriptv1.PutNodeRequest{Messages: user, Aliases: []*transcriptv1.AliasUpdate{{Name: p.name("y")}, {Name: p.name("y")}}}),
		"PARENT_NOT_FOUND": put(&transcriptv1.PutNodeRequest{Parent: byAlias(p.name("none")), Messages: user}),
		"ALIAS_EXISTS":     put(&transcriptv1.PutNodeRequest{Messages: user, Aliases: update(name, absent())}),
		"ALIAS_MOVED":      put(&transcriptv1.PutNodeRequest{Messages: user, Aliases: update(name, at(nowhere))}),
	}
	provoked["MALFORMED_REQUEST"] = p.raw(transcriptService+"PutNode", unknownField, &transcriptv1.PutNodeResponse{})
	_, provoked["NODE_NOT_FOUND"] = p.GetNode(p.ctx, &transcriptv1.GetNodeRequest{Namespace: p.namespace, Node: byID(nowhere)})
	_, provoked["ALIAS_NOT_FOUND"] = p.ResolveAlias(p.ctx, &transcriptv1.ResolveAliasRequest{Namespace: p.namespace, Name: p.name("none")})
	_, provoked["TOOL_CALL_NOT_FOUND"] = p.RecallToolCall(p.ctx, &transcriptv1.RecallToolCallRequest{Namespace: p.namespace, Head: byID(c.head())})
	_, provoked["INVALID_PAGE_TOKEN"] = p.ListAliases(p.ctx, &transcriptv1.ListAliasesRequest{Namespace: p.namespace, PageToken: p.kit.mark})
	_, provoked["INVALID_PATTERN"] = p.Search(p.ctx, &transcriptv1.SearchRequest{Namespace: p.namespace, Scope: head(byID(c.head())), Pattern: pattern(p.kit.mark + "(")})
	_, provoked["NOT_AN_ANCESTOR"] = p.Assemble(p.ctx, &transcriptv1.AssembleRequest{Namespace: p.namespace, Head: byID(c.ids[0]), AfterId: c.head()})
	_, provoked["OPEN_TOOL_CALLS"] = p.Compact(p.ctx, &transcriptv1.CompactRequest{Namespace: p.namespace, Head: byID(c.head()), ThroughId: c.head()})
	for reason, err := range provoked {
		p.refused(err, reason)
	}
}

func errorFields(p *probe) {
	_, err := p.Assemble(p.ctx, &transcriptv1.AssembleRequest{Namespace: p.namespace})
	p.refused(err, "INVALID_FIELD", "head")
	_, err = p.Assemble(p.ctx, &transcriptv1.AssembleRequest{Namespace: p.namespace, Head: &transcriptv1.NodeRef{}})
	p.refused(err, "INVALID_FIELD", "head")
	_, err = p.Search(p.ctx, &transcriptv1.SearchRequest{Namespace: p.namespace, Pattern: words("x")})
	p.refused(err, "INVALID_FIELD", "alias_prefix", "head")
	_, err = p.PutNodes(p.ctx, &transcriptv1.PutNodesRequest{Namespace: p.namespace, Nodes: []*transcriptv1.NewNode{
		{Messages: []*transcriptv1.Message{p.user()}}, {Parent: byID(nowhere), Messages: []*transcriptv1.Message{p.user()}},
	}})
	p.refused(err, "PARENT_NOT_FOUND", "nodes[1].parent")
	_, err = p.PutNode(p.ctx, &transcriptv1.PutNodeRequest{Namespace: strings.Repeat("A", 3), Messages: []*transcriptv1.Message{p.user()}})
	p.refused(err, "INVALID_FIELD", "namespace")
}

// changeNothing looks at an alias, its revision and a node's children around calls that fail.
func changeNothing(p *probe) {
	root, name := p.node("", p.user()), p.name("x")
	p.point(name, root)
	before := p.resolve(name)
	user := p.user()
	for _, r := range []*transcriptv1.PutNodeRequest{
		{Parent: byID(root), Messages: []*transcriptv1.Message{user}, Aliases: []*transcriptv1.AliasUpdate{{Name: name}, {Name: p.name("\n")}}},
		{Parent: byID(root), Messages: []*transcriptv1.Message{user, {}}, Aliases: update(name, nil)},
		{Parent: byID(root), Messages: []*transcriptv1.Message{user}, Aliases: update(name, absent())},
		{Parent: byID(root), Messages: []*transcriptv1.Message{user}, Salt: []byte("short"), Aliases: update(name, nil)},
	} {
		err := p.putError(r)
		if err == nil {
			p.failf("expected a refusal, got success")
		}
		p.whole(status.Convert(err))
	}
	p.same("the alias", p.resolve(name), before)
	is(p, "children of the node", len(p.children(root)), 0)
	is(p, "created of what was refused", p.put(&transcriptv1.PutNodeRequest{Parent: byID(root), Messages: []*transcriptv1.Message{user}}).GetCreated(), true)
}
