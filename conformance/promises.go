package conformance

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/transcriptd/transcriptd/canonical"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

func promiseChecks() []Check {
	return []Check{
		{ID: "views/pairs", Promise: "in effective and conversation no result is without its call, and no call without its result but at the head", run: pairs},
		{ID: "views/user-first", Promise: "in a conversation, behind preamble and left-out line, the user speaks first if anyone asked", run: userFirst},
		{ID: "views/prefix-is-stable", Promise: "the effective view of an ancestor is a byte prefix of the head's, and a conversation begins as before", run: prefixStable},
		{ID: "views/same-again", Promise: "the same chain and policy give the same bytes again", run: sameAgain},
		{ID: "views/text-cut-between-code-points", Promise: "a text is cut between code points and ends in ...[truncated]; media and JSON stay whole", run: cutBetween},
		{ID: "views/presets", Promise: "a preset is the policy that the report tells, and a field beside it goes before it", run: presets},
		{ID: "views/max-age", Promise: "max_age counts from the last loop and the notes' times, and drops nothing", run: maxAge},
		{ID: "views/line-recalls", Promise: "the line of a result that became one has what RecallToolCall needs to give exactly that result", run: lineRecalls},
		{ID: "views/policy-refused", Promise: "negative numbers and forms that a policy does not have are refused, naming the field", run: policyRefused},
		{ID: "views/left-out-report", Promise: "the report of a conversation tells what it leaves out and where its window begins", run: leftOutReport},
	}
}

// drawn is a chain of letters drawn at random, the same for a seed: some calls are never answered, some results answer nothing.
func drawn(seed uint64, n int) string {
	r := rand.New(rand.NewPCG(seed, 1))
	letters := []string{"u", "a", "c%d", "c%dk%d", "r%d", "r%d", "R%d", "e", "s", "U", "A", "o", "u", "a"}
	var all []string
	for range n {
		l := letters[r.IntN(len(letters))]
		switch strings.Count(l, "%d") {
		case 1:
			l = fmt.Sprintf(l, r.IntN(4))
		case 2:
			l = fmt.Sprintf(l, r.IntN(4), r.IntN(4)+4)
		}
		all = append(all, l)
	}
	return "s " + strings.Join(all, " ")
}

// chains is how many chains the promises about views are tried on.
const chains = 4

var policies = map[string]func() *transcriptv1.Policy{
	"unbounded": unbounded, "defaults": func() *transcriptv1.Policy { return nil }, "answers": answers, "requests": requests,
	"2 loops": func() *transcriptv1.Policy { return loops(2) }, "cleared": func() *transcriptv1.Policy { return clearing(1, 100) },
}

func conversation(policy *transcriptv1.Policy) *transcriptv1.AssembleRequest {
	return &transcriptv1.AssembleRequest{View: transcriptv1.View_VIEW_CONVERSATION, Policy: policy}
}

func pairs(p *probe) {
	for seed := range uint64(chains) {
		c := p.chain(drawn(seed, 24))
		p.paired("effective", c.view(&transcriptv1.AssembleRequest{}).GetMessages())
		for name, policy := range policies {
			p.paired("conversation under "+name, c.view(conversation(policy())).GetMessages())
		}
	}
}

// paired holds promise 1 of docs/views.md on a list of messages.
func (p *probe) paired(view string, messages []*transcriptv1.Message) {
	var open []string
	inResults := false
	for i, m := range messages {
		if m.GetRole() == transcriptv1.Role_ROLE_TOOL {
			at := -1
			for k, id := range open {
				if id == m.GetToolCallId() {
					at = k
					break
				}
			}
			p.holds(at >= 0, "%s: the result at place %d to answer a call before it", view, i)
			open, inResults = append(open[:at:at], open[at+1:]...), true
			continue
		}
		var calls []string
		for _, part := range m.GetParts() {
			if call := part.GetToolCall(); call != nil {
				calls = append(calls, call.GetId())
			}
		}
		if inResults || len(calls) == 0 {
			p.holds(len(open) == 0, "%s: each call before place %d to have a result, %d have none", view, i, len(open))
		}
		open, inResults = append(open, calls...), false
	}
}

func userFirst(p *probe) {
	for seed := range uint64(chains) {
		c := p.chain(drawn(seed+100, 24))
		for name, policy := range policies {
			for i, m := range c.view(conversation(policy())).GetMessages() {
				system := m.GetRole() == transcriptv1.Role_ROLE_SYSTEM || m.GetRole() == transcriptv1.Role_ROLE_DEVELOPER
				if system || m.GetOrigin() == transcriptv1.Origin_ORIGIN_LEFT_OUT {
					continue
				}
				p.holds(m.GetRole() == transcriptv1.Role_ROLE_USER, "under %s the user to speak first, at place %d", name, i)
				break
			}
		}
	}
}

func prefixStable(p *probe) {
	for seed := range uint64(chains / 2) {
		c := p.chain("s u a")
		before := c.view(&transcriptv1.AssembleRequest{}).GetMessages()
		for _, l := range strings.Fields(drawn(seed+200, 20))[1:] {
			c.put(l)
			now := c.view(&transcriptv1.AssembleRequest{}).GetMessages()
			p.holds(bytes.HasPrefix(canonical.EncodePayload(now), canonical.EncodePayload(before)), "the effective view before `%s` as a prefix of that behind it", l)
			before = now
		}
	}
	c := p.chain("s | u c1 r1 a | u c2")
	first := c.view(conversation(nil)).GetMessages()
	c.put("r2 a")
	second := c.view(conversation(nil)).GetMessages()
	p.holds(bytes.HasPrefix(canonical.EncodePayload(second), canonical.EncodePayload(first)), "a conversation as a prefix while its last loop goes on")
	c.put("u")
	third := c.view(conversation(nil)).GetMessages()
	is(p, "the conversation once another loop began", c.letters(third), "s u a u a u")
}

func sameAgain(p *probe) {
	c := p.chain(drawn(300, 30))
	for name, policy := range policies {
		a, b := c.view(conversation(policy())), c.view(conversation(policy()))
		p.holds(bytes.Equal(canonical.EncodePayload(a.GetMessages()), canonical.EncodePayload(b.GetMessages())), "the same messages again under %s", name)
		is(p, "etag again under "+name, b.GetEtag(), a.GetEtag())
	}
}

func cutBetween(p *probe) {
	long := &transcriptv1.Message{Role: transcriptv1.Role_ROLE_USER, Parts: []*transcriptv1.Part{
		textPart("é😀" + strings.Repeat("x", 100)), {Kind: &transcriptv1.Part_Json{Json: strings.Repeat("[", 200)}}, textPart("behind"),
	}}
	root := p.put(&transcriptv1.PutNodeRequest{Messages: []*transcriptv1.Message{long}, Salt: []byte(p.kit.mark + "0123456789")}).GetNodeId()
	head := p.node(root, p.letter("a"), p.letter("u"))
	c := &chain{p: p, ids: []string{head}}
	reply := c.view(conversation(bounded(func(p *transcriptv1.Policy) { p.MaxUserChars = proto.Int32(2) })))
	want := &transcriptv1.Message{Role: transcriptv1.Role_ROLE_USER, Origin: transcriptv1.Origin_ORIGIN_SHORTENED, Parts: []*transcriptv1.Part{
		textPart("é😀" + cutMark), long.Parts[1],
	}}
	p.same("a message cut to two code points", reply.GetMessages()[0], want)
	is(p, "shortened in the report", reply.GetReport().GetShortenedMessages(), 1)
}

func presets(p *probe) {
	c := p.chain("u c1 R1 a | u")
	applied := func(policy *transcriptv1.Policy) *transcriptv1.Policy {
		return c.view(conversation(policy)).GetReport().GetPolicy()
	}
	for preset, want := range map[transcriptv1.Preset]struct{ loops, keep int32 }{
		transcriptv1.Preset_PRESET_UNBOUNDED: {0, -1}, transcriptv1.Preset_PRESET_CHAT: {10, -1}, transcriptv1.Preset_PRESET_CODING: {10, 5},
		transcriptv1.Preset_PRESET_LONG: {10, 10}, transcriptv1.Preset_PRESET_FRUGAL: {10, 2}, transcriptv1.Preset_PRESET_UNSPECIFIED: {10, -1},
	} {
		got := applied(&transcriptv1.Policy{Preset: preset})
		is(p, "max_run_loops of "+preset.String(), got.GetMaxRunLoops(), want.loops)
		keep := int32(-1)
		if got.GetClearToolResults().Keep != nil {
			keep = got.GetClearToolResults().GetKeep()
		}
		is(p, "clear_tool_results.keep of "+preset.String(), keep, want.keep)
		is(p, "preset of what was applied", got.GetPreset(), transcriptv1.Preset_PRESET_UNSPECIFIED)
	}
	got := applied(&transcriptv1.Policy{Preset: transcriptv1.Preset_PRESET_CODING, MaxRunLoops: proto.Int32(3)})
	is(p, "max_run_loops beside a preset", got.GetMaxRunLoops(), 3)
	is(p, "keep of the preset beside another field", got.GetClearToolResults().GetKeep(), 5)
	again := c.view(conversation(got))
	is(p, "etag of the policy that was told", again.GetEtag(), c.view(conversation(&transcriptv1.Policy{Preset: transcriptv1.Preset_PRESET_CODING, MaxRunLoops: proto.Int32(3)})).GetEtag())
}

// maxAge puts loops with times: one at 9, one at 10, one at 20 seconds.
func maxAge(p *probe) {
	c := &chain{p: p, shown: map[string]string{}}
	for _, step := range []struct {
		letters string
		at      int64
	}{{"u", 9}, {"c1 r1 a", 9}, {"u", 10}, {"c2 r2 a", 10}, {"u", 20}} {
		for _, l := range strings.Fields(step.letters) {
			m := p.letter(l)
			put := p.put(&transcriptv1.PutNodeRequest{Parent: byID(c.head()), Messages: []*transcriptv1.Message{m}, Notes: []*transcriptv1.MessageNote{{
				SentAt: timestamppb.New(time.Unix(step.at, 0)),
			}}})
			c.ids = append(c.ids, put.GetNodeId())
			c.shown[string(canonical.EncodePayload([]*transcriptv1.Message{m}))] = l
		}
	}
	reply := c.view(conversation(bounded(func(p *transcriptv1.Policy) { p.KeepWholeRunLoops, p.MaxAge = proto.Int32(5), durationOf(10) })))
	is(p, "the conversation under max_age 10 s and keep_whole_run_loops 5", c.letters(reply.GetMessages()), "u a u c2 r2 a u")
}

func lineRecalls(p *probe) {
	c := p.chain("u c1 R1 c1 R1 c2")
	line := c.view(conversation(requests())).GetMessages()
	_ = line
	c.put("r2 a | u")
	for i, m := range c.view(conversation(requests())).GetMessages() {
		if m.GetOrigin() != transcriptv1.Origin_ORIGIN_SHORTENED {
			continue
		}
		id, place, ok := strings.Cut(strings.TrimSuffix(m.GetParts()[0].GetText()[strings.LastIndex(m.GetParts()[0].GetText(), "recall ")+7:], "]"), " ")
		p.holds(ok && strings.HasPrefix(m.GetParts()[0].GetText(), "[result of look, "), "a line of the form of docs/views.md at place %d", i)
		reply, err := p.RecallToolCall(p.ctx, &transcriptv1.RecallToolCallRequest{Namespace: p.namespace, Head: byID(c.head()), ToolCallId: &id, Place: place})
		p.ok(err, "RecallToolCall")
		is(p, "id of the call", id, m.GetToolCallId())
		at := map[int]int{2: 2, 4: 4}[i]
		is(p, "node of the result", reply.GetResultPlace().GetNodeId(), c.ids[at])
		p.same("the result", &transcriptv1.Message{Parts: reply.GetParts()}, &transcriptv1.Message{Parts: c.messages[at].GetParts()})
	}
}

func policyRefused(p *probe) {
	c := p.chain("u a")
	for field, policy := range map[string]*transcriptv1.Policy{
		"policy.max_run_loops":                     {MaxRunLoops: proto.Int32(-1)},
		"policy.max_bytes":                         {MaxBytes: proto.Int64(-1)},
		"policy.max_tokens":                        {MaxTokens: proto.Int64(-1)},
		"policy.max_user_chars":                    {MaxUserChars: proto.Int32(-1)},
		"policy.max_reply_chars":                   {MaxReplyChars: proto.Int32(-1)},
		"policy.keep_whole_run_loops":              {KeepWholeRunLoops: proto.Int32(-1)},
		"policy.max_age":                           {MaxAge: durationOf(-1)},
		"policy.clear_tool_results.keep":           {ClearToolResults: &transcriptv1.ClearToolResults{Keep: proto.Int32(-1)}},
		"policy.clear_tool_results.cached_percent": {ClearToolResults: &transcriptv1.ClearToolResults{Keep: proto.Int32(1), CachedPercent: proto.Int32(101)}},
		"policy.reply_tools[0]":                    {ReplyTools: []string{""}},
		"policy.preset":                            {Preset: 99},
		"policy.tool_trace":                        {ToolTrace: 99},
	} {
		r := conversation(policy)
		r.Namespace, r.Head = p.namespace, byID(c.head())
		_, err := p.Assemble(p.ctx, r)
		p.refusedCase(field, err, "INVALID_FIELD", []string{field})
	}
	for field, r := range map[string]*transcriptv1.AssembleRequest{
		"policy":        {View: transcriptv1.View_VIEW_FULL, Policy: unbounded()},
		"condense_last": {CondenseLast: true},
		"after_id":      {View: transcriptv1.View_VIEW_CONVERSATION, AfterId: c.ids[0]},
		"last_messages": {View: transcriptv1.View_VIEW_CONVERSATION, LastMessages: 1},
		"node_facts":    {NodeFacts: &transcriptv1.NodeFacts{}},
		"view":          {View: 99},
		"node_detail":   {NodeDetail: 99},
	} {
		r.Namespace, r.Head = p.namespace, byID(c.head())
		_, err := p.Assemble(p.ctx, r)
		p.refusedCase(field, err, "INVALID_FIELD", []string{field})
	}
}

func leftOutReport(p *probe) {
	c := p.chain("s u c1 r1 a | u a | u a | u")
	effective := c.view(&transcriptv1.AssembleRequest{}).GetReport()
	reply := c.view(conversation(loops(1)))
	is(p, "the conversation", c.letters(reply.GetMessages()), "s l2 u a u")
	r := reply.GetReport()
	line := int64(payloadBytes(canonical.LeftOut(2)))
	is(p, "messages of the report", r.GetMessages(), 5)
	is(p, "run loops left out", r.GetLeftOut().GetRunLoops(), 2)
	is(p, "messages left out", r.GetLeftOut().GetMessages(), effective.GetMessages()-4)
	is(p, "bytes left out", r.GetLeftOut().GetBytes(), effective.GetBytes()-(r.GetBytes()-line))
	is(p, "node where the window begins", r.GetWindow().GetNodeId(), c.ids[7])
	is(p, "run loops of the window", r.GetWindow().GetRunLoops(), 2)
	is(p, "limit_exceeded", r.GetLimitExceeded(), false)
	tight := c.view(conversation(bytesLimit(1)))
	is(p, "limit_exceeded of a limit of a byte", tight.GetReport().GetLimitExceeded(), true)
}
