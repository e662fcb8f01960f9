package server_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore"
	"github.com/transcriptd/transcriptd/chainstore/memstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// timed puts loops of four messages, a node each, whose users speak a minute apart, under a parent, and returns the last.
func (r *rig) timed(parent, name string, from, loops int) string {
	r.Helper()
	for begin := from; begin < from+loops; begin += 100 {
		req := &transcriptv1.PutNodesRequest{}
		for i := begin; i < min(begin+100, from+loops); i++ {
			for k, m := range work(fmt.Sprint(name, " ", i)) {
				n := &transcriptv1.NewNode{Previous: len(req.Nodes) > 0, Messages: []*Message{m}}
				if len(req.Nodes) == 0 && parent != "" {
					n.Parent = byID(parent)
				}
				if k == 0 {
					n.Notes = []*transcriptv1.MessageNote{{SentAt: minute(i)}}
				}
				req.Nodes = append(req.Nodes, n)
			}
		}
		nodes := must[*transcriptv1.PutNodesResponse](r)(r.PutNodes(r.ctx(), req)).Nodes
		parent = nodes[len(nodes)-1].NodeId
	}
	return parent
}

func minute(i int) *timestamppb.Timestamp {
	return timestamppb.New(time.UnixMilli(epoch).Add(time.Duration(i) * time.Minute))
}

// windows are policies whose windows are found without sizes.
func windows() map[string]*Policy {
	return map[string]*Policy{
		"none": nil, "the defaults": {}, "max_run_loops": byLoops(10), "over no bounds": {Preset: transcriptv1.Preset_PRESET_UNBOUNDED, MaxRunLoops: proto.Int32(10)},
		"whole where recent": {MaxRunLoops: proto.Int32(10), KeepWholeRunLoops: proto.Int32(10), MaxAge: durationpb.New(5 * time.Minute)},
	}
}

// TestWindowsDoNotReadThePast: a window costs at the end of a long chain what it does at that of a short one, but for a few
// steps of the search, with a compaction before it and without.
func TestWindowsDoNotReadThePast(t *testing.T) {
	store, err := badgerstore.Open(t.TempDir(), badgerstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := newPlainRig(t, store)
	compactedAt := func(parent string) string {
		return r.compact(&Compact{Head: byID(parent), Summary: "s", SummaryOnly: true}).NodeId
	}
	heads := func(loops int) map[string]string {
		plain := r.timed(r.put("", system("s")), "x", 0, loops)
		begun := compactedAt(r.timed(r.put("", system("s")), "y", 0, 5))
		return map[string]string{"plain": plain, "compacted": r.timed(begun, "y", 5, loops-5)}
	}
	near, far := heads(25), heads(250)
	for chain := range near {
		for name := range windows() {
			cost := func(head string) (gets, seeks, nexts int) {
				req := &Assemble{Head: byID(head), View: conversation, Policy: windows()[name]}
				if n := len(r.assemble(req).Messages); n > 60 {
					t.Errorf("%s, %s: a window of %d messages", chain, name, n)
				}
				_, err := fmt.Sscanf(reads(store, func() { r.assemble(req) }), "%d gets, %d seeks, %d nexts", &gets, &seeks, &nexts)
				if err != nil {
					t.Fatal(err)
				}
				return gets, seeks, nexts
			}
			gets, seeks, nexts := cost(near[chain])
			gets2, seeks2, nexts2 := cost(far[chain])
			t.Logf("%s, %s: %d gets, %d seeks, %d nexts; ten times as deep %d, %d, %d", chain, name, gets, seeks, nexts, gets2, seeks2, nexts2)
			if gets2 > gets || seeks2 > seeks+2 || nexts2 > nexts+8 {
				t.Errorf("%s, %s: the cost grows with what lies before the window", chain, name)
			}
		}
	}
}

// TestWindowsAcrossACompaction: loops of the window lie in the compaction node, between it and what it covers, and behind,
// or begin there and go on behind it.
func TestWindowsAcrossACompaction(t *testing.T) {
	r := newRig(t)
	v := &viewModel{rig: r}
	covered := r.timed(r.put("", system("s"), system("t")), "a", 0, 6)
	compacted := func(parent string) string {
		return r.compact(&Compact{Head: byID(parent), ThroughId: covered, Summary: "before", Policy: byLoops(4)}).NodeId
	}
	asks := func(parent string, at int) string {
		return must[*transcriptv1.PutNodeResponse](r)(r.PutNode(r.ctx(), &PutNode{
			Parent: byID(parent), Messages: []*Message{user(fmt.Sprint("and at ", at, "?"))}, Notes: []*transcriptv1.MessageNote{{SentAt: minute(at)}},
		})).NodeId
	}
	made := compacted(r.timed(covered, "b", 6, 3))
	joined := asks(compacted(asks(r.timed(covered, "c", 6, 3), 9)), 13)
	inside := asks(compacted(covered), 14)
	led := r.put(r.compact(&Compact{Head: byID(covered), Summary: "before", SummaryOnly: true}).NodeId,
		assistant("lead"), user("1"), assistant("one"), user("2"), assistant("two"), user("3"), assistant("three"))
	for _, head := range []string{made, r.timed(made, "d", 9, 5), r.put(made, system("on")), joined, r.timed(joined, "e", 14, 2), inside, led, r.put(led, user("4")), r.put(compacted(covered), assistant("more"))} {
		for _, limit := range []int32{0, 1, 2, 3, 4, 6, 9, 14} {
			for _, age := range []time.Duration{0, time.Second, 4 * time.Minute, 8 * time.Minute, 30 * time.Minute} {
				p := &Policy{MaxRunLoops: proto.Int32(limit), KeepWholeRunLoops: proto.Int32(12), MaxAge: durationpb.New(age)}
				req := &Assemble{Head: byID(head), View: conversation, Policy: p}
				got, want := v.asked(req), v.conversation(head, parsed(p), false)
				v.sameMessages(fmt.Sprint("the conversation of ", limit, " loops and ", age), got.Messages, want.messages...)
				v.checkWindow(got)
				p.MaxBytes = proto.Int64(1 << 60)
				whole := v.asked(req)
				whole.Report.Policy = got.Report.Policy
				equal(r, "the report, and that of a server that looks at everything", got.Report.String(), whole.Report.String())
			}
		}
	}
}

// TestWindowsInLargeNodes: nodes hold several loops, or parts of two.
func TestWindowsInLargeNodes(t *testing.T) {
	r := newRig(t)
	v := &viewModel{rig: r}
	var messages []*Message
	for i := range 60 {
		messages = append(messages, work(fmt.Sprint(i))[i%2*3:]...)
		if i%7 == 0 {
			messages = append(messages, user("and?"), result("x", "orphan"), system("on"))
		}
	}
	parent, at := r.put("", system("s"), user("first")), 0
	for size := 1; len(messages) > 0; size = size%9 + 1 {
		req := &PutNode{Parent: byID(parent)}
		for _, m := range messages[:min(size, len(messages))] {
			at++
			req.Messages = append(req.Messages, m)
			req.Notes = append(req.Notes, &transcriptv1.MessageNote{SentAt: minute(at)})
		}
		messages = messages[len(req.Messages):]
		parent = must[*transcriptv1.PutNodeResponse](r)(r.PutNode(r.ctx(), req)).NodeId
	}
	for limit := int32(0); limit < 34; limit += 3 {
		for _, age := range []int{0, 2 * int(limit), 5 * int(limit)} {
			p := &Policy{MaxRunLoops: proto.Int32(limit), KeepWholeRunLoops: proto.Int32(30), MaxAge: durationpb.New(time.Duration(age) * time.Minute)}
			req := &Assemble{Head: byID(parent), View: conversation, Policy: p}
			got, want := v.asked(req), v.conversation(parent, parsed(p), false)
			v.sameMessages(fmt.Sprint("the conversation of ", limit, " loops and ", age), got.Messages, want.messages...)
			p.MaxBytes = proto.Int64(1 << 60)
			whole := v.asked(req)
			whole.Report.Policy = got.Report.Policy
			equal(r, "the report, and that of a server that looks at everything", got.Report.String(), whole.Report.String())
		}
	}
}

// TestLinesNameTheirCalls: a line names the tool of the call that its result answers, where ids repeat or are absent too.
func TestLinesNameTheirCalls(t *testing.T) {
	r := newRig(t)
	long := strings.Repeat("long ", 60)
	twice := &Message{Role: transcriptv1.Role_ROLE_ASSISTANT, Parts: append(calling("second", "2").Parts, calling("third", "2").Parts...)}
	nameless := &Message{Role: transcriptv1.Role_ROLE_ASSISTANT, Parts: []*transcriptv1.Part{{Kind: &transcriptv1.Part_ToolCall{ToolCall: &transcriptv1.ToolCall{}}}}}
	named := result("3", long)
	named.Name = ptr("its own")
	id := r.put("", user("go"), calling("lost", "1"), system("on"), calling("first", "1"), result("1", long),
		twice, result("2", "short"), result("2", long), nameless, &Message{Role: transcriptv1.Role_ROLE_TOOL, Parts: text(long)},
		calling("not its own", "3"), named, calling("again", "4"), result("4", long), assistant("done"))
	reply := r.assemble(&Assemble{Head: byID(id), View: conversation, Policy: &Policy{ClearToolResults: clears(proto.Int32(0))}})
	var got []string
	for _, m := range reply.Messages {
		if m.Origin == transcriptv1.Origin_ORIGIN_SHORTENED {
			got = append(got, strings.ReplaceAll(m.Parts[0].GetText(), id[:12], "NODE"))
		}
	}
	equal(r, "the lines", strings.Join(got, "\n"), `[result of first, 306 bytes, left out; recall 1 NODE.4]
[result of third, 306 bytes, left out; recall 2 NODE.7]
[result of -, 306 bytes, left out; recall - NODE.9]
[result of its own, 306 bytes, left out; recall 3 NODE.11]`)
}

// TestNodesOfACompactedChain: what is told of nodes links up across compactions, older ones included.
func TestNodesOfACompactedChain(t *testing.T) {
	r := newRig(t)
	root := r.put("", system("s"), user("first"))
	first := r.timed(root, "a", 0, 2)
	second := r.timed(first, "b", 2, 2)
	older := r.compact(&Compact{Head: byID(second), ThroughId: first}).NodeId
	between := r.timed(older, "c", 4, 1)
	newer := r.compact(&Compact{Head: byID(between), ThroughId: second, Summary: "before"}).NodeId
	head := r.put(newer, user("last"))

	reply := r.assemble(&Assemble{Head: byID(head), NodeDetail: envelopes})
	r.verifyNodes(reply.Messages, reply.Nodes)
	told := map[string]*transcriptv1.NodeInfo{}
	for _, n := range reply.Nodes {
		told[n.NodeId] = n
	}
	equal(r, "the first node", reply.Nodes[0].NodeId, root)
	equal(r, "the messages of the preamble", fmt.Sprint(reply.Nodes[0].MessageCount, verbatim(reply.Nodes[0])), "1 false")
	equal(r, "the second node", reply.Nodes[1].NodeId, newer)
	equal(r, "the summary", reply.Messages[1].Origin, transcriptv1.Origin_ORIGIN_SUMMARY)
	equal(r, "what it covers", told[newer].Envelope.CoversThroughId, second)
	equal(r, "its parent", told[newer].Envelope.ParentId, between)
	equal(r, "whether it is verbatim", verbatim(told[newer]), true)
	equal(r, "the third node", reply.Nodes[2].NodeId, older)
	equal(r, "the older compaction", fmt.Sprint(told[older].MessageCount, verbatim(told[older])), "0 false")
	equal(r, "what it covers", told[older].Envelope.CoversThroughId, first)
	equal(r, "the parent of the first node behind what is covered", told[older].Envelope.ParentId, second)
	equal(r, "the parent of the next", reply.Nodes[3].Envelope.ParentId, older)
	equal(r, "the parent of the head", told[head].Envelope.ParentId, newer)

	whole := r.assemble(&Assemble{Head: byID(head), View: full, NodeDetail: envelopes})
	r.verifyNodes(whole.Messages, whole.Nodes)
	equal(r, "the nodes of the full view", len(whole.Nodes), 1+16+4+3)
	equal(r, "the messages of the full view", len(whole.Messages), 2+16+4+1)
	get := must[*transcriptv1.GetNodeResponse](r)(r.GetNode(r.ctx(), &transcriptv1.GetNodeRequest{Node: byID(newer)}))
	equal(r, "what GetNode says is covered", get.Info.Envelope.CoversThroughId, second)
	r.verifyNodes(get.Messages, []*transcriptv1.NodeInfo{get.Info})
}

// TestConversationEtags: an etag names what the caller holds, and nothing else has it.
func TestConversationEtags(t *testing.T) {
	r := newRig(t)
	head := r.timed("", "a", 0, 12)
	base := &Assemble{Head: byID(head), View: conversation, Policy: &Policy{MaxAge: durationpb.New(8 * time.Minute)}}
	changed := func(change func(*Assemble)) string {
		req := proto.Clone(base).(*Assemble)
		change(req)
		return r.assemble(req).Etag
	}
	etag := changed(func(*Assemble) {})
	tools := func(names ...string) func(*Assemble) { return func(a *Assemble) { a.Policy.ReplyTools = names } }
	equal(r, "the etag with tools in another order, and one twice", changed(tools("b", "a", "b")), changed(tools("a", "b")))
	equal(r, "the etag with defaults spelt out", changed(func(a *Assemble) { a.Policy.MaxRunLoops, a.Policy.MaxUserChars = proto.Int32(10), proto.Int32(500) }), etag)
	seen := map[string]string{etag: "the request"}
	for what, change := range map[string]func(*Assemble){
		"max_age":              func(a *Assemble) { a.Policy.MaxAge = durationpb.New(8*time.Minute + 2*time.Millisecond) },
		"max_run_loops":        func(a *Assemble) { a.Policy.MaxRunLoops = proto.Int32(11) },
		"max_bytes":            func(a *Assemble) { a.Policy.MaxBytes = proto.Int64(1 << 40) },
		"max_tokens":           func(a *Assemble) { a.Policy.MaxTokens = proto.Int64(1 << 40) },
		"max_user_chars":       func(a *Assemble) { a.Policy.MaxUserChars = proto.Int32(501) },
		"max_reply_chars":      func(a *Assemble) { a.Policy.MaxReplyChars = proto.Int32(501) },
		"keep_whole_run_loops": func(a *Assemble) { a.Policy.KeepWholeRunLoops = proto.Int32(1) },
		"clear_tool_results":   func(a *Assemble) { a.Policy.ClearToolResults = clears(proto.Int32(3)) },
		"keep 0":               func(a *Assemble) { a.Policy.ClearToolResults = clears(new(int32)) },
		"cached_percent":       func(a *Assemble) { a.Policy.ClearToolResults = &Clears{Keep: proto.Int32(3)} },
		"arguments": func(a *Assemble) {
			a.Policy.ClearToolResults = &Clears{Keep: proto.Int32(3), ClearArguments: proto.Bool(true)}
		},
		"coding":             func(a *Assemble) { a.Policy.Preset = transcriptv1.Preset_PRESET_CODING },
		"tool_trace":         func(a *Assemble) { a.Policy.ToolTrace = transcriptv1.ToolTrace_TOOL_TRACE_REQUESTS },
		"reply_tools":        tools("a", "b"),
		"other reply_tools":  tools("a"),
		"reply_tools as one": tools("ab"),
		"condense_last":      func(a *Assemble) { a.CondenseLast = true },
		"node_detail":        func(a *Assemble) { a.NodeDetail = ids },
		"no policy":          func(a *Assemble) { a.Policy = nil },
		"unbounded":          func(a *Assemble) { a.Policy = unbounded() },
		"effective":          func(a *Assemble) { a.Policy, a.View = nil, effective },
		"full":               func(a *Assemble) { a.Policy, a.View = nil, full },
		"another head":       func(a *Assemble) { a.Head = byID(r.put(head, system("s"))) },
	} {
		etag := changed(change)
		if other := seen[etag]; other != "" {
			t.Errorf("%s and %s have one etag", what, other)
		}
		seen[etag] = what
	}
}

// TestEveryFieldOfPolicyIsInTheEtag walks the descriptor, so that a new field cannot be forgotten.
func TestEveryFieldOfPolicyIsInTheEtag(t *testing.T) {
	r := newRig(t)
	head := r.timed("", "a", 0, 12)
	etagOf := func(p *Policy) string {
		return r.assemble(&Assemble{Head: byID(head), View: conversation, Policy: p}).Etag
	}
	base := &Policy{}
	seen := map[string]string{etagOf(base): "the defaults"}
	check := func(field protoreflect.FieldDescriptor, p *Policy) {
		etag := etagOf(p)
		if other := seen[etag]; other != "" {
			t.Errorf("%s is not in the etag: it has that of %s", field.FullName(), other)
		}
		seen[etag] = string(field.FullName())
	}
	fields := base.ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		p := proto.Clone(base).(*Policy)
		setToAnother(t, p.ProtoReflect(), fields.Get(i))
		check(fields.Get(i), p)
	}
	fields = (&Clears{}).ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		p := &Policy{ClearToolResults: &Clears{Keep: proto.Int32(3)}}
		setToAnother(t, p.ClearToolResults.ProtoReflect(), fields.Get(i))
		check(fields.Get(i), p)
	}
}

// setToAnother sets a field of a policy to what is neither its default nor refused.
func setToAnother(t *testing.T, m protoreflect.Message, field protoreflect.FieldDescriptor) {
	t.Helper()
	switch kind := field.Kind(); {
	case field.Name() == "cached_percent":
		m.Set(field, protoreflect.ValueOfInt32(37))
	case kind == protoreflect.Int32Kind:
		m.Set(field, protoreflect.ValueOfInt32(1_000_003))
	case kind == protoreflect.Int64Kind:
		m.Set(field, protoreflect.ValueOfInt64(1<<40+1))
	case kind == protoreflect.BoolKind:
		m.Set(field, protoreflect.ValueOfBool(true))
	case kind == protoreflect.StringKind && field.IsList():
		m.Mutable(field).List().Append(protoreflect.ValueOfString("a tool"))
	case kind == protoreflect.EnumKind:
		values := field.Enum().Values()
		m.Set(field, protoreflect.ValueOfEnum(values.Get(values.Len()-1).Number()))
	case kind == protoreflect.MessageKind && field.Message().FullName() == "google.protobuf.Duration":
		m.Set(field, protoreflect.ValueOfMessage(durationpb.New(30*24*time.Hour).ProtoReflect()))
	case kind == protoreflect.MessageKind && field.Name() == "clear_tool_results":
		m.Set(field, protoreflect.ValueOfMessage(clears(proto.Int32(1)).ProtoReflect()))
	default:
		t.Fatalf("this test knows no value for %s, a %v: give it one", field.FullName(), kind)
	}
}

// TestConversationReport walks through one reply.
func TestConversationReport(t *testing.T) {
	r := newRig(t)
	long := strings.Repeat("w", 100)
	sent := minute(3)
	put := []*Message{
		system("s"), assistant("hello"), // a lead-in, which goes
		user("one"), calling("read", "1"), // interrupted: the stub goes with the rest
		user("two " + long), calling("read", "2"), result("2", long), result("x", "orphan"), assistant("done " + long),
		user("three"), calling("read", "3"), result("3", "fine"), assistant("it is fine"),
	}
	req := &PutNode{Messages: put}
	for range put {
		req.Notes = append(req.Notes, &transcriptv1.MessageNote{SentAt: sent, TokenCount: proto.Int32(5), Model: "m"})
	}
	id := must[*transcriptv1.PutNodeResponse](r)(r.PutNode(r.ctx(), req)).NodeId
	reply := r.assemble(&Assemble{Head: byID(id), View: conversation, NodeDetail: ids, Policy: &Policy{
		MaxRunLoops: proto.Int32(1), MaxAge: durationpb.New(0), MaxUserChars: proto.Int32(8), MaxReplyChars: proto.Int32(0),
	}})
	want := []*Message{put[0], canonical.LeftOut(1), cutTo(put[4], "two wwww...[truncated]"), put[8], put[9], put[10], put[11], put[12]}
	r.sameMessages("the conversation", reply.Messages, want...)
	g := reply.Report
	equal(r, "the messages", g.Messages, 8)
	equal(r, "the bytes", g.Bytes, int64(len(canonical.EncodePayload(want))))
	line, cut := int64(len(canonical.EncodePayload(want[1:2]))), int64(len(canonical.EncodePayload(want[2:3])))
	equal(r, "the tokens", g.Tokens, 6*5+(cut+3)/4+(line+3)/4)
	equal(r, "whether they are estimated", g.TokensEstimated, true)
	equal(r, "the shortened messages", g.ShortenedMessages, 1)
	equal(r, "the repairs", g.Repairs, 1)
	equal(r, "the messages left out", g.LeftOut.Messages, reply.Counters.Effective.Messages-7)
	equal(r, "the bytes left out", g.LeftOut.Bytes, reply.Counters.Effective.Bytes-(g.Bytes-line))
	equal(r, "the tokens left out", g.LeftOut.Tokens, reply.Counters.Effective.Tokens-(g.Tokens-(line+3)/4))
	equal(r, "the loops left out", g.LeftOut.RunLoops, 1)
	equal(r, "the window", fmt.Sprint(g.Window.NodeId == id, g.Window.MessageIndex, g.Window.RunLoops), "true 4 2")
	equal(r, "whether a limit is exceeded", g.LimitExceeded, false)
	var found []string
	for _, f := range g.Findings {
		found = append(found, fmt.Sprint(f.MessageIndex, " ", strings.TrimPrefix(f.Kind.String(), "FINDING_KIND_")))
	}
	equal(r, "the findings in what is shown", strings.Join(found, ", "), "4 UNANSWERED_CALL, 4 INTERRUPTED_LOOP, 7 ORPHAN_RESULT")
	n := reply.Nodes[0]
	equal(r, "the node", fmt.Sprint(len(reply.Nodes), n.MessageCount, n.SizeBytes == g.Bytes, verbatim(n), len(n.Notes)), "1 8 true false 8")
	equal(r, "the note of the message that was cut", fmt.Sprint(n.Notes[2].SentAt.AsTime() == sent.AsTime(), n.Notes[2].TokenCount == nil, n.Notes[2].Model == "m"), "true true true")
	equal(r, "the note of another", n.Notes[3].GetTokenCount(), 5)
	equal(r, "the note of the left-out line", proto.Size(n.Notes[1]), 0)

	limited := r.assemble(&Assemble{Head: byID(id), View: conversation, Policy: &Policy{MaxBytes: proto.Int64(10)}})
	equal(r, "whether a limit is exceeded", limited.Report.LimitExceeded, true)
	r.sameMessages("what always stays", limited.Messages, put[0], canonical.LeftOut(2), put[9], put[10], put[11], put[12])
	none := r.assemble(&Assemble{Head: byID(r.put("", system("s"))), View: conversation, Policy: &Policy{}})
	equal(r, "the window where there are no loops", none.Report.Window == nil, true)
	r.sameMessages("the preamble alone", none.Messages, system("s"))
}

// TestConversationsTooLarge: unary replies are bounded, frames too, where lines and stubs make nodes large.
func TestConversationsTooLarge(t *testing.T) {
	r := newRig(t)
	name := strings.Repeat("n", 400)
	var messages []*Message
	for i := range 36 {
		var calls []string
		for k := range 256 {
			calls = append(calls, fmt.Sprint(i, ".", k))
		}
		messages = append(messages, calling(name, calls...), system("on"))
	}
	id := r.put("", append([]*Message{user("go")}, messages...)...)
	req := &Assemble{Head: byID(id), View: conversation, NodeDetail: ids}
	_, err := r.Assemble(r.ctx(), req)
	r.fails(err, codes.ResourceExhausted, "USE_STREAM_ASSEMBLE", "")
	got, err := r.streamed(req)
	if err != nil {
		t.Fatal(err)
	}
	want, err := r.streamed(&Assemble{Head: byID(id)})
	if err != nil {
		t.Fatal(err)
	}
	r.sameMessages("the conversation of one loop", got.Messages, want.Messages...)
	sum := 0
	for _, n := range got.Nodes {
		equal(r, "the node", n.NodeId+fmt.Sprint(verbatim(n)), id+"false")
		sum += int(n.MessageCount)
	}
	equal(r, "the messages of its parts", sum, len(got.Messages))
	if len(got.Nodes) < 2 {
		t.Errorf("%d parts: the node is too small for this test", len(got.Nodes))
	}
}

// TestConversationsTakeConstantMemory streams a loop of many times the memory that is allowed for it.
func TestConversationsTakeConstantMemory(t *testing.T) {
	const n = 3_000
	e := newEndless(t, 16<<10, n)
	r := newPlainRig(t, e)
	idle, most, messages := heap(), uint64(0), 0
	e.watch = func(read uint32) {
		if read%(n/16) == 0 {
			most = max(most, heap())
		}
	}
	stream, err := r.StreamAssemble(r.ctx(), &transcriptv1.StreamAssembleRequest{Head: byAlias("x"), View: conversation, NodeDetail: envelopes})
	for err == nil {
		var f *transcriptv1.StreamAssembleResponse
		if f, err = stream.Recv(); err == nil {
			messages += len(f.Messages)
		}
	}
	equal(r, "the messages", messages, n)
	if grown := int64(most) - int64(idle); grown > 24<<20 {
		t.Errorf("the heap grew by %d KiB while %d MiB were streamed", grown>>10, n*len(e.payload)>>20)
	}
}

// TestWhatIsKeptIsNotDecoded: on a compacted chain stored bytes that are no messages go through unharmed, in the effective
// view and in a conversation that cuts nothing.
func TestWhatIsKeptIsNotDecoded(t *testing.T) {
	store := memstore.New(memstore.Options{})
	clear := newRig(t, store)
	parent := clear.timed(clear.put("", system("s"), user("u")), "a", 0, 3)
	head := clear.timed(clear.compact(&Compact{Head: byID(parent), Summary: "before"}).NodeId, "b", 3, 2)
	r := newRig(t, &altered{store, func(row *chainstore.Row) { row.Payload = garble(row.Payload) }})
	for _, req := range []*Assemble{
		{Head: byID(head)}, {Head: byID(head), NodeDetail: envelopes}, {Head: byID(head), View: conversation}, {Head: byID(head), View: conversation, Policy: unbounded()},
		{Head: byID(head), View: conversation, NodeDetail: envelopes, Policy: &Policy{MaxUserChars: proto.Int32(0), MaxReplyChars: proto.Int32(0), KeepWholeRunLoops: proto.Int32(1)}},
	} {
		want := garble(canonical.EncodePayload(clear.assemble(req).Messages))
		if got := r.rawReply(req); string(got) != string(want) {
			t.Errorf("view %v: other bytes than those stored", req.View)
		}
	}
}

// rawReply is the messages of a unary reply, not decoded.
func (r *rig) rawReply(req *Assemble) []byte {
	r.Helper()
	var reply []byte
	err := r.Conn.Invoke(r.ctx(), transcriptv1.TranscriptService_Assemble_FullMethodName, req, &reply, grpc.ForceCodecV2(raw{}))
	if err != nil {
		r.Fatal(err)
	}
	return messagesOf(r.T, reply)
}

// TestCorruptConversations: rows that contradict themselves, or are missing, are data loss in a conversation too.
func TestCorruptConversations(t *testing.T) {
	store := memstore.New(memstore.Options{})
	whole := newRig(t, store)
	head := whole.timed(whole.put("", system("s")), "a", 0, 15)
	for name, broken := range map[string]chainstore.Store{
		"payloads":     &altered{store, func(row *chainstore.Row) { row.Payload = row.Payload[:max(0, len(row.Payload)-1)] }},
		"headers":      &altered{store, func(row *chainstore.Row) { row.Raw = row.Raw[:40] }},
		"missing rows": &gaps{store},
		"messages":     &altered{store, func(row *chainstore.Row) { row.Payload = garble(row.Payload) }},
	} {
		r := newRig(t, broken)
		for _, limit := range []int64{0, 1 << 40} {
			p := &Policy{MaxAge: durationpb.New(0), ToolTrace: transcriptv1.ToolTrace_TOOL_TRACE_REQUESTS, MaxBytes: proto.Int64(limit)}
			req := &Assemble{Head: byID(head), View: conversation, Policy: p}
			_, err := r.Assemble(r.ctx(), req)
			if f := r.fails(err, codes.DataLoss, "NODE_CORRUPT", ""); f.code != codes.DataLoss {
				t.Errorf("with broken %s", name)
			}
			_, err = r.streamed(req)
			r.fails(err, codes.DataLoss, "NODE_CORRUPT", "")
		}
	}
}
