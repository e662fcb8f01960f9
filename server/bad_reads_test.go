package server_test

import (
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// badReads are requests of single nodes, lists and aliases.
func badReads() []bad {
	get := func(ref *NodeRef) func(*rig) error {
		return asked((*rig).GetNode, &transcriptv1.GetNodeRequest{Node: ref})
	}
	nodes := func(ids ...string) func(*rig) error {
		return asked((*rig).GetNodes, &transcriptv1.GetNodesRequest{NodeIds: ids})
	}
	many := make([]string, 1001)
	for i := range many {
		many[i] = fmt.Sprintf("%064x", i)
	}
	children := func(req *transcriptv1.ListChildrenRequest) func(*rig) error { return asked((*rig).ListChildren, req) }
	aliases := func(req *transcriptv1.ListAliasesRequest) func(*rig) error { return asked((*rig).ListAliases, req) }
	history := func(req *transcriptv1.ListAliasHistoryRequest) func(*rig) error {
		return asked((*rig).ListAliasHistory, req)
	}
	resolve := func(name string) func(*rig) error {
		return asked((*rig).ResolveAlias, &transcriptv1.ResolveAliasRequest{Name: name})
	}
	long := strings.Repeat("x", 513)
	return []bad{
		{"no node", get(nil), invalid, badField, "node"},
		{"a prefix of 5", get(byID("abcde")), invalid, badField, "node.node_id"},
		{"a prefix of 65", get(byID(absent + "0")), invalid, badField, "node.node_id"},
		{"a prefix in capitals", get(byID("ABCDEF")), invalid, badField, "node.node_id"},
		{"an empty node id", get(byID("")), invalid, badField, "node.node_id"},
		{"a prefix of two nodes", get(byID(twins)), invalid, "AMBIGUOUS_PREFIX", ""},
		{"an absent prefix", get(byID("abcdef")), notFound, noNode, "node"},
		{"an absent node", get(byID(absent)), notFound, noNode, "node"},
		{"an absent alias", get(byAlias("nobody")), notFound, noAlias, "node"},
		{"an alias with DEL", get(byAlias("a\x7f")), invalid, badField, "node.alias"},
		{"nodes of no id", nodes(), invalid, badField, "node_ids"},
		{"a thousand nodes", nodes(many[:1000]...), codes.OK, "", ""},
		{"a thousand nodes and one", nodes(many...), invalid, overLimit, "node_ids"},
		{"nodes of a prefix", nodes(absent, "abcdef"), invalid, badField, "node_ids[1]"},
		{"nodes of an empty id", nodes(""), invalid, badField, "node_ids[0]"},
		{"a node twice", nodes(many[1], many[2], many[1]), invalid, badField, "node_ids[2]"},
		{"children of nothing", children(&transcriptv1.ListChildrenRequest{}), invalid, badField, "node"},
		{"children of an absent node", children(&transcriptv1.ListChildrenRequest{Node: byID(absent)}), notFound, noNode, "node"},
		{"children of an absent alias", children(&transcriptv1.ListChildrenRequest{Node: byAlias("nobody")}), notFound, noAlias, "node"},
		{"a negative page of children", children(&transcriptv1.ListChildrenRequest{Node: byID(absent), PageSize: -1}), invalid, badField, "page_size"},
		{"a negative page of aliases", aliases(&transcriptv1.ListAliasesRequest{PageSize: -1}), invalid, badField, "page_size"},
		{"a long prefix", aliases(&transcriptv1.ListAliasesRequest{Scope: &transcriptv1.ListAliasesRequest_Prefix{Prefix: long}}), invalid, overLimit, "prefix"},
		{"a long folder", aliases(&transcriptv1.ListAliasesRequest{Scope: &transcriptv1.ListAliasesRequest_Folder{Folder: long}}), invalid, overLimit, "folder"},
		{"a deep folder", aliases(&transcriptv1.ListAliasesRequest{Scope: &transcriptv1.ListAliasesRequest_Folder{Folder: "1/2/3/4/5/6/7/8"}}), invalid, overLimit, "folder"},
		{"an order that there is not", aliases(&transcriptv1.ListAliasesRequest{Order: 3}), invalid, badField, "order"},
		{"the history of nothing", history(&transcriptv1.ListAliasHistoryRequest{}), invalid, badField, "name"},
		{"a history never set", history(&transcriptv1.ListAliasHistoryRequest{Name: "nobody"}), notFound, noAlias, "name"},
		{"a negative page of history", history(&transcriptv1.ListAliasHistoryRequest{Name: "a", PageSize: -1}), invalid, badField, "page_size"},
		{"an alias without name", resolve(""), invalid, badField, "name"},
		{"an alias never set", resolve("nobody"), notFound, noAlias, "name"},
		{"an alias too long", resolve(long), invalid, overLimit, "name"},
	}
}
