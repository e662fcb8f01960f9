package main

import (
	"context"
	"encoding/hex"

	"filippo.io/age"

	"github.com/transcriptd/transcriptd/canonical"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// erasedNodes are the nodes of backups that were erased, by namespace and id, as the last one has them.
type erasedNodes map[string]map[[32]byte]*transcriptv1.ArchivedNode

// see notes a node of a namespace, if it was erased.
func (e erasedNodes) see(namespace string, record *transcriptv1.ArchiveRecord, n *canonical.Stored) {
	if n == nil || n.Erased == nil {
		return
	}
	if e[namespace] == nil {
		e[namespace] = map[[32]byte]*transcriptv1.ArchivedNode{}
	}
	e[namespace][n.ID] = record.GetNode()
}

// erasures notes what was erased in backups of the same store that are not restored.
func (r *restorer) erasures(ctx context.Context, s *session, identities []age.Identity, store string) error {
	for _, file := range r.command.Erasures {
		within := ""
		chain, err := s.readBackups(ctx, []string{file}, identities, "looked at", 0, func(record *transcriptv1.ArchiveRecord, n *canonical.Stored) error {
			if record.GetNamespace() != nil {
				within = record.GetNamespace().GetName()
			}
			r.erased.see(within, record, n)
			return nil
		})
		if err != nil {
			return err
		}
		if chain.Last().Header().GetStoreId() != store {
			return inputf("%s: of another store than the backups that are restored", file)
		}
	}
	return nil
}

// put puts a node of the namespace that is being read, as erased where it was erased later.
func (r *restorer) put(ctx context.Context, archived *transcriptv1.ArchivedNode, n *canonical.Stored) error {
	left := r.erased[r.within][n.ID]
	if left == nil {
		return r.putter.put(ctx, archived, n)
	}
	if n.Erased == nil {
		r.applied = append(r.applied, hex.EncodeToString(n.ID[:]))
	}
	return r.putter.put(ctx, left, n)
}
