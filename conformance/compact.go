package conformance

import (
	"strings"

	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

func compactChecks() []Check {
	return []Check{
		{ID: "compact/condenses", Promise: "the new node stands for what came before, condensed, and the alias moves to it in the same commit", run: condenses},
		{ID: "compact/with-a-summary", Promise: "a summary comes first, replaces an earlier one, and with summary_only stands for all closed loops", run: withSummary},
		{ID: "compact/nothing-is-lost", Promise: "the full view, recall, search and run loops are as before", run: nothingLost},
		{ID: "compact/dry-run", Promise: "a dry run reports the same and writes nothing", run: dryRun},
		{ID: "compact/nothing-shrinks", Promise: "where nothing would be saved nothing is written, and the call succeeds", run: nothingShrinks},
		{ID: "compact/open-calls", Promise: "without through_id it stands for all before a call that still runs; at one it is OPEN_TOOL_CALLS", run: openCalls},
		{ID: "compact/refused", Promise: "a summary without through_id, a node that is no ancestor, and one that is covered are refused", run: compactRefused},
		{ID: "compact/appends-go-on", Promise: "a writer who read the head before the compaction is told only_compacted, and appends to the new head", run: onlyCompacted},
		{ID: "compact/left-out-line", Promise: "what is dropped later is added to the line of a compaction", run: lineAddsUp},
		{ID: "compact/repeat", Promise: "a repeat with through_id covers nothing that was said since", run: repeatCompact},
		{ID: "compact/too-large", Promise: "what would be over a node's limits is COMPACTION_TOO_LARGE, and nothing is written", run: compactTooLarge},
		{ID: "compact/further-aliases", Promise: "further aliases are set to the new node, and where none is written they are not", run: furtherAliases},
		{ID: "compact/branches", Promise: "a branch that leaves the chain before the compaction never sees it", run: branchUncompacted},
	}
}

// compact compacts, and holds that a node was written.
func (p *probe) compact(r *transcriptv1.CompactRequest) *transcriptv1.CompactResponse {
	r.Namespace = p.namespace
	reply, err := p.Compact(p.ctx, r)
	p.ok(err, "Compact")
	return reply
}

func condenses(p *probe) {
	c, name := p.chain("s | u c1 R1 a | u c2 R2 a"), p.name("chat")
	p.point(name, c.head())
	r := p.compact(&transcriptv1.CompactRequest{Head: byAlias(name)})
	p.holds(r.GetWritten() && r.GetNodeId() != "", "a node to be written")
	is(p, "head_id", r.GetHeadId(), c.head())
	is(p, "through_id", r.GetThroughId(), c.head())
	is(p, "head of the alias", p.resolve(name).GetNodeId(), r.GetNodeId())
	is(p, "changed of the alias", r.GetAliases()[0].GetChanged(), true)
	is(p, "the effective view behind the compaction", c.letters(c.view(&transcriptv1.AssembleRequest{Head: byAlias(name)}).GetMessages()), "s u a u a")
	is(p, "messages before and after", []int32{r.GetReport().GetMessagesBefore(), r.GetReport().GetMessagesAfter()}, []int32{8, 4})
	p.holds(r.GetReport().GetBytesAfter() < r.GetReport().GetBytesBefore(), "fewer bytes than before")
	is(p, "covers_through_id", coversThrough(p.get(r.GetNodeId()).GetInfo().GetEnvelope()), c.head())
	is(p, "parent", p.get(r.GetNodeId()).GetInfo().GetEnvelope().GetParentId(), c.head())
}

// coversThrough is the last node that a compaction node stands for.
func coversThrough(e *transcriptv1.EnvelopeInfo) string { return e.GetCoversThroughId() }

func withSummary(p *probe) {
	c, name := p.chain("s | u c1 R1 a | u c2 R2 a"), p.name("chat")
	p.point(name, c.head())
	view := func() string {
		return c.letters(c.view(&transcriptv1.AssembleRequest{Head: byAlias(name)}).GetMessages())
	}
	first := p.compact(&transcriptv1.CompactRequest{Head: byAlias(name), Summary: p.text("summary"), ThroughId: c.head()})
	is(p, "with a summary", view(), "s m u a u a")
	next := p.node(first.GetNodeId(), p.user(), p.letter("a"))
	p.point(name, next)
	words := p.text("second summary")
	second := p.compact(&transcriptv1.CompactRequest{Head: byAlias(name), Summary: words, SummaryOnly: true, ThroughId: next})
	is(p, "with summary_only", view(), "s m")
	is(p, "summary_replaced", second.GetReport().GetSummaryReplaced(), true)
	m := c.view(&transcriptv1.AssembleRequest{Head: byAlias(name)}).GetMessages()[1]
	p.same("the summary", m, &transcriptv1.Message{Role: transcriptv1.Role_ROLE_USER, Origin: transcriptv1.Origin_ORIGIN_SUMMARY, Parts: []*transcriptv1.Part{textPart(words)}})
}

func nothingLost(p *probe) {
	c, name := p.chain("s | u c1 R1 a | u c2 R2 a"), p.name("chat")
	p.point(name, c.head())
	before := p.loops(&transcriptv1.ListRunLoopsRequest{Head: byAlias(name), PreviewChars: 50})
	p.compact(&transcriptv1.CompactRequest{Head: byAlias(name), SummaryOnly: true, Summary: p.text("all of it"), ThroughId: c.head()})
	p.sameMessages("the full view", c.view(&transcriptv1.AssembleRequest{Head: byAlias(name), View: transcriptv1.View_VIEW_FULL}).GetMessages(), c.messages)
	after := p.loops(&transcriptv1.ListRunLoopsRequest{Head: byAlias(name), PreviewChars: 50})
	is(p, "run loops", len(after), len(before))
	for i := range after {
		p.same("a run loop", after[i], before[i])
	}
	recalled, err := p.RecallToolCall(p.ctx, &transcriptv1.RecallToolCallRequest{Namespace: p.namespace, Head: byAlias(name), ToolCallId: proto.String("1")})
	p.ok(err, "RecallToolCall")
	p.same("the recalled result", recalled.GetParts()[0], c.messages[3].GetParts()[0])
	hits := p.search(&transcriptv1.SearchRequest{Scope: head(byAlias(name)), Pattern: words(c.messages[1].GetParts()[0].GetText())})
	is(p, "hits of a search for what was compacted", len(hits), 1)
}

func dryRun(p *probe) {
	c, name := p.chain("s | u c1 R1 a | u c2 R2 a"), p.name("chat")
	p.point(name, c.head())
	dry := p.compact(&transcriptv1.CompactRequest{Head: byAlias(name), DryRun: true})
	is(p, "written on a dry run", dry.GetWritten(), false)
	is(p, "head of the alias", p.resolve(name).GetNodeId(), c.head())
	is(p, "children of the head", len(p.children(c.head())), 0)
	wet := p.compact(&transcriptv1.CompactRequest{Head: byAlias(name), ThroughId: dry.GetThroughId()})
	p.same("the report", dry.GetReport(), wet.GetReport())
}

func nothingShrinks(p *probe) {
	c, name := p.chain("s | u a"), p.name("chat")
	p.point(name, c.head())
	r := p.compact(&transcriptv1.CompactRequest{Head: byAlias(name)})
	is(p, "written", r.GetWritten(), false)
	is(p, "not_written_reason", r.GetNotWrittenReason(), transcriptv1.NotWrittenReason_NOT_WRITTEN_REASON_NOTHING_SHRINKS)
	is(p, "head of the alias", p.resolve(name).GetNodeId(), c.head())
}

func openCalls(p *probe) {
	c := p.chain("s | u c1 R1 a | u c2")
	r := p.compact(&transcriptv1.CompactRequest{Head: byID(c.head()), DryRun: true})
	is(p, "through_id without one that was given", r.GetThroughId(), c.ids[5])
	_, err := p.Compact(p.ctx, &transcriptv1.CompactRequest{Namespace: p.namespace, Head: byID(c.head()), ThroughId: c.head()})
	p.refused(err, "OPEN_TOOL_CALLS")
}

func compactRefused(p *probe) {
	c := p.chain("s | u c1 R1 a | u c2 R2 a")
	for reason, r := range map[string]*transcriptv1.CompactRequest{
		"INVALID_FIELD":   {Summary: p.text("summary")},
		"NOT_AN_ANCESTOR": {ThroughId: p.chain("u").head()},
		"ALREADY_COVERED": {ThroughId: c.ids[0]},
		"NODE_NOT_FOUND":  {Head: byID(nowhere)},
	} {
		if r.Namespace = p.namespace; r.Head == nil {
			r.Head = byID(c.head())
		}
		if reason == "ALREADY_COVERED" {
			first := p.compact(&transcriptv1.CompactRequest{Head: byID(c.head())})
			r.Head, r.ThroughId = byID(first.GetNodeId()), c.ids[2]
		}
		_, err := p.Compact(p.ctx, r)
		if err == nil {
			p.failf("expected %s, got success", reason)
		}
		p.refused(err, reason)
	}
	is(p, "id of the head", p.get(c.head()).GetInfo().GetNodeId(), c.head())
	for _, blank := range []string{" ", "\n\t"} {
		_, err := p.Compact(p.ctx, &transcriptv1.CompactRequest{Namespace: p.namespace, Head: byID(c.head()), ThroughId: c.head(), Summary: blank})
		p.refused(err, "INVALID_FIELD", "summary")
	}
}

func onlyCompacted(p *probe) {
	c, name := p.chain("s | u c1 R1 a | u c2 R2 a"), p.name("chat")
	p.point(name, c.head())
	r := p.compact(&transcriptv1.CompactRequest{Head: byAlias(name)})
	request := &transcriptv1.PutNodeRequest{Namespace: p.namespace, Parent: byID(c.head()), Messages: []*transcriptv1.Message{p.user()}, Aliases: update(name, at(c.head()))}
	_, err := p.PutNode(p.ctx, request)
	p.refused(err, "ALIAS_MOVED")
	conflict := p.conflicts(err, 1)[0]
	is(p, "node_id of the conflict", conflict.GetNodeId(), r.GetNodeId())
	is(p, "only_compacted of the conflict", conflict.GetOnlyCompacted(), true)
	request.Parent, request.Aliases = byID(r.GetNodeId()), update(name, at(r.GetNodeId()))
	p.put(request)
	_, err = p.PutNode(p.ctx, &transcriptv1.PutNodeRequest{Namespace: p.namespace, Parent: byID(c.head()), Messages: []*transcriptv1.Message{p.user()}, Aliases: update(name, at(c.head()))})
	p.refused(err, "ALIAS_MOVED")
	is(p, "only_compacted once something was said", p.conflicts(err, 1)[0].GetOnlyCompacted(), false)
	is(p, "conflicts of the error", detail[*transcriptv1.AliasConflicts](status.Convert(err)).GetMoreConflicts(), 0)
}

func lineAddsUp(p *probe) {
	c, name := p.chain("s | u c1 R1 a | u c2 R2 a | u c3 R3 a"), p.name("chat")
	p.point(name, c.head())
	r := p.compact(&transcriptv1.CompactRequest{Head: byAlias(name), Policy: loops(1)})
	is(p, "loops_dropped", r.GetReport().GetRunLoopsDropped(), 2)
	c.ids = append(c.ids, r.GetNodeId())
	is(p, "the effective view", c.letters(c.view(&transcriptv1.AssembleRequest{}).GetMessages()), "s l2 u a")
	c.put("u a u a u")
	is(p, "a conversation of it", c.letters(c.view(conversation(loops(1))).GetMessages()), "s l4 u a u")
}

func repeatCompact(p *probe) {
	c, name := p.chain("s | u c1 R1 a | u c2 R2 a"), p.name("chat")
	p.point(name, c.head())
	r := &transcriptv1.CompactRequest{Head: byAlias(name), ThroughId: c.head(), Salt: []byte("0123456789abcdef")}
	first := p.compact(r)
	later := p.node(first.GetNodeId(), p.letter("u"), p.letter("c9"), p.letter("R9"), p.letter("a"))
	p.point(name, later)
	reply, err := p.Compact(p.ctx, r)
	if err == nil {
		is(p, "written by the repeat", reply.GetWritten(), false)
	} else {
		p.refused(err, "ALREADY_COVERED")
	}
	is(p, "messages shown behind the repeat", len(c.view(&transcriptv1.AssembleRequest{Head: byAlias(name)}).GetMessages()), 9)
}

func branchUncompacted(p *probe) {
	c := p.chain("s | u c1 R1 a | u c2 R2 a")
	p.compact(&transcriptv1.CompactRequest{Head: byID(c.head())})
	branch := p.node(c.head(), p.letter("u"))
	is(p, "messages of a branch beside the compaction", len(c.view(&transcriptv1.AssembleRequest{Head: byID(branch)}).GetMessages()), 10)
}

// compactTooLarge has 1,200 short messages to keep, and a result whose leaving out would save enough.
func compactTooLarge(p *probe) {
	c := p.chain("s | u c1 R1 a")
	loop := func(i int) *transcriptv1.Message {
		return text([]transcriptv1.Role{transcriptv1.Role_ROLE_USER, transcriptv1.Role_ROLE_ASSISTANT}[i%2], "x")
	}
	head := p.node(p.node(c.head(), repeat(600, loop)...), repeat(600, loop)...)
	_, err := p.Compact(p.ctx, &transcriptv1.CompactRequest{Namespace: p.namespace, Head: byID(head), Policy: unbounded()})
	p.refused(err, "COMPACTION_TOO_LARGE")
	is(p, "children of the head", len(p.children(head)), 0)
}

func furtherAliases(p *probe) {
	c, name, mark := p.chain("s | u c1 R1 a | u c2 R2 a"), p.name("chat"), p.name("mark")
	p.point(name, c.head())
	r := p.compact(&transcriptv1.CompactRequest{Head: byAlias(name), Aliases: update(mark, absent())})
	is(p, "aliases of the reply, the head's first", []string{r.GetAliases()[0].GetName(), r.GetAliases()[1].GetName()}, []string{name, mark})
	is(p, "node of the further alias", p.resolve(mark).GetNodeId(), r.GetNodeId())
	again := p.compact(&transcriptv1.CompactRequest{Head: byAlias(name), Aliases: update(p.name("none"), nil)})
	is(p, "written where nothing shrinks", again.GetWritten(), false)
	p.gone(p.name("none"))
}

func loopChecks() []Check {
	return []Check{
		{ID: "list-run-loops/states", Promise: "run loops newest first with their state, outcome, messages, calls and previews", run: runLoops},
		{ID: "list-run-loops/pages", Promise: "pages give each run loop once, also while the alias moves on", run: loopPages},
		{ID: "list-run-loops/page-size", Promise: "page_size 0 means 20", run: loopPageSize},
		{ID: "list-run-loops/lead-in", Promise: "what comes before any user is a lead-in", run: leadIn},
	}
}

// loops reads all pages of run loops.
func (p *probe) loops(r *transcriptv1.ListRunLoopsRequest) []*transcriptv1.RunLoop {
	r.Namespace = p.namespace
	var all []*transcriptv1.RunLoop
	for range 1000 {
		page, err := p.ListRunLoops(p.ctx, r)
		p.ok(err, "ListRunLoops")
		all = append(all, page.GetRunLoops()...)
		if r.PageToken = page.GetNextPageToken(); r.PageToken == "" {
			return all
		}
	}
	p.failf("expected a last page of ListRunLoops, got 1000 pages")
	return nil
}

func runLoops(p *probe) {
	c := p.chain("s | u c1 r1 a | u c2 | u !stopped | u c3c4 r4")
	all := p.loops(&transcriptv1.ListRunLoopsRequest{Head: byID(c.head()), PreviewChars: 500, ArgumentChars: 500})
	var got []string
	for _, l := range all {
		got = append(got, strings.TrimPrefix(l.GetState().String(), "RUN_LOOP_STATE_")+" "+strings.TrimPrefix(l.GetOutcome().String(), "RUN_OUTCOME_"))
	}
	// The second loop has no reply, and its user is not answered: the third joins no loop, since a call stands between.
	is(p, "states and outcomes, newest first", got, []string{"OPEN UNSPECIFIED", "CLOSED STOPPED", "INTERRUPTED UNSPECIFIED", "CLOSED UNSPECIFIED"})
	first, last := all[3], all[0]
	is(p, "first and last node of the oldest loop", []string{first.GetFirst().GetNodeId(), first.GetLast().GetNodeId()}, []string{c.ids[1], c.ids[4]})
	p.holds(first.GetUserPreview() == c.messages[1].GetParts()[0].GetText(), "the user's words in user_preview")
	p.holds(first.GetReplyPreview() == c.messages[4].GetParts()[0].GetText(), "the reply's words in reply_preview")
	is(p, "messages of the oldest loop", first.GetMessages(), 4)
	is(p, "unanswered of the newest loop", last.GetUnansweredCalls(), 1)
	is(p, "calls of the newest loop", len(last.GetToolCalls()), 2)
	is(p, "state of call 4", last.GetToolCalls()[1].GetState(), transcriptv1.ToolCallState_TOOL_CALL_STATE_OK)
	is(p, "state of call 3", last.GetToolCalls()[0].GetState(), transcriptv1.ToolCallState_TOOL_CALL_STATE_UNANSWERED)
	p.holds(last.GetToolCalls()[0].GetArguments() == c.messages[9].GetParts()[0].GetToolCall().GetArguments(), "the arguments of call 3")
	p.holds(last.GetEndedAt() == nil && first.GetEndedAt() != nil, "ended_at of closed loops alone")
}

func loopPages(p *probe) {
	c, name := p.chain("u a u a u a u a u a"), p.name("chat")
	p.point(name, c.head())
	r := &transcriptv1.ListRunLoopsRequest{Namespace: p.namespace, Head: byAlias(name), PageSize: 2}
	var got []string
	for i := range 10 {
		page, err := p.ListRunLoops(p.ctx, r)
		p.ok(err, "ListRunLoops")
		for _, l := range page.GetRunLoops() {
			got = append(got, l.GetFirst().GetNodeId())
		}
		if r.PageToken = page.GetNextPageToken(); r.PageToken == "" {
			break
		}
		if i == 0 {
			p.point(name, p.node(c.head(), p.user()))
		}
	}
	is(p, "first nodes of the loops", got, []string{c.ids[8], c.ids[6], c.ids[4], c.ids[2], c.ids[0]})
}

func loopPageSize(p *probe) {
	c := p.chain(strings.Repeat("u a ", 21))
	page, err := p.ListRunLoops(p.ctx, &transcriptv1.ListRunLoopsRequest{Namespace: p.namespace, Head: byID(c.head())})
	p.ok(err, "ListRunLoops")
	is(p, "run loops of the first page", len(page.GetRunLoops()), 20)
	p.holds(page.GetNextPageToken() != "", "a token for the next page")
}

func leadIn(p *probe) {
	c := p.chain("s a c1 r1 | u a")
	all := p.loops(&transcriptv1.ListRunLoopsRequest{Head: byID(c.head())})
	is(p, "lead_in of the loops, newest first", []bool{all[0].GetLeadIn(), all[1].GetLeadIn()}, []bool{false, true})
}
