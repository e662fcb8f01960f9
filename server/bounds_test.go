package server_test

import (
	"fmt"
	"testing"

	"google.golang.org/protobuf/proto"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// A page never holds more than 1,000, whatever is asked for.
func TestPagesAreBounded(t *testing.T) {
	r := newRig(t)
	root := r.put("", user("root"))
	req := &transcriptv1.PutNodesRequest{}
	for i := range 1001 {
		if i == 1000 { // a call takes 1,000 nodes
			must[*transcriptv1.PutNodesResponse](r)(r.PutNodes(r.ctx(), req))
			req.Nodes = nil
		}
		name := fmt.Sprint("a/", i)
		req.Nodes = append(req.Nodes, &transcriptv1.NewNode{
			Parent: byID(root), Messages: []*Message{user(name)}, Aliases: []*transcriptv1.AliasUpdate{{Name: name}},
		})
	}
	must[*transcriptv1.PutNodesResponse](r)(r.PutNodes(r.ctx(), req))
	children := must[*transcriptv1.ListChildrenResponse](r)(r.ListChildren(r.ctx(), &transcriptv1.ListChildrenRequest{Node: byID(root), PageSize: 5000}))
	equal(r, "the children of a page", len(children.Children), 1000)
	aliases := must[*transcriptv1.ListAliasesResponse](r)(r.ListAliases(r.ctx(), &transcriptv1.ListAliasesRequest{PageSize: 5000}))
	equal(r, "the aliases of a page", len(aliases.Aliases), 1000)
}

// GetNode without the messages still gives everything else.
func TestGetNodeWithoutMessages(t *testing.T) {
	r := newRig(t)
	put := must[*transcriptv1.PutNodeResponse](r)(r.PutNode(r.ctx(), &PutNode{
		Messages: []*Message{user("hello")}, Metadata: []*transcriptv1.MetadataEntry{{Key: "k", Value: "v"}},
		Aliases: []*transcriptv1.AliasUpdate{{Name: "x"}},
	}))
	get := func(omit bool) *transcriptv1.GetNodeResponse {
		return must[*transcriptv1.GetNodeResponse](r)(r.GetNode(r.ctx(), &transcriptv1.GetNodeRequest{Node: byID(put.NodeId), OmitMessages: omit}))
	}
	whole, bare := get(false), get(true)
	equal(r, "the messages", len(whole.Messages), 1)
	equal(r, "the metadata", whole.Metadata.GetEntries()[0].Value, "v")
	whole.Messages = nil
	if !proto.Equal(whole, bare) {
		t.Errorf("without messages: %v\nwith: %v", bare, whole)
	}
}
