package client

import (
	"context"
	"iter"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// backMessages is how many messages a page of Back has where the query does not say.
const backMessages = 100

// Back yields a view from its end back, a page of the query's LastMessages and LastBytes at a time, 100 messages where it has neither:
// first the end, or what comes before the query's Before, and each time what comes before that. It stays with the head that an alias
// has at first. Pages laid one before the other are the view; one that has no messages has one page without any. An error ends it.
func (c *Client) Back(ctx context.Context, head Ref, q Query) iter.Seq2[*Assembly, error] {
	if q.LastMessages == 0 && q.LastBytes == 0 {
		q.LastMessages = backMessages
	}
	q.IfNoneMatch = ""
	return func(yield func(*Assembly, error) bool) {
		for head, q := head, q; ; {
			page, err := c.Assemble(ctx, head, q)
			if err == nil && page.MoreBefore && samePlace(page.Begin, q.Before) {
				err = fault(ErrBadReply, "a page leads to itself")
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(page, nil) || !page.MoreBefore {
				return
			}
			head, q.Before = ByID(page.HeadID), page.Begin
		}
	}
}

func samePlace(a, b *transcriptv1.MessagePlace) bool {
	return a.GetNodeId() == b.GetNodeId() && a.GetMessageIndex() == b.GetMessageIndex()
}
