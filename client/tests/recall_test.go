package client_test

import (
	"fmt"
	"math"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// The wrappers fill in namespace and head, page to the end, and leave the caller's request alone.
func TestReadersOfAChain(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	c := l.client(client.WithNamespace("tenant"))
	thread := worked(t, c, 3)
	must(thread.Compact(ctx, keepAll))(t)
	head := client.ByAlias(thread.Alias())

	req := &transcriptv1.ListRunLoopsRequest{PageSize: 1, PreviewChars: 20}
	loops := collect(t, c.RunLoops(ctx, head, req))
	if len(loops) != 4 || loops[0].UserPreview != "question 2" || loops[3].ReplyPreview != "Hello." {
		t.Errorf("loops %v", loops)
	}
	if !proto.Equal(req, &transcriptv1.ListRunLoopsRequest{PageSize: 1, PreviewChars: 20}) {
		t.Errorf("the request is now %v", req)
	}
	if n := len(collect(t, c.RunLoops(ctx, head, nil))); n != 4 {
		t.Errorf("%d loops", n)
	}

	find := &transcriptv1.SearchRequest{
		Scope:   &transcriptv1.SearchRequest_AliasPrefix{AliasPrefix: "msg/"},
		Pattern: &transcriptv1.SearchRequest_Text{Text: "QUESTION"}, PageSize: 1,
	}
	for i, hit := range collect(t, c.Search(ctx, find)) {
		if hit.Excerpt != fmt.Sprint("question ", 2-i) || hit.Alias != "msg/m1" {
			t.Errorf("hit %d: %v", i, hit)
		}
	}
	page := must(c.SearchPage(ctx, find, ""))(t)
	if page = must(c.SearchPage(ctx, find, page.NextPageToken))(t); len(page.Hits) != 1 || page.Hits[0].Excerpt != "question 1" {
		t.Errorf("second page %v", page)
	}
	fails(t, ends(c.Search(ctx, nil)), client.ErrInvalidField)

	if r := must(c.Replay(ctx, head, nil))(t); len(r.Calls) != 3 || r.Text == "" {
		t.Errorf("replayed %v", r)
	}
	if d := must(c.Describe(ctx, head, nil))(t); d.HeadId != thread.Head() || len(d.Lineage.Compactions) != 1 {
		t.Errorf("described %v", d)
	}
	missing := client.ByAlias("nobody")
	fails(t, ends(c.RunLoops(ctx, missing, nil)), client.ErrAliasNotFound)
	_, err := c.Replay(ctx, missing, nil)
	fails(t, err, client.ErrAliasNotFound)
	_, err = c.Describe(ctx, missing, nil)
	fails(t, err, client.ErrAliasNotFound)
	_, err = c.Compact(ctx, missing, client.Compaction{})
	fails(t, err, client.ErrAliasNotFound)
}

func TestRecallOfRepeatedIDs(t *testing.T) {
	ctx, c := t.Context(), newLink(t).client()
	thread := begun(t, c)
	for i := range 3 {
		ok(t, thread.Append(ctx, asks))
		ok(t, thread.AppendResults(ctx, client.Result(call, fmt.Sprint(i))))
	}
	head := client.ByID(thread.Head())
	for back := range 3 {
		got := must(c.Recall(ctx, head, client.Recall{ID: "call-1", HasID: true, Occurrence: back}))(t)
		if got.Parts[0].GetText() != fmt.Sprint(2-back) || got.EarlierOccurrences != int32(2-back) {
			t.Errorf("%d back: %v", back, got)
		}
	}
	for _, back := range []int{3, math.MaxInt32, math.MaxInt32 + 1, math.MaxInt} {
		_, err := c.Recall(ctx, head, client.Recall{ID: "call-1", HasID: true, Occurrence: back})
		fails(t, err, client.ErrToolCallNotFound)
	}
	_, err := c.Recall(ctx, head, client.Recall{ID: "call-1", HasID: true, Occurrence: -1 << 32})
	fails(t, err, client.ErrInvalidField)
	_, err = c.Recall(ctx, head, client.Recall{})
	fails(t, err, client.ErrToolCallNotFound)
}
