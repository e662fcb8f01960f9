package server_test

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"pgregory.net/rapid"

	"github.com/transcriptd/transcriptd/canonical"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// opaque is a framework's own state.
func opaque(role transcriptv1.Role, data string) *Message {
	state := &transcriptv1.Opaque{Type: "framework.state", Data: []byte(data)}
	return &Message{Role: role, Parts: []*transcriptv1.Part{{Kind: &transcriptv1.Part_Opaque{Opaque: state}}}}
}

func opaqueUser(data string) *Message { return opaque(transcriptv1.Role_ROLE_USER, data) }

// TestOpaqueBetweenCallAndResult: the state that a framework puts between a call and its result leaves the result where it is. An
// empty message there makes the result a late one, and a stub takes its place.
func TestOpaqueBetweenCallAndResult(t *testing.T) {
	ask, call, answer, reply := user("q"), calling("f", "1"), result("1", "42"), assistant("it is 42")
	for name, c := range map[string]struct {
		between *Message
		want    []*Message
		repairs int32
	}{
		"opaque": {opaqueUser("state"), []*Message{ask, call, answer, reply}, 0},
		"empty": {&Message{Role: transcriptv1.Role_ROLE_USER},
			[]*Message{ask, call, stubFor("1", "f"), {Role: transcriptv1.Role_ROLE_USER}, reply}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			put := []*Message{ask, call, c.between, answer, reply}
			r.chain("chat", put...)
			for _, head := range []*NodeRef{byAlias("chat"), byID(r.put("", put...))} {
				whole := r.assemble(&Assemble{Head: head, View: full})
				r.sameMessages("the full view", whole.Messages, put...)
				got := r.assemble(&Assemble{Head: head})
				r.sameMessages("the effective view", got.Messages, c.want...)
				equal(r, "the repairs", got.Report.Repairs, c.repairs)
				if name == "opaque" {
					equal(r, "the findings", len(got.Report.Findings), 0)
					r.sameMessages("the conversation", r.assemble(&Assemble{Head: head, View: conversation}).Messages, c.want...)
				}
			}
			r.clean("")
		})
	}
}

// TestOpaqueCounts: what counts an opaque message, and what tells of its node.
func TestOpaqueCounts(t *testing.T) {
	r := newRig(t)
	state := opaque(transcriptv1.Role_ROLE_ASSISTANT, strings.Repeat("s", canonical.MaxOpaqueBytes))
	put := []*Message{system("s"), user("q"), assistant("a")}
	size := int64(len(canonical.EncodePayload(put)))
	head := r.put("", put[0], opaque(transcriptv1.Role_ROLE_SYSTEM, ""), put[1])
	head = r.put(head, state, put[2], opaqueUser("x"))
	only := must[*transcriptv1.PutNodeResponse](r)(r.PutNode(r.ctx(), &PutNode{Parent: byID(head), Messages: []*Message{opaqueUser("alone")}}))
	all := []*Message{put[0], opaque(transcriptv1.Role_ROLE_SYSTEM, ""), put[1], state, put[2], opaqueUser("x"), opaqueUser("alone")}

	got := only.Counters
	equal(r, "the effective messages", fmt.Sprint(got.Effective.Messages, got.Effective.Depth, got.Effective.RunLoops, got.Effective.Bytes), fmt.Sprint(3, 2, 1, size))
	equal(r, "the full messages", fmt.Sprint(got.Full.Messages, got.Full.Depth, got.Full.RunLoops, got.Full.Bytes), fmt.Sprint(7, 2, 1, len(canonical.EncodePayload(all))))
	equal(r, "the tokens", got.Full.Tokens, got.Effective.Tokens)

	v := &viewModel{rig: r}
	whole := v.asked(&Assemble{Head: byID(only.NodeId), View: full})
	r.sameMessages("the full view", whole.Messages, all...)
	equal(r, "the tokens of the full view", whole.Report.Tokens, got.Effective.Tokens)
	for _, n := range whole.Nodes {
		equal(r, "that a node is whole in the full view", verbatim(n), true)
	}
	shown := v.asked(&Assemble{Head: byID(only.NodeId)})
	r.sameMessages("the effective view", shown.Messages, put...)
	equal(r, "its report", fmt.Sprint(shown.Report.Messages, shown.Report.Bytes, shown.Report.Repairs, len(shown.Report.Findings)), fmt.Sprint(3, size, 0, 0))
	var nodes []string
	for _, n := range shown.Nodes {
		nodes = append(nodes, fmt.Sprint(n.MessageCount, verbatim(n)))
	}
	equal(r, "its nodes", fmt.Sprint(nodes), "[2 false 1 false 0 false]")
	delta := v.asked(&Assemble{Head: byID(only.NodeId), AfterId: head})
	equal(r, "what the last node adds", fmt.Sprint(delta.BaseId == head, len(delta.Messages), delta.Report.Tokens), "true 0 0")
	delta = v.asked(&Assemble{Head: byID(only.NodeId), View: full, AfterId: head})
	r.sameMessages("what it adds to the full view", delta.Messages, opaqueUser("alone"))
	equal(r, "its tokens", delta.Report.Tokens, 0)
	talk := v.asked(&Assemble{Head: byID(only.NodeId), View: conversation})
	equal(r, "what the conversation says is left out", fmt.Sprint(talk.Report.LeftOut), fmt.Sprint(&transcriptv1.LeftOut{}))
	equal(r, "what a search finds", len(r.search(inChain(byID(only.NodeId), "alone"))), 0)
	r.clean("")
}

// TestOpaqueBeforeResults: a node with the results of one group and the calls of another may begin with an opaque message.
func TestOpaqueBeforeResults(t *testing.T) {
	r := newRig(t)
	head := r.put(r.put("", user("q"), calling("f", "0", "1")), result("0", "zero"))
	head = r.put(head, opaqueUser("x"), result("1", "42"), opaqueUser("y"), calling("g", "2"))
	calls := r.replay(&Replay{Head: byID(head)}).Calls
	equal(r, "the calls", len(calls), 3)
	equal(r, "the result replayed", calls[1].Result, "42")
	equal(r, "the result recalled", said(r.recall(&Recall{Head: byID(head), ToolCallId: ptr("1")})), "42")
	loop := r.loops(&ListLoops{Head: byID(head)}).RunLoops[0]
	equal(r, "the loop", fmt.Sprint(loop.Messages, len(loop.ToolCalls), loop.UnansweredCalls), "5 3 1")
	r.clean("")
}

// TestOpaqueNotes: a note says when an opaque message was sent, and no tokens.
func TestOpaqueNotes(t *testing.T) {
	r := newRig(t)
	put := &PutNode{Messages: []*Message{user("q"), opaqueUser("x")}, Notes: []*transcriptv1.MessageNote{{TokenCount: proto.Int32(1)}, {TokenCount: proto.Int32(0)}}}
	_, err := r.PutNode(r.ctx(), put)
	r.fails(err, codes.InvalidArgument, "INVALID_FIELD", "notes[1].token_count")
	put.Notes[1].TokenCount = nil
	reply := must[*transcriptv1.PutNodeResponse](r)(r.PutNode(r.ctx(), put))
	equal(r, "the tokens", reply.Counters.Full.Tokens, 1)
	_, err = r.PutNode(r.ctx(), &PutNode{Messages: []*Message{{Role: transcriptv1.Role_ROLE_TOOL, Parts: opaqueUser("x").Parts}}})
	r.fails(err, codes.InvalidArgument, "INVALID_FIELD", "messages[0].parts[0].opaque")
}

// opaqueTwins are two chains of one course: one has opaque messages too.
type opaqueTwins struct {
	*viewModel
	rt *rapid.T
	// heads are theirs; nodes are those of the one with opaque messages.
	heads [2]string
	nodes []string
	put   []*Message
}

// TestOpaqueChangesNothing: whatever is asked of a chain with opaque messages is told as of the same chain without, but for the full view
// and its counters of messages and bytes, for nodes, and for places.
func TestOpaqueChangesNothing(t *testing.T) {
	r := newRig(t)
	runs := 0
	rapid.Check(t, func(rt *rapid.T) {
		runs++
		w := &opaqueTwins{viewModel: &viewModel{rig: r, namespace: fmt.Sprint("n", runs)}, rt: rt}
		for range rapid.IntRange(1, 14).Draw(rt, "steps") {
			w.step()
		}
		w.compare()
		if t.Failed() {
			rt.FailNow()
		}
	})
}

func (w *opaqueTwins) draw(of ...*Message) *Message {
	return rapid.SampledFrom(of).Draw(w.rt, "message")
}

// step puts a node on both, or compacts both.
func (w *opaqueTwins) step() {
	if w.heads[0] != "" && rapid.IntRange(0, 5).Draw(w.rt, "compacts") == 0 {
		w.compact()
		return
	}
	req := &PutNode{Namespace: w.namespace}
	for range rapid.IntRange(0, 3).Draw(w.rt, "messages") {
		req.Messages = append(req.Messages, w.draw(user("ask"), user(strings.Repeat("ask ", 200)), assistant("reply"), assistant(""), system("s"),
			calling("f", "1"), calling("g", "1", "2"), result("1", strings.Repeat("one ", 100)), result("2", "two"), result("3", "orphan")))
	}
	if len(req.Messages) == 0 || rapid.IntRange(0, 7).Draw(w.rt, "ends") == 0 {
		req.Metadata = []*transcriptv1.MetadataEntry{{Key: "run/end", Value: "stopped"}}
	}
	with := proto.CloneOf(req)
	for i := len(with.Messages); i >= 0; i-- {
		if rapid.IntRange(0, 3).Draw(w.rt, "opaque") == 0 {
			with.Messages = slices.Insert(with.Messages, i, w.opaque())
		}
	}
	w.append(1, with)
	w.append(0, req)
	if rapid.IntRange(0, 3).Draw(w.rt, "alone") == 0 {
		w.append(1, &PutNode{Namespace: w.namespace, Messages: []*Message{w.opaque(), w.opaque()}})
	}
}

func (w *opaqueTwins) opaque() *Message {
	return opaque(transcriptv1.Role(rapid.IntRange(1, 4).Draw(w.rt, "role")), strings.Repeat("ask ", rapid.IntRange(0, 300).Draw(w.rt, "size")))
}

func (w *opaqueTwins) append(i int, req *PutNode) {
	if w.heads[i] != "" {
		req.Parent = byID(w.heads[i])
	}
	w.heads[i] = must[*transcriptv1.PutNodeResponse](w.rig)(w.PutNode(w.ctx(), req)).NodeId
	if i == 1 {
		w.nodes, w.put = append(w.nodes, w.heads[1]), append(w.put, req.Messages...)
	}
}

func (w *opaqueTwins) compact() {
	policy := rapid.SampledFrom(policies()).Draw(w.rt, "policy")
	summary := rapid.SampledFrom([]string{"", "they spoke"}).Draw(w.rt, "summary")
	var replies [2]proto.Message
	for i, head := range w.heads {
		req := &Compact{Namespace: w.namespace, Head: byID(head), Policy: policy, Summary: summary, DryRun: true}
		dry, err := w.Compact(w.ctx(), req)
		if err != nil {
			replies[i] = &transcriptv1.CompactRequest{Summary: failureOf(err).reason}
			continue
		}
		req.DryRun, req.ThroughId = false, dry.ThroughId
		done := must[*transcriptv1.CompactResponse](w.rig)(w.Compact(w.ctx(), req))
		if replies[i] = done; done.Written {
			w.heads[i] = done.NodeId
			if i == 1 {
				w.nodes = append(w.nodes, done.NodeId)
			}
		}
	}
	w.same("the compaction", replies)
}

// policies are some under which every way to show a loop is met.
func policies() []*Policy {
	none := proto.Int32(0)
	return []*Policy{
		{}, {MaxRunLoops: proto.Int32(1)}, {KeepWholeRunLoops: proto.Int32(2), MaxUserChars: proto.Int32(20)},
		{ToolTrace: transcriptv1.ToolTrace_TOOL_TRACE_REQUESTS, MaxRunLoops: none},
		{MaxBytes: proto.Int64(900), MaxRunLoops: none}, {MaxTokens: proto.Int64(200)}, {ReplyTools: []string{"g"}, MaxRunLoops: proto.Int32(2)},
	}
}

// compare asks all that can be asked.
func (w *opaqueTwins) compare() {
	var views []*Assemble
	for _, p := range policies() {
		views = append(views, &Assemble{View: conversation, Policy: p}, &Assemble{View: conversation, Policy: p, CondenseLast: true})
	}
	for _, view := range append(views, &Assemble{}) {
		w.each(view.String(), func(head *NodeRef) proto.Message {
			ask := proto.CloneOf(view)
			ask.Head = head
			reply := w.asked(ask)
			reply.Nodes = nil
			return reply
		})
	}
	whole := w.asked(&Assemble{Head: byID(w.heads[1]), View: full})
	w.sameMessages("the full view", whole.Messages, w.put...)
	w.each("the loops", func(head *NodeRef) proto.Message {
		return w.loops(&ListLoops{Namespace: w.namespace, Head: head, PreviewChars: 50, ArgumentChars: 10})
	})
	w.each("the description", func(head *NodeRef) proto.Message {
		reply := w.describe(&Describe{Namespace: w.namespace, Head: head})
		reply.Text, reply.Lineage = "", nil // which count nodes
		return reply
	})
	past := rapid.Bool().Draw(w.rt, "past")
	w.each("the calls replayed", func(head *NodeRef) proto.Message {
		return w.replay(&Replay{Namespace: w.namespace, Head: head, PastLoopsOnly: past})
	})
	for _, id := range []string{"1", "2", "3"} {
		for again := range int32(3) {
			w.each("the recalled call "+id, func(head *NodeRef) proto.Message {
				reply, err := w.RecallToolCall(w.ctx(), &Recall{Namespace: w.namespace, Head: head, ToolCallId: &id, Occurrence: again})
				if err != nil {
					return &transcriptv1.CompactRequest{Summary: failureOf(err).reason}
				}
				return reply
			})
		}
	}
	for _, expr := range []string{"ask|reply", "^$", "two"} {
		w.each("the search for "+expr, func(head *NodeRef) proto.Message {
			return &SearchResponse{Hits: w.search(byRegexp(&SearchRequest{Namespace: w.namespace, Scope: &transcriptv1.SearchRequest_Head{Head: head}}, expr))}
		})
	}
	w.deltas()
	w.clean(w.namespace)
}

// deltas: what comes after each node is what the view of the head has beyond that of the node.
func (w *opaqueTwins) deltas() {
	head := byID(w.heads[1])
	effective := canonical.EncodePayload(w.assemble(&Assemble{Namespace: w.namespace, Head: head}).Messages)
	for _, id := range w.nodes {
		reply := w.asked(&Assemble{Head: head, AfterId: id})
		got := canonical.EncodePayload(reply.Messages)
		if reply.BaseId != "" {
			got = append(canonical.EncodePayload(w.assemble(&Assemble{Namespace: w.namespace, Head: byID(id)}).Messages), got...)
		}
		if !bytes.Equal(got, effective) {
			w.rt.Fatalf("after %s the effective view is another", id)
		}
	}
}

// each asks the same of both.
func (w *opaqueTwins) each(what string, ask func(head *NodeRef) proto.Message) {
	w.Helper()
	w.same(what, [2]proto.Message{ask(byID(w.heads[0])), ask(byID(w.heads[1]))})
}

func (w *opaqueTwins) same(what string, replies [2]proto.Message) {
	w.Helper()
	for _, m := range replies {
		placeless(m.ProtoReflect())
	}
	if !proto.Equal(replies[0], replies[1]) {
		w.rt.Fatalf("%s: without opaque messages\n%s\nwith them\n%s", what, prototext.Format(replies[0]), prototext.Format(replies[1]))
	}
}

var source = regexp.MustCompile(`[0-9a-f]{12}\.\d+\]`)

// placeless takes out of a reply what tells of nodes, places and times, and how many messages and bytes the full view has.
func placeless(m protoreflect.Message) {
	switch m := m.Interface().(type) {
	case *transcriptv1.ChainCounters:
		m.Full.Nodes, m.Full.Messages, m.Full.Bytes, m.Effective.Nodes = 0, 0, 0, 0
	case *transcriptv1.Part:
		if t := m.GetText(); strings.HasPrefix(t, "[result of ") {
			m.Kind = &transcriptv1.Part_Text{Text: source.ReplaceAllString(t, "NODE.I]")}
		}
		return
	}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case slices.Contains([]protoreflect.Name{"node_id", "head_id", "etag", "message_index", "through_id", "age", "open_for"}, f.Name()),
			f.Message() != nil && slices.Contains([]protoreflect.Name{"MessagePlace", "Timestamp"}, f.Message().Name()):
			m.Clear(f)
		case f.Message() == nil:
		case f.IsList():
			for i := range v.List().Len() {
				placeless(v.List().Get(i).Message())
			}
		default:
			placeless(v.Message())
		}
		return true
	})
}
