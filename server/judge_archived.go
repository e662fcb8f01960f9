package server

import (
	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/chainstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/change"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

// JudgeArchived is the error with which PutArchivedNodes, or Restore, refuses a record of an archive for what it is by itself: a *canonical.FieldError
// whose path is within the record. node is the node of the record, checked, or nil. Whether what it names is there it does not tell.
func JudgeArchived(r *transcriptv1.ArchiveRecord, node *canonical.Stored) error {
	switch {
	case r.GetNode() != nil && node != nil:
		return new(change.Builder).Stored("node", r.GetNode(), node)
	case r.GetNamespace() != nil:
		if err := wire.CheckNamespace(r.GetNamespace().GetName()); err != nil {
			return err
		}
		return parseArchivedNamespace(&chainstore.Restored{}, r.GetNamespace())
	case r.GetAlias() != nil:
		_, err := parseArchivedAlias("alias", r.GetAlias())
		return err
	default:
		return nil
	}
}
