package server_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/memstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

func inChain(head *NodeRef, text string) *SearchRequest {
	return &SearchRequest{
		Scope: &transcriptv1.SearchRequest_Head{Head: head}, Pattern: &transcriptv1.SearchRequest_Text{Text: text},
	}
}

func underPrefix(prefix, text string) *SearchRequest {
	return &SearchRequest{
		Scope: &transcriptv1.SearchRequest_AliasPrefix{AliasPrefix: prefix}, Pattern: &transcriptv1.SearchRequest_Text{Text: text},
	}
}

func byRegexp(req *SearchRequest, expr string) *SearchRequest {
	req.Pattern = &transcriptv1.SearchRequest_Regexp{Regexp: expr}
	return req
}

// search reads all pages.
func (r *rig) search(req *SearchRequest) (hits []*SearchHit) {
	r.Helper()
	req = proto.CloneOf(req)
	nextMillisecond()
	for {
		page := must[*SearchResponse](r)(r.Search(r.ctx(), req))
		hits = append(hits, page.Hits...)
		if req.PageToken = page.NextPageToken; req.PageToken == "" {
			return hits
		}
	}
}

// nextMillisecond waits for the clock to go on: what was set in the very millisecond in which a search begins may have moved
// since, and can be reported twice.
func nextMillisecond() {
	for last := time.Now().UnixMilli(); time.Now().UnixMilli() <= last; {
		runtime.Gosched()
	}
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// shown is an excerpt with its matches in brackets.
func shown(h *SearchHit) string {
	var b strings.Builder
	points, at := []rune(h.Excerpt), 0
	for _, m := range h.Matches {
		b.WriteString(string(points[at:m.Start]) + "[" + string(points[m.Start:m.End]) + "]")
		at = int(m.End)
	}
	return b.String() + string(points[at:])
}

func TestSearchExcerpts(t *testing.T) {
	r := newRig(t)
	long := strings.Repeat("é", 30) + "needle" + strings.Repeat("日", 30)
	for _, c := range []struct {
		text, find string
		regexp     bool
		chars      int32
		want       string
	}{
		{"a Needle here, a NEEDLE there", "needle", false, 0, "a [Needle] here, a [NEEDLE] there"},
		{long, "needle", false, 12, "éé[needle]日日日日"},
		{long, "needle", false, 6, "[needle]"},
		{long, "needle", false, 4, "[need]"},
		{long, "needle", false, 1, "[n]"},
		{"needle" + long, "^needle", true, 12, "[needle]éééééé"},
		{long + "needle", "needle$", true, 12, "日日日日日日[needle]"},
		{"kKK" + "KELVIN ſtraße STRAẞE", "k", false, 0, "[k][K][K][K]ELVIN ſtraße STRAẞE"},
		{"ſtraße STRAẞE strasse", "straße", false, 0, "[ſtraße] [STRAẞE] strasse"},
		{"ΣΊΣΥΦΟΣ σίσυφος", "σίσυφος", false, 0, "[ΣΊΣΥΦΟΣ] [σίσυφος]"},
		{"aaaxxx", "x*", true, 0, "aaa[xxx]"},
		{"", "x*", true, 0, ""},
		{"ab ab ab ab ab ab ab ab ab ab ab ab", "ab", false, 0, strings.Repeat("[ab] ", 10) + "ab ab"},
		{"one\ntwo", "(?m)^two$", true, 0, "one\n[two]"},
		{"\U0001F600\U0001F600x\U0001F600", "x", false, 2, "[x]\U0001F600"},
	} {
		req := inChain(byID(r.put("", user(c.text))), c.find)
		if req.ExcerptChars = c.chars; c.regexp {
			byRegexp(req, c.find)
		}
		hits := r.search(req)
		if len(hits) != 1 {
			t.Errorf("%q in %q: %v", c.find, c.text, hits)
			continue
		}
		equal(r, fmt.Sprintf("%q in %q, %d code points", c.find, c.text, c.chars), shown(hits[0]), c.want)
	}
}

// TestSearchNamesToolsAndLoops: a result tells its tool's name though only its call has it, across nodes.
func TestSearchNamesToolsAndLoops(t *testing.T) {
	r := newRig(t)
	call := calling("bash", "1", "2")
	call.Parts[1].GetToolCall().Name = proto.String("Read")
	ids := r.chain("chat", system("s"), user("find it"), call, result("2", "needle"), result("1", "needle"), result("1", "needle too often"))
	hits := r.search(inChain(byAlias("chat"), "needle"))
	equal(r, "hits", len(hits), 3)
	for i, want := range []*string{nil, proto.String("bash"), proto.String("Read")} {
		if hits[i].GetToolName() != deref(want) || (hits[i].ToolName == nil) != (want == nil) {
			t.Errorf("hit %d: %v", i, hits[i])
		}
		equal(r, "the loop", hits[i].RunLoopPlace.GetNodeId(), ids[1])
	}
	equal(r, "the call's id", hits[2].GetToolCallId(), "2")
	req := inChain(byAlias("chat"), "e")
	req.ToolNames = []string{"Read"}
	hits = r.search(req)
	equal(r, "hits of Read", len(hits), 2)
	equal(r, "the call", hits[1].Field, transcriptv1.SearchField_SEARCH_FIELD_TOOL_NAME)
	equal(r, "the call's part", hits[1].PartIndex, 1)
}

// TestSearchPairsWithinAGroup: a result is not that of a call of its id whose group has ended.
func TestSearchPairsWithinAGroup(t *testing.T) {
	r := newRig(t)
	messages := []*Message{
		user("find it"), calling("bash", "1", "2"), result("2", "x"), calling("Read", "1"), result("1", "needle"), user("so"), result("1", "needle"),
	}
	r.chain("chat", messages...)
	for _, head := range []*NodeRef{byAlias("chat"), byID(r.put("", messages...))} {
		hits := r.search(inChain(head, "needle"))
		equal(r, "hits", len(hits), 2)
		equal(r, "the tool of the answer", hits[1].GetToolName(), "Read")
		equal(r, "the tool of a late result", hits[0].GetToolName(), "")
	}
}

// TestSearchLooksAtWhatWasPut: compaction nodes contribute nothing, and what they stand for is found.
func TestSearchLooksAtWhatWasPut(t *testing.T) {
	r := newRig(t)
	ids := r.chain("chat", system("s"), user("needle one"), assistant("needle two"), user("needle three"), assistant("done"))
	compacted := must[*transcriptv1.CompactResponse](r)(r.Compact(r.ctx(), &transcriptv1.CompactRequest{Head: byAlias("chat"), ThroughId: ids[len(ids)-1], Summary: "needle summary", SummaryOnly: true}))
	if !compacted.Written {
		t.Fatal("nothing was compacted")
	}
	last := r.put(compacted.NodeId, assistant("needle four"), user("and that was all"))
	hits := r.search(inChain(byID(last), "needle"))
	equal(r, "hits", len(hits), 4)
	for i, id := range []string{last, ids[3], ids[2], ids[1]} {
		equal(r, "the node", hits[i].Place.NodeId, id)
		equal(r, "the loop", hits[i].RunLoopPlace.GetNodeId(), []string{ids[3], ids[3], ids[1], ids[1]}[i])
	}
}

func TestSearchRedacts(t *testing.T) {
	r := newRig(t)
	secret := "ghp_" + strings.Repeat("aB3dE5gH7j", 4)[:36]
	id := r.put("", user("before token="+secret+" after it, "+strings.Repeat("long text ", 30)+"and ghp_ again"))
	req := inChain(byID(id), "ghp_")
	req.Redact, req.ExcerptChars = true, 40
	hits := r.search(req)
	equal(r, "hits", len(hits), 1)
	if got := shown(hits[0]); strings.Contains(got, secret[4:]) || !strings.Contains(got, "and [ghp_] again") {
		t.Errorf("of two matches, the one that is no secret is shown as %q", got)
	}
	byRegexp(req, "aB3dE5.*after")
	hits = r.search(req)
	equal(r, "hits", len(hits), 1)
	if got := shown(hits[0]); strings.Contains(got, "aB3d") || !strings.Contains(got, "[redacted] after it") || len(hits[0].Matches) > 0 {
		t.Errorf("a match within a secret is shown as %q", got)
	}
	req.Redact = false
	if got := shown(r.search(req)[0]); !strings.Contains(got, "aB3d") {
		t.Errorf("not asked to redact, it is shown as %q", got)
	}
}

// TestSearchGoesOnAtTheOldHead: an alias that moves between pages does not change what the next has.
func TestSearchGoesOnAtTheOldHead(t *testing.T) {
	for _, req := range []*SearchRequest{inChain(byAlias("chat"), "needle"), underPrefix("", "needle")} {
		r := newRig(t)
		ids := r.chain("chat", user("needle 0"), user("needle 1"), user("needle 2"), user("needle 3"))
		req.PageSize = 1
		var got []string
		for {
			page := must[*SearchResponse](r)(r.Search(r.ctx(), req))
			for _, h := range page.Hits {
				got = append(got, h.Place.NodeId)
			}
			if req.PageToken = page.NextPageToken; req.PageToken == "" {
				break
			}
			r.chain("chat", user(fmt.Sprintf("needle elsewhere %d", len(got))))
		}
		slices.Reverse(got)
		if !slices.Equal(got, ids) {
			t.Errorf("found %v, want %v", got, ids)
		}
	}
}

// TestSearchFindsWhatAnAliasMovedTo: an alias that was searched and then moves, on or to a chain that is not searched yet, neither
// hides what was not searched nor shows again what was.
func TestSearchFindsWhatAnAliasMovedTo(t *testing.T) {
	now := time.UnixMilli(1_800_000_000_000)
	clock := func() time.Time { now = now.Add(time.Millisecond); return now }
	for _, moves := range [][]string{{"c"}, {"d", "c"}, {"c", "a"}, {"", "c"}, {"a+"}, {"a+", "a++"}} {
		store := memstore.New(memstore.Options{Now: clock})
		r := newRig(t, store)
		nodes := map[string]string{}
		for _, name := range []string{"a", "b", "c", "d"} {
			nodes[name] = r.chain(name, user("needle "+name))[0]
		}
		r.chain("e", user("needle a")) // the same node as that of a
		search, req := searchWith(store, searchLimits{Now: clock}), underPrefix("", "needle")
		req.PageSize = 1
		counts := map[string]int{}
		for page := 0; ; page++ {
			reply := must[*SearchResponse](r)(search(r.ctx(), req))
			for _, h := range reply.Hits {
				counts[h.Place.NodeId]++
			}
			if req.PageToken = reply.NextPageToken; req.PageToken == "" {
				break
			}
			if page > 0 {
				continue
			}
			for _, to := range moves {
				if to == "" {
					must[*transcriptv1.DeleteAliasResponse](r)(r.DeleteAlias(r.ctx(), &transcriptv1.DeleteAliasRequest{Name: "a"}))
					continue
				}
				if nodes[to] == "" {
					nodes[to] = r.put(nodes[to[:len(to)-1]], user("more"))
				}
				must[*transcriptv1.AliasResponse](r)(r.Alias(r.ctx(), &transcriptv1.AliasRequest{Aliases: []*transcriptv1.AliasMove{{Name: "a", Target: byID(nodes[to])}}}))
			}
		}
		for _, name := range []string{"a", "b", "c", "d"} {
			if n := counts[nodes[name]]; n != 1 {
				t.Errorf("after moves to %v the hit of %s was found %d times", moves, name, n)
			}
		}
	}
}

// TestSearchRemembersRuns: a node is reported again only where at least as many runs as a token has were come to since.
func TestSearchRemembersRuns(t *testing.T) {
	store := memstore.New(memstore.Options{})
	r := newRig(t, store)
	shared := r.chain("0000", user("needle"))[0]
	for _, between := range []int{1, 10, 19, 20, 50} {
		for i := range between {
			r.chain(fmt.Sprintf("between/%04d", i), user(fmt.Sprintf("needle %d", i)))
		}
		must[*transcriptv1.AliasResponse](r)(r.Alias(r.ctx(), &transcriptv1.AliasRequest{Aliases: []*transcriptv1.AliasMove{{Name: "last", Target: byID(shared)}}}))
		for _, remembered := range []int{1, 10, 20, 100} {
			search := searchWith(store, searchLimits{Runs: remembered})
			counts := map[string]int{}
			req := underPrefix("", "needle")
			for req.PageSize = 3; ; {
				page := must[*SearchResponse](r)(search(r.ctx(), req))
				for _, h := range page.Hits {
					counts[h.Place.NodeId]++
				}
				if req.PageToken = page.NextPageToken; req.PageToken == "" {
					break
				}
			}
			equal(r, "nodes found", len(counts), between+1)
			if n := counts[shared]; n > 1 && between < remembered {
				t.Errorf("%d runs between, %d remembered: the shared node was found %d times", between, remembered, n)
			}
			if n := counts[shared]; n == 1 && between >= remembered+3 {
				t.Errorf("%d runs between, %d to remember: all were", between, remembered)
			}
		}
	}
}

// TestSearchOfManyForks: two chains of hundreds of runs that part in the middle of one.
func TestSearchOfManyForks(t *testing.T) {
	r := newRig(t)
	var ids []string
	parent := r.put("", user("root"))
	for i := range 300 {
		r.put(parent, user("first child"))
		parent = r.put(parent, user(fmt.Sprintf("needle %d", i)))
		ids = append(ids, parent)
	}
	set := func(name, id string) {
		must[*transcriptv1.AliasResponse](r)(r.Alias(r.ctx(), &transcriptv1.AliasRequest{Aliases: []*transcriptv1.AliasMove{{Name: name, Target: byID(id)}}}))
	}
	set("a", ids[149])
	set("b", ids[299])
	set("c", ids[200])
	set("d", r.put(ids[250], user("another needle")))
	for _, size := range []int32{7, 100} {
		req := underPrefix("", "needle")
		req.PageSize = size
		found := map[string]int{}
		for _, h := range r.search(req) {
			found[h.Alias]++
		}
		for name, want := range map[string]int{"a": 150, "b": 150, "c": 0, "d": 1} {
			equal(r, "hits of "+name, found[name], want)
		}
	}
}

// spoilt is a store whose payloads are cut short.
type spoilt struct{ chainstore.Store }

type spoiltChain struct{ chainstore.Chain }

func (s spoilt) Chain(ctx context.Context, namespace string, head chainstore.Ref, after *chainstore.ID) (chainstore.Chain, error) {
	c, err := s.Store.Chain(ctx, namespace, head, after)
	return spoiltChain{c}, err
}

func (c spoiltChain) Rows(ctx context.Context, spans []chainstore.Span, yield func(*chainstore.Row) error) error {
	return c.Chain.Rows(ctx, spans, func(row *chainstore.Row) error {
		row.Payload = row.Payload[:max(0, len(row.Payload)-1)]
		return yield(row)
	})
}

func TestSearchOfSpoiltNodes(t *testing.T) {
	store := memstore.New(memstore.Options{})
	id := newRig(t, store).put("", user("a needle here"))
	r := newRig(t, spoilt{store})
	_, err := r.Search(r.ctx(), inChain(byID(id), "needle"))
	r.fails(err, codes.DataLoss, "NODE_CORRUPT", "")
}

// TestSearchPagesEnd: by bytes and by time, without a hit, and go on from there.
func TestSearchPagesEnd(t *testing.T) {
	store := memstore.New(memstore.Options{})
	r := newRig(t, store)
	var messages []*Message
	for i := range 100 {
		messages = append(messages, user(fmt.Sprintf("%d %s", i, strings.Repeat("x", 1000))))
	}
	messages[0] = user("needle")
	r.chain("chat", messages...)
	count := func(l searchLimits) (pages int) {
		l.Span, l.Rows = 2000, 2
		search, req := searchWith(store, l), inChain(byAlias("chat"), "needle")
		for hits := 0; ; pages++ {
			page := must[*SearchResponse](r)(search(r.ctx(), req))
			hits += len(page.Hits)
			if req.PageToken = page.NextPageToken; req.PageToken == "" {
				equal(r, "hits", hits, 1)
				return pages
			}
			equal(r, "hits before the last page", hits, 0)
		}
	}
	equal(r, "further pages without a limit", count(searchLimits{}), 0)
	if n := count(searchLimits{Bytes: 10_000}); n < 8 || n > 11 {
		t.Errorf("%d further pages of 10 KB", n)
	}
	now := time.Unix(0, 0)
	clock := func() time.Time { now = now.Add(time.Millisecond); return now }
	if n := count(searchLimits{Now: clock, Time: 40 * time.Millisecond}); n < 2 || n > 20 {
		t.Errorf("%d further pages of 40 ms", n)
	}
	// Whatever the limits, a page gets on.
	if n := count(searchLimits{Bytes: 1, Now: func() time.Time { now = now.Add(time.Hour); return now }}); n > 100 {
		t.Errorf("%d further pages", n)
	}
}

// TestSearchRepliesAreSmall: a page of the largest excerpts, ids and names is about a MiB at most.
func TestSearchRepliesAreSmall(t *testing.T) {
	r := newRig(t)
	var messages []*Message
	for range 100 {
		m := result(strings.Repeat("i", 1024), "needle"+strings.Repeat("\U0001F600", 2000))
		m.Name = proto.String(strings.Repeat("n", 1024))
		messages = append(messages, m)
	}
	name := strings.Repeat("a", 512)
	r.chain(name, messages...)
	req := underPrefix("", "needle")
	req.ExcerptChars, req.PageSize = 2000, 100
	page := must[*SearchResponse](r)(r.Search(r.ctx(), req))
	if size := proto.Size(page); size < 900_000 || size > 1<<20+16<<10 {
		t.Errorf("a page of %d bytes", size)
	}
	equal(r, "hits", len(r.search(req)), 100)
}

// TestSearchEndsWithItsContext: a pattern that takes minutes ends when the call does.
func TestSearchEndsWithItsContext(t *testing.T) {
	store := memstore.New(memstore.Options{})
	r := newRig(t, store)
	id := r.put("", user(strings.Repeat("abcd efgh ", 200_000)))
	ctx, cancel := context.WithTimeout(r.ctx(), 50*time.Millisecond)
	defer cancel()
	search := searchWith(store, searchLimits{})
	began := time.Now()
	_, err := search(ctx, byRegexp(inChain(byID(id), ""), `[a-z ]{1,900}[QZ]`))
	if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > 5*time.Second {
		t.Errorf("%v after %v", err, time.Since(began))
	}
}
