package promises

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

const (
	viewFull         = transcriptv1.View_VIEW_FULL
	viewEffective    = transcriptv1.View_VIEW_EFFECTIVE
	viewConversation = transcriptv1.View_VIEW_CONVERSATION
)

// ask asks for a view with what the nodes tell, and again by its etag.
func (w *tree) ask(req *transcriptv1.AssembleRequest, again bool) *rawReply {
	w.t.Helper()
	detail := transcriptv1.NodeDetail(w.byID[req.Head.GetNodeId()].depth % 3) // the same for a head, so that etags are
	req.Namespace, req.NodeDetail = w.namespace, detail
	reply, err := w.assemble(w.ctx, req)
	if err != nil {
		w.t.Fatalf("assemble %v: %v", req, err)
	}
	w.consistent(req, reply)
	if !again {
		return reply
	}
	req.IfNoneMatch = reply.Etag
	second, err := w.assemble(w.ctx, req)
	if err != nil || !second.NotModified || len(second.messages) != 0 || len(second.Nodes) != 0 || second.Etag != reply.Etag {
		w.t.Fatalf("asked again %v with its etag: %v, %v", req, second, err)
	}
	req.IfNoneMatch = "another"
	if second, err = w.assemble(w.ctx, req); err != nil || !bytes.Equal(second.messages, reply.messages) ||
		!proto.Equal(second.AssembleResponse, reply.AssembleResponse) {
		w.t.Fatalf("asked again %v: another reply, %v", req, err)
	}
	req.IfNoneMatch = ""
	w.streamed(req, reply)
	return reply
}

// consistent holds the sums of a reply up to its messages.
func (w *tree) consistent(req *transcriptv1.AssembleRequest, reply *rawReply) {
	w.t.Helper()
	var messages, size int64
	for _, n := range reply.Nodes {
		from := size
		messages, size = messages+int64(n.MessageCount), size+n.SizeBytes
		if size > int64(len(reply.messages)) {
			break
		}
		if known := w.byID[n.NodeId]; known == nil || verbatim(n) && !bytes.Equal(reply.messages[from:size], joined(known.messages)) {
			w.t.Fatalf("%v: node %s is not verbatim", req, n.NodeId)
		}
		if n.Notes != nil && len(n.Notes) != int(n.MessageCount) {
			w.t.Fatalf("%v: node %s has %d messages and %d notes", req, n.NodeId, n.MessageCount, len(n.Notes))
		}
	}
	if req.NodeDetail == transcriptv1.NodeDetail_NODE_DETAIL_UNSPECIFIED {
		messages, size = int64(reply.Report.Messages), int64(len(reply.messages))
	}
	if r := reply.Report; messages != int64(r.Messages) || size != r.Bytes || size != int64(len(reply.messages)) {
		w.t.Fatalf("%v: nodes have %d messages, %d bytes; the report %v; the reply %d bytes", req, messages, size, r, len(reply.messages))
	}
	if n := w.shortened(reply.messages); n != int64(reply.Report.ShortenedMessages) {
		w.t.Fatalf("%v: %d messages are shortened, the report says %d", req, n, reply.Report.ShortenedMessages)
	}
	w.counters(w.byID[reply.HeadId], reply.Counters)
	before, ok := w.etags[reply.Etag]
	if ok && (before.head != reply.HeadId || reply.BaseId == "" && !bytes.Equal(before.messages, reply.messages)) {
		w.t.Fatalf("%v: the etag names two views", req)
	}
	if reply.BaseId == "" {
		w.etags[reply.Etag] = etagged{reply.HeadId, reply.messages}
	}
}

// etagged is what an etag names.
type etagged struct {
	head     string
	messages []byte
}

// streamed holds StreamAssemble up to Assemble.
func (w *tree) streamed(r *transcriptv1.AssembleRequest, want *rawReply) {
	w.t.Helper()
	stream, err := w.api.StreamAssemble(w.ctx, &transcriptv1.StreamAssembleRequest{
		Namespace: r.Namespace, Head: r.Head, View: r.View, AfterId: r.AfterId, NodeDetail: r.NodeDetail, Policy: r.Policy,
		CondenseLast: r.CondenseLast,
	})
	if err != nil {
		w.t.Fatalf("stream %v: %v", r, err)
	}
	got := &transcriptv1.AssembleResponse{}
	for first := true; ; first = false {
		frame, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			w.t.Fatalf("stream %v: %v", r, err)
		}
		if first {
			got.HeadId, got.BaseId, got.Etag, got.Counters = frame.HeadId, frame.BaseId, frame.Etag, frame.Counters
		}
		got.Messages, got.Nodes, got.Report = append(got.Messages, frame.Messages...), append(got.Nodes, frame.Nodes...), frame.Report
	}
	messages := payload(got.Messages)
	got.Messages = nil
	if !bytes.Equal(messages, want.messages) || !proto.Equal(got, want.AssembleResponse) {
		w.t.Fatalf("streamed %v: %v, assembled: %v", r, got, want.AssembleResponse)
	}
}

func payload(messages []*transcriptv1.Message) []byte {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(&transcriptv1.Payload{Messages: messages})
	if err != nil {
		panic(err)
	}
	return b
}

// told holds what a reply tells of nodes up to the messages shown.
func (w *tree) told(req *transcriptv1.AssembleRequest, reply *rawReply, head *node, shown []*message) {
	w.t.Helper()
	left := shown
	for _, n := range reply.Nodes {
		known := w.byID[n.NodeId]
		var own []*message
		for len(left) > 0 && left[0].belongs() == known {
			own, left = append(own, left[0]), left[1:]
		}
		if len(own) != int(n.MessageCount) || len(own) > 0 && verbatim(n) != bytes.Equal(joined(own), joined(known.messages)) {
			w.t.Fatalf("%v: %v, but %d messages of the node are shown\n%s", req, n, len(own), w.show(head))
		}
		for i, m := range own {
			want, got := m.note, &transcriptv1.MessageNote{}
			if want == nil {
				want = got
			}
			if n.Notes != nil {
				got = n.Notes[i]
			}
			if !proto.Equal(got, want) {
				w.t.Fatalf("%v: the note of message %d is %v, the model's %v\n%s", req, i, got, want, w.show(head))
			}
		}
	}
	if len(left) > 0 && req.NodeDetail != transcriptv1.NodeDetail_NODE_DETAIL_UNSPECIFIED {
		w.t.Fatalf("%v: the nodes %v have not all messages\n%s", req, reply.Nodes, w.show(head))
	}
}

// same fails unless a reply has the model's messages.
func (w *tree) same(req *transcriptv1.AssembleRequest, reply *rawReply, head *node, want []*message) {
	w.t.Helper()
	w.told(req, reply, head, want)
	if !bytes.Equal(reply.messages, joined(want)) {
		w.t.Fatalf("%s\n%s\nthe server shows:\n%s\nthe model shows:\n%s", prototext.MarshalOptions{}.Format(req), w.show(head), list(decoded(reply.messages)), list(want))
	}
}

// holdWhole holds the full and the effective view of a head, and what they add to those of an ancestor, up to the model.
func (w *tree) holdWhole(head *node, ancestor *node, again bool) {
	w.t.Helper()
	for _, view := range []transcriptv1.View{viewFull, viewEffective} {
		whole, ofAncestor := head.full().all, ancestor.full().all
		if view == viewEffective {
			whole, ofAncestor = head.effective().shown, ancestor.effective().shown
		}
		req := &transcriptv1.AssembleRequest{Head: ref(head), View: view}
		reply := w.ask(req, again)
		w.same(req, reply, head, whole)
		w.tokens(req, reply, whole)
		w.found(req, reply, head, -1)
		base := ancestor.id
		if view == viewEffective && compactedBetween(ancestor, head) {
			base = ""
		} else if !bytes.HasPrefix(joined(whole), joined(ofAncestor)) {
			w.t.Fatalf("%v of %s is no prefix\n%s", view, ancestor.id[:6], w.show(head))
		}
		req = &transcriptv1.AssembleRequest{Head: ref(head), View: view, AfterId: ancestor.id}
		after := w.ask(req, again)
		depth := -1
		if base != "" {
			whole, depth = whole[len(ofAncestor):], ancestor.depth
		}
		w.same(req, after, head, whole)
		w.tokens(req, after, whole)
		w.found(req, after, head, depth)
		if after.BaseId != base {
			w.t.Fatalf("after %s: base %q, not %q", ancestor.id, after.BaseId, base)
		}
	}
	effective := head.effective()
	w.paired(head, effective.shown, len(effective.open))
}

// found holds what a report tells of repairs and findings, at nodes behind a depth, up to the model. Behind a compaction,
// the findings of the full view are held, which no compaction touches, but for why a result is left out: that is told of the group that
// the compaction left open to results.
func (w *tree) found(req *transcriptv1.AssembleRequest, reply *rawReply, head *node, depth int) {
	w.t.Helper()
	r := reply.Report
	repairs := int64(0)
	if req.View == viewEffective {
		repairs = head.repairs(depth)
	}
	if int64(r.Repairs) != repairs {
		w.t.Fatalf("%v: %d repairs, the model's %d\n%s", req, r.Repairs, repairs, w.show(head))
	}
	if head.compaction() != nil && req.View == viewEffective {
		return
	}
	all := head.full().findingsBehind(depth)
	want := all[:min(len(all), 100)]
	same := func(a, b *transcriptv1.Finding) bool { return proto.Equal(a, b) }
	if head.compaction() != nil {
		same = func(a, b *transcriptv1.Finding) bool { return proto.Equal(late(a), late(b)) }
	}
	if !slices.EqualFunc(r.Findings, want, same) || int(r.MoreFindings) != len(all)-len(want) {
		w.t.Fatalf("%v: findings\n%v\nthe model's\n%v\n%s", req, r.Findings, want, w.show(head))
	}
}

// late is a finding in which a result that is left out as a duplicate is late.
func late(f *transcriptv1.Finding) *transcriptv1.Finding {
	if f.Kind == transcriptv1.FindingKind_FINDING_KIND_DUPLICATE_RESULT {
		f = proto.CloneOf(f)
		f.Kind = transcriptv1.FindingKind_FINDING_KIND_LATE_RESULT
	}
	return f
}

// tokens holds the tokens of a report up to the messages.
func (w *tree) tokens(req *transcriptv1.AssembleRequest, reply *rawReply, shown []*message) {
	w.t.Helper()
	var tokens int64
	var estimated bool
	for _, m := range shown {
		n, e := m.tokens()
		tokens, estimated = tokens+n, estimated || e
	}
	if r := reply.Report; r.Tokens != tokens || r.TokensEstimated != estimated || r.Messages != int32(len(shown)) {
		w.t.Fatalf("%v: %d tokens (%v) of %d messages, the report has %v", req, tokens, estimated, len(shown), r)
	}
}

// paired holds promise 1: no result without its call, no call without its result but open ones at the end.
func (w *tree) paired(head *node, shown []*message, open int) {
	w.t.Helper()
	again := repairAlone(shown)
	if len(again.out) != 0 || len(again.shown) != len(shown) || len(again.open) != open {
		w.t.Fatalf("pairs of the view of %s: %d results without a call, %d stubs missing, %d calls open, not %d\n%s", head.id[:6],
			len(again.out), len(again.shown)-len(shown), len(again.open), open, list(shown))
	}
}

// asking is a policy as it is asked for.
type asking struct {
	policy       *transcriptv1.Policy
	condenseLast bool
	model        policy
}

// holdConversation holds a conversation up to the model and to the promises that one view can keep.
func (w *tree) holdConversation(head *node, a *asking, again bool) *conversation {
	w.t.Helper()
	req := &transcriptv1.AssembleRequest{Head: ref(head), View: viewConversation, Policy: a.policy, CondenseLast: a.condenseLast}
	reply := w.ask(req, again)
	view := head.effective()
	c := converse(view, &a.model, a.condenseLast)
	shown := c.messages()
	w.same(req, reply, head, shown)
	w.tokens(req, reply, shown)
	w.holdReport(req, reply.Report, head, c, a)
	w.paired(head, shown, len(view.open))
	w.userFirst(req, head, c)
	w.drawnFrom(req, head, shown)
	w.holdCleared(req, head, c, a)
	if a.model.bytes > 0 && int64(len(joined(shown))) > a.model.bytes && len(c.shown) > 1 {
		w.t.Fatalf("%v: %d bytes, and a loop could go\n%s", req, len(joined(shown)), w.show(head))
	}
	w.itself(req, head, c, a)
	c.etag = reply.Etag
	return c
}

// shortened is how many messages of a payload say that they were shortened.
func (w *tree) shortened(payload []byte) (n int64) {
	w.t.Helper()
	var all transcriptv1.Payload
	if err := proto.Unmarshal(payload, &all); err != nil {
		w.t.Fatalf("payload: %v", err)
	}
	for _, m := range all.Messages {
		if m.Origin == asShortened {
			n++
		}
	}
	return n
}

// holdReport holds a report up to counts of what is shown and what is not.
func (w *tree) holdReport(req *transcriptv1.AssembleRequest, got *transcriptv1.Report, head *node, c *conversation, a *asking) {
	w.t.Helper()
	all, shown := withoutLeftOut(head.effective().shown), withoutLeftOut(c.messages())
	want := &transcriptv1.Report{
		Messages: got.Messages, Bytes: got.Bytes, Tokens: got.Tokens, TokensEstimated: got.TokensEstimated,
		Repairs: got.Repairs, Findings: got.Findings, MoreFindings: got.MoreFindings,
		LeftOut:       &transcriptv1.LeftOut{Messages: int32(len(all) - len(shown)), Bytes: int64(len(joined(all)) - len(joined(shown)))},
		LimitExceeded: c.limitExceeded, Policy: a.model.resolved(),
	}
	var before, after int64
	for _, m := range all {
		n, _ := m.tokens()
		before += n
	}
	for _, m := range shown {
		n, _ := m.tokens()
		after += n
		if m.Origin == asShortened {
			want.ShortenedMessages++
		}
	}
	want.LeftOut.Tokens = max(0, before-after)
	if len(c.loops) > 0 {
		first := c.loops[c.start]
		if !first.leadIn {
			want.LeftOut.RunLoops = int32(c.start)
		}
		m := first.messages[0]
		want.Window = &transcriptv1.Window{NodeId: m.home.id, MessageIndex: int32(m.index), RunLoops: int32(len(c.shown))}
	}
	if !proto.Equal(got, want) {
		w.t.Fatalf("%v: report\n%v\nthe model's\n%v\n%s", req, got, want, w.show(head))
	}
}

// userFirst holds promise 2.
func (w *tree) userFirst(req *transcriptv1.AssembleRequest, head *node, c *conversation) {
	w.t.Helper()
	if !slices.ContainsFunc(head.effective().shown, (*message).asks) {
		return
	}
	for _, m := range c.messages() {
		if m.asks() {
			return
		}
		if !m.speaksForSystem() && !m.aside() {
			w.t.Fatalf("%v: the user is not first\n%s", req, list(c.messages()))
		}
	}
	w.t.Fatalf("%v: no user is shown", req)
}

// drawnFrom holds that a view shows messages of the effective view in its order, each as it is, cut as promised, as a line, or with
// marks in its arguments, and the preamble first (promises 2 and 5).
func (w *tree) drawnFrom(req *transcriptv1.AssembleRequest, head *node, shown []*message) {
	w.t.Helper()
	all := head.effective()
	if !bytes.HasPrefix(joined(shown), joined(all.shown[:all.preamble])) {
		w.t.Fatalf("%v: the preamble is cut", req)
	}
	left := all.shown
	for _, m := range shown {
		if m.isLeftOut() {
			continue
		}
		at := slices.IndexFunc(left, func(o *message) bool { return o == m || comesFrom(m, o) })
		if at < 0 {
			w.t.Fatalf("%v: not of the view, or out of order: %v", req, m.Message)
		}
		left = left[at+1:]
	}
}

// comesFrom tells whether m is o cut, with marks, or made a line: text cut between code points, JSON whole or gone.
func comesFrom(m, o *message) bool {
	if m.Origin != asShortened || m.home != o.home || m.index != o.index || len(m.bytes) > len(o.bytes) {
		return false
	}
	if m.isLine() {
		return true
	}
	calls := o.calls()
	for _, c := range m.calls() {
		at := slices.IndexFunc(calls, func(was *transcriptv1.ToolCall) bool { return proto.Equal(c, was) || proto.Equal(c, withMarks(was)) })
		if at < 0 {
			return false
		}
		calls = calls[at+1:]
	}
	var texts, was strings.Builder
	for _, p := range m.Parts {
		texts.WriteString(p.GetText())
	}
	for _, p := range o.Parts {
		was.WriteString(p.GetText())
	}
	kept := strings.TrimSuffix(texts.String(), mark)
	return utf8.ValidString(kept) && strings.HasPrefix(was.String(), kept) && slices.Equal(jsons(m), jsons(o))
}

// withMarks is a call with marks in its arguments.
func withMarks(c *transcriptv1.ToolCall) *transcriptv1.ToolCall {
	out := proto.CloneOf(c)
	out.Arguments = marked(c.Arguments)
	return out
}

func jsons(m *message) (out []string) {
	for _, p := range m.Parts {
		if j := p.GetJson(); j != "" {
			out = append(out, j)
		}
	}
	return out
}

// itself holds that a view of a view is itself, its loops taken as they were, and of its messages alone too where no outcome
// stands on the path. The exceptions are those that docs/views.md names: max_age where users' times do not rise, or where loops
// join; and max_tokens where notes count fewer tokens than a quarter of the bytes.
func (w *tree) itself(req *transcriptv1.AssembleRequest, head *node, c *conversation, a *asking) {
	w.t.Helper()
	p, all, shown := &a.model, head.effective().shown, c.messages()
	byAge := p.age > 0 && (p.keepRuns > 0 || p.requests)
	if byAge && !timesRise(all) || p.tokens > 0 && slices.ContainsFunc(all, countsFewer) {
		return
	}
	same := func(what string, again *conversation) {
		w.t.Helper()
		if !bytes.Equal(joined(again.messages()), joined(shown)) {
			w.t.Fatalf("%v: the view of the view%s is another\n%s\nview:\n%s\nits view:\n%s", req, what, w.show(head), list(shown), list(again.messages()))
		}
	}
	same("", converse(c.copies(), p, a.condenseLast))
	alone := converse(repairAlone(apart(shown)), p, a.condenseLast)
	if slices.ContainsFunc(head.path(), func(n *node) bool { return n.outcome != 0 }) || byAge && len(alone.loops) < len(c.shown) {
		return
	}
	same(" from its messages alone", alone)
}

// apart are messages of a view as if each had been put, and none copied: they tell nothing of loops, and count with the time that
// they counted with.
func apart(shown []*message) (out []*message) {
	for _, m := range shown {
		own := *m
		if m.copied() {
			own.home = &node{firstPut: m.counts()}
		}
		out = append(out, &own)
	}
	return out
}

// copies are the messages of a conversation with its loops, as a compaction node keeps them.
func (c *conversation) copies() *chain {
	home := &node{covers: &node{}}
	take := func(m *message, begins bool) *message {
		out := *m
		if m.home != nil {
			out.note = m.noted()
			out.note.SentAt = timestamppb.New(time.UnixMilli(m.counts()))
		}
		out.home, out.begins = home, begins
		return &out
	}
	view := &chain{preamble: len(c.preamble), shown: slices.Clone(c.preamble)}
	for _, m := range c.early {
		view.shown = append(view.shown, take(m, false))
	}
	for _, m := range one(c.line) {
		view.shown = append(view.shown, take(m, false))
	}
	for i, loop := range c.shown {
		home.awaits, home.closed = c.loops[c.start+int64(i)].awaits, c.loops[c.start+int64(i)].closed()
		for j, m := range loop {
			view.shown = append(view.shown, take(m, j == 0))
		}
	}
	return view
}

func timesRise(messages []*message) bool {
	var before int64
	for _, m := range messages {
		if m.asks() && m.counts() < before {
			return false
		}
		if m.asks() {
			before = m.counts()
		}
	}
	return true
}

func countsFewer(m *message) bool {
	tokens, _ := m.tokens()
	return tokens < int64(len(m.bytes)+3)/4
}

// verbatim tells whether a reply has a node's messages as they are hashed.
func verbatim(n *transcriptv1.NodeInfo) bool {
	return n.Content == transcriptv1.NodeContent_NODE_CONTENT_VERBATIM
}
