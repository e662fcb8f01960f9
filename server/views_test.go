package server_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/compaction"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// epoch is when the clocks of random programs begin.
const epoch = 1_700_000_000_000

// program is a random tree under construction.
type program struct {
	*viewModel
	t     *rapid.T
	heads []string
	// compacted counts compactions that were written.
	compacted int
}

// drawBulky is drawMessage with texts long enough to be cut and to become lines, and arguments long enough to be shortened.
func drawBulky(t *rapid.T) *Message {
	m := drawMessage(t)
	n := rapid.SampledFrom([]int{0, 0, 1, 8, 40}).Draw(t, "bulk")
	for _, p := range m.Parts {
		if s := p.GetText(); s != "" && n > 0 {
			p.Kind = &transcriptv1.Part_Text{Text: s + strings.Repeat("é bulk ", n)}
		}
		if c := p.GetToolCall(); c != nil && n > 0 {
			c.Arguments = drawArguments(t, strings.Repeat("\\u00e9 bulk ", n))
		}
	}
	return m
}

// drawArguments draws arguments around a text, most of them a JSON object.
func drawArguments(t *rapid.T, text string) string {
	return fmt.Sprintf(rapid.SampledFrom([]string{
		`{"text":"%s"}`, ` {"n" : 1.50, "deep": [{"text":"%s"}, "short"]}`, `{"%s":"short"}`, "%s", `["%s"]`, `{"text":"%s`,
	}).Draw(t, "form"), text)
}

func drawNote(t *rapid.T) *transcriptv1.MessageNote {
	n := &transcriptv1.MessageNote{}
	if rapid.Bool().Draw(t, "sent") {
		n.SentAt = timestamppb.New(time.UnixMilli(epoch + rapid.Int64Range(0, 20_000).Draw(t, "at")))
		if rapid.IntRange(0, 9).Draw(t, "wrong") == 0 {
			n.SentAt.Seconds *= 3 // later than any put
		}
	}
	if rapid.Bool().Draw(t, "counted") {
		n.TokenCount, n.TokenCountEstimated = proto.Int32(rapid.Int32Range(0, 50).Draw(t, "tokens")), rapid.Bool().Draw(t, "estimated")
	}
	return n
}

func (p *program) head() string { return rapid.SampledFrom(p.heads).Draw(p.t, "head") }

// grow puts a node, mostly on the latest head, or compacts.
func (p *program) grow() {
	t := p.t
	head := ""
	if n := len(p.heads); n > 0 {
		if head = p.heads[n-1]; rapid.IntRange(0, 5).Draw(t, "fork") == 0 {
			head = p.head()
		}
	}
	if head != "" && rapid.IntRange(0, 4).Draw(t, "compact") == 0 {
		p.compactAt(head)
		return
	}
	req := &PutNode{Namespace: p.namespace}
	if head != "" {
		req.Parent = byID(head)
	}
	for range rapid.IntRange(1, 5).Draw(t, "messages") {
		req.Messages = append(req.Messages, drawBulky(t))
	}
	if rapid.Bool().Draw(t, "noted") {
		for range req.Messages {
			req.Notes = append(req.Notes, drawNote(t))
		}
	}
	p.heads = append(p.heads, must[*transcriptv1.PutNodeResponse](p.rig)(p.PutNode(p.ctx(), req)).NodeId)
}

func (p *program) compactAt(head string) {
	req := &Compact{Namespace: p.namespace, Head: byID(head), Policy: drawPolicy(p.t)}
	if rapid.Bool().Draw(p.t, "summary") {
		req.Summary = "what was said"
	}
	if path := p.path(head); rapid.Bool().Draw(p.t, "earlier") {
		req.ThroughId = rapid.SampledFrom(path).Draw(p.t, "through").id
	} else if req.Summary != "" {
		dry := proto.CloneOf(req)
		dry.DryRun = true
		if reply, err := p.Compact(p.ctx(), dry); err == nil {
			req.ThroughId = reply.ThroughId
		}
	}
	reply, err := p.Compact(p.ctx(), req)
	if err != nil || !reply.Written {
		return // what is refused, and when, is TestCompact's matter
	}
	p.compacted++
	p.heads = append(p.heads, reply.NodeId)
}

func drawPolicy(t *rapid.T) *Policy {
	if rapid.IntRange(0, 5).Draw(t, "none") == 0 {
		return nil
	}
	p := &Policy{}
	if rapid.IntRange(0, 2).Draw(t, "preset") == 0 {
		p.Preset = transcriptv1.Preset(rapid.IntRange(0, len(byPreset)-1).Draw(t, "which"))
	}
	if rapid.Bool().Draw(t, "loops") {
		p.MaxRunLoops = proto.Int32(rapid.Int32Range(0, 5).Draw(t, "max_run_loops"))
	}
	switch rapid.IntRange(0, 2).Draw(t, "age") {
	case 0:
		p.MaxAge = durationpb.New(0)
	case 1:
		p.MaxAge = durationpb.New(time.Duration(rapid.Int64Range(1_000, 15_000).Draw(t, "max_age")) * time.Millisecond)
	}
	if rapid.IntRange(0, 2).Draw(t, "bytes") == 0 {
		p.MaxBytes = proto.Int64(rapid.Int64Range(0, 2_000).Draw(t, "max_bytes"))
	}
	if rapid.IntRange(0, 3).Draw(t, "tokens") == 0 {
		p.MaxTokens = proto.Int64(rapid.Int64Range(0, 300).Draw(t, "max_tokens"))
	}
	if rapid.Bool().Draw(t, "user") {
		p.MaxUserChars = proto.Int32(rapid.Int32Range(0, 60).Draw(t, "max_user_chars"))
	}
	if rapid.Bool().Draw(t, "reply") {
		p.MaxReplyChars = proto.Int32(rapid.Int32Range(0, 60).Draw(t, "max_reply_chars"))
	}
	if rapid.Bool().Draw(t, "whole") {
		p.KeepWholeRunLoops = proto.Int32(rapid.Int32Range(0, 2).Draw(t, "keep_whole_run_loops"))
	}
	if rapid.Bool().Draw(t, "results") {
		p.ClearToolResults = drawClear(t)
	}
	if rapid.Bool().Draw(t, "trace") {
		p.ToolTrace = transcriptv1.ToolTrace_TOOL_TRACE_REQUESTS
	}
	p.OmitLeftOutLine = rapid.IntRange(0, 3).Draw(t, "omit_left_out_line") == 0
	return p
}

// drawClear draws what clears results: lifted, by the default of cached_percent, or at once.
func drawClear(t *rapid.T) *transcriptv1.ClearToolResults {
	if rapid.IntRange(0, 5).Draw(t, "lifted") == 0 {
		return clears(nil)
	}
	c := clears(proto.Int32(rapid.Int32Range(0, 2).Draw(t, "keep")))
	if rapid.Bool().Draw(t, "arguments said") {
		c.ClearArguments = proto.Bool(rapid.Bool().Draw(t, "arguments"))
	}
	if c.CachedPercent = nil; rapid.Bool().Draw(t, "percent") {
		c.CachedPercent = proto.Int32(rapid.SampledFrom([]int32{0, 10, 50, 90, 100}).Draw(t, "cached_percent"))
	}
	return c
}

// clears keeps so many results, and clears others at once; nothing is cleared where keep is nil.
func clears(keep *int32) *transcriptv1.ClearToolResults {
	if keep == nil {
		return &transcriptv1.ClearToolResults{}
	}
	return &transcriptv1.ClearToolResults{Keep: keep, CachedPercent: proto.Int32(100)}
}

// byPreset are the policies of presets.
var byPreset = map[transcriptv1.Preset]compaction.Policy{
	transcriptv1.Preset_PRESET_UNSPECIFIED: compaction.Chat(), transcriptv1.Preset_PRESET_UNBOUNDED: compaction.Unbounded(),
	transcriptv1.Preset_PRESET_CHAT: compaction.Chat(), transcriptv1.Preset_PRESET_CODING: compaction.Coding(),
	transcriptv1.Preset_PRESET_LONG: compaction.Long(), transcriptv1.Preset_PRESET_FRUGAL: compaction.Frugal(),
}

// parsed is what the server makes of a policy.
func parsed(p *Policy) compaction.Policy {
	out := byPreset[p.GetPreset()]
	if p == nil {
		return out
	}
	if p.MaxRunLoops != nil {
		out.MaxRunLoops = int(*p.MaxRunLoops)
	}
	if p.MaxAge != nil {
		out.MaxAge = p.MaxAge.AsDuration().Milliseconds()
	}
	if p.MaxUserChars != nil {
		out.MaxUserChars = int(*p.MaxUserChars)
	}
	if p.MaxReplyChars != nil {
		out.MaxReplyChars = int(*p.MaxReplyChars)
	}
	if c := p.ClearToolResults; c != nil {
		out.Clear = compaction.Clear{}
		if c.Keep != nil {
			out.Clear = compaction.Clear{On: true, Keep: int(*c.Keep), Arguments: c.GetClearArguments(), CachedPercent: 10}
		}
		if c.CachedPercent != nil {
			out.Clear.CachedPercent = int(*c.CachedPercent)
		}
	}
	out.MaxBytes, out.MaxTokens = p.GetMaxBytes(), p.GetMaxTokens()
	out.KeepWholeRunLoops = int(p.GetKeepWholeRunLoops())
	out.OmitLeftOutLine = p.OmitLeftOutLine
	out.TraceRequests = p.ToolTrace == transcriptv1.ToolTrace_TOOL_TRACE_REQUESTS
	return out
}

func (p *program) checkWhole(head string) {
	v := p.viewModel
	want, _ := v.effective(head)
	for view, want := range map[transcriptv1.View][]modelMessage{full: v.full(head), effective: want} {
		reply := v.asked(&Assemble{Head: byID(head), View: view})
		v.sameMessages("the view", reply.Messages, bare(want)...)
		v.checkTotals(reply, view)
		v.checkAfter(head, reply, view)
		p.checkLast(head, view, want)
	}
}

// checkTotals compares what a whole reply reports with what the chain's totals say.
func (v *viewModel) checkTotals(reply *transcriptv1.AssembleResponse, view transcriptv1.View) {
	v.Helper()
	c, r := reply.Counters.Full, reply.Report
	if view == effective {
		c = reply.Counters.Effective
	}
	equal(v.rig, "what is counted", fmt.Sprint(c.Messages, c.Bytes, c.Tokens, c.TokensEstimated), fmt.Sprint(r.Messages, r.Bytes, r.Tokens, r.TokensEstimated))
}

// checkAfter compares what a view adds to that of an ancestor.
func (v *viewModel) checkAfter(head string, whole *transcriptv1.AssembleResponse, view transcriptv1.View) {
	v.Helper()
	path := v.path(head)
	compacted := false
	for i := len(path) - 1; i >= 0; i-- {
		a := path[i]
		tail := v.asked(&Assemble{Head: byID(head), View: view, AfterId: a.id})
		if compacted && view == effective {
			equal(v.rig, "the base across a compaction", tail.BaseId, "")
			v.sameMessages("the view across a compaction", tail.Messages, whole.Messages...)
		} else {
			before := v.assemble(&Assemble{Namespace: v.namespace, Head: byID(a.id), View: view})
			equal(v.rig, "the base", tail.BaseId, a.id)
			v.sameMessages("an ancestor's view and the tail", append(before.Messages, tail.Messages...), whole.Messages...)
			equal(v.rig, "the tokens of both", before.Report.Tokens+tail.Report.Tokens, whole.Report.Tokens)
			equal(v.rig, "whether either is estimated", before.Report.TokensEstimated || tail.Report.TokensEstimated, whole.Report.TokensEstimated)
		}
		compacted = compacted || a.covers != ""
	}
}

// checkConversation compares a conversation with the model's, and with that of a server that has to look at everything.
func (p *program) checkConversation(head string) (shortened bool) {
	v := p.viewModel
	req := &Assemble{Head: byID(head), View: conversation, Policy: drawPolicy(p.t), CondenseLast: rapid.Bool().Draw(p.t, "condense_last")}
	got := v.asked(req)
	want := v.conversation(head, parsed(req.Policy), req.CondenseLast)
	v.sameMessages("the conversation", v.unsourced(got.Messages), v.unsourced(want.messages)...)
	report := proto.Clone(got.Report).(*transcriptv1.Report)
	v.checkWindow(got)
	report.Findings, report.MoreFindings, report.Repairs, report.Policy = nil, 0, 0, nil // the policy is TestPresetsResolve's matter
	if report.Window != nil {
		report.Window.NodeId, report.Window.MessageIndex = "", 0
	}
	if !proto.Equal(report, want.report) {
		v.Errorf("the report is\n%v\nwant\n%v", report, want.report)
	}
	if req.Policy.GetMaxBytes() == 0 {
		if req.Policy == nil {
			req.Policy = &Policy{}
		}
		req.Policy.MaxBytes = proto.Int64(1 << 60)
		all := v.asked(req)
		all.Report.Policy = got.Report.Policy
		if !bytes.Equal(canonical.EncodePayload(all.Messages), canonical.EncodePayload(got.Messages)) || !proto.Equal(all.Report, got.Report) || nodesOf(all) != nodesOf(got) {
			v.Errorf("read from the start of the window the reply is\n%v\nread whole\n%v", got, all)
		}
	}
	return got.Report.ShortenedMessages > 0
}

// checkWindow checks that the window names the message that it begins with, by the nodes told of.
func (v *viewModel) checkWindow(reply *transcriptv1.AssembleResponse) {
	v.Helper()
	w := reply.Report.Window
	if w == nil {
		return
	}
	first := v.node(w.NodeId).messages[w.MessageIndex]
	at := 0
	for _, n := range reply.Nodes {
		if n.NodeId == w.NodeId {
			own := reply.Messages[at : at+int(n.MessageCount)]
			for _, m := range own {
				if m.Role == first.Role && (m.Origin == transcriptv1.Origin_ORIGIN_SHORTENED || proto.Equal(m, first)) {
					return
				}
			}
		}
		at += int(n.MessageCount)
	}
	v.Errorf("the window begins with message %d of node %s, which is not shown", w.MessageIndex, w.NodeId)
}

// TestRandomViews compares all views of random trees with the model's.
func TestRandomViews(t *testing.T) {
	r := newRig(t)
	compacted, shortened := 0, 0
	model := &viewModel{rig: r, namespace: "views"}
	rapid.Check(t, func(rt *rapid.T) {
		p := &program{viewModel: model, t: rt}
		for range rapid.IntRange(1, 14).Draw(rt, "steps") {
			p.grow()
		}
		p.checkWhole(p.heads[len(p.heads)-1])
		p.checkWhole(p.head())
		for range 4 {
			if p.checkConversation(p.head()) {
				shortened++
			}
		}
		compacted += p.compacted
		if r.Failed() {
			rt.FailNow()
		}
	})
	if !testing.Short() && (compacted == 0 || shortened == 0) {
		t.Errorf("%d compactions were written, %d conversations shortened: one of the two was not tried", compacted, shortened)
	}
}
