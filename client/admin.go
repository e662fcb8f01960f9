package client

import (
	"context"
	"errors"
	"iter"

	"google.golang.org/grpc"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// Stats counts the namespace.
func (c *Client) Stats(ctx context.Context) (*transcriptv1.NamespaceStatsResponse, error) {
	return read(ctx, c, c.admin.NamespaceStats, &transcriptv1.NamespaceStatsRequest{Namespace: c.options.namespace})
}

// Check is what Verify is to check, and how. The zero Check is all of the Client's namespace, as fast as it goes.
type Check struct {
	// WholeStore checks every namespace, and what is the store's own: its files, the names of namespaces, and rows that no namespace
	// has.
	WholeStore bool
	// Cursor is that of the last report of an earlier check of the same, which goes on. It is good after a restart of the server, too.
	Cursor string
	// MaxBytesPerSecond bounds what the server reads of its store, on average; 0: nothing does.
	MaxBytesPerSecond int64
}

// Verify makes the server read the whole namespace, or store, recompute every id and check links, folds and indexes, and yields
// its reports as they come. A problem is a report, not an error. An error ends it: where the last report was not done, the check was not
// finished, and another goes on at that report's cursor.
func (c *Client) Verify(ctx context.Context, check Check) iter.Seq2[*transcriptv1.VerifyResponse, error] {
	req := &transcriptv1.VerifyRequest{Namespace: c.options.namespace, Cursor: check.Cursor, MaxBytesPerSecond: check.MaxBytesPerSecond}
	if check.WholeStore {
		req.Namespace, req.Scope = "", transcriptv1.Scope_SCOPE_STORE
	}
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
