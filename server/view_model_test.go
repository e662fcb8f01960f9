package server_test

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// viewModel tells what views show once more, slowly, over nodes read one by one with GetNode. It knows nothing of
// headers, spans or windows, but where the run loops of copies begin: messages are laid end to end, repaired, folded, and planned as
// a whole.
type viewModel struct {
	*rig
	namespace string
	// nodes are those read so far.
	nodes map[string]*modelNode
}

type modelNode struct {
	id, parent, covers string
	firstPut           int64
	messages           []*Message
	notes              []*transcriptv1.MessageNote
	// loops are, of a compaction node, the run loops of its messages.
	loops runloop.Loops
}

// modelMessage is a message of a view; note is as it was put, sentAt what counts as its time.
type modelMessage struct {
	m      *Message
	note   runloop.Note
	sentAt int64
	index  uint32
	// in is the node that it lies in; nil for a stub.
	in *modelNode
	// copies is the compaction node that it lies in; nil for none.
	copies *modelNode
}

func (v *viewModel) node(id string) *modelNode {
	if n := v.nodes[id]; n != nil {
		return n
	}
	reply := must[*transcriptv1.GetNodeResponse](v.rig)(v.GetNode(v.ctx(), &transcriptv1.GetNodeRequest{Namespace: v.namespace, Node: byID(id)}))
	n := &modelNode{
		id: id, parent: reply.Info.Envelope.ParentId, covers: reply.Info.Envelope.CoversThroughId,
		firstPut: reply.FirstPutAt.AsTime().UnixMilli(), messages: reply.Messages, notes: reply.Info.Notes,
	}
	v.verifyNodes(reply.Messages, []*transcriptv1.NodeInfo{reply.Info})
	if n.covers != "" {
		n.loops = v.loopsOf(n)
	}
	if v.nodes == nil {
		v.nodes = map[string]*modelNode{}
	}
	v.nodes[id] = n
	return n
}

// loopsOf are the run loops of a compaction node's messages, which only its header tells.
func (v *viewModel) loopsOf(n *modelNode) (l runloop.Loops) {
	c, err := v.store.Chain(v.ctx(), cmp.Or(v.namespace, "default"), chainstore.Ref{ID: chainstore.ID(must[[]byte](v.rig)(hex.DecodeString(n.id)))}, nil)
	if err != nil {
		v.Fatal(err)
	}
	for i := range c.Head().Messages {
		l.Begins = append(l.Begins, c.Head().Messages[i].Mark.BeginsLoop)
	}
	l.Phase = c.Head().Stands
	return l
}

// path are the nodes from the root to a head.
func (v *viewModel) path(head string) []*modelNode {
	var path []*modelNode
	for id := head; id != ""; id = path[len(path)-1].parent {
		path = append(path, v.node(id))
	}
	slices.Reverse(path)
	return path
}

// shown are the node's messages.
func (n *modelNode) shown() []modelMessage {
	out := make([]modelMessage, len(n.messages))
	for i, m := range n.messages {
		one := modelMessage{m: m, sentAt: n.firstPut, index: uint32(i), in: n}
		if n.covers != "" {
			one.copies = n
		}
		if len(n.notes) > 0 {
			if at := n.notes[i].SentAt; at != nil && (n.covers != "" || at.AsTime().UnixMilli() < n.firstPut) {
				one.sentAt = at.AsTime().UnixMilli()
			}
			if c := n.notes[i].TokenCount; c != nil {
				one.note = runloop.Note{Tokens: uint32(*c), HasTokens: true, Estimated: n.notes[i].TokenCountEstimated}
			}
		}
		out[i] = one
	}
	return out
}

// full are the messages of the full view.
func (v *viewModel) full(head string) (all []modelMessage) {
	for _, n := range v.path(head) {
		if n.covers == "" {
			all = append(all, n.shown()...)
		}
	}
	return all
}

// effective are the messages of the effective view, of which the first are the preamble.
func (v *viewModel) effective(head string) (all []modelMessage, preamble int) {
	path := v.path(head)
	at := -1
	for i, n := range path {
		if n.covers != "" {
			at = i
		}
	}
	put := v.full(head)
	end := slices.IndexFunc(put, func(m modelMessage) bool {
		return m.m.Role != transcriptv1.Role_ROLE_SYSTEM && m.m.Role != transcriptv1.Role_ROLE_DEVELOPER && m.m.Role != transcriptv1.Role_ROLE_TOOL
	})
	if end < 0 {
		end = len(put)
	}
	if at >= 0 {
		covered := slices.IndexFunc(path, func(n *modelNode) bool { return n.id == path[at].covers })
		put = slices.Concat(put[:end:end], path[at].shown())
		for i := covered + 1; i < len(path); i++ {
			if path[i].covers == "" {
				put = append(put, path[i].shown()...)
			}
		}
	}
	preamble = len(repair(bare(put[:end])))
	return mended(put), preamble
}

// mended is repair over messages with their notes.
func mended(put []modelMessage) []modelMessage {
	by := map[*Message]modelMessage{}
	for _, m := range put {
		by[m.m] = m
	}
	var out []modelMessage
	for _, m := range repair(bare(put)) {
		one, ok := by[m]
		if !ok {
			one = modelMessage{m: m}
		}
		out = append(out, one)
	}
	return out
}

func bare(messages []modelMessage) []*Message {
	out := make([]*Message, len(messages))
	for i := range messages {
		out[i] = messages[i].m
	}
	return out
}

// modelSource is the node that the model's lines name.
const modelSource = "000000000000"

// modelView is a conversation, its lines made here with modelSource and 0 for their sources, and what its report says.
type modelView struct {
	messages []*Message
	report   *transcriptv1.Report
}

// conversation plans over the whole effective view at once. No node that was put by a client may have more than 10
// messages, so that the sources of all lines are of one length.
func (v *viewModel) conversation(head string, policy compaction.Policy, condenseLast bool) modelView {
	all, preamble := v.effective(head)
	facts := make([]runloop.Facts, len(all))
	for i, m := range all {
		facts[i] = canonical.FactsOf(m.m)
		facts[i].Note = m.note
		facts[i].Note.SentAt, facts[i].Note.HasSentAt = m.sentAt, true
	}
	s, marks := v.folded(all, facts)
	o := compaction.Options{Policy: policy, CondenseLast: condenseLast}
	var total compaction.Size
	briefs := make([]runloop.Brief, len(all))
	for i := range all {
		briefs[i] = runloop.BriefOf(&facts[i], marks[i])
		tokens, estimated := briefs[i].Tokens()
		if total.Add(int64(facts[i].Length), tokens, estimated); i < preamble {
			o.Preamble = total
		}
	}
	p := compaction.NewPlanner(o)
	for i := preamble; i < len(all); i++ {
		at, times, n := runloop.Place{Index: uint32(i)}, runloop.Times{AsSent: true}, all[i].copies
		if n == nil {
			p.Add(&briefs[i], at, times)
			continue
		}
		p.AddCopy(&briefs[i], at, times)
		p.Stand(n.loops.Phase)
	}
	out := &modelSum{facts: facts, briefs: briefs, policy: &policy}
	for i := range preamble {
		out.add(all, i, compaction.Keep)
	}
	plan := p.Plan(s.Full.Loop.Closed())
	for _, e := range plan.Early {
		out.add(all, int(e.At.Index), e.Action)
	}
	if plan.LeftOut > 0 {
		out.addMade(canonical.LeftOut(plan.LeftOut))
	}
	for i, action := range plan.Actions {
		out.add(all, int(plan.Start.Index)+i, action)
	}
	r := &out.report
	was, is := linesIn(bare(all)), linesIn(out.messages)
	r.LeftOut = &transcriptv1.LeftOut{
		Messages: int32(total.Messages-was.Messages) - (r.Messages - int32(is.Messages)), Bytes: total.Bytes - was.Bytes - (r.Bytes - is.Bytes),
		Tokens:   max(0, total.Tokens-was.Tokens-(r.Tokens-is.Tokens)),
		RunLoops: int32(s.Effective.Loops - plan.Condensed - plan.Whole),
	}
	r.LimitExceeded = plan.LimitExceeded
	if plan.HasLoops {
		r.Window = &transcriptv1.Window{RunLoops: int32(plan.Condensed + plan.Whole)}
		if plan.LeadIn {
			r.Window.RunLoops++
		}
	}
	return modelView{out.messages, r}
}

// linesIn are the left-out lines among messages.
func linesIn(messages []*Message) (s compaction.Size) {
	for _, m := range messages {
		if m.Origin == transcriptv1.Origin_ORIGIN_LEFT_OUT {
			size := int64(len(canonical.EncodePayload([]*Message{m})))
			s.Add(size, (size+3)/4, true)
		}
	}
	return s
}

// folded folds messages that repair has put in order.
func (v *viewModel) folded(all []modelMessage, facts []runloop.Facts) (s runloop.State, marks []runloop.Mark) {
	for from, to := 0, 0; from < len(all); from = to {
		n := all[from].copies
		for to = from; to < len(all) && all[to].copies == n; to++ {
		}
		node := runloop.Node{Prefix: modelSource, Times: runloop.Times{AsSent: true}, Messages: facts[from:to], PutAt: make([]uint32, to-from)}
		if n != nil {
			node.Loops = &runloop.Loops{Phase: n.loops.Phase}
			for _, m := range all[from:to] {
				node.Loops.Begins = append(node.Loops.Begins, n.loops.Begins[m.index])
			}
		}
		some, _, err := s.Fold(node, func(runloop.Optional) bool { return false })
		if err != nil {
			v.Fatal(err)
		}
		marks = append(marks, some...)
	}
	return s, marks
}

// modelSum gathers what is shown.
type modelSum struct {
	facts    []runloop.Facts
	briefs   []runloop.Brief
	policy   *compaction.Policy
	messages []*Message
	report   transcriptv1.Report
	open     []runloop.Call
}

func (s *modelSum) add(all []modelMessage, i int, action compaction.Action) {
	if action == compaction.Drop {
		return
	}
	f := &s.facts[i]
	m := proto.Clone(all[i].m).(*Message)
	s.open = append(s.open, f.Calls...)
	name := f.Name
	if k := slices.IndexFunc(s.open, func(c runloop.Call) bool { return f.Role == runloop.Tool && c.ID == f.CallID }); k >= 0 {
		if !name.Present {
			name = s.open[k].Name
		}
		s.open = slices.Delete(s.open, k, k+1)
	}
	changed := action == compaction.Line
	switch action {
	case compaction.CutUser:
		m, changed = cutMessage(m, s.policy.MaxUserChars)
	case compaction.CutReply:
		m, changed = cutMessage(m, s.policy.MaxReplyChars)
	case compaction.Shorten:
		changed = true
		shortenCalls(m)
	case compaction.Line:
		compaction.MakeLine(m, f, name, runloop.Source{Node: modelSource})
	}
	tokens, estimated := s.briefs[i].Tokens()
	size := int64(len(canonical.EncodePayload([]*Message{m})))
	if changed || m.Origin == transcriptv1.Origin_ORIGIN_SHORTENED {
		s.report.ShortenedMessages++
	}
	if changed {
		tokens, estimated = (size+3)/4, true
	}
	s.messages = append(s.messages, m)
	s.report.Messages++
	s.report.Bytes += size
	s.report.Tokens += tokens
	s.report.TokensEstimated = s.report.TokensEstimated || estimated
}

// shortenCalls shortens the arguments of a message's calls.
func shortenCalls(m *Message) {
	m.Origin = transcriptv1.Origin_ORIGIN_SHORTENED
	for _, p := range m.Parts {
		if c := p.GetToolCall(); c != nil {
			c.Arguments, _ = runloop.ShortenArguments(c.Arguments)
		}
	}
}

// addMade adds a message that no node has.
func (s *modelSum) addMade(m *Message) {
	size := int64(len(canonical.EncodePayload([]*Message{m})))
	s.messages = append(s.messages, m)
	s.report.Messages++
	s.report.Bytes += size
	s.report.Tokens += (size + 3) / 4
	s.report.TokensEstimated = true
}

// lineText is the text of a line that was put in place of a result.
var lineText = regexp.MustCompile(`^\[result of .*, ([0-9]+) bytes, left out; recall (.*) ([0-9a-f]{12})\.([0-9]+)\]$`)

// unsourced are messages with the sources of their lines replaced by those of the model, after the sources were checked:
// each names the result that the line stands for.
func (v *viewModel) unsourced(messages []*Message) []*Message {
	out := make([]*Message, len(messages))
	for i, m := range messages {
		out[i] = m
		if m.Role != transcriptv1.Role_ROLE_TOOL || m.Origin != transcriptv1.Origin_ORIGIN_SHORTENED {
			continue
		}
		found := lineText.FindStringSubmatch(m.Parts[0].GetText())
		if found == nil {
			v.Errorf("not a line: %q", m.Parts[0].GetText())
			continue
		}
		if found[3] == modelSource {
			continue
		}
		reply := must[*transcriptv1.GetNodeResponse](v.rig)(v.GetNode(v.ctx(), &transcriptv1.GetNodeRequest{Namespace: v.namespace, Node: byID(found[3])}))
		index := must[int](v.rig)(strconv.Atoi(found[4]))
		was := reply.Messages[index]
		equal(v.rig, "the result's parts", strconv.Itoa(canonical.Facts([]*Message{was})[0].PartsLength), found[1])
		equal(v.rig, "the result's call", cmp.Or(was.GetToolCallId(), "-"), cmp.Or(m.GetToolCallId(), "-"))
		equal(v.rig, "what made the node", reply.Info.Envelope.CoversThroughId, "")
		c := proto.Clone(m).(*Message)
		at := strings.LastIndex(c.Parts[0].GetText(), " ")
		c.Parts = text(c.Parts[0].GetText()[:at] + " " + modelSource + ".0]")
		out[i] = c
	}
	return out
}

// streamed is the reply to the same request in frames, put together.
func (r *rig) streamed(req *Assemble) (*transcriptv1.AssembleResponse, error) {
	r.Helper()
	stream, err := r.StreamAssemble(r.ctx(), &transcriptv1.StreamAssembleRequest{
		Namespace: req.Namespace, Head: req.Head, View: req.View, AfterId: req.AfterId, IfNoneMatch: req.IfNoneMatch,
		NodeDetail: req.NodeDetail, Policy: req.Policy, CondenseLast: req.CondenseLast, NodeFacts: req.NodeFacts,
		LastMessages: req.LastMessages, LastBytes: req.LastBytes, Before: req.Before,
	})
	if err != nil {
		return nil, err
	}
	out := &transcriptv1.AssembleResponse{}
	for {
		f, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		if size := proto.Size(f); size > 4<<20 {
			r.Errorf("a frame of %d bytes", size)
		}
		proto.Merge(out, &transcriptv1.AssembleResponse{
			Messages: f.Messages, HeadId: f.HeadId, BaseId: f.BaseId, Etag: f.Etag, NotModified: f.NotModified,
			Counters: f.Counters, Report: f.Report, Nodes: f.Nodes, Begin: f.Begin, HasMoreBefore: f.HasMoreBefore,
		})
	}
}

// verifyNodes cuts messages into nodes and computes the nodes' ids from their envelopes.
func (r *rig) verifyNodes(messages []*Message, nodes []*transcriptv1.NodeInfo) {
	r.Helper()
	for _, n := range nodes {
		own := canonical.EncodePayload(messages[:n.MessageCount])
		messages = messages[n.MessageCount:]
		e := n.Envelope
		equal(r, "the size", n.SizeBytes, int64(len(own)))
		equal(r, "that there are notes for all messages, or none", len(n.Notes) == 0 || len(n.Notes) == int(n.MessageCount), true)
		envelope := canonical.Envelope{
			PayloadDigest: canonical.PayloadDigest(e.Salt, own), Parent: r.digest(e.ParentId),
			MetadataDigest: r.digest(e.MetadataDigest), CoversThrough: r.digest(e.CoversThroughId),
		}
		if !verbatim(n) {
			equal(r, "that there is a payload digest", e.PayloadDigest != "", true)
			envelope.PayloadDigest = *r.digest(e.PayloadDigest)
		}
		envelope.SpawnedFrom = must[*canonical.SpawnedFrom](r)(canonical.ParseSpawnedFrom(e.SpawnedFrom))
		equal(r, "the id computed", chainstore.ID(canonical.NodeID(envelope)).String(), n.NodeId)
	}
	equal(r, "the messages of no node", len(messages), 0)
}

// asked is the reply to a request, after it was compared with that in frames and with those of other details.
func (v *viewModel) asked(req *Assemble) *transcriptv1.AssembleResponse {
	v.Helper()
	req = proto.Clone(req).(*Assemble)
	req.Namespace, req.NodeDetail = v.namespace, envelopes
	told := v.assemble(req)
	frames, err := v.streamed(req)
	if err != nil {
		v.Fatal(err)
	}
	if !proto.Equal(told, frames) {
		v.Errorf("in frames the reply is\n%v\nwant\n%v", frames, told)
	}
	v.verifyNodes(told.Messages, told.Nodes)
	req.NodeDetail = 0
	plain := v.assemble(req)
	if !bytes.Equal(canonical.EncodePayload(plain.Messages), canonical.EncodePayload(told.Messages)) || !proto.Equal(plain.Report, told.Report) {
		v.Errorf("without nodes the reply is\n%v\nwant\n%v", plain, told)
	}
	req.IfNoneMatch = plain.Etag
	again := v.assemble(req)
	equal(v.rig, "not_modified", again.NotModified, true)
	equal(v.rig, "the etag", again.Etag, plain.Etag)
	equal(v.rig, "the messages where nothing was modified", len(again.Messages)+len(again.Nodes), 0)
	equal(v.rig, "the base where nothing was modified", again.BaseId, req.AfterId)
	if frames, err = v.streamed(req); err != nil || !proto.Equal(frames, again) {
		v.Errorf("in frames the reply that says not_modified is %v, %v", frames, err)
	}
	return told
}

// nodesOf are the nodes told of, as text.
func nodesOf(reply *transcriptv1.AssembleResponse) string {
	var b strings.Builder
	for _, n := range reply.Nodes {
		fmt.Fprintf(&b, "%s %d\n", n.NodeId[:6], n.MessageCount)
	}
	return b.String()
}

// cutMessage is a message with its text cut; the tests of compaction hold cutting against a model of its own.
func cutMessage(m *Message, limit int) (*Message, bool) {
	entry, cut := compaction.AppendCut(nil, canonical.EncodePayload([]*Message{m}), limit)
	if !cut {
		return m, false
	}
	messages, err := canonical.DecodePayload(entry)
	if err != nil {
		return m, false
	}
	return messages[0], true
}
