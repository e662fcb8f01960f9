package server_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore"
	"github.com/transcriptd/transcriptd/chainstore/memstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

func (r *rig) loops(req *ListLoops) *transcriptv1.ListRunLoopsResponse {
	r.Helper()
	return must[*transcriptv1.ListRunLoopsResponse](r)(r.ListRunLoops(r.ctx(), req))
}

func TestRunLoopStates(t *testing.T) {
	const (
		open, closed, cut = transcriptv1.RunLoopState_RUN_LOOP_STATE_OPEN, transcriptv1.RunLoopState_RUN_LOOP_STATE_CLOSED,
			transcriptv1.RunLoopState_RUN_LOOP_STATE_INTERRUPTED
	)
	type states = []transcriptv1.RunLoopState
	for name, c := range map[string]struct {
		chain []*Message
		want  states // newest first
	}{
		"no loop":                        {[]*Message{system("s"), system("s")}, nil},
		"a question":                     {[]*Message{user("a")}, states{open}},
		"a question in two messages":     {[]*Message{user("a"), system("s"), user("b")}, states{open}},
		"an answer":                      {[]*Message{user("a"), assistant("b")}, states{closed}},
		"an answer and the system":       {[]*Message{user("a"), assistant("b"), system("s")}, states{closed}},
		"an empty answer":                {[]*Message{user("a"), assistant(" \n")}, states{open}},
		"a call":                         {[]*Message{user("a"), calling("f", "1")}, states{open}},
		"a result":                       {[]*Message{user("a"), calling("f", "1"), result("1", "x")}, states{open}},
		"work after an answer":           {[]*Message{user("a"), assistant("b"), calling("f", "1")}, states{open}},
		"an answer without the result":   {[]*Message{user("a"), calling("f", "1"), assistant("b")}, states{cut}},
		"a stray result after an answer": {[]*Message{user("a"), assistant("b"), result("1", "x")}, states{closed}},
		"a lead-in":                      {[]*Message{assistant("a")}, states{open}},
		"a lead-in and a question":       {[]*Message{assistant("a"), user("b")}, states{open, closed}},
		"stopped":                        {[]*Message{user("a"), calling("f", "1"), user("b"), assistant("c")}, states{closed, cut}},
		"stopped after an answer":        {[]*Message{user("a"), assistant("b"), calling("f", "1"), user("b"), assistant("c")}, states{closed, cut}},
		"answered before more work":      {[]*Message{user("a"), assistant("b"), calling("f", "1"), result("1", "x"), user("c")}, states{open, closed}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			apart := r.chain("apart", c.chain...)
			together := r.put("", c.chain...)
			for _, head := range []string{apart[len(apart)-1], together} {
				loops := r.loops(&ListLoops{Head: byID(head)}).RunLoops
				var got states
				for _, l := range loops {
					got = append(got, l.State)
				}
				equal(r, "the states", fmt.Sprint(got), fmt.Sprint(c.want))
				if len(loops) > 0 {
					equal(r, "whether the first loop is the lead-in", loops[len(loops)-1].LeadIn, strings.HasPrefix(name, "a lead-in"))
				}
			}
		})
	}
}

// TestRunLoopsOfAnAlias: pages go on where they were though the alias moves; notes give times and tokens.
func TestRunLoopsOfAnAlias(t *testing.T) {
	r := newRig(t)
	var chain []*Message
	for i := range 25 {
		chain = append(chain, user(fmt.Sprint("q", i)), assistant(fmt.Sprint("a", i)))
	}
	ids := r.chain("chat", chain...)
	req := &ListLoops{Head: byAlias("chat"), PreviewChars: 10}
	first := r.loops(req)
	equal(r, "the loops of a page", len(first.RunLoops), 20)
	equal(r, "the newest question", first.RunLoops[0].UserPreview, "q24")
	equal(r, "its answer", first.RunLoops[0].ReplyPreview, "a24")
	equal(r, "its first message", first.RunLoops[0].First.NodeId, ids[48])

	sent := timestamppb.New(timestamppb.Now().AsTime().Truncate(1e9))
	tokens := int32(7)
	must[*transcriptv1.PutNodeResponse](r)(r.PutNode(r.ctx(), &PutNode{
		Parent: byAlias("chat"), Messages: []*Message{user("one more"), assistant("yes")}, Aliases: []*Update{{Name: "chat"}},
		Notes: []*transcriptv1.MessageNote{{SentAt: sent, TokenCount: &tokens}, {TokenCount: &tokens}},
	}))
	rest := r.loops(&ListLoops{Head: byAlias("chat"), PageToken: first.NextPageToken, PreviewChars: 10})
	equal(r, "the rest", len(rest.RunLoops), 5)
	equal(r, "the newest of the rest", rest.RunLoops[0].UserPreview, "q4")
	equal(r, "a page behind the last", rest.NextPageToken, "")
	newest := r.loops(&ListLoops{Head: byAlias("chat"), PageSize: 1}).RunLoops[0]
	equal(r, "when it started", newest.StartedAt.AsTime(), sent.AsTime())
	equal(r, "its tokens", fmt.Sprint(newest.Tokens, newest.TokensEstimated), "14 false")
	equal(r, "previews that were not asked for", newest.UserPreview+newest.ReplyPreview, "")
	equal(r, "loops at most", len(r.loops(&ListLoops{Head: byAlias("chat"), PageSize: 100_000}).RunLoops), 26)
}

func TestRunLoopPreviews(t *testing.T) {
	r := newRig(t)
	parts := func(role transcriptv1.Role, texts ...string) *Message {
		m := &Message{Role: role}
		for _, s := range texts {
			m.Parts = append(m.Parts, text(s)...)
		}
		return m
	}
	const secret = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH"
	head := r.put("",
		user("first"), system("between"), parts(transcriptv1.Role_ROLE_USER, "é\U0001F600", "", "x"), user(""), user("key "+secret+" end"),
		calling("f", "1"), result("1", "not shown"), assistant("early"), assistant("the last"), assistant(" "), user("next"))
	for _, c := range []struct {
		chars     int32
		redact    bool
		user, say string
	}{
		{1, false, "f", "t"},
		{6, false, "first\n", "the la"},
		{7, false, "first\né", "the las"},
		{8, false, "first\né\U0001F600", "the last"},
		{20, false, "first\né\U0001F600\nx\nkey sk-pr", "the last"},
		{21, true, "first\né\U0001F600\nx\nkey [redac", "the last"},
		{1000, true, "first\né\U0001F600\nx\nkey [redacted] end", "the last"},
		{10_000, false, "first\né\U0001F600\nx\nkey " + secret + " end", "the last"},
	} {
		l := r.loops(&ListLoops{Head: byID(head), PreviewChars: c.chars, Redact: c.redact}).RunLoops[1]
		equal(r, fmt.Sprint(c.chars, " of what was asked"), l.UserPreview, c.user)
		equal(r, fmt.Sprint(c.chars, " of the reply"), l.ReplyPreview, c.say)
	}
	leadIn := r.put("", assistant("hello"), user("hi"))
	l := r.loops(&ListLoops{Head: byID(leadIn), PreviewChars: 10}).RunLoops[1]
	equal(r, "the preview of a lead-in", l.UserPreview+"|"+l.ReplyPreview, "|hello")
}

// TestRunLoopBounds: a page ends by what was read and by what it holds, and gives at least one loop.
func TestRunLoopBounds(t *testing.T) {
	r := newRig(t)
	var large []*Message
	for i := range 2 {
		large = append(large, user(fmt.Sprint(i)))
		for k := range 6 {
			id := fmt.Sprint(i, k)
			large = append(large, calling("f", id), result(id, strings.Repeat("x", 3<<20-100)))
		}
		large = append(large, assistant("done"))
	}
	parent := ""
	for _, m := range large {
		parent = r.put(parent, m)
	}
	pages := r.loopPages(&ListLoops{Head: byID(parent), PreviewChars: 10})
	equal(r, "the pages of large loops", fmt.Sprint(pages), "[1 1]")

	id, name := strings.Repeat("i", 1000), strings.Repeat("n", 1000)
	var many []*Message
	for i := range 8 {
		many = append(many, user(strings.Repeat("\U0001F600", 10_000)))
		for range 20 {
			many = append(many, calling(name, id, id, id, id, id, id), result(id, "1"), result(id, "2"))
		}
		many = append(many, assistant(strings.Repeat("é", 10_000+i)))
	}
	ids := r.chain("", many...)
	head := byID(ids[len(ids)-1])
	pages = r.loopPages(&ListLoops{Head: head, PreviewChars: 10_000})
	equal(r, "that a page of long ids has a few loops", pages[0] > 1 && pages[0] < 7, true)
	l := r.loops(&ListLoops{Head: head, PageSize: 1, PreviewChars: 10_000}).RunLoops[0]
	equal(r, "the calls listed and not", fmt.Sprint(len(l.ToolCalls), l.MoreToolCalls, l.UnansweredCalls), "100 20 80")
	answered := 0
	for _, c := range l.ToolCalls {
		if c.State == transcriptv1.ToolCallState_TOOL_CALL_STATE_OK {
			answered++
		}
	}
	equal(r, "the answered calls of those listed", answered, 34) // two of each six, and of the last four
	equal(r, "code points", utf8.RuneCountInString(l.UserPreview), 10_000)
}

// loopPages gives the sizes of all pages.
func (r *rig) loopPages(req *ListLoops) (sizes []int) {
	r.Helper()
	for {
		page := r.loops(req)
		sizes = append(sizes, len(page.RunLoops))
		if req.PageToken = page.NextPageToken; req.PageToken == "" {
			return sizes
		}
	}
}

// payloadCounter is a store that counts the rows whose payloads are read, and the bytes of these.
type payloadCounter struct {
	chainstore.Store
	rows, bytes int
}

type countedChain struct {
	chainstore.Chain
	counter *payloadCounter
}

func (p *payloadCounter) Chain(ctx context.Context, namespace string, head chainstore.Ref, after *chainstore.ID) (chainstore.Chain, error) {
	c, err := p.Store.Chain(ctx, namespace, head, after)
	return countedChain{c, p}, err
}

func (c countedChain) Rows(ctx context.Context, spans []chainstore.Span, yield func(*chainstore.Row) error) error {
	return c.Chain.Rows(ctx, spans, func(row *chainstore.Row) error {
		if row.Payload != nil {
			c.counter.rows++
			c.counter.bytes += len(row.Payload)
		}
		return yield(row)
	})
}

// TestRunLoopsReadFewPayloads: those of the calls listed, of their results and of what previews show, and no others.
func TestRunLoopsReadFewPayloads(t *testing.T) {
	counter := &payloadCounter{Store: memstore.New(memstore.Options{})}
	r := newPlainRig(t, counter)
	chain := []*Message{user("a"), assistant("b"), user("c")}
	for i := range 1000 {
		chain = append(chain, calling("f", fmt.Sprint(i)), result(fmt.Sprint(i), "x"))
	}
	r.chain("chat", append(chain, assistant("d"))...)
	for _, c := range []struct{ size, chars, want int }{{1, 0, 200}, {1, 10, 202}, {2, 0, 200}, {2, 10, 204}} {
		counter.rows = 0
		r.loops(&ListLoops{Head: byAlias("chat"), PageSize: int32(c.size), PreviewChars: int32(c.chars)})
		equal(r, fmt.Sprint("the payloads read for ", c.size, " loops with previews of ", c.chars), counter.rows, c.want)
	}
}

// TestRunLoopsDoNotReadThePast: a page costs the same at the end of a short and of a long chain.
func TestRunLoopsDoNotReadThePast(t *testing.T) {
	store, err := badgerstore.Open(t.TempDir(), uncached)
	if err != nil {
		t.Fatal(err)
	}
	r := newPlainRig(t, store)
	first := r.put("", user("the first page asks for the namespace's number"), assistant("and the keys of tokens"), user("once"))
	r.loops(&ListLoops{Head: byID(first), PageSize: 1})
	var costs []string
	for _, depth := range []int{100, 1000} {
		name := fmt.Sprint(depth)
		var chain []*Message
		for i := range depth / 4 {
			id := fmt.Sprint(i)
			chain = append(chain, user(name), calling("f", id), result(id, "x"), assistant("done"))
		}
		r.chain(name, chain...)
		costs = append(costs, reads(store, func() { r.loops(&ListLoops{Head: byAlias(name), PageSize: 5, PreviewChars: 50}) }))
	}
	t.Logf("five loops of four messages: %s", costs[0])
	equal(r, "the cost at depth 1,000", costs[1], costs[0])
}

// reads is what a call asks of the database.
func reads(store *badgerstore.Store, call func()) string {
	g, k, n := store.Reads()
	call()
	g2, k2, n2 := store.Reads()
	return fmt.Sprintf("%d gets, %d seeks, %d nexts", g2-g, k2-k, n2-n)
}
