package client

import (
	"context"
	"iter"
	"math"

	"google.golang.org/protobuf/proto"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// Recalled is a past tool call: the server's reply, of which Parts is the whole result however many pages it took.
type Recalled struct {
	*transcriptv1.RecallToolCallResponse
}

// Recall asks for a call of a chain.
type Recall struct {
	// ID is the call's id; HasID false: calls without one. Not needed with Place.
	ID    string
	HasID bool
	// Place is NODE.I as a left-out result's line gives it; it names exactly that result.
	Place string
	// Occurrence counts back where ids repeat: 0 is the latest. Not with Place.
	Occurrence int
	// Redact takes secrets out of all text of the call and of the result, of each text by itself.
	Redact bool
}

// Recall gives a past call with its arguments and its whole result, whatever was compacted since. Errors:
// ErrToolCallNotFound, ErrNodeNotFound, ErrAliasNotFound, ErrInvalidField.
func (c *Client) Recall(ctx context.Context, head Ref, call Recall) (*Recalled, error) {
	req := &transcriptv1.RecallToolCallRequest{
		Namespace: c.options.namespace, Head: head.ref, Place: call.Place, PageBytes: recallPage,
		Occurrence: int32(max(-1, min(call.Occurrence, math.MaxInt32))), Redact: call.Redact,
	}
	if call.HasID {
		req.ToolCallId = &call.ID
	}
	var whole *transcriptv1.RecallToolCallResponse
	for {
		page, err := read(ctx, c, c.rpc.RecallToolCall, req)
		switch {
		case err != nil:
			return nil, err
		case page.NextPageToken != "" && page.NextPageToken == req.PageToken:
			return nil, fault(ErrBadReply, "a page leads to itself")
		case whole == nil:
			whole = page
		default:
			whole.Parts = joinParts(whole.Parts, page)
		}
		if req.PageToken = page.NextPageToken; req.PageToken == "" {
			whole.NextPageToken = ""
			return &Recalled{whole}, nil
		}
	}
}

// recallPage is the bytes of a page: the most that the server gives.
const recallPage = 1 << 20

// joinParts adds a page's parts, the first of which may go on with the text of the last.
func joinParts(parts []*transcriptv1.Part, page *transcriptv1.RecallToolCallResponse) []*transcriptv1.Part {
	more := page.Parts
	if n := len(parts); page.Continues && n > 0 && len(more) > 0 {
		if text, ok := parts[n-1].Kind.(*transcriptv1.Part_Text); ok {
			text.Text += more[0].GetText()
			more = more[1:]
		}
	}
	return append(parts, more...)
}

// RunLoops lists the run loops of a chain, newest first, asking for page after page as it goes. The request's namespace,
// head and page token are the client's; nil has no previews. An error ends it.
func (c *Client) RunLoops(ctx context.Context, head Ref, req *transcriptv1.ListRunLoopsRequest) iter.Seq2[*transcriptv1.RunLoop, error] {
	return pages(func(token string) ([]*transcriptv1.RunLoop, string, error) {
		page := &transcriptv1.ListRunLoopsRequest{}
		proto.Merge(page, req)
		page.Namespace, page.Head, page.PageToken = c.options.namespace, head.ref, token
		res, err := read(ctx, c, c.rpc.ListRunLoops, page)
		return res.GetRunLoops(), res.GetNextPageToken(), err
	})
}

// Search finds messages, asking for page after page as it goes: give it a context that ends, for a page may cost half a
// second and a search of many chains many pages. The request's namespace and page token are the client's. An error ends
// it: ErrInvalidPattern, ErrInvalidField, ErrNodeNotFound, ErrAliasNotFound.
func (c *Client) Search(ctx context.Context, req *transcriptv1.SearchRequest) iter.Seq2[*transcriptv1.SearchHit, error] {
	return pages(func(token string) ([]*transcriptv1.SearchHit, string, error) {
		res, err := c.SearchPage(ctx, req, token)
		return res.GetHits(), res.GetNextPageToken(), err
	})
}

// SearchPage is one page of Search, beginning at a token: empty for the first.
func (c *Client) SearchPage(ctx context.Context, req *transcriptv1.SearchRequest, token string) (*transcriptv1.SearchResponse, error) {
	page := &transcriptv1.SearchRequest{}
	proto.Merge(page, req)
	page.Namespace, page.PageToken = c.options.namespace, token
	return read(ctx, c, c.rpc.Search, page)
}

// Replay gives a bounded, redacted digest of a chain's latest calls. The request's namespace and head are the client's;
// nil has the defaults. Beside a view, PastLoopsOnly leaves out what the view shows anyway.
func (c *Client) Replay(ctx context.Context, head Ref, req *transcriptv1.ReplayToolsRequest) (*transcriptv1.ReplayToolsResponse, error) {
	own := &transcriptv1.ReplayToolsRequest{}
	proto.Merge(own, req)
	own.Namespace, own.Head = c.options.namespace, head.ref
	return read(ctx, c, c.rpc.ReplayTools, own)
}

// Describe tells the state of a chain. The request's namespace and head are the client's; nil has the defaults.
func (c *Client) Describe(ctx context.Context, head Ref, req *transcriptv1.DescribeRequest) (*transcriptv1.DescribeResponse, error) {
	own := &transcriptv1.DescribeRequest{}
	proto.Merge(own, req)
	own.Namespace, own.Head = c.options.namespace, head.ref
	return read(ctx, c, c.rpc.Describe, own)
}
