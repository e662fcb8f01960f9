package conformance

import (
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

func recallChecks() []Check {
	return []Check{
		{ID: "recall-tool-call/call-and-result", Promise: "a past call is told with its arguments, its result and their places", run: recallsCall},
		{ID: "recall-tool-call/occurrence", Promise: "where ids repeat, occurrence counts back from the latest", run: recallsOccurrence},
		{ID: "recall-tool-call/place", Promise: "place names exactly one result, by 12 digits of its node or more", run: recallsPlace},
		{ID: "recall-tool-call/pages", Promise: "pages laid end to end are the result, cut between code points, for every page_bytes", run: recallPages},
		{ID: "recall-tool-call/left-out", Promise: "a result that answers nothing can be recalled, and says that views leave it out", run: recallsLeftOut},
		{ID: "recall-tool-call/not-there", Promise: "a call that the chain does not have is TOOL_CALL_NOT_FOUND", run: recallNotThere},
		{ID: "recall-tool-call/copies", Promise: "a place in a compaction node, which holds copies, is TOOL_CALL_NOT_FOUND", run: recallCopies},
		{ID: "recall-tool-call/redact", Promise: "redact takes secrets out of all pages, and a token is good for the same redact alone", run: recallRedacts},
	}
}

// recall recalls, with the namespace set.
func (p *probe) recall(r *transcriptv1.RecallToolCallRequest) *transcriptv1.RecallToolCallResponse {
	r.Namespace = p.namespace
	reply, err := p.RecallToolCall(p.ctx, r)
	p.ok(err, "RecallToolCall")
	return reply
}

func recallsCall(p *probe) {
	c := p.chain("u c1 R1 a c2")
	r := p.recall(&transcriptv1.RecallToolCallRequest{Head: byID(c.head()), ToolCallId: proto.String("1")})
	p.same("the call", r.GetCall(), c.messages[1].GetParts()[0].GetToolCall())
	p.same("the result", r.GetParts()[0], c.messages[2].GetParts()[0])
	is(p, "places of call and result", []string{r.GetCallPlace().GetNodeId(), r.GetResultPlace().GetNodeId()}, []string{c.ids[1], c.ids[2]})
	is(p, "state", r.GetState(), transcriptv1.ToolCallState_TOOL_CALL_STATE_OK)
	open := p.recall(&transcriptv1.RecallToolCallRequest{Head: byID(c.head()), ToolCallId: proto.String("2")})
	is(p, "state of a call without result", open.GetState(), transcriptv1.ToolCallState_TOOL_CALL_STATE_UNANSWERED)
	p.holds(open.GetResultPlace() == nil, "no result_place of a call without result")
}

func recallsOccurrence(p *probe) {
	c := p.chain("u c1 R1 c1 R1 c1 R1")
	for occurrence, at := range map[int32]int{0: 6, 1: 4, 2: 2} {
		r := p.recall(&transcriptv1.RecallToolCallRequest{Head: byID(c.head()), ToolCallId: proto.String("1"), Occurrence: occurrence})
		is(p, "node of the result", r.GetResultPlace().GetNodeId(), c.ids[at])
		is(p, "earlier_occurrences", r.GetEarlierOccurrences(), 2-occurrence)
	}
	_, err := p.RecallToolCall(p.ctx, &transcriptv1.RecallToolCallRequest{Namespace: p.namespace, Head: byID(c.head()), ToolCallId: proto.String("1"), Occurrence: 3})
	p.refused(err, "TOOL_CALL_NOT_FOUND")
}

func recallsPlace(p *probe) {
	c := p.chain("u c1 R1 c1 R1")
	for _, digits := range []int{12, 64} {
		r := p.recall(&transcriptv1.RecallToolCallRequest{Head: byID(c.head()), Place: c.ids[2][:digits] + ".0"})
		is(p, "node of the result", r.GetResultPlace().GetNodeId(), c.ids[2])
	}
	_, err := p.RecallToolCall(p.ctx, &transcriptv1.RecallToolCallRequest{Namespace: p.namespace, Head: byID(c.head()), Place: c.ids[2] + ".1"})
	p.refused(err, "TOOL_CALL_NOT_FOUND")
	_, err = p.RecallToolCall(p.ctx, &transcriptv1.RecallToolCallRequest{Namespace: p.namespace, Head: byID(c.head()), Place: "no place"})
	p.refused(err, "INVALID_FIELD", "place")
}

func recallPages(p *probe) {
	words := p.text(strings.Repeat("é😀x", 20))
	c := p.chain("u c1")
	head := p.node(c.head(), result("1", words))
	for _, size := range []int32{1, 7, 0} {
		r := &transcriptv1.RecallToolCallRequest{Head: byID(head), ToolCallId: proto.String("1"), PageBytes: size}
		var got strings.Builder
		for range 2000 {
			page := p.recall(r)
			for _, part := range page.GetParts() {
				got.WriteString(part.GetText())
			}
			is(p, "continues of a page", page.GetContinues(), r.GetPageToken() != "")
			p.holds(size < 4 || len(page.GetParts()[0].GetText()) <= int(size), "at most %d bytes in a page", size)
			if r.PageToken = page.GetNextPageToken(); r.PageToken == "" {
				break
			}
		}
		p.holds(got.String() == words, "the result of %d bytes from pages of %d, got another of %d", len(words), size, got.Len())
	}
}

func recallsLeftOut(p *probe) {
	c := p.chain("u c1 R1 a R1 R8")
	late := p.recall(&transcriptv1.RecallToolCallRequest{Head: byID(c.head()), Place: c.ids[4] + ".0"})
	is(p, "left_out of a late result", late.GetLeftOut(), true)
	orphan := p.recall(&transcriptv1.RecallToolCallRequest{Head: byID(c.head()), ToolCallId: proto.String("8")})
	is(p, "left_out of an orphan", orphan.GetLeftOut(), true)
	p.holds(orphan.GetCall() == nil, "no call of an orphan")
}

func recallNotThere(p *probe) {
	c := p.chain("u c1 r1")
	for _, id := range []*string{proto.String("2"), proto.String(""), nil} {
		_, err := p.RecallToolCall(p.ctx, &transcriptv1.RecallToolCallRequest{Namespace: p.namespace, Head: byID(c.head()), ToolCallId: id})
		p.refused(err, "TOOL_CALL_NOT_FOUND")
	}
}

func recallCopies(p *probe) {
	c := p.chain("s | u c1 R1 a | u c2 R2")
	r := p.compact(&transcriptv1.CompactRequest{Head: byID(c.head()), Policy: unbounded()})
	p.holds(r.GetWritten(), "a node to be written")
	for i := range r.GetReport().GetMessagesAfter() {
		_, err := p.RecallToolCall(p.ctx, &transcriptv1.RecallToolCallRequest{Namespace: p.namespace, Head: byID(r.GetNodeId()), Place: fmt.Sprint(r.GetNodeId(), ".", i)})
		p.refused(err, "TOOL_CALL_NOT_FOUND")
	}
}

// secret is a token of a form that redaction knows.
const secret = "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345"

func recallRedacts(p *probe) {
	c := p.chain("u c1")
	head := p.node(c.head(), result("1", p.text("password="+secret+" "+strings.Repeat("z", 200))))
	r := &transcriptv1.RecallToolCallRequest{Head: byID(head), ToolCallId: proto.String("1"), PageBytes: 20, Redact: true}
	var got strings.Builder
	for range 100 {
		page := p.recall(r)
		for _, part := range page.GetParts() {
			got.WriteString(part.GetText())
		}
		if r.PageToken == "" {
			other := proto.CloneOf(r)
			other.Redact, other.PageToken = false, page.GetNextPageToken()
			_, err := p.RecallToolCall(p.ctx, other)
			p.refused(err, "INVALID_PAGE_TOKEN")
		}
		if r.PageToken = page.GetNextPageToken(); r.PageToken == "" {
			break
		}
	}
	p.holds(!strings.Contains(got.String(), secret) && strings.Contains(got.String(), "zzz"), "the result without the secret")
}

func searchChecks() []Check {
	return []Check{
		{ID: "search/any-case", Promise: "a text is found in any case of its letters, with an excerpt and where it matches", run: searchText},
		{ID: "search/pattern", Promise: "an RE2 pattern is matched; what does not compile is INVALID_PATTERN", run: searchPattern},
		{ID: "search/filters", Promise: "roles, tool_names, errors_only and times let pass what they say", run: searchFilters},
		{ID: "search/times-and-loops", Promise: "since and until hold against when a message was sent; a hit names its run loop", run: searchTimes},
		{ID: "search/newest-first-in-pages", Promise: "hits come newest first, in pages, each once", run: searchPages},
		{ID: "search/alias-prefix", Promise: "alias_prefix searches all chains below it, and tells a shared node once", run: searchPrefix},
		{ID: "search/opaque-is-not-found", Promise: "opaque parts, metadata and the summaries of compactions are not found", run: searchNot},
		{ID: "search/redact", Promise: "with redact no excerpt holds a secret", run: searchRedacts},
	}
}

func head(ref *transcriptv1.NodeRef) *transcriptv1.SearchRequest_Head {
	return &transcriptv1.SearchRequest_Head{Head: ref}
}

func words(text string) *transcriptv1.SearchRequest_Text {
	return &transcriptv1.SearchRequest_Text{Text: text}
}

// search reads all pages.
func (p *probe) search(r *transcriptv1.SearchRequest) []*transcriptv1.SearchHit {
	r.Namespace = p.namespace
	var all []*transcriptv1.SearchHit
	for range 1000 {
		page, err := p.Search(p.ctx, r)
		p.ok(err, "Search")
		all = append(all, page.GetHits()...)
		if r.PageToken = page.GetNextPageToken(); r.PageToken == "" {
			return all
		}
	}
	p.failf("expected a last page of Search, got 1000 pages")
	return nil
}

// hitNodes are the nodes of hits.
func hitNodes(hits []*transcriptv1.SearchHit) []string {
	ids := []string{}
	for _, h := range hits {
		ids = append(ids, h.GetPlace().GetNodeId())
	}
	return ids
}

func searchText(p *probe) {
	id := p.node("", text(transcriptv1.Role_ROLE_USER, p.text("the STRAẞE in Paris")))
	for _, pattern := range []string{"straße", "paris", "the strasse"} {
		hits := p.search(&transcriptv1.SearchRequest{Scope: head(byID(id)), Pattern: words(pattern)})
		if pattern == "the strasse" {
			is(p, "hits of a text that only normalising would find", len(hits), 0)
			continue
		}
		is(p, "hits", hitNodes(hits), []string{id})
		h := hits[0]
		m, excerpt := h.GetMatches()[0], []rune(h.GetExcerpt())
		p.holds(int(m.GetEnd()) <= len(excerpt) && strings.EqualFold(string(excerpt[m.GetStart():m.GetEnd()]), pattern), "matches to name the match in the excerpt, in code points")
		is(p, "field", h.GetField(), transcriptv1.SearchField_SEARCH_FIELD_TEXT)
		is(p, "role", h.GetRole(), transcriptv1.Role_ROLE_USER)
	}
}

func pattern(s string) *transcriptv1.SearchRequest_Regexp {
	return &transcriptv1.SearchRequest_Regexp{Regexp: s}
}

func searchPattern(p *probe) {
	id := p.node("", text(transcriptv1.Role_ROLE_USER, p.text("zebra  17")))
	is(p, "hits of a pattern", hitNodes(p.search(&transcriptv1.SearchRequest{Scope: head(byID(id)), Pattern: pattern(`zebra\s+\d+$`)})), []string{id})
	is(p, "hits in another case", len(p.search(&transcriptv1.SearchRequest{Scope: head(byID(id)), Pattern: pattern(`ZEBRA`)})), 0)
	for _, bad := range []string{"(", "(?=x)", `(a)\1`, "a{1001}"} {
		_, err := p.Search(p.ctx, &transcriptv1.SearchRequest{Namespace: p.namespace, Scope: head(byID(id)), Pattern: pattern(bad)})
		p.refused(err, "INVALID_PATTERN")
	}
	_, err := p.Search(p.ctx, &transcriptv1.SearchRequest{Namespace: p.namespace, Scope: head(byID(id)), Pattern: words(fill(1025))})
	p.refused(err, "LIMIT_EXCEEDED", "text")
}

func searchFilters(p *probe) {
	c := p.chain("u c1 r1 k2 r2 a")
	failed := result("2", p.text("failed"))
	failed.IsError = true
	end := p.node(c.head(), failed)
	all := &transcriptv1.SearchRequest{Scope: head(byID(end)), Pattern: words(p.kit.mark)}
	find := func(set func(*transcriptv1.SearchRequest)) []string {
		r := proto.CloneOf(all)
		set(r)
		return hitNodes(p.search(r))
	}
	is(p, "hits of users", find(func(r *transcriptv1.SearchRequest) { r.Roles = []transcriptv1.Role{transcriptv1.Role_ROLE_USER} }), []string{c.ids[0]})
	is(p, "hits of a tool", find(func(r *transcriptv1.SearchRequest) { r.ToolNames = []string{"look"} }), []string{c.ids[2], c.ids[1]})
	is(p, "hits of errors", find(func(r *transcriptv1.SearchRequest) { r.ErrorsOnly = true }), []string{end})
	is(p, "hits of all", len(find(func(*transcriptv1.SearchRequest) {})), 7)
	h := p.search(&transcriptv1.SearchRequest{Scope: head(byID(end)), Pattern: words(p.kit.mark), ToolNames: []string{"look"}})
	is(p, "field of a call", h[1].GetField(), transcriptv1.SearchField_SEARCH_FIELD_ARGUMENTS)
	is(p, "tool_name and tool_call_id of its result", []string{h[0].GetToolName(), h[0].GetToolCallId()}, []string{"look", "1"})
}

// searchTimes puts messages that were sent at 10, 20 and 30 seconds.
func searchTimes(p *probe) {
	c := &chain{p: p}
	for _, at := range []int64{10, 20, 30} {
		put := p.put(&transcriptv1.PutNodeRequest{
			Parent: byID(c.head()), Messages: []*transcriptv1.Message{p.user()}, Notes: []*transcriptv1.MessageNote{{SentAt: timestamppb.New(time.Unix(at, 0))}},
		})
		c.ids = append(c.ids, put.GetNodeId())
	}
	hits := p.search(&transcriptv1.SearchRequest{
		Scope: head(byID(c.head())), Pattern: words(p.kit.mark), Since: timestamppb.New(time.Unix(20, 0)), Until: timestamppb.New(time.Unix(30, 0)),
	})
	is(p, "hits from 20 s to before 30 s", hitNodes(hits), []string{c.ids[1]})
	is(p, "time of the hit", hits[0].GetSentAt().GetSeconds(), 20)
	is(p, "run loop of the hit", hits[0].GetRunLoopPlace().GetNodeId(), c.ids[0])
}

func searchPages(p *probe) {
	c := p.chain("u a u a u a u")
	hits := p.search(&transcriptv1.SearchRequest{Scope: head(byID(c.head())), Pattern: words(p.kit.mark), PageSize: 2})
	is(p, "hits, newest first", hitNodes(hits), reversed(c.ids))
}

func reversed(ids []string) []string {
	var out []string
	for i := len(ids) - 1; i >= 0; i-- {
		out = append(out, ids[i])
	}
	return out
}

func searchPrefix(p *probe) {
	c := p.chain("u a")
	p.point(p.name("b"), p.node(c.head(), p.user()))
	p.point(p.name("a"), p.node(c.head(), p.user()))
	hits := p.search(&transcriptv1.SearchRequest{Scope: &transcriptv1.SearchRequest_AliasPrefix{AliasPrefix: p.name("")}, Pattern: words(p.kit.mark), PageSize: 1})
	is(p, "hits in two chains that share two nodes", len(hits), 4)
	p.holds(hits[0].GetAlias() == p.name("a") && hits[3].GetAlias() == p.name("b"), "the aliases in the order of their names")
	seen := map[string]bool{}
	for _, id := range hitNodes(hits) {
		p.holds(!seen[id], "each node once")
		seen[id] = true
	}
}

func searchNot(p *probe) {
	word := "quxword" + p.kit.mark
	opaque := p.letter("o")
	opaque.Parts[0].GetOpaque().Data = []byte(word)
	root := p.put(&transcriptv1.PutNodeRequest{Messages: []*transcriptv1.Message{opaque}, Metadata: []*transcriptv1.MetadataEntry{{Key: "k", Value: word}}}).GetNodeId()
	c := &chain{p: p, ids: []string{root}, shown: map[string]string{}}
	c.put("u c1 R1 a u")
	r := p.compact(&transcriptv1.CompactRequest{Head: byID(c.head()), ThroughId: c.ids[4], Summary: word, SummaryOnly: true})
	p.holds(r.GetWritten(), "a node to be written")
	is(p, "hits", len(p.search(&transcriptv1.SearchRequest{Scope: head(byID(r.GetNodeId())), Pattern: words(word)})), 0)
}

func searchRedacts(p *probe) {
	id := p.node("", text(transcriptv1.Role_ROLE_USER, p.text("before "+secret+" behind")))
	for _, h := range p.search(&transcriptv1.SearchRequest{Scope: head(byID(id)), Pattern: words("before"), Redact: true}) {
		p.holds(!strings.Contains(h.GetExcerpt(), secret[4:]) && strings.Contains(h.GetExcerpt(), "before"), "an excerpt without the secret")
	}
}

func replayChecks() []Check {
	return []Check{
		{ID: "replay-tools/latest-calls", Promise: "the latest calls and results, oldest first, within max_calls, and as a text within max_chars", run: replays},
		{ID: "replay-tools/redacted", Promise: "secrets are redacted always", run: replayRedacts},
		{ID: "replay-tools/past-loops-only", Promise: "past_loops_only leaves out the calls of the last run loop", run: replayPast},
	}
}

func (p *probe) replay(r *transcriptv1.ReplayToolsRequest) *transcriptv1.ReplayToolsResponse {
	r.Namespace = p.namespace
	reply, err := p.ReplayTools(p.ctx, r)
	p.ok(err, "ReplayTools")
	return reply
}

// callIDs are the ids of replayed calls.
func callIDs(calls []*transcriptv1.ReplayedCall) []string {
	ids := []string{}
	for _, c := range calls {
		ids = append(ids, c.GetId())
	}
	return ids
}

func replays(p *probe) {
	c := p.chain("u c1 R1 c2 r2 k3 r3 a")
	r := p.replay(&transcriptv1.ReplayToolsRequest{Head: byID(c.head()), MaxCalls: 2, MaxItemChars: 400})
	is(p, "calls", callIDs(r.GetCalls()), []string{"2", "3"})
	is(p, "more", r.GetHasMoreCalls(), true)
	p.holds(r.GetCalls()[0].GetResult() == c.messages[4].GetParts()[0].GetText(), "the text of the result of call 2")
	is(p, "calls of a tool", callIDs(p.replay(&transcriptv1.ReplayToolsRequest{Head: byID(c.head()), ToolNames: []string{"look"}}).GetCalls()), []string{"1", "2"})
	tight := p.replay(&transcriptv1.ReplayToolsRequest{Head: byID(c.head()), MaxChars: 300})
	p.holds(len([]rune(tight.GetText())) <= 300, "a text of at most 300 code points, got %d", len([]rune(tight.GetText())))
	cut := p.replay(&transcriptv1.ReplayToolsRequest{Head: byID(c.head()), MaxItemChars: 100}).GetCalls()[0]
	p.holds(cut.GetResultCut() && len([]rune(cut.GetResult())) <= 120, "the result of call 1 to be cut")
}

func replayRedacts(p *probe) {
	c := p.chain("u c1")
	end := p.node(c.head(), result("1", p.text("token "+secret)))
	r := p.replay(&transcriptv1.ReplayToolsRequest{Head: byID(end)})
	p.holds(!strings.Contains(r.GetText(), secret) && !strings.Contains(r.GetCalls()[0].GetResult(), secret), "a digest without the secret")
}

func replayPast(p *probe) {
	c := p.chain("u c1 r1 a | u c2 r2")
	r := p.replay(&transcriptv1.ReplayToolsRequest{Head: byID(c.head()), PastLoopsOnly: true})
	is(p, "calls", callIDs(r.GetCalls()), []string{"1"})
	is(p, "more", r.GetHasMoreCalls(), false)
}
