package server_test

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/transcriptd/transcriptd/canonical"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// archived is a node under a parent, "" for a root, as archives have it.
func archived(parent string, messages ...*Message) *transcriptv1.ArchivedNode {
	form := canonical.NewNode(messages, nil, nil)
	return &transcriptv1.ArchivedNode{Envelope: canonical.AppendEnvelope(nil, form.Envelope(hash(parent), nil)), Payload: form.Payload}
}

// idOf is the id of a node of an archive.
func idOf(n *transcriptv1.ArchivedNode) [32]byte {
	e, err := canonical.DecodeEnvelope(n.Envelope)
	if err != nil {
		panic(err)
	}
	return canonical.NodeID(e)
}

func hash(id string) *[32]byte {
	b, err := hex.DecodeString(id)
	if err != nil || len(b) != 32 {
		return nil
	}
	return (*[32]byte)(b)
}

// asArchived is a node that is there, as archives have it.
func asArchived(n *transcriptv1.GetNodeResponse) *transcriptv1.ArchivedNode {
	info := n.Info.Envelope
	form := canonical.NewNode(n.Messages, n.Metadata.GetEntries(), info.Salt)
	var from *canonical.SpawnedFrom
	if info.SpawnedFrom != nil {
		from, _ = canonical.ParseSpawnedFrom(info.SpawnedFrom) // the server's
	}
	envelope := form.Envelope(hash(info.ParentId), from)
	envelope.CoversThrough = hash(info.CoversThroughId)
	return &transcriptv1.ArchivedNode{
		Envelope: canonical.AppendEnvelope(nil, envelope), Payload: form.Payload, Metadata: form.Metadata, Salt: info.Salt,
		FirstPutAt: n.FirstPutAt, Notes: n.Info.Notes, Copies: n.Copies,
	}
}

// path are the nodes of a chain, the root first.
func (r *rig) path(namespace, head string) (all []*transcriptv1.GetNodeResponse) {
	r.Helper()
	for id := head; id != ""; {
		n := must[*transcriptv1.GetNodeResponse](r)(r.GetNode(r.ctx(), &transcriptv1.GetNodeRequest{Namespace: namespace, Node: byID(id)}))
		all = append([]*transcriptv1.GetNodeResponse{n}, all...)
		id = n.Info.Envelope.ParentId
	}
	return all
}

// TestArchivedNodes: a chain with compactions that is put from what GetNode tells of it is the same chain in another namespace, with the same views, notes and
// times of first puts, and so it is when it goes on; what is put again stays as it is.
func TestArchivedNodes(t *testing.T) {
	bothEngines(t, func(r *rig) {
		head := r.randomCompacted(rand.New(rand.NewPCG(1, 2)))
		var nodes []*transcriptv1.ArchivedNode
		chain := r.path("", head)
		for _, n := range chain {
			nodes = append(nodes, asArchived(n))
		}
		const there = "restored"
		for again := range 2 {
			reply := must[*transcriptv1.PutArchivedNodesResponse](r)(r.PutArchivedNodes(r.ctx(), &transcriptv1.PutArchivedNodesRequest{Namespace: there, Nodes: nodes}))
			for i, n := range reply.Nodes {
				equal(r, "the id", n.NodeId, chain[i].Info.NodeId)
				equal(r, "created", n.Created, again == 0)
			}
		}
		for i, n := range r.path(there, head) {
			n.Aliases, chain[i].Aliases = nil, nil
			if !proto.Equal(n, chain[i]) {
				r.Fatalf("node %d is not as it was", i)
			}
		}
		for _, view := range []transcriptv1.View{full, effective, conversation} {
			a := must[*transcriptv1.AssembleResponse](r)(r.Assemble(r.ctx(), &Assemble{Head: byID(head), View: view, NodeDetail: transcriptv1.NodeDetail_NODE_DETAIL_ENVELOPES}))
			b := must[*transcriptv1.AssembleResponse](r)(r.Assemble(r.ctx(), &Assemble{Namespace: there, Head: byID(head), View: view, NodeDetail: transcriptv1.NodeDetail_NODE_DETAIL_ENVELOPES}))
			a.Etag, b.Etag = "", ""
			if !proto.Equal(a, b) {
				r.Errorf("%v differs", view)
			}
		}
		next := must[*transcriptv1.PutNodeResponse](r)(r.PutNode(r.ctx(), &PutNode{Namespace: there, Parent: byID(head), Messages: []*Message{user("on")}}))
		equal(r, "the node behind it", next.NodeId, r.put(head, user("on")))
		for _, namespace := range []string{"default", there} {
			if problems := r.verified(namespace); len(problems) > 0 {
				r.Errorf("%s: %v", namespace, problems)
			}
		}
	})
}

// randomCompacted puts a chain with calls, notes, metadata and compactions, and returns its head.
func (r *rig) randomCompacted(random *rand.Rand) (head string) {
	r.Helper()
	head = r.put("", system("be brief"))
	for i := range 40 {
		call := fmt.Sprint(i)
		put := &PutNode{Parent: byID(head), Messages: []*Message{user("question " + call)}}
		switch random.IntN(4) {
		case 0:
			put.Messages = append(put.Messages, calling("read", call), result(call, "a long result, a long result, a long result"), assistant("answer "+call))
		case 1:
			put.Messages = append(put.Messages, assistant("answer "+call))
			put.Salt = []byte("0123456789abcdef")
		case 2:
			put.Notes = []*transcriptv1.MessageNote{{SentAt: timestamppb.New(time.UnixMilli(1_600_000_000_000)), TokenCount: proto.Int32(3), Model: "m"}}
		default:
			put.Metadata = []*transcriptv1.MetadataEntry{{Key: "run/end", Value: "failed"}, {Key: "var/x", Value: call}}
		}
		head = must[*transcriptv1.PutNodeResponse](r)(r.PutNode(r.ctx(), put)).NodeId
		if i%9 == 8 {
			made := must[*transcriptv1.CompactResponse](r)(r.Compact(r.ctx(), &Compact{Head: byID(head), Policy: &transcriptv1.Policy{KeepWholeRunLoops: proto.Int32(int32(i % 3)), MaxUserChars: proto.Int32(8)}}))
			if made.Written {
				head = made.NodeId
			}
		}
	}
	return head
}

// verified are the problems of a namespace.
func (r *rig) verified(namespace string) (problems []string) {
	r.Helper()
	stream := must[transcriptv1.AdminService_VerifyClient](r)(r.admin.Verify(r.ctx(), &transcriptv1.VerifyRequest{Namespace: namespace}))
	for {
		report, err := stream.Recv()
		if err != nil {
			r.Fatal(err)
		}
		for _, p := range report.Problems {
			problems = append(problems, p.Problem)
		}
		if report.Done {
			return problems
		}
	}
}

// TestBadArchivedNodes: each mistake names its field, and nothing is put.
func TestBadArchivedNodes(t *testing.T) {
	bothEngines(t, func(r *rig) {
		chain := r.path("", r.randomCompacted(rand.New(rand.NewPCG(1, 2))))
		compaction := -1
		for i, n := range chain {
			if n.Copies != nil {
				compaction = i
			}
		}
		for what, c := range map[string]struct {
			spoil  func(nodes []*transcriptv1.ArchivedNode) []*transcriptv1.ArchivedNode
			code   codes.Code
			reason string
			field  string
		}{
			"nothing":               {func([]*transcriptv1.ArchivedNode) []*transcriptv1.ArchivedNode { return nil }, codes.InvalidArgument, "INVALID_FIELD", "nodes"},
			"without the root":      {func(n []*transcriptv1.ArchivedNode) []*transcriptv1.ArchivedNode { return n[1:] }, codes.NotFound, "PARENT_NOT_FOUND", "nodes[0].envelope"},
			"an envelope":           {spoils(0, func(n *transcriptv1.ArchivedNode) { n.Envelope = nil }), codes.InvalidArgument, "", "nodes[0].envelope"},
			"other messages":        {spoils(1, func(n *transcriptv1.ArchivedNode) { n.Payload = chainPayload("x") }), codes.InvalidArgument, "INVALID_FIELD", "nodes[1].payload"},
			"a time":                {spoils(1, func(n *transcriptv1.ArchivedNode) { n.FirstPutAt = &timestamppb.Timestamp{Seconds: -1} }), codes.InvalidArgument, "INVALID_FIELD", "nodes[1].first_put_at"},
			"notes":                 {spoils(1, func(n *transcriptv1.ArchivedNode) { n.Notes = make([]*transcriptv1.MessageNote, 9) }), codes.InvalidArgument, "INVALID_FIELD", "nodes[1].notes"},
			"copies of a plain one": {spoils(1, func(n *transcriptv1.ArchivedNode) { n.Copies = &transcriptv1.CompactionCopies{} }), codes.InvalidArgument, "INVALID_FIELD", "nodes[1].copies"},
			"no copies":             {spoils(compaction, func(n *transcriptv1.ArchivedNode) { n.Copies = nil }), codes.InvalidArgument, "INVALID_FIELD", fmt.Sprintf("nodes[%d].copies", compaction)},
			"too few copies":        {spoils(compaction, func(n *transcriptv1.ArchivedNode) { n.Copies.CopiedFrom = nil }), codes.InvalidArgument, "INVALID_FIELD", fmt.Sprintf("nodes[%d].copies.copied_from", compaction)},
			"a place in part": {spoils(compaction, func(n *transcriptv1.ArchivedNode) {
				n.Copies.CopiedFrom[0] = &transcriptv1.CopiedFrom{Ancestors: proto.Int32(1)}
			}), codes.InvalidArgument, "INVALID_FIELD", fmt.Sprintf("nodes[%d].copies.copied_from[0]", compaction)},
			"a place behind it": {spoils(compaction, func(n *transcriptv1.ArchivedNode) {
				n.Copies.CopiedFrom[0] = &transcriptv1.CopiedFrom{Ancestors: proto.Int32(1 << 30), MessageIndex: proto.Int32(0)}
			}), codes.FailedPrecondition, "NOT_AN_ANCESTOR", ""},
			"loops out of order": {spoils(compaction, func(n *transcriptv1.ArchivedNode) { n.Copies.LoopBegins = []int32{1, 0} }), codes.InvalidArgument, "INVALID_FIELD", fmt.Sprintf("nodes[%d].copies.loop_begins[1]", compaction)},
			"loops out of range": {spoils(compaction, func(n *transcriptv1.ArchivedNode) { n.Copies.LoopBegins = []int32{1 << 20} }), codes.InvalidArgument, "INVALID_FIELD", fmt.Sprintf("nodes[%d].copies.loop_begins[0]", compaction)},
			"a phase":            {spoils(compaction, func(n *transcriptv1.ArchivedNode) { n.Copies.LastLoop = 77 }), codes.InvalidArgument, "INVALID_FIELD", fmt.Sprintf("nodes[%d].copies.last_loop", compaction)},
		} {
			var nodes []*transcriptv1.ArchivedNode
			for _, n := range chain {
				nodes = append(nodes, proto.CloneOf(asArchived(n)))
			}
			_, err := r.PutArchivedNodes(r.ctx(), &transcriptv1.PutArchivedNodesRequest{Namespace: "bad", Nodes: c.spoil(nodes)})
			if c.reason == "" {
				c.reason = "MALFORMED_REQUEST"
			}
			r.fails(err, c.code, c.reason, c.field)
			_ = what
		}
		equal(r, "the nodes of the namespace", must[*transcriptv1.NamespaceStatsResponse](r)(r.admin.NamespaceStats(r.ctx(), &transcriptv1.NamespaceStatsRequest{Namespace: "bad"})).Nodes, 0)
	})
}

// TestOddCopies: whatever a caller says of where the messages of a compaction node come from, what is put is whole, and goes on.
func TestOddCopies(t *testing.T) {
	bothEngines(t, func(r *rig) {
		random := rand.New(rand.NewPCG(3, 4))
		chain := r.path("", r.randomCompacted(random))
		taken := 0
		for try := range 100 {
			namespace := fmt.Sprint("odd", try)
			var nodes []*transcriptv1.ArchivedNode
			for _, was := range chain {
				n := proto.CloneOf(asArchived(was))
				if c := n.Copies; c != nil {
					c.LoopBegins = nil
					for i, from := range c.CopiedFrom {
						if may := was.Messages[i].Role == transcriptv1.Role_ROLE_USER || c.LoopBegins == nil; may && random.IntN(3) == 0 {
							c.LoopBegins = append(c.LoopBegins, int32(i))
						}
						if random.IntN(4) == 0 {
							from.Ancestors, from.MessageIndex = proto.Int32(random.Int32N(4)), proto.Int32(random.Int32N(900))
						}
					}
					if c.LastLoop = 0; len(c.LoopBegins) > 0 {
						c.LastLoop = transcriptv1.LoopPhase(1 + random.IntN(3))
					}
				}
				nodes = append(nodes, n)
			}
			reply, err := r.PutArchivedNodes(r.ctx(), &transcriptv1.PutArchivedNodesRequest{Namespace: namespace, Nodes: nodes})
			if err != nil {
				continue // it is refused, and told why
			}
			taken++
			r.goesOn(namespace, reply.Nodes[len(nodes)-1].NodeId)
		}
		if taken == 0 {
			r.Error("none was taken")
		}
	})
}

// TestOddCompactions: whatever messages a compaction node has, what is put is whole, and goes on.
func TestOddCompactions(t *testing.T) {
	bothEngines(t, func(r *rig) {
		random := rand.New(rand.NewPCG(5, 6))
		chain := r.path("", r.randomCompacted(random))
		last := slices.IndexFunc(chain, func(n *transcriptv1.GetNodeResponse) bool { return n.Copies != nil })
		var before []*transcriptv1.ArchivedNode
		messages := []*Message{calling("t", "a"), calling("t", "b"), result("a", "x"), result("b", "y"), result("z", "y"), opaqueUser("1")}
		for _, n := range chain[:last] {
			before = append(before, asArchived(n))
			messages = append(messages, n.Messages...)
		}
		for _, n := range chain[last:] {
			if n.Copies != nil {
				messages = append(messages, n.Messages...)
			}
		}
		made := asArchived(chain[last])
		taken := 0
		for try := range 400 {
			namespace := fmt.Sprint("made", try)
			some := []*Message{}
			for range 1 + random.IntN(8) {
				some = append(some, messages[random.IntN(len(messages))])
			}
			form := canonical.NewNode(some, nil, nil)
			envelope := form.Envelope(hash(chain[last].Info.Envelope.ParentId), nil)
			envelope.CoversThrough = hash(chain[random.IntN(last)].Info.NodeId)
			n := proto.CloneOf(made)
			n.Envelope, n.Payload, n.Notes, n.Salt = canonical.AppendEnvelope(nil, envelope), form.Payload, nil, nil
			n.Copies = &transcriptv1.CompactionCopies{}
			for i, m := range some {
				from := &transcriptv1.CopiedFrom{}
				if random.IntN(2) == 0 {
					from.Ancestors, from.MessageIndex = proto.Int32(random.Int32N(2)), proto.Int32(random.Int32N(900))
				}
				n.Copies.CopiedFrom = append(n.Copies.CopiedFrom, from)
				if (m.Role == transcriptv1.Role_ROLE_USER || n.Copies.LoopBegins == nil) && random.IntN(2) == 0 {
					n.Copies.LoopBegins = append(n.Copies.LoopBegins, int32(i))
					n.Copies.LastLoop = transcriptv1.LoopPhase(1 + random.IntN(3))
				}
			}
			reply, err := r.PutArchivedNodes(r.ctx(), &transcriptv1.PutArchivedNodesRequest{Namespace: namespace, Nodes: append(slices.Clone(before), n)})
			if status.Code(err) == codes.Internal {
				r.Fatal(err)
			}
			if err == nil {
				taken++
				r.goesOn(namespace, reply.Nodes[last].NodeId)
			}
		}
		if taken < 20 {
			r.Errorf("%d were taken", taken)
		}
	})
}

// goesOn appends to a chain, reads and compacts it, and verifies it.
func (r *rig) goesOn(namespace, head string) {
	r.Helper()
	for i := range 3 {
		call := fmt.Sprint("on", i)
		head = must[*transcriptv1.PutNodeResponse](r)(r.PutNode(r.ctx(), &PutNode{Namespace: namespace, Parent: byID(head), Messages: []*Message{
			user("on"), calling("read", call), result(call, "found"), assistant("and on"),
		}})).NodeId
	}
	for _, view := range []transcriptv1.View{full, effective, conversation} {
		must[*transcriptv1.AssembleResponse](r)(r.Assemble(r.ctx(), &Assemble{Namespace: namespace, Head: byID(head), View: view}))
	}
	must[*transcriptv1.CompactResponse](r)(r.Compact(r.ctx(), &Compact{Namespace: namespace, Head: byID(head)}))
	must[*transcriptv1.DescribeResponse](r)(r.Describe(r.ctx(), &transcriptv1.DescribeRequest{Namespace: namespace, Head: byID(head)}))
	must[*transcriptv1.ListRunLoopsResponse](r)(r.ListRunLoops(r.ctx(), &transcriptv1.ListRunLoopsRequest{Namespace: namespace, Head: byID(head)}))
	if problems := r.verified(namespace); len(problems) > 0 {
		r.Fatalf("%s: %v", namespace, problems)
	}
}

func spoils(at int, f func(*transcriptv1.ArchivedNode)) func([]*transcriptv1.ArchivedNode) []*transcriptv1.ArchivedNode {
	return func(nodes []*transcriptv1.ArchivedNode) []*transcriptv1.ArchivedNode {
		f(nodes[at])
		return nodes
	}
}

func chainPayload(text string) []byte { return canonical.EncodePayload([]*Message{user(text)}) }
