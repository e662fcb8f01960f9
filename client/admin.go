package client

import (
	"context"
	"errors"
	"iter"

	"google.golang.org/grpc"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// Stats counts the namespace, and tells its settings, which are nil where they were never set.
func (c *Client) Stats(ctx context.Context) (*transcriptv1.NamespaceStatsResponse, error) {
	return read(ctx, c, c.admin.NamespaceStats, &transcriptv1.NamespaceStatsRequest{Namespace: c.options.namespace})
}

// Namespaces lists the names of namespaces that the caller may read, in the order of their bytes, asking for page after page as it goes. An
// error ends it. A server without the feature "namespaces" does not have it.
func (c *Client) Namespaces(ctx context.Context) iter.Seq2[string, error] {
	return pages(func(token string) (names []string, next string, err error) {
		res, err := read(ctx, c, c.rpc.ListNamespaces, &transcriptv1.ListNamespacesRequest{PageSize: pageSize, PageToken: token})
		for _, n := range res.GetNamespaces() {
			names = append(names, n.Name)
		}
		return names, res.GetNextPageToken(), err
	})
}

// SetNamespace replaces the settings of the namespace as a whole: what is not set becomes its default, which is no limit. With a revision it
// does so only if that is the settings' own, as Stats tells it, 0 where they were never set; ErrSettingsChanged, if it is not. nil: whatever
// they are, and then a call whose reply is lost is not repeated.
func (c *Client) SetNamespace(ctx context.Context, settings *transcriptv1.NamespaceSettings, revision *int64) (*transcriptv1.SetNamespaceResponse, error) {
	req := &transcriptv1.SetNamespaceRequest{Namespace: c.options.namespace, Settings: settings, Revision: revision}
	res, _, err := call(ctx, c, when(repeatableSettings(req)), c.admin.SetNamespace, req)
	return res, err
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
			yield(nil, c.explained(ctx, err, req))
		}
	}
}
