package server_test

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/transcriptd/transcriptd/chainstore/badgerstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

func (r *rig) recall(req *Recall) *Recalled {
	r.Helper()
	return must[*Recalled](r)(r.RecallToolCall(r.ctx(), req))
}

// said is the text and JSON of a page.
func said(reply *Recalled) (s string) {
	for _, p := range reply.Parts {
		s += p.GetText() + p.GetJson()
	}
	return s
}

// recallWhole reads all pages, joins the parts, and gives the first page with all of them.
func (r *rig) recallWhole(req *Recall) (whole *Recalled, pages int) {
	r.Helper()
	req = proto.CloneOf(req)
	for {
		page := r.recall(req)
		if pages++; pages == 1 {
			whole = page
		} else {
			equal(r, "whether a later page has the call", page.Call == nil, true)
			equal(r, "what a later page says of the places", fmt.Sprint(page.CallPlace, page.ResultPlace, page.State, page.ResultBytes, page.SentAt),
				fmt.Sprint(whole.CallPlace, whole.ResultPlace, whole.State, whole.ResultBytes, whole.SentAt))
			if page.Continues {
				last := whole.Parts[len(whole.Parts)-1].Kind.(*transcriptv1.Part_Text)
				last.Text += page.Parts[0].Kind.(*transcriptv1.Part_Text).Text
				page.Parts = page.Parts[1:]
			}
			whole.Parts = append(whole.Parts, page.Parts...)
		}
		if req.PageToken = page.NextPageToken; req.PageToken == "" {
			whole.NextPageToken = ""
			return whole, pages
		}
		if pages > 2000 {
			r.Fatal("the pages do not end")
		}
	}
}

// TestRecallPairs: which result a call has, where ids repeat.
func TestRecallPairs(t *testing.T) {
	type pair struct{ call, result int } // places in the chain
	for name, c := range map[string]struct {
		chain []*Message
		id    *string
		want  []pair // latest first
	}{
		"one call":                          {[]*Message{calling("f", "1"), result("1", "a")}, ptr("1"), []pair{{0, 1}}},
		"none":                              {[]*Message{calling("f", "1")}, ptr("2"), nil},
		"no result yet":                     {[]*Message{calling("f", "1")}, ptr("1"), []pair{{0, -1}}},
		"no result":                         {[]*Message{calling("f", "1"), user("x"), result("1", "late")}, ptr("1"), []pair{{0, -1}}},
		"two groups":                        {[]*Message{calling("f", "1"), result("1", "a"), calling("f", "1"), result("1", "b")}, ptr("1"), []pair{{2, 3}, {0, 1}}},
		"two calls of a group":              {[]*Message{calling("f", "1"), calling("f", "1"), result("1", "a"), result("1", "b")}, ptr("1"), []pair{{1, 3}, {0, 2}}},
		"two calls of a message":            {[]*Message{calling("f", "1", "1"), result("1", "a"), result("1", "b")}, ptr("1"), []pair{{0, 2}, {0, 1}}},
		"a result for the first of two":     {[]*Message{calling("f", "1"), calling("f", "1"), result("1", "a")}, ptr("1"), []pair{{1, -1}, {0, 2}}},
		"a result behind a group unended":   {[]*Message{calling("f", "1", "2"), result("2", "y"), calling("f", "1"), result("1", "a")}, ptr("1"), []pair{{2, 3}, {0, -1}}},
		"a result behind a group that went": {[]*Message{calling("f", "1"), user("x"), calling("f", "2"), calling("f", "1"), result("1", "a")}, ptr("1"), []pair{{3, 4}, {0, -1}}},
		"a third result":                    {[]*Message{calling("f", "1", "1"), result("1", "a"), result("1", "b"), result("1", "c")}, ptr("1"), []pair{{0, 2}, {0, 1}}},
		"an orphan between two calls":       {[]*Message{calling("f", "1"), result("2", "x"), calling("f", "1"), result("1", "a"), result("1", "b")}, ptr("1"), []pair{{2, 4}, {0, 3}}},
		"the empty id":                      {[]*Message{calling("f", ""), result("", "a")}, ptr(""), []pair{{0, 1}}},
		"no id, where one is empty":         {[]*Message{calling("f", ""), result("", "a")}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			ids := r.chain("", c.chain...)
			head := byID(ids[len(ids)-1])
			for n, want := range c.want {
				got := r.recall(&Recall{Head: head, ToolCallId: c.id, Occurrence: int32(n)})
				equal(r, "the call's node", got.CallPlace.NodeId, ids[want.call])
				equal(r, "the earlier calls", got.EarlierOccurrences, int32(len(c.want)-1-n))
				if want.result < 0 {
					equal(r, "the state", got.State, transcriptv1.ToolCallState_TOOL_CALL_STATE_UNANSWERED)
					equal(r, "whether there is a result", got.ResultPlace != nil || len(got.Parts) > 0, false)
				} else {
					equal(r, "the result's node", got.ResultPlace.GetNodeId(), ids[want.result])
					equal(r, "the result", said(got), c.chain[want.result].Parts[0].GetText())
				}
			}
			_, err := r.RecallToolCall(r.ctx(), &Recall{Head: head, ToolCallId: c.id, Occurrence: int32(len(c.want))})
			r.fails(err, codes.NotFound, "TOOL_CALL_NOT_FOUND", "")
		})
	}
}

// TestRecallOfForks: a branch has its own calls and those before it.
func TestRecallOfForks(t *testing.T) {
	r := newRig(t)
	shared := r.put("", user("q"), calling("f", "1"), result("1", "shared"))
	a := r.put(shared, calling("f", "1"), result("1", "of a"))
	b := r.put(shared, calling("f", "1"), result("1", "of b"))
	deep := b
	for i := range 70 { // more forks than a row has room for
		r.put(deep, user("the first child"), assistant(fmt.Sprint(i)))
		deep = r.put(deep, user("a fork"), assistant(fmt.Sprint(i)))
	}
	for head, want := range map[string][]string{shared: {"shared"}, a: {"of a", "shared"}, b: {"of b", "shared"}, deep: {"of b", "shared"}} {
		for n, s := range want {
			got := r.recall(&Recall{Head: byID(head), ToolCallId: ptr("1"), Occurrence: int32(n)})
			equal(r, "the result", said(got), s)
			equal(r, "by its place", said(r.recall(&Recall{Head: byID(head), Place: fmt.Sprint(got.ResultPlace.NodeId, ".", got.ResultPlace.MessageIndex)})), s)
		}
	}
	for head, place := range map[string]string{a: b, b: a, shared: a, deep: a} {
		_, err := r.RecallToolCall(r.ctx(), &Recall{Head: byID(head), Place: place[:12] + ".1"})
		r.fails(err, codes.NotFound, "TOOL_CALL_NOT_FOUND", "")
	}
}

// TestRecallTimes: of the result, else of the call; sent, else first put.
func TestRecallTimes(t *testing.T) {
	r := newRig(t)
	sent := timestamppb.New(timestamppb.Now().AsTime().Truncate(1e9))
	reply := must[*transcriptv1.PutNodeResponse](r)(r.PutNode(r.ctx(), &PutNode{
		Messages: []*Message{calling("f", "1", "2"), result("1", "x")}, Notes: []*transcriptv1.MessageNote{{SentAt: sent}, {}},
	}))
	node := must[*transcriptv1.GetNodeResponse](r)(r.GetNode(r.ctx(), &transcriptv1.GetNodeRequest{Node: byID(reply.NodeId)}))
	equal(r, "a result's time", r.recall(&Recall{Head: byID(reply.NodeId), ToolCallId: ptr("1")}).SentAt.AsTime(), node.FirstPutAt.AsTime())
	equal(r, "a call's time", r.recall(&Recall{Head: byID(reply.NodeId), ToolCallId: ptr("2")}).SentAt.AsTime(), sent.AsTime())
}

// TestRecallPages: any page size gives the same result, cut between code points, and JSON and media whole.
func TestRecallPages(t *testing.T) {
	r := newRig(t)
	long := strings.Repeat("aé\u4e2d\U0001F600", 40)
	m := result("1", long)
	m.Parts = append(m.Parts,
		&transcriptv1.Part{Kind: &transcriptv1.Part_Json{Json: `{"a":["` + strings.Repeat("x", 100) + `"]}`}},
		&transcriptv1.Part{Kind: &transcriptv1.Part_Text{}},
		&transcriptv1.Part{Extras: `{"cache_control":{"type":"ephemeral"}}`, Kind: &transcriptv1.Part_Text{Text: long}},
		&transcriptv1.Part{Kind: &transcriptv1.Part_Media{Media: &transcriptv1.Media{MediaType: "image/png", Source: &transcriptv1.Media_Inline{Inline: make([]byte, 500)}}}},
		&transcriptv1.Part{Extras: `{"empty":"` + strings.Repeat("x", 50) + `"}`, Kind: &transcriptv1.Part_Text{}},
		&transcriptv1.Part{Kind: &transcriptv1.Part_Text{Text: "end"}},
	)
	head := byID(r.put("", user("q"), calling("f", "1"), m))
	for _, size := range []int32{1, 2, 3, 4, 5, 7, 11, 16, 17, 64, 100, 101, 128, 129, 500, 1000, 2000, 0, 1 << 30} {
		whole, pages := r.recallWhole(&Recall{Head: head, ToolCallId: ptr("1"), PageBytes: size})
		if !proto.Equal(&Message{Parts: whole.Parts}, &Message{Parts: m.Parts}) {
			t.Errorf("pages of %d give another result: %v", size, whole.Parts)
		}
		if size > 0 && size < 500 && pages < int(whole.ResultBytes)/int(size+600) {
			t.Errorf("%d pages of %d bytes", pages, size)
		}
	}
	req := &Recall{Head: head, ToolCallId: ptr("1"), PageBytes: 100}
	for first := true; first || req.PageToken != ""; first = false {
		page := r.recall(req)
		size := proto.Size(&Message{Parts: page.Parts})
		equal(r, "that a page is within its size, or a part that is whole", size <= 100 || len(page.Parts) == 1 && page.Parts[0].GetText() == "", true)
		req.PageToken = page.NextPageToken
	}
}

// TestRecallOfLargeResults: 3 MiB come in pages of at most 1 MiB, a large call comes alone, and no reply is too large to
// be sent.
func TestRecallOfLargeResults(t *testing.T) {
	r := newRig(t)
	big := strings.Repeat("\u4e2d", 1<<20-100)
	json := &Message{Role: transcriptv1.Role_ROLE_TOOL, ToolCallId: ptr("2"), Parts: append(
		[]*transcriptv1.Part{{Kind: &transcriptv1.Part_Json{Json: `"` + strings.Repeat("x", 3<<20-200) + `"`}}}, text("end")...)}
	call := func(id string, arguments int) *Message {
		m := calling("f", id)
		m.Parts[0].GetToolCall().Arguments = strings.Repeat("y", arguments)
		return m
	}
	parent := ""
	for _, m := range []*Message{call("1", 3<<20-100), result("1", big), call("2", 256<<10), json} {
		parent = r.put(parent, m)
	}
	head := byID(parent)
	first := r.recall(&Recall{Head: head, ToolCallId: ptr("1")})
	equal(r, "the arguments", len(first.Call.Arguments), 3<<20-100)
	equal(r, "the parts beside a large call", len(first.Parts), 0)
	equal(r, "the bytes of the result", first.ResultBytes > 3<<20-400 && first.ResultBytes < 3<<20, true)
	for size, want := range map[int32]int{0: 13, 1<<31 - 1: 4} {
		whole, pages := r.recallWhole(&Recall{Head: head, ToolCallId: ptr("1"), PageBytes: size})
		equal(r, "the pages", pages, want)
		equal(r, "that the result is whole", len(whole.Parts) == 1 && whole.Parts[0].GetText() == big, true)
	}
	page := r.recall(&Recall{Head: head, ToolCallId: ptr("2"), PageBytes: 1 << 20})
	equal(r, "the parts of a page with a large one", len(page.Parts), 1)
	equal(r, "that it is whole", len(page.Parts[0].GetJson()), 3<<20-198)
	whole, pages := r.recallWhole(&Recall{Head: head, ToolCallId: ptr("2")})
	equal(r, "its pages", pages, 2)
	equal(r, "what comes behind", whole.Parts[1].GetText(), "end")
}

// TestRecallOfAMovedAlias: pages go on with the call that the first one gave, though the alias has a later call since.
func TestRecallOfAMovedAlias(t *testing.T) {
	r := newRig(t)
	long := strings.Repeat("x", 1000)
	r.chain("chat", calling("f", "1"), result("1", long))
	req := &Recall{Head: byAlias("chat"), ToolCallId: ptr("1"), PageBytes: 600}
	first := r.recall(req)
	must[*transcriptv1.PutNodeResponse](r)(r.PutNode(r.ctx(), &PutNode{
		Parent: byAlias("chat"), Messages: []*Message{calling("f", "1"), result("1", "another")}, Aliases: []*Update{{Name: "chat"}},
	}))
	equal(r, "the latest", said(r.recall(req)), "another")
	req.PageToken = first.NextPageToken
	second := r.recall(req)
	equal(r, "both pages", said(first)+said(second), long)
	equal(r, "that the second goes on", second.Continues && !first.Continues, true)
	req.Occurrence, req.PageToken = 1, ""
	equal(r, "the one before", r.recall(req).EarlierOccurrences, int32(0))
}

// TestRecallCountsEarlier: many calls of one id, across several pages of the index and of two in a message.
func TestRecallCountsEarlier(t *testing.T) {
	r := newRig(t)
	var chain []*Message
	for i := range 600 {
		chain = append(chain, calling("f", "1", "1"), result("1", fmt.Sprint(i, "a")), result("1", fmt.Sprint(i, "b")))
	}
	ids := r.chain("chat", chain...)
	for n, earlier := range map[int32]int32{0: 1000, 1: 1000, 198: 1000, 199: 1000, 200: 999, 201: 998, 1197: 2, 1198: 1, 1199: 0} {
		got := r.recall(&Recall{Head: byAlias("chat"), ToolCallId: ptr("1"), Occurrence: n})
		equal(r, fmt.Sprint("the earlier calls at ", n), got.EarlierOccurrences, earlier)
		equal(r, "the result", said(got), fmt.Sprint(599-n/2, map[int32]string{0: "b", 1: "a"}[n%2]))
	}
	got := r.recall(&Recall{Head: byAlias("chat"), Place: ids[2] + ".0"})
	equal(r, "by place, the earlier calls", got.EarlierOccurrences, int32(1))
	_, err := r.RecallToolCall(r.ctx(), &Recall{Head: byAlias("chat"), ToolCallId: ptr("1"), Occurrence: 1<<31 - 1})
	r.fails(err, codes.NotFound, "TOOL_CALL_NOT_FOUND", "")
}

// TestRecallDoesNotReadThePath: a recall costs the same at the end of a short and of a long chain.
func TestRecallDoesNotReadThePath(t *testing.T) {
	store, err := badgerstore.Open(t.TempDir(), uncached)
	if err != nil {
		t.Fatal(err)
	}
	r := newPlainRig(t, store)
	r.put("", user("the first call asks for the namespace's number"))
	costs := map[string][]string{}
	for _, depth := range []int{100, 1000} {
		chain := []*Message{user(fmt.Sprint(depth)), calling("f", "1"), result("1", "x")}
		for i := range depth {
			id := fmt.Sprint("other", i)
			chain = append(chain, calling("f", id), result(id, "y"))
		}
		ids := r.chain(fmt.Sprint(depth), chain...)
		for what, req := range map[string]*Recall{
			"by id": {ToolCallId: ptr("1")}, "a result by place": {Place: ids[2] + ".0"}, "a call by place": {Place: ids[1] + ".0"},
			"what is not there": {ToolCallId: ptr("0")},
		} {
			req.Head = byAlias(fmt.Sprint(depth))
			costs[what] = append(costs[what], reads(store, func() {
				_, err := r.RecallToolCall(r.ctx(), req)
				equal(r, "that it is found", err == nil, what != "what is not there")
			}))
		}
	}
	for what, c := range costs {
		t.Logf("%s: %s", what, c[0])
		equal(r, "the cost at depth 1,000", c[1], c[0])
	}
}
