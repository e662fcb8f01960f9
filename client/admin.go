package client

import (
	"context"
	"errors"
	"iter"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

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

// DeleteNamespace deletes the namespace of the Client with all that it has, receipts and settings too, and tells whether there was one. confirm must
// be its name, "default" where the Client has none. The caller needs the roles admin and erase; ErrLegalHold, where there is a hold. A call whose reply
// is lost is not repeated: somebody may have begun the namespace anew. A server without the feature "delete_namespace" does not have it.
func (c *Client) DeleteNamespace(ctx context.Context, confirm string) (deleted bool, err error) {
	req := &transcriptv1.DeleteNamespaceRequest{Namespace: c.options.namespace, Confirm: confirm}
	defer c.cache.clear()
	res, _, err := call(ctx, c, when(false), c.admin.DeleteNamespace, req)
	return res.GetDeleted(), err
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
	return reports(ctx, c, req, open, "the check was not finished", (*transcriptv1.VerifyResponse).GetDone)
}

// Collection is what CollectGarbage is to delete, and how. The zero Collection is all of the Client's namespace that nothing keeps, with the
// server's grace.
type Collection struct {
	// WholeStore collects every namespace in turn.
	WholeStore bool
	// DryRun counts what would be deleted, and deletes nothing.
	DryRun bool
	// Grace is how long a node is kept after it was put, whatever refers to it, in whole milliseconds; nil: as the server is set. 0: its time
	// does not keep a node, and one whose alias somebody is about to set may go.
	Grace *time.Duration
	// MaxNodesPerSecond bounds what is deleted, on average; 0: nothing does.
	MaxNodesPerSecond int64
	// ReclaimSpace gives the space back that what was deleted takes, with WholeStore and without DryRun alone. Calls take longer meanwhile.
	ReclaimSpace bool
}

// CollectGarbage makes the server delete the nodes of the namespace, or store, that no alias, no history and no grace keeps, and yields its
// reports as they come. An error ends it, and so does who stops: what was deleted stays deleted, and another goes on with the rest. A server
// without the feature "collection" does not have it.
func (c *Client) CollectGarbage(ctx context.Context, q Collection) iter.Seq2[*transcriptv1.CollectGarbageResponse, error] {
	req := &transcriptv1.CollectGarbageRequest{Namespace: c.options.namespace, DryRun: q.DryRun, MaxNodesPerSecond: q.MaxNodesPerSecond, ReclaimSpace: q.ReclaimSpace}
	if q.WholeStore {
		req.Namespace, req.Scope = "", transcriptv1.Scope_SCOPE_STORE
	}
	if q.Grace != nil {
		req.Grace = durationpb.New(*q.Grace)
	}
	open := func(ctx context.Context) (grpc.ClientStream, error) {
		return c.admin.CollectGarbage(ctx, req)
	}
	return reports(ctx, c, req, open, "the collection was not finished", (*transcriptv1.CollectGarbageResponse).GetDone)
}

// Erasure is what Erase is to erase, and how. One of Nodes, AliasPrefix, Metadata and Attribute is set.
type Erasure struct {
	// Nodes are ids.
	Nodes []string
	// AliasPrefix selects what aliases whose names begin so reach, and did in their histories, up to the roots.
	AliasPrefix string
	// Metadata selects the nodes that have this entry, Attribute those that have a message with it among the attributes of its note.
	Metadata, Attribute *transcriptv1.EntrySelector
	// DryRun tells what would be erased, and erases nothing.
	DryRun bool
	// SharedRoots says what becomes of roots without a salt, which all chains have that begin with the same words: without it they are refused,
	// as ErrSharedRoot.
	SharedRoots transcriptv1.SharedRoots
	// Reference stays in the receipts, such as the number of a ticket: no personal data.
	Reference string
	// WaitForFiles goes on until the content has left the files of the server's store.
	WaitForFiles bool
}

// Erase makes the server erase the content of nodes of the namespace, and of its copies in compaction nodes, and yields its reports as they come.
// The nodes stay, with markers. An error ends it, and so does who stops: what was erased stays erased, and another goes on with the rest. A server
// without the feature "erase" does not have it.
func (c *Client) Erase(ctx context.Context, e Erasure) iter.Seq2[*transcriptv1.EraseResponse, error] {
	req := &transcriptv1.EraseRequest{
		Namespace: c.options.namespace, DryRun: e.DryRun, SharedRoots: e.SharedRoots, Reference: e.Reference, WaitForFiles: e.WaitForFiles,
	}
	switch {
	case e.Nodes != nil:
		req.Selector = &transcriptv1.EraseRequest_Nodes{Nodes: &transcriptv1.NodeSelector{Ids: e.Nodes}}
	case e.AliasPrefix != "":
		req.Selector = &transcriptv1.EraseRequest_AliasPrefix{AliasPrefix: e.AliasPrefix}
	case e.Metadata != nil:
		req.Selector = &transcriptv1.EraseRequest_Metadata{Metadata: e.Metadata}
	case e.Attribute != nil:
		req.Selector = &transcriptv1.EraseRequest_Attribute{Attribute: e.Attribute}
	}
	open := func(ctx context.Context) (grpc.ClientStream, error) {
		return c.admin.Erase(ctx, req)
	}
	seq := reports(ctx, c, req, open, "the erasure was not finished", (*transcriptv1.EraseResponse).GetDone)
	return func(yield func(*transcriptv1.EraseResponse, error) bool) {
		for report, err := range seq {
			if !e.DryRun {
				c.cache.clear()
			}
			if !yield(report, err) {
				return
			}
		}
	}
}

// Receipts returns the receipts of nodes that were erased, by their ids: ErrNodeNotFound for one that was not. CheckReceipt in the module
// canonical tells what a receipt says. A server without the feature "erase" does not have them.
func (c *Client) Receipts(ctx context.Context, ids ...string) ([]*transcriptv1.NodeReceipt, error) {
	res, err := read(ctx, c, c.admin.GetReceipts, &transcriptv1.GetReceiptsRequest{Namespace: c.options.namespace, NodeIds: ids})
	return res.GetReceipts(), err
}

// reports are those of a stream whose last one is done.
func reports[Report any](ctx context.Context, c *Client, req proto.Message, open func(context.Context) (grpc.ClientStream, error), unfinished string,
	isDone func(*Report) bool,
) iter.Seq2[*Report, error] {
	return func(yield func(*Report, error) bool) {
		done := false
		err := streamOnce(ctx, c, open, func(report *Report) bool {
			done = isDone(report)
			return yield(report, nil)
		})
		if err == nil && !done {
			err = fault(ErrBadReply, unfinished)
		}
		if err != nil && !errors.Is(err, errStopped) {
			yield(nil, c.explained(ctx, err, req))
		}
	}
}
