package server_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/transcriptd/transcriptd/canonical"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// goesOn tells of each message of a view whether it lies in the group of calls before it, so that no part of the view begins with
// it. It knows messages alone.
func goesOn(view []modelMessage) []bool {
	type call struct {
		*transcriptv1.ToolCall
		answered bool
	}
	var group []*call
	results := false
	out := make([]bool, len(view))
	for i := range view {
		m := view[i].m
		if isOpaque(m) {
			out[i] = slices.ContainsFunc(group, func(c *call) bool { return !c.answered })
			continue
		}
		if m.Role == transcriptv1.Role_ROLE_TOOL {
			out[i] = slices.ContainsFunc(group, func(c *call) bool { return !c.answered })
			for _, c := range group {
				if !c.answered && (c.Id == nil) == (m.ToolCallId == nil) && m.GetToolCallId() == c.GetId() {
					c.answered, results = true, true
					break
				}
			}
			continue
		}
		var calls []*call
		for _, p := range m.Parts {
			if c := p.GetToolCall(); c != nil {
				calls = append(calls, &call{ToolCall: c})
			}
		}
		if out[i] = len(calls) > 0 && len(group) > 0 && !results; !out[i] {
			group, results = nil, false
		}
		group = append(group, calls...)
	}
	return out
}

func isOpaque(m *Message) bool { return len(m.Parts) == 1 && m.Parts[0].GetOpaque() != nil }

// lastOf is where the part of a view begins that has so many messages or bytes at most, 0 for any number, and grows to the beginning
// of a group.
func lastOf(view []modelMessage, inGroup []bool, messages, bytes int) int {
	at, size := len(view), 0
	for at > 0 {
		size += len(canonical.EncodePayload([]*Message{view[at-1].m}))
		if at < len(view) && (messages > 0 && len(view)-at >= messages || bytes > 0 && size > bytes) {
			break
		}
		at--
	}
	for at < len(view) && inGroup[at] {
		at--
	}
	return at
}

func placeOf(m *modelMessage) *transcriptv1.MessagePlace {
	if m.in == nil {
		return nil
	}
	return &transcriptv1.MessagePlace{NodeId: m.in.id, MessageIndex: int32(m.index)}
}

// part is the reply to a request for a part of a view that ends before one of its messages, after it was compared with the model's;
// before is the length of the view for all of it.
func (v *viewModel) part(req *Assemble, view []modelMessage, before int) *transcriptv1.AssembleResponse {
	v.Helper()
	if before < len(view) {
		req.Before = placeOf(&view[before])
	}
	reply := v.asked(req)
	at := lastOf(view[:before], goesOn(view), int(req.LastMessages), int(req.LastBytes))
	what := fmt.Sprintf("the last %d messages, %d bytes, of %d before %d in view %v", req.LastMessages, req.LastBytes, len(view), before, req.View)
	v.sameMessages(what, reply.Messages, bare(view[at:before])...)
	equal(v.rig, "that there is more before "+what, reply.HasMoreBefore, at > 0)
	equal(v.rig, "the base", reply.BaseId, "")
	if before == at {
		equal(v.rig, "that nothing begins", reply.Begin == nil, true)
		return reply
	}
	if !proto.Equal(reply.Begin, placeOf(&view[at])) {
		v.Errorf("%s begin at %v, not at %v", what, reply.Begin, placeOf(&view[at]))
	}
	v.checkReport(reply, view[at:before])
	return reply
}

// checkReport compares what a reply reports with its messages.
func (v *viewModel) checkReport(reply *transcriptv1.AssembleResponse, shown []modelMessage) {
	v.Helper()
	var bytes, tokens int64
	estimated := false
	for i := range shown {
		size := int64(len(canonical.EncodePayload([]*Message{shown[i].m})))
		bytes += size
		if note := shown[i].note; isOpaque(shown[i].m) {
			continue
		} else if note.HasTokens {
			tokens, estimated = tokens+int64(note.Tokens), estimated || note.Estimated
		} else {
			tokens, estimated = tokens+(size+3)/4, true
		}
	}
	r := reply.Report
	equal(v.rig, "what is reported", fmt.Sprint(r.Messages, r.Bytes, r.Tokens, r.TokensEstimated), fmt.Sprint(len(shown), bytes, tokens, estimated))
}

// page reads a view back, a part at a time, and gives all of it, and what the reports add up to.
func (v *viewModel) page(req *Assemble, view []modelMessage) (all []*Message, sum *transcriptv1.Report) {
	v.Helper()
	before := len(view)
	sum = &transcriptv1.Report{}
	for {
		reply := v.part(req, view, before)
		r := reply.Report
		all = append(slices.Clone(reply.Messages), all...)
		sum.Repairs, sum.ShortenedMessages = sum.Repairs+r.Repairs, sum.ShortenedMessages+r.ShortenedMessages
		sum.Findings, sum.MoreFindings = append(slices.Clone(r.Findings), sum.Findings...), sum.MoreFindings+r.MoreFindings
		if before -= len(reply.Messages); !reply.HasMoreBefore {
			return all, sum
		}
		if len(reply.Messages) == 0 {
			v.Fatal("a page is empty and not the first of the view")
		}
		req = proto.CloneOf(req)
		req.Before = reply.Begin
	}
}

// checkLast compares parts of a view with the model's, and the pages of it with the whole.
func (p *program) checkLast(head string, view transcriptv1.View, want []modelMessage) {
	v := p.viewModel
	v.Helper()
	for range 3 {
		req := &Assemble{Head: byID(head), View: view}
		if n := rapid.IntRange(0, 2).Draw(p.t, "by"); n < 2 {
			req.LastMessages = rapid.Int32Range(1, int32(len(want)+2)).Draw(p.t, "last_messages")
		}
		if req.LastMessages == 0 || rapid.Bool().Draw(p.t, "bytes too") {
			req.LastBytes = rapid.Int32Range(1, 4000).Draw(p.t, "last_bytes")
		}
		before := rapid.IntRange(0, len(want)).Draw(p.t, "before")
		for before < len(want) && want[before].in == nil {
			before++
		}
		v.part(req, want, before)
	}
	whole := v.assemble(&Assemble{Namespace: v.namespace, Head: byID(head), View: view})
	all, sum := v.page(&Assemble{Head: byID(head), View: view, LastMessages: rapid.Int32Range(1, 6).Draw(p.t, "page")}, want)
	v.sameMessages("all pages", all, whole.Messages...)
	r := whole.Report
	shown := slices.DeleteFunc(slices.Clone(r.Findings), func(f *transcriptv1.Finding) bool { return len(want) == 0 || v.precedes(head, f, &want[0]) })
	if fmt.Sprint(sum.Findings) != fmt.Sprint(shown) {
		v.Errorf("the findings of all pages of view %v are\n%v, not\n%v", view, sum.Findings, shown)
	}
	equal(v.rig, "what was shortened on all pages", sum.ShortenedMessages, r.ShortenedMessages)
}

// precedes tells whether a finding lies before the first message of a view, so that it is on no page. The compaction node of a view
// comes before all but its preamble.
func (v *viewModel) precedes(head string, f *transcriptv1.Finding, first *modelMessage) bool {
	path := v.path(head)
	at := func(id string) int { return slices.IndexFunc(path, func(n *modelNode) bool { return n.id == id }) }
	if first.copies != nil && f.NodeId != first.in.id {
		return at(f.NodeId) <= at(first.in.covers)
	}
	return cmp.Or(cmp.Compare(at(f.NodeId), at(first.in.id)), cmp.Compare(f.MessageIndex, int32(first.index))) < 0
}

// TestLastOfEveryPlace: of a chain with everything that repair does, every number of messages before every message, over both engines; in the
// short form, with which the race detector runs, every seventh place.
func TestLastOfEveryPlace(t *testing.T) {
	bothEngines(t, func(r *rig) {
		nodes, _, _ := r.broken()
		v := &viewModel{rig: r}
		last := nodes[len(nodes)-1]
		split := r.put(last, user("go on"), calling("read", "11"), calling("read", "12"), result("99", "found"), result("12", "found"), result("12", "found"))
		split = r.put(split, result("11", "found"), result("11", "found"), user("and?"))
		for _, head := range []string{last, split} {
			v.everyPlace(head, full, v.full(head))
			all, _ := v.effective(head)
			v.everyPlace(head, effective, all)
		}
		covering := must[*transcriptv1.CompactResponse](r)(r.Compact(r.ctx(), &Compact{Head: byID(split), ThroughId: nodes[7], Summary: "s"}))
		equal(r, "written", covering.Written, true)
		head := r.put(covering.NodeId, calling("read", "21"), result("21", "found"))
		for _, head := range []string{covering.NodeId, head} {
			v.everyPlace(head, full, v.full(head))
			all, _ := v.effective(head)
			v.everyPlace(head, effective, all)
		}
		_, err := r.Assemble(r.ctx(), &Assemble{Head: byID(head), LastMessages: 1, Before: &transcriptv1.MessagePlace{NodeId: nodes[6]}})
		r.fails(err, codes.FailedPrecondition, "NOT_IN_VIEW", "")
		_, err = r.Assemble(r.ctx(), &Assemble{Head: byID(head), View: full, LastMessages: 1, Before: &transcriptv1.MessagePlace{NodeId: covering.NodeId}})
		r.fails(err, codes.FailedPrecondition, "NOT_IN_VIEW", "")
	})
}

func (v *viewModel) everyPlace(head string, view transcriptv1.View, want []modelMessage) {
	v.Helper()
	step := 1
	if testing.Short() {
		step = 7
	}
	for before := 0; before <= len(want); before += step {
		if before < len(want) && want[before].in == nil {
			continue
		}
		for n := range before + 2 {
			v.part(&Assemble{Head: byID(head), View: view, LastMessages: int32(n + 1)}, want, before)
		}
		for n := 1; n < 400; n += 30 {
			v.part(&Assemble{Head: byID(head), View: view, LastBytes: int32(n)}, want, before)
		}
	}
}

// TestLastBesideOpaque: an opaque message lies within a group whose calls wait for results, and else in none.
func TestLastBesideOpaque(t *testing.T) {
	r := newRig(t)
	v := &viewModel{rig: r}
	head := r.put("", user("go"), opaqueUser("1"), calling("read", "1"), opaqueUser("2"), calling("read", "2"), opaqueUser("3"), result("2", "b"))
	head = r.put(head, opaqueUser("4"), result("1", "a"), opaqueUser("5"), user("and?"), opaqueUser("6"))
	v.everyPlace(head, full, v.full(head))
	for n, words := range []string{"", "u", "c c t t u", "c c t t u", "c c t t u", "c c t t u", "u c c t t u"} {
		if n > 0 {
			equal(r, fmt.Sprint("the last ", n), inWords(r.assemble(&Assemble{Head: byID(head), LastMessages: int32(n)}).Messages), words)
		}
	}
	reply := r.assemble(&Assemble{Head: byID(head), LastMessages: 2, Before: &transcriptv1.MessagePlace{NodeId: head, MessageIndex: 3}})
	equal(r, "what comes before an opaque message", inWords(reply.Messages), "c c t t")
}

// TestLastBehindOutcomes: an outcome ends a group, whose stubs stand at the end of its node.
func TestLastBehindOutcomes(t *testing.T) {
	r := newRig(t)
	nodes := r.steps("chat", step{messages: []*Message{user("go")}}, step{messages: []*Message{calling("read", "1")}, end: "stopped"},
		step{messages: []*Message{result("1", "found")}}, step{messages: []*Message{user("again")}})
	more := r.steps("more", step{messages: []*Message{calling("read", "1")}, end: "stopped"}, step{messages: []*Message{calling("read", "2")}},
		step{messages: []*Message{result("2", "found")}})
	for _, view := range []transcriptv1.View{full, effective} {
		equal(r, "where calls behind an outcome begin", r.assemble(&Assemble{Head: byAlias("more"), View: view, LastMessages: 1}).Begin.NodeId, more[1])
	}
	for _, x := range []struct {
		view  transcriptv1.View
		n     int32
		words string
		begin string
	}{
		{full, 1, "u", nodes[3]}, {full, 2, "t u", nodes[2]}, {full, 3, "c t u", nodes[1]},
		{effective, 1, "u", nodes[3]}, {effective, 2, "c stub u", nodes[1]}, {effective, 3, "c stub u", nodes[1]}, {effective, 4, "u c stub u", nodes[0]},
	} {
		reply := r.assemble(&Assemble{Head: byAlias("chat"), View: x.view, LastMessages: x.n})
		equal(r, fmt.Sprintf("the last %d of %v", x.n, x.view), inWords(reply.Messages), x.words)
		equal(r, "where they begin", cmp.Or(reply.Begin, &transcriptv1.MessagePlace{}).NodeId, x.begin)
	}
}

// TestEtagOfLast: an etag names what part of a view was asked for.
func TestEtagOfLast(t *testing.T) {
	r := newRig(t)
	nodes, _, _ := r.broken()
	place := func(i int, index int32) *transcriptv1.MessagePlace {
		return &transcriptv1.MessagePlace{NodeId: nodes[i], MessageIndex: index}
	}
	wide := r.put(nodes[10], user("a"), user("b"))
	seen := map[string]*Assemble{}
	for _, req := range []*Assemble{
		{}, {LastMessages: 1}, {LastMessages: 2}, {LastBytes: 1}, {LastBytes: 2}, {LastMessages: 1, LastBytes: 1}, {LastMessages: 1, Before: place(3, 0)},
		{LastMessages: 1, Before: place(4, 0)}, {LastMessages: 1, Before: &transcriptv1.MessagePlace{NodeId: wide}},
		{LastMessages: 1, Before: &transcriptv1.MessagePlace{NodeId: wide, MessageIndex: 1}}, {LastMessages: 1, NodeDetail: ids}, {LastMessages: 1, View: full},
	} {
		req.Head = byID(wide)
		etag := r.assemble(req).Etag
		if other := seen[etag]; other != nil {
			t.Errorf("%v and %v have one etag", req, other)
		}
		seen[etag] = req
		req.IfNoneMatch = etag
		equal(r, "that it is not modified", r.assemble(req).NotModified, true)
	}
}
