package server_test

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	"github.com/transcriptd/transcriptd/chainstore/memstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

type (
	SearchRequest  = transcriptv1.SearchRequest
	SearchResponse = transcriptv1.SearchResponse
	SearchHit      = transcriptv1.SearchHit
	searcher       func(context.Context, *SearchRequest) (*SearchResponse, error)
)

// forest is what a namespace holds, as the test that filled it knows it.
type forest struct {
	namespace string
	nodes     []*treeNode
	heads     map[string]*treeNode
}

type treeNode struct {
	id       string
	parent   *treeNode
	messages []*Message
	at       []time.Time
}

// path is the nodes from the root through n.
func (n *treeNode) path() (path []*treeNode) {
	for ; n != nil; n = n.parent {
		path = append(path, n)
	}
	slices.Reverse(path)
	return path
}

// searchWords has letters with cases of several lengths, some that fold to ASCII, and code points of all sizes.
var searchWords = []string{
	"error", "Timeout", "K", "ſ", "ß", "ẞ", "ss", "task", "Kelvin", "ПРИВЕТ", "привет", "ΣΊΣΥΦΟΣ", "ς", "日本語", "\U0001F600",
	"\x00", "a.c", "abc", "İ", "ı", "i", "x", "42", "\n", "",
}

var searchPatterns = []string{
	`err(or)?`, `(?i)привет`, `^t`, `\btask\b`, `x*`, `[0-9]+`, `a.c`, `a\.c`, `日.`, `$`, `(?i)k`, `(?:ab|ac)c`, `(error|timeout) ?`, `(?s).*`, `[^a]`,
	`\pL+`, `(?i)s{2}`, `s$|^s`, `\x{1F600}`, `(?i)ß`, ` {2,}`,
}

func drawWords(t *rapid.T) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(searchWords), 0, 5).Draw(t, "words"), rapid.SampledFrom([]string{"", " "}).Draw(t, "space"))
}

func drawSearched(t *rapid.T) *Message {
	m := &Message{Role: transcriptv1.Role(rapid.IntRange(1, 5).Draw(t, "role"))}
	name := func() *string {
		return rapid.SampledFrom([]*string{nil, proto.String(""), proto.String("bash"), proto.String("Read"), proto.String("error")}).Draw(t, "name")
	}
	id := func() *string {
		return rapid.SampledFrom([]*string{nil, proto.String("1"), proto.String("2")}).Draw(t, "id")
	}
	if m.Role == transcriptv1.Role_ROLE_TOOL {
		m.ToolCallId, m.IsError = id(), rapid.Bool().Draw(t, "error")
		m.Name = name()
	}
	kinds := 4
	if m.Role == transcriptv1.Role_ROLE_ASSISTANT {
		kinds = 6
	}
	for range rapid.IntRange(0, 2).Draw(t, "parts") {
		p := &transcriptv1.Part{Kind: &transcriptv1.Part_Text{Text: drawWords(t)}}
		switch rapid.IntRange(0, kinds).Draw(t, "kind") {
		case 1:
			p.Kind = &transcriptv1.Part_Reasoning{Reasoning: &transcriptv1.Reasoning{Text: drawWords(t), Signature: "error"}}
		case 2:
			p.Kind = &transcriptv1.Part_Json{Json: drawWords(t)}
		case 3:
			p.Kind = &transcriptv1.Part_Media{Media: &transcriptv1.Media{MediaType: "error", Source: &transcriptv1.Media_Inline{Inline: []byte("error")}}}
		case 5, 6:
			p.Kind = &transcriptv1.Part_ToolCall{ToolCall: &transcriptv1.ToolCall{Id: id(), Name: name(), Arguments: drawWords(t)}}
		}
		m.Parts = append(m.Parts, p)
	}
	return m
}

// atMinute is a time with minutes past a fixed hour.
func atMinute(n int) *timestamppb.Timestamp {
	return timestamppb.New(time.Date(2026, 1, 2, 3, n, 0, 0, time.UTC))
}

// grow puts a node under a random one, mostly the last.
func (f *forest) grow(t *rapid.T, r *rig) {
	var parent *treeNode
	if len(f.nodes) > 0 && rapid.IntRange(0, 9).Draw(t, "root") > 0 {
		parent = f.nodes[len(f.nodes)-1]
		if rapid.IntRange(0, 3).Draw(t, "fork") == 0 {
			parent = rapid.SampledFrom(f.nodes).Draw(t, "parent")
		}
	}
	f.put(t, r, parent)
}

// put puts a node under a parent, nil for a root.
func (f *forest) put(t *rapid.T, r *rig, parent *treeNode) *treeNode {
	most := rapid.SampledFrom([]int{1, 3, 3, 12}).Draw(t, "most messages") // of 12, a page may end within the node
	n := &treeNode{parent: parent, messages: rapid.SliceOfN(rapid.Custom(drawSearched), 1, most).Draw(t, "messages")}
	req := &PutNode{Namespace: f.namespace, Messages: n.messages, Salt: fmt.Appendf(nil, "%016d", len(f.nodes))}
	if parent != nil {
		req.Parent = byID(parent.id)
	}
	for range n.messages {
		at := atMinute(rapid.IntRange(0, 9).Draw(t, "minute"))
		n.at = append(n.at, at.AsTime())
		req.Notes = append(req.Notes, &transcriptv1.MessageNote{SentAt: at})
	}
	n.id = must[*transcriptv1.PutNodeResponse](r)(r.PutNode(r.ctx(), req)).NodeId
	f.nodes = append(f.nodes, n)
	return n
}

func (f *forest) alias(r *rig, name string, n *treeNode) {
	f.heads[name] = n
	must[*transcriptv1.AliasResponse](r)(r.Alias(r.ctx(), &transcriptv1.AliasRequest{
		Namespace: f.namespace, Aliases: []*transcriptv1.AliasMove{{Name: name, Target: byID(n.id)}},
	}))
}

func plant(t *rapid.T, r *rig, namespace string) *forest {
	f := &forest{namespace: namespace, heads: map[string]*treeNode{}}
	for range rapid.IntRange(1, 20).Draw(t, "nodes") {
		f.grow(t, r)
	}
	for range rapid.IntRange(1, 8).Draw(t, "aliases") {
		f.alias(r, aliasName(t), rapid.SampledFrom(f.nodes).Draw(t, "target"))
	}
	return f
}

func aliasName(t *rapid.T) string {
	return rapid.SampledFrom([]string{"a/", "b/"}).Draw(t, "folder") + rapid.SampledFrom([]string{"1", "2", "3", "4", "5", "6"}).Draw(t, "name")
}

func drawSearch(t *rapid.T, f *forest) *SearchRequest {
	req := &SearchRequest{Namespace: f.namespace, Scope: &transcriptv1.SearchRequest_AliasPrefix{
		AliasPrefix: rapid.SampledFrom([]string{"", "a", "b/", "b/3", "c"}).Draw(t, "prefix"),
	}}
	if rapid.Bool().Draw(t, "one chain") {
		req.Scope = &transcriptv1.SearchRequest_Head{Head: byID(rapid.SampledFrom(f.nodes).Draw(t, "head").id)}
	}
	if rapid.Bool().Draw(t, "literal") {
		words := rapid.SliceOfN(rapid.SampledFrom(searchWords), 1, 2).Draw(t, "text")
		text := rapid.SampledFrom([]func(string) string{strings.ToUpper, strings.ToLower, strings.Clone}).Draw(t, "case")(strings.Join(words, " "))
		req.Pattern = &transcriptv1.SearchRequest_Text{Text: cmp.Or(text, "e")}
	} else {
		req.Pattern = &transcriptv1.SearchRequest_Regexp{Regexp: rapid.SampledFrom(searchPatterns).Draw(t, "regexp")}
	}
	for rapid.IntRange(0, 3).Draw(t, "role?") == 0 {
		req.Roles = append(req.Roles, transcriptv1.Role(rapid.IntRange(1, 5).Draw(t, "role")))
	}
	if rapid.IntRange(0, 3).Draw(t, "tools?") == 0 {
		req.ToolNames = rapid.SliceOfN(rapid.SampledFrom([]string{"", "bash", "Read", "absent"}), 1, 2).Draw(t, "tools")
	}
	if rapid.IntRange(0, 3).Draw(t, "since?") == 0 {
		req.Since = atMinute(rapid.IntRange(0, 5).Draw(t, "since"))
	}
	if rapid.IntRange(0, 3).Draw(t, "until?") == 0 {
		req.Until = atMinute(rapid.IntRange(6, 9).Draw(t, "until"))
		req.Until.Nanos = int32(rapid.IntRange(0, 1).Draw(t, "nanos"))
	}
	req.ErrorsOnly = rapid.IntRange(0, 5).Draw(t, "errors") == 0
	req.ExcerptChars = int32(rapid.SampledFrom([]int{0, 1, 2, 3, 7, 12}).Draw(t, "excerpt"))
	return req
}

// expectedHit is a hit as brute force finds it.
type expectedHit struct {
	node  *treeNode
	index int
	alias string
	part  int
	field transcriptv1.SearchField
	text  string
	found [][]int
	tool  *string
	// loop is the first message of its run loop, as "id.index"; empty for none.
	loop string
}

func (e *expectedHit) String() string { return fmt.Sprintf("%s.%d", e.node.id, e.index) }

// find searches a forest message by message.
func (f *forest) find(req *SearchRequest) (hits []expectedHit) {
	if ref := req.GetHead(); ref != nil {
		i := slices.IndexFunc(f.nodes, func(n *treeNode) bool { return n.id == ref.GetNodeId() })
		return findInChain(req, f.nodes[i], "", map[*treeNode]bool{})
	}
	var names []string
	for name := range f.heads {
		if strings.HasPrefix(name, req.GetAliasPrefix()) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	seen := map[*treeNode]bool{}
	for _, name := range names {
		hits = append(hits, findInChain(req, f.heads[name], name, seen)...)
	}
	return hits
}

// findInChain searches the nodes of a chain that were not seen.
func findInChain(req *SearchRequest, head *treeNode, alias string, seen map[*treeNode]bool) (hits []expectedHit) {
	re := regexp.MustCompile(cmp.Or(req.GetRegexp(), "(?i)"+regexp.QuoteMeta(req.GetText())))
	var open []*transcriptv1.ToolCall // the group's calls without a result
	inResults, loop, phase := false, "", "none"
	for _, n := range head.path() {
		for i, m := range n.messages {
			e := expectedHit{node: n, index: i, alias: alias}
			leftOut := false
			if m.Role == transcriptv1.Role_ROLE_TOOL {
				k := slices.IndexFunc(open, func(c *transcriptv1.ToolCall) bool {
					return (c.Id == nil) == (m.ToolCallId == nil) && c.GetId() == m.GetToolCallId()
				})
				e.tool = m.Name
				if leftOut = k < 0; !leftOut {
					if m.Name == nil {
						e.tool = open[k].Name
					}
					open, inResults = slices.Delete(slices.Clone(open), k, k+1), true
				}
			} else {
				var calls []*transcriptv1.ToolCall
				for _, p := range m.Parts {
					if c := p.GetToolCall(); c != nil {
						calls = append(calls, c)
					}
				}
				if len(calls) == 0 || inResults {
					open, inResults = nil, false
				}
				open = append(open, calls...)
			}
			switch {
			case leftOut || m.Role == transcriptv1.Role_ROLE_SYSTEM || m.Role == transcriptv1.Role_ROLE_DEVELOPER:
			case m.Role == transcriptv1.Role_ROLE_USER && phase == "asked":
			case m.Role == transcriptv1.Role_ROLE_USER:
				loop, phase = e.String(), "asked"
			case phase == "none":
				loop, phase = e.String(), "working"
			default:
				phase = "working"
			}
			e.loop = loop
			if !seen[n] && searchWanted(req, m, n.at[i]) && e.match(req, re) {
				hits = append(hits, e)
			}
		}
	}
	for _, n := range head.path() {
		seen[n] = true
	}
	slices.Reverse(hits)
	return hits
}

func searchWanted(req *SearchRequest, m *Message, at time.Time) bool {
	return (len(req.Roles) == 0 || slices.Contains(req.Roles, m.Role)) &&
		(req.Since == nil || !at.Before(req.Since.AsTime())) && (req.Until == nil || at.Before(req.Until.AsTime())) &&
		(!req.ErrorsOnly || m.IsError)
}

// match finds the first part that matches.
func (e *expectedHit) match(req *SearchRequest, re *regexp.Regexp) bool {
	m := e.node.messages[e.index]
	named := func(name *string) bool {
		return len(req.ToolNames) == 0 || name != nil && slices.Contains(req.ToolNames, *name)
	}
	result := m.Role == transcriptv1.Role_ROLE_TOOL
	if result && !named(e.tool) {
		return false
	}
	try := func(part int, field transcriptv1.SearchField, text string) bool {
		if !re.MatchString(text) {
			return false
		}
		e.part, e.field, e.text, e.found = part, field, text, re.FindAllStringIndex(text, 10)
		return true
	}
	for i, p := range m.Parts {
		hit := false
		switch k := p.Kind.(type) {
		case *transcriptv1.Part_ToolCall:
			if !named(k.ToolCall.Name) {
				continue
			}
			hit = k.ToolCall.Name != nil && try(i, transcriptv1.SearchField_SEARCH_FIELD_TOOL_NAME, *k.ToolCall.Name) ||
				try(i, transcriptv1.SearchField_SEARCH_FIELD_ARGUMENTS, k.ToolCall.Arguments)
			if hit {
				e.tool = k.ToolCall.Name
			}
		case *transcriptv1.Part_Text:
			hit = (result || named(nil)) && try(i, transcriptv1.SearchField_SEARCH_FIELD_TEXT, k.Text)
		case *transcriptv1.Part_Reasoning:
			hit = (result || named(nil)) && try(i, transcriptv1.SearchField_SEARCH_FIELD_REASONING, k.Reasoning.Text)
		case *transcriptv1.Part_Json:
			hit = (result || named(nil)) && try(i, transcriptv1.SearchField_SEARCH_FIELD_JSON, k.Json)
		}
		if hit {
			return true
		}
	}
	return false
}

// check compares a hit with what was expectedHit.
func (e *expectedHit) check(t *rapid.T, got *SearchHit, chars int) {
	want := &SearchHit{
		Place: &transcriptv1.MessagePlace{NodeId: e.node.id, MessageIndex: int32(e.index)}, Role: e.node.messages[e.index].Role,
		Alias: e.alias, PartIndex: int32(e.part), Field: e.field, SentAt: timestamppb.New(e.node.at[e.index]),
		Excerpt: got.Excerpt, Matches: got.Matches, ToolName: e.tool, RunLoopPlace: got.RunLoopPlace,
		ToolCallId: e.node.messages[e.index].ToolCallId,
	}
	if !proto.Equal(got, want) {
		t.Fatalf("a hit is\n%v\nwant\n%v", got, want)
	}
	loop := ""
	if got.RunLoopPlace != nil {
		loop = fmt.Sprintf("%s.%d", got.RunLoopPlace.NodeId, got.RunLoopPlace.MessageIndex)
	}
	if loop != e.loop {
		t.Fatalf("the run loop of %v is %q, want %q", e, loop, e.loop)
	}
	if n := utf8.RuneCountInString(got.Excerpt); n != min(chars, utf8.RuneCountInString(e.text)) || !utf8.ValidString(got.Excerpt) {
		t.Fatalf("the excerpt %q of %q has %d code points, asked for are %d", got.Excerpt, e.text, n, chars)
	}
	for from := 0; from <= len(e.text); from++ {
		if strings.HasPrefix(e.text[from:], got.Excerpt) && e.fits(from, got) {
			return
		}
	}
	t.Fatalf("the excerpt %q of %q has the matches %v; in the text they are %v", got.Excerpt, e.text, got.Matches, e.found)
}

// fits tells whether the excerpt's matches are those of the text, if it begins with a byte of the text.
func (e *expectedHit) fits(from int, got *SearchHit) bool {
	var want []*transcriptv1.TextRange
	points := func(at int) int32 { return int32(utf8.RuneCountInString(e.text[from:at])) }
	for _, m := range e.found {
		if start, end := max(m[0], from), min(m[1], from+len(got.Excerpt)); start < end {
			want = append(want, &transcriptv1.TextRange{Start: points(start), End: points(end)})
		}
	}
	first := e.found[0]
	inside := first[0] >= from && first[0] <= from+len(got.Excerpt)
	return inside && slices.EqualFunc(got.Matches, want, func(a, b *transcriptv1.TextRange) bool { return proto.Equal(a, b) })
}

// searchPages reads all pages, and calls between before each further one.
func searchPages(t *rapid.T, search searcher, req *SearchRequest, between func()) (hits []*SearchHit, nodes int64) {
	req = proto.CloneOf(req)
	for range 10_000 {
		page, err := search(context.Background(), req)
		if err != nil {
			t.Fatalf("after %d hits: %v", len(hits), err)
		}
		if size := int(req.PageSize); size > 0 && len(page.Hits) > size {
			t.Fatalf("%d hits in a page of %d", len(page.Hits), size)
		}
		hits, nodes = append(hits, page.Hits...), nodes+int64(page.ScannedNodes)
		if req.PageToken = page.NextPageToken; req.PageToken == "" {
			return hits, nodes
		}
		between()
	}
	t.Fatal("the pages never end")
	return nil, 0
}

// TestSearchFindsWhatBruteForceFinds searches random trees with forks, shared prefixes, bad pairing and several messages a
// node, with all filters: in one page, in small ones over the wire, and with limits that end pages in all places.
func TestSearchFindsWhatBruteForceFinds(t *testing.T) {
	store := memstore.New(memstore.Options{})
	r := newRig(t, store)
	wire := func(ctx context.Context, req *SearchRequest) (*SearchResponse, error) { return r.Search(ctx, req) }
	other := user(strings.Join(searchWords, " "))
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		f := plant(t, r, fmt.Sprintf("n%d", n))
		put := &PutNode{Namespace: fmt.Sprintf("other%d", n), Messages: []*Message{other}, Aliases: []*Update{{Name: "a/1"}}}
		must[*transcriptv1.PutNodeResponse](r)(r.PutNode(r.ctx(), put))
		nextMillisecond()
		for range 4 {
			req := drawSearch(t, f)
			want := f.find(req)
			req.PageSize = 100
			check := func(search searcher) (nodes int64) {
				got, nodes := searchPages(t, search, req, func() {})
				if len(got) != len(want) {
					t.Fatalf("found %d, want %d\n%v\n%v", len(got), len(want), got, want)
				}
				for i := range got {
					want[i].check(t, got[i], cmp.Or(int(req.ExcerptChars), 200))
				}
				return nodes
			}
			if nodes, all := check(wire), f.size(req); nodes != all && len(want) < 100 {
				t.Fatalf("looked at %d nodes of %d", nodes, all)
			}
			req.PageSize = int32(rapid.IntRange(1, 4).Draw(t, "page"))
			check(wire)
			check(searchWith(store, drawSearchLimits(t)))
		}
	})
}

// size is how many nodes a search has to look at.
func (f *forest) size(req *SearchRequest) int64 {
	seen := map[*treeNode]bool{}
	for _, n := range f.nodes {
		if n.id == req.GetHead().GetNodeId() {
			return int64(len(n.path()))
		}
	}
	for name, n := range f.heads {
		for ; strings.HasPrefix(name, req.GetAliasPrefix()) && n != nil; n = n.parent {
			seen[n] = true
		}
	}
	return int64(len(seen))
}

// drawSearchLimits ends pages, and reads, early. The clock goes on with every look at it.
func drawSearchLimits(t *rapid.T) searchLimits {
	now, tick := time.Unix(1_800_000_000, 0), time.Duration(rapid.IntRange(0, 20).Draw(t, "tick"))*time.Millisecond
	return searchLimits{
		Bytes: int64(rapid.IntRange(1, 300).Draw(t, "bytes")), Span: rapid.IntRange(1, 100).Draw(t, "span"),
		Rows: rapid.IntRange(1, 8).Draw(t, "rows"), Reply: rapid.IntRange(1, 2000).Draw(t, "reply"),
		Runs: 10_000, Time: 50 * time.Millisecond,
		Now: func() time.Time {
			now = now.Add(tick)
			return now
		},
	}
}

// TestSearchWhileAliasesMove: whatever happens to aliases between pages, what an alias that nobody touched holds is
// found, and nothing is found twice.
func TestSearchWhileAliasesMove(t *testing.T) {
	var ms int64 = 1_800_000_000_000
	clock := func() time.Time { ms++; return time.UnixMilli(ms) }
	store := memstore.New(memstore.Options{Now: clock})
	r := newRig(t, store)
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		f := plant(t, r, fmt.Sprintf("n%d", n))
		req := drawSearch(t, f)
		req.PageSize = int32(rapid.IntRange(1, 3).Draw(t, "page"))
		req.Scope = &transcriptv1.SearchRequest_AliasPrefix{}
		appends := rapid.Bool().Draw(t, "only appends")
		touched := map[string]bool{}
		untouched := map[string]*treeNode{}
		for name, head := range f.heads {
			untouched[name] = head
		}
		limits := drawSearchLimits(t)
		limits.Now = clock
		changes := 0
		got, _ := searchPages(t, searchWith(store, limits), req, func() {
			if changes++; changes > 12 {
				return
			}
			name := aliasName(t)
			touched[name] = true
			head := f.heads[name]
			switch {
			case appends && head == nil:
			case appends:
				f.alias(r, name, f.put(t, r, head))
			case rapid.IntRange(0, 2).Draw(t, "delete") == 0:
				must[*transcriptv1.DeleteAliasResponse](r)(r.DeleteAlias(r.ctx(), &transcriptv1.DeleteAliasRequest{Namespace: f.namespace, Name: name}))
				delete(f.heads, name)
			default:
				f.alias(r, name, rapid.SampledFrom(f.nodes).Draw(t, "moved to"))
			}
		})
		found := map[string]int{}
		for _, h := range got {
			found[fmt.Sprintf("%s.%d", h.Place.NodeId, h.Place.MessageIndex)]++
		}
		for name, head := range untouched {
			if touched[name] {
				continue
			}
			for _, e := range findInChain(req, head, name, map[*treeNode]bool{}) {
				if found[e.String()] == 0 {
					t.Fatalf("%v of an alias that nobody touched was not found", &e)
				}
			}
		}
		for _, node := range f.nodes {
			for i := range node.messages {
				if e := (expectedHit{node: node, index: i}); found[e.String()] > 1 {
					t.Fatalf("%v was found %d times", &e, found[e.String()])
				}
			}
		}
	})
}
