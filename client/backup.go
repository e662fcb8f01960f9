package client

import (
	"context"
	"errors"
	"iter"

	"google.golang.org/grpc"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// Backup is what Client.Backup is to write, and how. The zero Backup is all that the Client's namespace has, as fast as it goes.
type Backup struct {
	// WholeStore writes every namespace.
	WholeStore bool
	// SinceCursor and SinceDigest are of the archive to go on from, which is of the same namespaces: then what was put, set or deleted since is
	// written. Empty: everything.
	SinceCursor, SinceDigest []byte
	// ContinueCursor and ContinueDigest are of the last point of an archive that was cut: then the rest of it is written.
	ContinueCursor, ContinueDigest []byte
	// MaxBytesPerSecond bounds what the server reads of nodes, on average; 0: nothing does.
	MaxBytesPerSecond int64
	// Plain says that whoever receives the archive protects it: without it the backup of an encrypted store is refused.
	Plain bool
}

// Backup makes the server write an archive (docs/archive.md) of one state of the namespace, or the store, and yields its pieces as they come, some
// of them empty reports of how far it is. The last one is done and has the digest. An error ends it: then the archive was cut, and another
// one goes on from its last point.
func (c *Client) Backup(ctx context.Context, b Backup) iter.Seq2[*transcriptv1.BackupResponse, error] {
	req := &transcriptv1.BackupRequest{
		Namespace: c.options.namespace, SinceCursor: b.SinceCursor, SinceDigest: b.SinceDigest, ContinueCursor: b.ContinueCursor,
		ContinueDigest: b.ContinueDigest, MaxBytesPerSecond: b.MaxBytesPerSecond, Plain: b.Plain,
	}
	if b.WholeStore {
		req.Namespace, req.Scope = "", transcriptv1.Scope_SCOPE_STORE
	}
	open := func(ctx context.Context) (grpc.ClientStream, error) {
		return c.admin.Backup(ctx, req)
	}
	return func(yield func(*transcriptv1.BackupResponse, error) bool) {
		done := false
		err := streamOnce(ctx, c, open, func(piece *transcriptv1.BackupResponse) bool {
			done = piece.Done
			return yield(piece, nil)
		})
		if err == nil && !done {
			err = fault(ErrBadReply, "the archive was cut")
		}
		if err != nil && !errors.Is(err, errStopped) {
			yield(nil, c.explained(ctx, err, req))
		}
	}
}

// Restore sets what an archive has of the namespace itself, nil for nothing, and aliases with their histories and revisions: at most 1,000 with
// 10,000 states in all. Nodes are put before, with PutArchived. An alias goes forward alone: what is there is replaced if it is
// of the past of the archived one, and stays if it is as the archive has it; else that is ErrAliasMoved. It tells how many were set. Errors: ErrNodeNotFound, ErrAliasMoved, ErrSettingsChanged and others.
func (c *Client) Restore(ctx context.Context, archived *transcriptv1.ArchiveNamespace, aliases ...*transcriptv1.ArchiveAlias) (set int, err error) {
	res, _, err := call(ctx, c, transient, c.admin.Restore, &transcriptv1.RestoreRequest{Namespace: c.options.namespace, Archived: archived, Aliases: aliases})
	return int(res.GetAliasesSet()), err
}

// RestoreReceipts keeps receipts of nodes that were erased and are not there, as an archive has them: at most 1,000. Such a node is ErrPayloadErased from then on. That of a
// node that has a receipt stays out. It needs the role erase beside admin.
func (c *Client) RestoreReceipts(ctx context.Context, receipts ...[]byte) error {
	_, _, err := call(ctx, c, transient, c.admin.Restore, &transcriptv1.RestoreRequest{Namespace: c.options.namespace, Receipts: receipts})
	return err
}
