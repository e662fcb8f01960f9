package server_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

func TestPutNodeAndGetItBack(t *testing.T) {
	r := newRig(t)
	root := r.put("", system("be kind"))
	sent := timestamppb.New(time.Date(2026, 1, 2, 3, 4, 5, 678_999_999, time.UTC))
	req := &PutNode{
		Parent: byID(root), Messages: []*Message{user("hello"), assistant("hi")},
		Notes:       []*transcriptv1.MessageNote{{SentAt: sent}, {TokenCount: proto.Int32(3), TokenCountEstimated: true}},
		Metadata:    []*transcriptv1.MetadataEntry{{Key: "var/x", Value: "1"}, {Key: "a", Value: "b"}},
		Salt:        []byte("0123456789abcdef"),
		SpawnedFrom: &transcriptv1.SpawnedFromRef{NodeId: root, ToolCallId: proto.String("")},
		Aliases:     []*Update{{Name: "chat/1", Labels: &transcriptv1.Labels{Entries: map[string]string{"k": "v"}}}},
	}
	put := must[*transcriptv1.PutNodeResponse](r)(r.PutNode(r.ctx(), req))
	equal(r, "created", put.Created, true)
	equal(r, "the depth", put.Counters.Full.Depth, 2)
	equal(r, "the tokens estimated", put.Counters.Full.TokensEstimated, true)
	equal(r, "the alias", put.Aliases[0].Name+put.Aliases[0].PreviousId, "chat/1")
	equal(r, "changed", put.Aliases[0].Changed, true)
	again := must[*transcriptv1.PutNodeResponse](r)(r.PutNode(r.ctx(), req))
	equal(r, "created again", again.Created, false)
	equal(r, "the id again", again.NodeId, put.NodeId)
	equal(r, "the previous id", again.Aliases[0].PreviousId, put.NodeId)

	for _, ref := range []*NodeRef{byID(put.NodeId), byID(put.NodeId[:12]), byID(put.NodeId[:6]), byAlias("chat/1")} {
		n := must[*transcriptv1.GetNodeResponse](r)(r.GetNode(r.ctx(), &transcriptv1.GetNodeRequest{Node: ref}))
		r.sameMessages("the messages", n.Messages, req.Messages...)
		equal(r, "the id", n.Info.NodeId, put.NodeId)
		equal(r, "the parent", n.Info.Envelope.ParentId, root)
		equal(r, "the salt", string(n.Info.Envelope.Salt), string(req.Salt))
		equal(r, "the spawner", n.Info.Envelope.SpawnedFrom.NodeId, root)
		equal(r, "that an empty call id is there", n.Info.Envelope.SpawnedFrom.ToolCallId != nil, true)
		equal(r, "the note's time, in whole milliseconds", n.Info.Notes[0].SentAt.AsTime(), sent.AsTime().Truncate(time.Millisecond))
		equal(r, "the note's tokens", n.Info.Notes[1].GetTokenCount(), 3)
		equal(r, "the metadata's first key", n.Metadata.Entries[0].Key, "a")
		equal(r, "the ancestors", n.Ancestors, 1)
		equal(r, "the aliases", strings.Join(n.Aliases, " "), "chat/1")
		equal(r, "the roles", slices.Equal(n.Roles, []transcriptv1.Role{transcriptv1.Role_ROLE_USER, transcriptv1.Role_ROLE_ASSISTANT}), true)
		equal(r, "that digests are there", len(n.Info.Envelope.PayloadDigest)+len(n.Info.Envelope.MetadataDigest), 128)
		equal(r, "that it was put just now", time.Since(n.FirstPutAt.AsTime()) < time.Minute, true)
	}
	n := must[*transcriptv1.GetNodeResponse](r)(r.GetNode(r.ctx(), &transcriptv1.GetNodeRequest{Node: byID(put.NodeId), OmitMessages: true}))
	equal(r, "the messages left out", len(n.Messages), 0)
	equal(r, "the message count", n.Info.MessageCount, 2)
	got := must[*transcriptv1.ResolveAliasResponse](r)(r.ResolveAlias(r.ctx(), &transcriptv1.ResolveAliasRequest{Name: "chat/1"}))
	equal(r, "the label", got.Alias.Labels["k"], "v")
	equal(r, "where it points", got.Alias.NodeId, put.NodeId)
	equal(r, "the counters", proto.Equal(got.Counters, put.Counters), true)
}

func TestPutNodesIsAllOrNothing(t *testing.T) {
	r := newRig(t)
	root := r.put("", system("s"))
	req := &transcriptv1.PutNodesRequest{Nodes: []*transcriptv1.NewNode{
		{Parent: byID(root), Messages: []*Message{user("a")}, Aliases: []*Update{{Name: "a"}}},
		{Previous: true, Messages: []*Message{assistant("b")}, Aliases: []*Update{{Name: "b"}, {Name: "c"}}},
		{Messages: []*Message{system("other root")}},
	}}
	put := must[*transcriptv1.PutNodesResponse](r)(r.PutNodes(r.ctx(), req))
	equal(r, "the nodes", len(put.Nodes), 3)
	equal(r, "the aliases of the second", put.Nodes[1].Aliases[0].Name+put.Nodes[1].Aliases[1].Name, "bc")
	equal(r, "the nodes of the second's chain", put.Nodes[1].Counters.Full.Nodes, 3)
	equal(r, "the nodes of the third's chain", put.Nodes[2].Counters.Full.Nodes, 1)

	must := &transcriptv1.AliasPrecondition{Condition: &transcriptv1.AliasPrecondition_MustNotExist{MustNotExist: true}}
	_, err := r.PutNodes(r.ctx(), &transcriptv1.PutNodesRequest{Nodes: []*transcriptv1.NewNode{
		{Messages: []*Message{user("new")}, Aliases: []*Update{{Name: "new"}}},
		{Messages: []*Message{user("new too")}, Aliases: []*Update{{Name: "new too"}, {Name: "b", Precondition: must}}},
	}})
	f := r.fails(err, codes.AlreadyExists, "ALIAS_EXISTS", "")
	if len(f.conflicts) != 1 || f.conflicts[0].Field != "nodes[1].aliases[1]" || f.conflicts[0].NodeId != put.Nodes[1].NodeId {
		t.Errorf("conflicts are %v", f.conflicts)
	}
	_, err = r.ResolveAlias(r.ctx(), &transcriptv1.ResolveAliasRequest{Name: "new"})
	r.fails(err, codes.NotFound, "ALIAS_NOT_FOUND", "name")
}

func TestAliases(t *testing.T) {
	r := newRig(t)
	a, b := r.put("", user("a")), r.put("", user("b"))
	move := func(name string, target *NodeRef, c *transcriptv1.AliasPrecondition) (*transcriptv1.AliasResponse, error) {
		return r.Alias(r.ctx(), &transcriptv1.AliasRequest{Aliases: []*transcriptv1.AliasMove{{Name: name, Target: target, Precondition: c}}})
	}
	head := func(id string) *transcriptv1.AliasPrecondition {
		return &transcriptv1.AliasPrecondition{Condition: &transcriptv1.AliasPrecondition_HeadId{HeadId: id}}
	}
	exists := &transcriptv1.AliasPrecondition{Condition: &transcriptv1.AliasPrecondition_MustExist{MustExist: true}}
	_, err := move("x", byID(a), exists)
	r.fails(err, codes.NotFound, "ALIAS_NOT_FOUND", "")
	must[*transcriptv1.AliasResponse](r)(move("x", byID(a), nil))
	_, err = move("x", byID(b), head(b))
	lost := r.fails(err, codes.Aborted, "ALIAS_MOVED", "")
	equal(r, "the conflicts", len(lost.conflicts), 1)
	equal(r, "the winning head", lost.conflicts[0].NodeId, a)
	moved := must[*transcriptv1.AliasResponse](r)(move("y", byAlias("x"), nil))
	equal(r, "changed", moved.Aliases[0].Changed, true)
	_, err = move("z", byAlias("nobody"), nil)
	r.fails(err, codes.NotFound, "ALIAS_NOT_FOUND", "aliases[0].target")
	_, err = move("z", byID(strings.Repeat("0", 64)), nil)
	r.fails(err, codes.NotFound, "NODE_NOT_FOUND", "aliases[0].target")

	remove := func(name string, c *transcriptv1.AliasPrecondition) (*transcriptv1.DeleteAliasResponse, error) {
		return r.DeleteAlias(r.ctx(), &transcriptv1.DeleteAliasRequest{Name: name, Precondition: c})
	}
	_, err = remove("nobody", exists)
	f := r.fails(err, codes.NotFound, "ALIAS_NOT_FOUND", "")
	equal(r, "the conflict's field", f.conflicts[0].Field, "name")
	equal(r, "deleted", must[*transcriptv1.DeleteAliasResponse](r)(remove("nobody", head(a))).Deleted, false)
	_, err = remove("x", head(b))
	r.fails(err, codes.Aborted, "ALIAS_MOVED", "")
	gone := must[*transcriptv1.DeleteAliasResponse](r)(remove("x", head(a)))
	equal(r, "deleted", gone.Deleted, true)
	equal(r, "the previous id", gone.PreviousId, a)
	history := must[*transcriptv1.ListAliasHistoryResponse](r)(r.ListAliasHistory(r.ctx(), &transcriptv1.ListAliasHistoryRequest{Name: "x"}))
	equal(r, "the states", len(history.Entries), 2)
	equal(r, "that the first is the deletion", history.Entries[0].NodeId, "")
	equal(r, "the node before", history.Entries[1].NodeId, a)
}

// TestManyConflictsFitAnError: an error with as many conflicts as a call can have reaches a client that takes trailers of
// 8 KiB, as gRPC's in other languages do.
func TestManyConflictsFitAnError(t *testing.T) {
	r := newRig(t)
	frugal := transcriptv1.NewTranscriptServiceClient(r.Dial(t, grpc.WithMaxHeaderListSize(8<<10)))
	a := r.put("", user("a"))
	req := &transcriptv1.AliasRequest{}
	for i := range 1000 {
		req.Aliases = append(req.Aliases, &transcriptv1.AliasMove{Name: fmt.Sprint(i), Target: byID(a)})
	}
	must[*transcriptv1.AliasResponse](r)(r.Alias(r.ctx(), req))
	b := byID(r.put("", user("b")))
	for _, m := range req.Aliases {
		m.Target = b
		m.Precondition = &transcriptv1.AliasPrecondition{Condition: &transcriptv1.AliasPrecondition_MustNotExist{MustNotExist: true}}
	}
	_, err := frugal.Alias(r.ctx(), req)
	f := r.fails(err, codes.AlreadyExists, "ALIAS_EXISTS", "")
	equal(r, "the conflicts", len(f.conflicts), 32)
	equal(r, "the last one's field", f.conflicts[31].Field, "aliases[31]")
	equal(r, "the last one's node", f.conflicts[31].NodeId, a)
	for _, detail := range status.Convert(err).Details() {
		if c, ok := detail.(*transcriptv1.AliasConflicts); ok {
			equal(r, "the rest", c.MoreConflicts, 968)
		}
	}
}
