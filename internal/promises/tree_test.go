package promises

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/transcriptd/transcriptd/canonical"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// failer is what a tree is held up to: a rapid.T or a testing.T.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
	Logf(format string, args ...any)
}

// tree is a tree in a namespace of its own, and what the model knows of it.
type tree struct {
	*stack
	t         failer
	ctx       context.Context
	namespace string
	nodes     []*node
	byID      map[string]*node
	etags     map[string]etagged
	// recalled are the lines that were followed, by head and place.
	recalled map[string]bool
}

func (s *stack) plant(ctx context.Context, t failer) *tree {
	s.worlds++
	s.clock.Store(1000)
	return &tree{stack: s, t: t, ctx: ctx, namespace: fmt.Sprintf("world-%d", s.worlds), byID: map[string]*node{}, etags: map[string]etagged{}, recalled: map[string]bool{}}
}

// put puts nodes as a chain behind a parent, nil for a root.
func (w *tree) put(parent *node, nodes []*transcriptv1.NewNode) {
	w.t.Helper()
	for i, n := range nodes {
		switch {
		case i > 0:
			n.Previous = true
		case parent != nil:
			n.Parent = ref(parent)
		}
	}
	reply, err := w.api.PutNodes(w.ctx, &transcriptv1.PutNodesRequest{Namespace: w.namespace, Nodes: nodes})
	if err != nil {
		w.t.Fatalf("put: %v", err)
	}
	for i, put := range reply.Nodes {
		var messages []*message
		for k, m := range nodes[i].Messages {
			var note *transcriptv1.MessageNote
			if nodes[i].Notes != nil {
				note = nodes[i].Notes[k]
			}
			messages = append(messages, newMessage(m, note))
		}
		known := w.byID[put.NodeId] != nil
		parent = w.know(put.NodeId, parent, messages, nil)
		parent.put = nodes[i]
		for _, e := range nodes[i].Metadata {
			if e.Key == "run/end" {
				parent.outcome = transcriptv1.RunOutcome(transcriptv1.RunOutcome_value["RUN_OUTCOME_"+strings.ToUpper(e.Value)])
			}
		}
		if put.Created == known {
			w.t.Fatalf("created is %v of a node that was there: %v", put.Created, known)
		}
		w.counters(parent, put.Counters)
	}
}

// know takes up a node, unless it is known.
func (w *tree) know(id string, parent *node, messages []*message, covers *node) *node {
	w.t.Helper()
	if n := w.byID[id]; n != nil {
		if n.parent != parent || n.covers != covers || !bytes.Equal(joined(n.messages), joined(messages)) {
			w.t.Fatalf("two nodes have the id %s", id)
		}
		return n
	}
	n := &node{id: id, parent: parent, covers: covers, firstPut: w.clock.Load()}
	if parent != nil {
		n.depth = parent.depth + 1
	}
	for i, m := range messages {
		own := *m
		own.home, own.index, own.answers = n, i, nil
		if covers == nil {
			own.put, own.putIndex = n, i
		} else if m.home == nil || m.aside() {
			own.put = nil
		}
		n.messages = append(n.messages, &own)
	}
	w.nodes = append(w.nodes, n)
	w.byID[id] = n
	return n
}

// compact asks for a compaction, dry and then for good if asked to, and holds both up to the model.
func (w *tree) compact(req *transcriptv1.CompactRequest, head, through *node, forGood bool) {
	w.t.Helper()
	req.Namespace, req.DryRun = w.namespace, true
	dry, err := w.api.Compact(w.ctx, req)
	covered, want := refusal(head, through)
	if want != "" || err != nil {
		w.outcomes[want]++
		if got := reasonOf(err); got != want {
			w.t.Fatalf("compact: refused with %q, the model with %q: %v\n%s", got, want, err, w.show(head))
		}
		return
	}
	p := policyOf(req.Policy)
	model := compact(head, covered, &p, req.Summary, req.SummaryOnly)
	what := func() string {
		return fmt.Sprintf("compact(%s through %s): %v\n%s\nmodel keeps:\n%s", head.id[:6], covered.id[:6], prototext.MarshalOptions{}.Format(req), w.show(head), list(model.after))
	}
	if !proto.Equal(dry.Report, model.report) {
		w.t.Fatalf("report %v, the model's %v\n%s", dry.Report, model.report, what())
	}
	if req.Summary != "" || req.SummaryOnly {
		req.ThroughId, forGood = dry.ThroughId, forGood && model.shrinks
	}
	if !model.shrinks {
		w.outcomes["NOTHING_SHRINKS"]++
	} else if !forGood {
		w.outcomes["dry"]++
	} else {
		w.outcomes["written"]++
	}
	notWritten := transcriptv1.NotWrittenReason_NOT_WRITTEN_REASON_NOTHING_SHRINKS
	if model.shrinks {
		notWritten = transcriptv1.NotWrittenReason_NOT_WRITTEN_REASON_UNSPECIFIED
	}
	if dry.Written || dry.NotWrittenReason != notWritten || dry.NodeId != "" || dry.HeadId != head.id || dry.ThroughId != covered.id || len(dry.Aliases) != 0 {
		w.t.Fatalf("a dry run says %v; the model shrinks: %v\n%s", dry, model.shrinks, what())
	}
	w.counters(head, dry.Counters)
	if !forGood {
		return
	}
	req.DryRun = false
	reply, err := w.api.Compact(w.ctx, req)
	if err != nil {
		w.t.Fatalf("compact: %v, but the dry run succeeded\n%s", err, what())
	}
	if !proto.Equal(reply.Report, dry.Report) || reply.NotWrittenReason != dry.NotWrittenReason || reply.Written != model.shrinks ||
		reply.HeadId != head.id || reply.ThroughId != covered.id || (reply.NodeId != "") != reply.Written {
		w.t.Fatalf("compact says %v, the dry run said %v\n%s", reply, dry, what())
	}
	w.alias(req, head, reply)
	if !reply.Written {
		w.counters(head, reply.Counters)
		return
	}
	if model.report.BytesAfter >= model.report.BytesBefore {
		w.t.Fatalf("nothing shrinks\n%s", what())
	}
	made := w.know(reply.NodeId, head, model.filled(), covered)
	made.awaits, made.closed = model.awaits, model.closed
	w.counters(made, reply.Counters)
	w.written(made, what)
}

// alias holds the alias that a compaction named as its head up to what the reply says.
func (w *tree) alias(req *transcriptv1.CompactRequest, head *node, reply *transcriptv1.CompactResponse) {
	w.t.Helper()
	name := req.Head.GetAlias()
	if name == "" {
		return
	}
	want := head.id
	if reply.Written {
		want = reply.NodeId
		if len(reply.Aliases) != 1 || !reply.Aliases[0].Changed || reply.Aliases[0].PreviousId != head.id {
			w.t.Fatalf("aliases of a compaction: %v", reply.Aliases)
		}
	}
	resolved, err := w.api.ResolveAlias(w.ctx, &transcriptv1.ResolveAliasRequest{Namespace: w.namespace, Name: name})
	if err != nil || resolved.Alias.NodeId != want {
		w.t.Fatalf("the head's alias points to %v, %v, not to %s", resolved, err, want)
	}
}

// filled are the messages of a compaction with the times that they counted with, and where loops begin.
func (c *compacted) filled() (out []*message) {
	for _, m := range c.after {
		own := *m
		own.begins = c.begins[m]
		own.note = m.noted()
		if m.home != nil && !m.aside() && m.Origin != asStub {
			own.note.SentAt = timestamppb.New(time.UnixMilli(m.counts()))
		}
		out = append(out, &own)
	}
	return out
}

// written holds a compaction node's messages and notes up to the model's.
func (w *tree) written(n *node, what func() string) {
	w.t.Helper()
	reply, err := w.api.GetNode(w.ctx, &transcriptv1.GetNodeRequest{Namespace: w.namespace, Node: ref(n)})
	if err != nil {
		w.t.Fatalf("get the compaction: %v", err)
	}
	var got []*message
	for _, m := range reply.Messages {
		got = append(got, newMessage(m, nil))
	}
	if !bytes.Equal(joined(got), joined(n.messages)) {
		w.t.Fatalf("the node has\n%s\n%s", list(got), what())
	}
	envelope := canonical.Envelope{PayloadDigest: canonical.PayloadDigest(nil, joined(n.messages)), Parent: n.parent.digest(), CoversThrough: n.covers.digest()}
	if id := canonical.NodeID(envelope); hex.EncodeToString(id[:]) != n.id {
		w.t.Fatalf("the node's id is not that of what it holds\n%s", what())
	}
	if c := reply.Info.Envelope.CoversThroughId; c != n.covers.id {
		w.t.Fatalf("the node covers %s\n%s", c, what())
	}
	for i, m := range n.messages {
		note := &transcriptv1.MessageNote{}
		if reply.Info.Notes != nil {
			note = reply.Info.Notes[i]
		}
		if !proto.Equal(note, m.note) {
			w.t.Fatalf("note %d is %v, the model's %v\n%s", i, note, m.note, what())
		}
	}
}

// digest is the node's id as the envelope has it.
func (n *node) digest() *[32]byte {
	b, err := hex.DecodeString(n.id)
	if err != nil {
		panic(err)
	}
	return (*[32]byte)(b)
}

// counters holds a reply's counters up to counts of the views.
func (w *tree) counters(n *node, got *transcriptv1.ChainCounters) {
	w.t.Helper()
	if got == nil {
		w.t.Fatalf("no counters")
	}
	put := count(n.path(), func(x *node) bool { return x.covers == nil })
	w.count(n, "full", put, n.full().all, n.full(), got.Full)
	w.count(n, "effective", n.viewed(put), n.effective().shown, n.effective(), got.Effective)
}

// viewed is how many nodes the effective view consists of, if put is how many were put.
func (n *node) viewed(put int) int {
	c := n.compaction()
	if c == nil {
		return put
	}
	end := n.full().shown[n.full().preamble]
	return 1 + count(n.path(), func(x *node) bool {
		return x.covers == nil && (x.depth > c.covers.depth || x.depth < end.home.depth || x == end.home && end.index > 0)
	})
}

func (w *tree) count(n *node, view string, nodes int, messages []*message, repaired *chain, got *transcriptv1.Counters) {
	w.t.Helper()
	want := &transcriptv1.Counters{Messages: int32(len(messages)), Nodes: int32(nodes)}
	for _, m := range messages {
		if (m.Role == user || m.Role == assistant) && !m.isOpaque() {
			want.Depth++
		}
		tokens, estimated := m.tokens()
		want.Tokens, want.Bytes = want.Tokens+tokens, want.Bytes+int64(len(m.bytes))
		want.TokensEstimated = want.TokensEstimated || estimated
	}
	_, loops := loopsOf(repaired.shown, repaired.ended)
	for _, l := range loops {
		if !l.leadIn {
			want.RunLoops++
		}
	}
	if !proto.Equal(got, want) {
		w.t.Fatalf("counters of the %s view of %s: %v, the model's %v\n%s", view, n.id[:6], got, want, w.show(n))
	}
}

// show shows the chain that ends in a node, for failures.
func (w *tree) show(n *node) string {
	var b strings.Builder
	for _, x := range n.path() {
		fmt.Fprintf(&b, "node %s first put %d", x.id[:12], x.firstPut)
		if x.covers != nil {
			fmt.Fprintf(&b, " covers %s", x.covers.id[:12])
		}
		fmt.Fprintf(&b, "\n%s", list(x.messages))
	}
	return b.String()
}

func list(messages []*message) string {
	var b strings.Builder
	for i, m := range messages {
		fmt.Fprintf(&b, "  %d %d bytes %s", i, len(m.bytes), prototext.MarshalOptions{}.Format(m.Message))
		if m.note != nil {
			fmt.Fprintf(&b, " note %s", prototext.MarshalOptions{}.Format(m.note))
		}
		fmt.Fprintln(&b)
	}
	return b.String()
}

// decoded are the messages of a payload, for failures.
func decoded(payload []byte) []*message {
	var p transcriptv1.Payload
	if err := proto.Unmarshal(payload, &p); err != nil {
		return nil
	}
	var out []*message
	for _, m := range p.Messages {
		out = append(out, newMessage(m, nil))
	}
	return out
}

// grow draws a tree.
func (w *tree) grow(d *draw) {
	for range 2 + d.n(12) {
		w.clock.Store(int64(1000 * (1 + d.n(latest))))
		if len(w.nodes) > 0 && d.one(2) {
			w.drawCompact(d)
			continue
		}
		var parent *node
		if len(w.nodes) > 0 && !d.one(12) {
			parent = w.pick(d)
		}
		if nodes := d.newNodes(parent); len(nodes) > 0 {
			w.put(parent, nodes)
		}
		if len(w.nodes) > 0 && d.one(6) {
			w.repeat(d)
		}
	}
}

// repeat puts what is there already, with other notes.
func (w *tree) repeat(d *draw) {
	n := w.nodes[d.n(len(w.nodes)-1)]
	if n.put == nil {
		return
	}
	again := &transcriptv1.NewNode{Messages: n.put.Messages, Metadata: n.put.Metadata}
	for _, m := range again.Messages {
		again.Notes = append(again.Notes, d.noteOf(m))
	}
	w.put(n.parent, []*transcriptv1.NewNode{again})
}

// pick picks a node, the last put more often than others.
func (w *tree) pick(d *draw) *node {
	if d.one(3) {
		return w.nodes[d.n(len(w.nodes)-1)]
	}
	return w.nodes[len(w.nodes)-1]
}

func (w *tree) drawCompact(d *draw) {
	head := w.pick(d)
	req := &transcriptv1.CompactRequest{Head: ref(head), Policy: d.policy(), SummaryOnly: d.one(6)}
	if d.one(2) {
		req.Summary = d.text()
	}
	var through *node
	switch d.n(5) {
	case 0:
		through = w.nodes[d.n(len(w.nodes)-1)]
	case 1, 2, 3:
		path := head.path()
		through = path[len(path)-1-d.n(len(path)-1)]
	}
	if through != nil {
		req.ThroughId = through.id
	}
	if d.one(4) {
		req.Head = &transcriptv1.NodeRef{Ref: &transcriptv1.NodeRef_Alias{Alias: "main"}}
		if _, err := w.api.Alias(w.ctx, &transcriptv1.AliasRequest{Namespace: w.namespace, Aliases: []*transcriptv1.AliasMove{{Name: "main", Target: ref(head)}}}); err != nil {
			w.t.Fatalf("alias: %v", err)
		}
	}
	w.compact(req, head, through, !d.one(5))
}

// heads are the nodes, newest first.
func (w *tree) heads() []*node {
	out := slices.Clone(w.nodes)
	slices.Reverse(out)
	return out
}
