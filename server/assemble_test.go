package server_test

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

const (
	full      = transcriptv1.View_VIEW_FULL
	effective = transcriptv1.View_VIEW_EFFECTIVE
	ids       = transcriptv1.NodeDetail_NODE_DETAIL_IDS
	envelopes = transcriptv1.NodeDetail_NODE_DETAIL_ENVELOPES
)

func stub(id, name string) *Message {
	return &Message{
		Role: transcriptv1.Role_ROLE_TOOL, ToolCallId: &id, Name: &name, Parts: text(runloop.StubText),
		Origin: transcriptv1.Origin_ORIGIN_STUB,
	}
}

// broken is a chain with something to repair in most of its nodes.
func (r *rig) broken() (nodes []string, put, repaired []*Message) {
	r.Helper()
	put = []*Message{
		system("be kind"), user("go"), calling("read", "1", "2"), result("1", "one"), result("1", "again"), user("stop"),
		result("2", "late"), assistant("ok"), calling("read", "1"), result("x", "orphan"), assistant("done"),
	}
	nodes = r.chain("chat", put...)
	repaired = []*Message{
		put[0], put[1], put[2], put[3], stub("2", "read"), put[5], put[7], put[8], stub("1", "read"), put[10],
	}
	return nodes, put, repaired
}

func TestViews(t *testing.T) {
	r := newRig(t)
	nodes, put, repaired := r.broken()
	whole := r.assemble(&Assemble{Head: byAlias("chat"), View: full})
	r.sameMessages("the messages of the full view", whole.Messages, put...)
	equal(r, "the head", whole.HeadId, nodes[10])
	equal(r, "the base", whole.BaseId, "")
	equal(r, "the repairs of the full view", whole.Report.Repairs, 0)
	equal(r, "the messages reported", whole.Report.Messages, 11)
	equal(r, "the bytes reported", whole.Report.Bytes, int64(len(canonical.EncodePayload(put))))
	equal(r, "the bytes counted", whole.Counters.Full.Bytes, whole.Report.Bytes)

	fixed := r.assemble(&Assemble{Head: byAlias("chat")})
	r.sameMessages("the messages of the effective view", fixed.Messages, repaired...)
	equal(r, "the repairs", fixed.Report.Repairs, 5)
	equal(r, "the messages counted", fixed.Counters.Effective.Messages, fixed.Report.Messages)
	equal(r, "the bytes counted", fixed.Counters.Effective.Bytes, fixed.Report.Bytes)
	equal(r, "the bytes", fixed.Report.Bytes, int64(len(canonical.EncodePayload(repaired))))
	want := "DUPLICATE_RESULT 4 1, UNANSWERED_CALL 5 1, INTERRUPTED_LOOP 5 1, LATE_RESULT 6 1, DUPLICATE_CALL_ID 8 1, " +
		"ORPHAN_RESULT 9 1, UNANSWERED_CALL 10 1"
	for _, reply := range []*transcriptv1.AssembleResponse{whole, fixed} {
		var got []string
		for _, f := range reply.Report.Findings {
			for i, id := range nodes {
				if id == f.NodeId && f.MessageIndex == 0 {
					got = append(got, fmt.Sprintf("%s %d %d", strings.TrimPrefix(f.Kind.String(), "FINDING_KIND_"), i, f.Count))
				}
			}
		}
		equal(r, "the findings", strings.Join(got, ", "), want)
	}
	equal(r, "that the views differ in etag", whole.Etag != fixed.Etag, true)
	lead := r.put("", assistant("nobody asked"))
	findings := r.assemble(&Assemble{Head: byID(lead)}).Report.Findings
	equal(r, "the findings of a lead-in", len(findings), 1)
	equal(r, "the kind", findings[0].Kind, transcriptv1.FindingKind_FINDING_KIND_LEAD_IN)
}

// TestAfter: for every ancestor, what comes after it appended to its own view is the view of the head.
func TestAfter(t *testing.T) {
	r := newRig(t)
	nodes, _, _ := r.broken()
	for _, view := range []transcriptv1.View{full, effective} {
		whole := r.assemble(&Assemble{Head: byID(nodes[10]), View: view})
		for _, id := range nodes {
			head := r.assemble(&Assemble{Head: byID(id), View: view})
			tail := r.assemble(&Assemble{Head: byID(nodes[10]), View: view, AfterId: id})
			equal(r, "the base", tail.BaseId, id)
			equal(r, "the etag", tail.Etag, whole.Etag)
			r.sameMessages("view and tail", append(head.Messages, tail.Messages...), whole.Messages...)
			equal(r, "the repairs", head.Report.Repairs+tail.Report.Repairs, whole.Report.Repairs)
		}
		none := r.assemble(&Assemble{Head: byID(nodes[10]), View: view, AfterId: nodes[10]})
		equal(r, "the messages after the head", len(none.Messages), 0)
		equal(r, "that this is not not_modified", none.NotModified, false)
	}
	fork := r.put(nodes[3], user("elsewhere"))
	_, err := r.Assemble(r.ctx(), &Assemble{Head: byID(nodes[10]), AfterId: fork})
	r.fails(err, codes.FailedPrecondition, "NOT_AN_ANCESTOR", "")
	_, err = r.Assemble(r.ctx(), &Assemble{Head: byID(nodes[2]), AfterId: nodes[3]})
	r.fails(err, codes.FailedPrecondition, "NOT_AN_ANCESTOR", "")
	_, err = r.Assemble(r.ctx(), &Assemble{Head: byID(nodes[2]), AfterId: strings.Repeat("0", 64)})
	r.fails(err, codes.NotFound, "NODE_NOT_FOUND", "after_id")
}

func TestEtag(t *testing.T) {
	r := newRig(t)
	nodes := r.chain("chat", system("s"), user("u"), assistant("a"))
	req := &Assemble{Head: byAlias("chat")}
	first := r.assemble(req)
	req.IfNoneMatch = first.Etag
	for _, after := range []string{"", nodes[0], nodes[2]} {
		req.AfterId = after
		same := r.assemble(req)
		equal(r, "not_modified", same.NotModified, true)
		equal(r, "the messages", len(same.Messages)+len(same.Nodes), 0)
		equal(r, "the etag", same.Etag, first.Etag)
		equal(r, "the head", same.HeadId, nodes[2])
		frames, err := r.frames(req)
		if err != nil || len(frames) != 1 || !frames[0].NotModified || frames[0].Etag != first.Etag || frames[0].Report == nil {
			t.Errorf("the stream gives %v, %v", frames, err)
		}
	}
	req.AfterId = ""
	for what, other := range map[string]*Assemble{
		"view":   {Head: byAlias("chat"), View: full, IfNoneMatch: first.Etag},
		"detail": {Head: byAlias("chat"), NodeDetail: ids, IfNoneMatch: first.Etag},
		"head":   {Head: byID(nodes[1]), IfNoneMatch: first.Etag},
		"etag":   {Head: byAlias("chat"), IfNoneMatch: "W/\"" + first.Etag + "\""},
	} {
		if r.assemble(other).NotModified {
			t.Errorf("not modified though the %s differs", what)
		}
	}
	unspecified := r.assemble(&Assemble{Head: byAlias("chat"), View: effective, IfNoneMatch: first.Etag})
	equal(r, "not_modified where effective is spelt out", unspecified.NotModified, true)
	must[*transcriptv1.PutNodeResponse](r)(r.PutNode(r.ctx(), &PutNode{
		Parent: byAlias("chat"), Messages: []*Message{user("more")}, Aliases: []*Update{{Name: "chat"}},
	}))
	equal(r, "not_modified after an append", r.assemble(req).NotModified, false)
}

// TestNodes cuts a reply into nodes and verifies every node's id.
func TestNodes(t *testing.T) {
	r := newRig(t)
	var nodes []string
	parent := ""
	for i, req := range []*PutNode{
		{Messages: []*Message{system("s"), user("u")}},
		{Messages: []*Message{calling("read", "1", "2")}, Notes: []*transcriptv1.MessageNote{{TokenCount: proto.Int32(9)}}},
		{Messages: []*Message{result("1", "x"), result("1", "twice"), user("on")}, Salt: []byte("0123456789abcdef"),
			Notes: []*transcriptv1.MessageNote{{}, {}, {TokenCount: proto.Int32(7)}}},
		{Metadata: []*transcriptv1.MetadataEntry{{Key: "only", Value: "metadata"}}},
		{Messages: []*Message{assistant("end")}, SpawnedFrom: &transcriptv1.SpawnedFromRef{NodeId: strings.Repeat("a", 64)}},
	} {
		if i > 0 {
			req.Parent = byID(parent)
		}
		parent = must[*transcriptv1.PutNodeResponse](r)(r.PutNode(r.ctx(), req)).NodeId
		nodes = append(nodes, parent)
	}
	for _, view := range []transcriptv1.View{full, effective} {
		for _, after := range append([]string{""}, nodes...) {
			reply := r.assemble(&Assemble{Head: byID(parent), View: view, AfterId: after, NodeDetail: envelopes})
			r.verify(reply.Messages, reply.Nodes, after)
		}
	}
	reply := r.assemble(&Assemble{Head: byID(parent), NodeDetail: envelopes})
	fixed := reply.Nodes[2]
	equal(r, "verbatim", verbatim(fixed), false)
	equal(r, "the messages of the repaired node", fixed.MessageCount, 3)
	equal(r, "its notes", len(fixed.Notes), 3)
	equal(r, "its last note", fixed.Notes[2].GetTokenCount(), 7)
	equal(r, "the stub's origin", reply.Messages[4].Origin, transcriptv1.Origin_ORIGIN_STUB)
	equal(r, "the messages of the node without any", reply.Nodes[3].MessageCount, 0)
	equal(r, "the notes where none were put", len(reply.Nodes[0].Notes), 0)
	plain := r.assemble(&Assemble{Head: byID(parent), NodeDetail: ids})
	equal(r, "the envelope where none was asked for", plain.Nodes[0].Envelope == nil, true)
	equal(r, "the nodes", len(plain.Nodes), 5)
	equal(r, "the nodes where none were asked for", len(r.assemble(&Assemble{Head: byID(parent)}).Nodes), 0)
}

// verify cuts messages into nodes and computes their ids; after is the node before the first.
func (r *rig) verify(messages []*Message, nodes []*transcriptv1.NodeInfo, after string) {
	r.Helper()
	for _, n := range nodes {
		own := canonical.EncodePayload(messages[:n.MessageCount])
		messages = messages[n.MessageCount:]
		e := n.Envelope
		equal(r, "the parent", e.ParentId, after)
		equal(r, "the size", n.SizeBytes, int64(len(own)))
		equal(r, "that there is a payload digest", e.PayloadDigest != "", !verbatim(n))
		envelope := canonical.Envelope{PayloadDigest: canonical.PayloadDigest(e.Salt, own), Parent: r.digest(e.ParentId), MetadataDigest: r.digest(e.MetadataDigest)}
		if !verbatim(n) {
			envelope.PayloadDigest = *r.digest(e.PayloadDigest)
		}
		envelope.SpawnedFrom = must[*canonical.SpawnedFrom](r)(canonical.ParseSpawnedFrom(e.SpawnedFrom))
		equal(r, "the id computed", chainstore.ID(canonical.NodeID(envelope)).String(), n.NodeId)
		after = n.NodeId
	}
	equal(r, "the messages of no node", len(messages), 0)
}

func (r *rig) digest(hex string) *[32]byte {
	r.Helper()
	if hex == "" {
		return nil
	}
	id := must[chainstore.ID](r)(chainstore.ParseID(hex))
	return (*[32]byte)(&id)
}

func TestFindingsAreCapped(t *testing.T) {
	r := newRig(t)
	var messages []*Message
	for i := range 130 {
		messages = append(messages, result(fmt.Sprint(i), "orphan"))
	}
	id := r.put("", messages...)
	report := r.assemble(&Assemble{Head: byID(id)}).Report
	equal(r, "the findings", len(report.Findings), 100)
	equal(r, "the further findings", report.MoreFindings, 30)
	equal(r, "the last one's place", report.Findings[99].MessageIndex, 99)
	equal(r, "the messages", report.Messages, 0)
	equal(r, "the repairs", report.Repairs, 130)
}

// TestFrames: frames laid end to end are the unary reply; they end at nodes and keep to their size.
func TestFrames(t *testing.T) {
	r := newRig(t)
	var messages []*Message
	for i := range 400 {
		size := 1 << 10
		if i%100 == 50 {
			size = 200 << 10
		}
		messages = append(messages, user(strings.Repeat("x", size)))
	}
	nodes := r.chain("chat", messages...)
	for _, req := range []*Assemble{
		{Head: byAlias("chat"), NodeDetail: envelopes},
		{Head: byAlias("chat"), View: full, NodeDetail: ids, AfterId: nodes[199]},
		{Head: byAlias("chat"), AfterId: nodes[399]},
	} {
		unary := r.assemble(req)
		frames, err := r.frames(req)
		if err != nil {
			t.Fatal(err)
		}
		var got []*Message
		var infos []*transcriptv1.NodeInfo
		for i, f := range frames {
			first, last := i == 0, i == len(frames)-1
			if (f.HeadId != "") != first || (f.Etag != "") != first || (f.Counters != nil) != first || (f.Report != nil) != last {
				t.Errorf("frame %d of %d has head %q, etag %q, counters %v, report %v", i, len(frames), f.HeadId, f.Etag, f.Counters, f.Report)
			}
			if size := proto.Size(f); size > 66<<10 && len(f.Messages) > 1 {
				t.Errorf("frame %d of %d nodes has %d bytes", i, len(f.Messages), size)
			}
			if size := proto.Size(f); size < 32<<10 && !last && len(f.Messages) > 1 && len(frames[i+1].Messages) > 1 {
				t.Errorf("frame %d has only %d bytes", i, size)
			}
			if req.NodeDetail != 0 {
				n := 0
				for _, info := range f.Nodes {
					n += int(info.MessageCount)
				}
				equal(r, "the messages of the frame's nodes", n, len(f.Messages))
			}
			got, infos = append(got, f.Messages...), append(infos, f.Nodes...)
		}
		r.sameMessages("the frames' messages", got, unary.Messages...)
		equal(r, "the nodes", len(infos), len(unary.Nodes))
		equal(r, "the base", frames[0].BaseId, req.AfterId)
		equal(r, "the etag", frames[0].Etag, unary.Etag)
		equal(r, "the report", proto.Equal(frames[len(frames)-1].Report, unary.Report), true)
	}
}

func TestUseStreamAssemble(t *testing.T) {
	r := newRig(t)
	var messages []*Message
	for range 5 {
		messages = append(messages, user(strings.Repeat("x", 1<<20)))
	}
	var nodes []string
	for i, m := range messages {
		parent := ""
		if i > 0 {
			parent = nodes[i-1]
		}
		nodes = append(nodes, r.put(parent, m))
	}
	_, err := r.Assemble(r.ctx(), &Assemble{Head: byID(nodes[4])})
	r.fails(err, codes.ResourceExhausted, "USE_STREAM_ASSEMBLE", "")
	_, err = r.Assemble(r.ctx(), &Assemble{Head: byID(nodes[4]), AfterId: nodes[0]})
	r.fails(err, codes.ResourceExhausted, "USE_STREAM_ASSEMBLE", "")
	tail := r.assemble(&Assemble{Head: byID(nodes[4]), AfterId: nodes[1]})
	equal(r, "the messages of a tail that fits", len(tail.Messages), 3)
	frames, err := r.frames(&Assemble{Head: byID(nodes[4])})
	if err != nil || len(frames) != 5 {
		t.Errorf("%d frames, %v", len(frames), err)
	}
}

// TestUseStreamAssembleForNodes: what is told of nodes counts too.
func TestUseStreamAssembleForNodes(t *testing.T) {
	r := newRig(t)
	call := strings.Repeat("c", 1000)
	parent := byID(r.put("", system("s")))
	for from := 0; from < 4200; from += 600 {
		req := &transcriptv1.PutNodesRequest{}
		for i := range 600 {
			req.Nodes = append(req.Nodes, &transcriptv1.NewNode{
				Previous: i > 0, Messages: []*Message{user("")},
				SpawnedFrom: &transcriptv1.SpawnedFromRef{NodeId: absent, ToolCallId: &call},
			})
		}
		req.Nodes[0].Parent = parent
		nodes := must[*transcriptv1.PutNodesResponse](r)(r.PutNodes(r.ctx(), req)).Nodes
		parent = byID(nodes[len(nodes)-1].NodeId)
	}
	equal(r, "the messages without nodes", len(r.assemble(&Assemble{Head: parent}).Messages), 4201)
	equal(r, "the messages with ids", len(r.assemble(&Assemble{Head: parent, NodeDetail: ids}).Nodes), 4201)
	_, err := r.Assemble(r.ctx(), &Assemble{Head: parent, NodeDetail: envelopes})
	r.fails(err, codes.ResourceExhausted, "USE_STREAM_ASSEMBLE", "")
	frames, err := r.frames(&Assemble{Head: parent, NodeDetail: envelopes})
	if err != nil || len(frames) < 60 {
		t.Errorf("%d frames, %v", len(frames), err)
	}
}

// TestStubsOverAFrame: a node to which repair adds more than a frame holds comes in parts.
func TestStubsOverAFrame(t *testing.T) {
	r := newRig(t)
	name := strings.Repeat("n", 400)
	var messages []*Message
	for i := range 36 {
		var calls []string
		for k := range 256 {
			calls = append(calls, fmt.Sprint(i, ".", k))
		}
		messages = append(messages, calling(name, calls...), user("on"))
	}
	node := r.put("", messages[:len(messages)/2*2]...)
	frames, err := r.frames(&Assemble{Head: byID(node), NodeDetail: ids})
	if err != nil {
		t.Fatal(err)
	}
	if len(frames) < 2 {
		t.Fatalf("%d frames: the node is too small for this test", len(frames))
	}
	stubs, count := 0, 0
	for _, f := range frames {
		if size := proto.Size(f); size > 4<<20 {
			t.Errorf("a frame of %d bytes", size)
		}
		equal(r, "the nodes of a frame", len(f.Nodes), 1)
		equal(r, "the node", f.Nodes[0].NodeId, node)
		equal(r, "the messages told", int(f.Nodes[0].MessageCount), len(f.Messages))
		for _, m := range f.Messages {
			if count++; m.Origin == transcriptv1.Origin_ORIGIN_STUB {
				stubs++
			}
		}
	}
	equal(r, "the stubs", stubs, 36*256)
	equal(r, "the messages", int32(count), frames[len(frames)-1].Report.Messages)
	equal(r, "the counted messages", frames[0].Counters.Effective.Messages, int32(count))
}

// verbatim tells whether a reply has a node's messages as they are hashed.
func verbatim(n *transcriptv1.NodeInfo) bool {
	return n.Content == transcriptv1.NodeContent_NODE_CONTENT_VERBATIM
}
