package server_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

func (r *rig) nodes(omit bool, ids ...string) *transcriptv1.GetNodesResponse {
	r.Helper()
	return must[*transcriptv1.GetNodesResponse](r)(r.GetNodes(r.ctx(), &transcriptv1.GetNodesRequest{NodeIds: ids, OmitMessages: omit}))
}

// TestGetNodes: every node is what GetNode gives, aliases aside, in the order of the request; what is not there is named.
func TestGetNodes(t *testing.T) {
	bothEngines(t, func(r *rig) {
		ids, _, _ := r.broken()
		fork := r.put(ids[4], user("elsewhere"), user("and on"))
		noted := must[*transcriptv1.PutNodeResponse](r)(r.PutNode(r.ctx(), everywhere())).NodeId // of another namespace
		covering := must[*transcriptv1.CompactResponse](r)(r.Compact(r.ctx(), &Compact{Head: byID(ids[10]), ThroughId: ids[7], Summary: "s"}))
		asked := []string{fork, absent, ids[10], ids[0], noted, covering.NodeId, ids[4], strings.Repeat("f", 64)}
		for _, omit := range []bool{false, true} {
			reply := r.nodes(omit, asked...)
			equal(r, "the ids that are not there", strings.Join(reply.MissingIds, " "), strings.Join([]string{absent, noted, strings.Repeat("f", 64)}, " "))
			equal(r, "what remains", reply.Remaining, 0)
			there := slices.DeleteFunc(slices.Clone(asked), func(id string) bool { return slices.Contains(reply.MissingIds, id) })
			equal(r, "the number of nodes", len(reply.Nodes), len(there))
			for i, id := range there {
				one := must[*transcriptv1.GetNodeResponse](r)(r.GetNode(r.ctx(), &transcriptv1.GetNodeRequest{Node: byID(id), OmitMessages: omit}))
				one.Aliases, one.HasMoreAliases = nil, false
				if !proto.Equal(reply.Nodes[i], one) {
					t.Errorf("node %d is %v, not %v", i, reply.Nodes[i], one)
				}
			}
		}
	})
}

// TestGetNodesAreAsManyAsFit: a reply ends with the last node that fits, and what remains is asked for anew.
func TestGetNodesAreAsManyAsFit(t *testing.T) {
	r := newRig(t)
	var ids []string
	for i := range 12 {
		ids = append(ids, r.put("", user(fmt.Sprint(i, strings.Repeat("x", 900<<10)))), fmt.Sprintf("%064x", i))
	}
	var nodes, missing []string
	calls := 0
	for left := ids; len(left) > 0; calls++ {
		reply := r.nodes(false, left...)
		if size := proto.Size(reply); size > 4<<20-64<<10 {
			t.Errorf("a reply of %d bytes", size)
		}
		for _, n := range reply.Nodes {
			nodes = append(nodes, n.Info.NodeId)
		}
		missing = append(missing, reply.MissingIds...)
		equal(r, "the ids told of", len(reply.Nodes)+len(reply.MissingIds)+int(reply.Remaining), len(left))
		left = left[len(left)-int(reply.Remaining):]
	}
	equal(r, "the calls", calls, 3)
	for i, id := range ids {
		equal(r, "the next id", id, map[bool][]string{true: missing, false: nodes}[i%2 == 1][i/2])
	}
	req := &PutNode{Messages: []*Message{user(strings.Repeat("x", 2<<20)), user(strings.Repeat("y", 2<<20-132<<10))}}
	for i := range 24 {
		req.Metadata = append(req.Metadata, &transcriptv1.MetadataEntry{Key: fmt.Sprint(i), Value: strings.Repeat("z", 4<<10)})
	}
	large := must[*transcriptv1.PutNodeResponse](r)(r.PutNode(r.ctx(), req)).NodeId
	_, err := r.GetNodes(r.ctx(), &transcriptv1.GetNodesRequest{NodeIds: []string{absent, large}})
	r.fails(err, codes.ResourceExhausted, "USE_STREAM_ASSEMBLE", "")
	equal(r, "its messages, where they are left out", len(r.nodes(true, large).Nodes[0].Messages), 0)
	equal(r, "what remains behind a node that fits", r.nodes(false, ids[0], absent, large).Remaining, 2)
}

// TestGetNodesNearTheLimit: a thousand small nodes and as many missing ids fit; ids that do not fit remain, and none is lost.
func TestGetNodesNearTheLimit(t *testing.T) {
	r := newRig(t)
	put := &PutNode{Messages: []*Message{user(strings.Repeat("x", 2<<20)), user(strings.Repeat("y", 2<<20-132<<10))}}
	for i := range 12 {
		put.Metadata = append(put.Metadata, &transcriptv1.MetadataEntry{Key: fmt.Sprint(i), Value: strings.Repeat("z", 4<<10)})
	}
	large := r.putWith("", put)
	ids := []string{large}
	for i := range 999 {
		ids = append(ids, fmt.Sprintf("%064x", i))
	}
	reply := r.nodes(false, ids...)
	if size := proto.Size(reply); size > 4<<20-64<<10 {
		t.Errorf("a reply of %d bytes", size)
	}
	equal(r, "the nodes", len(reply.Nodes), 1)
	equal(r, "that some remain", reply.Remaining > 0 && len(reply.MissingIds) > 0, true)
	equal(r, "the ids told of", len(reply.MissingIds)+int(reply.Remaining), 999)
	if !slices.Equal(reply.MissingIds, ids[1:1+len(reply.MissingIds)]) {
		t.Error("the missing ids are others")
	}
}
