package client

import (
	"context"
	"errors"
	"iter"

	"google.golang.org/grpc"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// Stats tells the server's version and the size of the namespace.
func (c *Client) Stats(ctx context.Context) (*transcriptv1.StatsResponse, error) {
	return read(ctx, c, c.admin.Stats, &transcriptv1.StatsRequest{Namespace: c.options.namespace})
}

// Verify makes the server read the whole namespace, recompute every id and check links, folds and indexes, and yields
// its reports as they come. A problem is a report, not an error. An error ends it: where the last report was not done,
// the check was not finished.
func (c *Client) Verify(ctx context.Context) iter.Seq2[*transcriptv1.VerifyResponse, error] {
	return c.verify(ctx, &transcriptv1.VerifyRequest{Namespace: c.options.namespace})
}

// VerifyStore is Verify of every namespace, and of what is the store's own: its files, the names of namespaces, and rows that no
// namespace has.
func (c *Client) VerifyStore(ctx context.Context) iter.Seq2[*transcriptv1.VerifyResponse, error] {
	return c.verify(ctx, &transcriptv1.VerifyRequest{WholeStore: true})
}

func (c *Client) verify(ctx context.Context, req *transcriptv1.VerifyRequest) iter.Seq2[*transcriptv1.VerifyResponse, error] {
	open := func(ctx context.Context) (grpc.ClientStream, error) {
		return c.admin.Verify(ctx, req)
	}
	return func(yield func(*transcriptv1.VerifyResponse, error) bool) {
		done := false
		err := streamOnce(ctx, c, open, func(report *transcriptv1.VerifyResponse) bool {
			done = report.Done
			return yield(report, nil)
		})
		if err == nil && !done {
			err = fault(ErrBadReply, "the check was not finished")
		}
		if err != nil && !errors.Is(err, errStopped) {
			yield(nil, err)
		}
	}
}
