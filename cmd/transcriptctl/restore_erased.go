package main

import (
	"context"
	"encoding/hex"
	"maps"

	"filippo.io/age"

	"github.com/transcriptd/transcriptd/canonical"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/archive"
)

// erasedNodes are what backups have of nodes that were erased, by namespace and id.
type erasedNodes map[string]map[[32]byte]*erasedNode

// erasedNode is what the last backup that has it tells of a node that was erased.
type erasedNode struct {
	// left is what is left of it; nil: the backups have its receipt alone.
	left    *transcriptv1.ArchivedNode
	receipt []byte
	// put says that the node was put.
	put bool
}

// see notes a node of a namespace, if it was erased, or the receipt of one that is not there.
func (e erasedNodes) see(namespace string, record *transcriptv1.ArchiveRecord, n *canonical.Stored) {
	var id [32]byte
	switch kept := record.GetReceipt(); {
	case n != nil && n.Erased != nil:
		id = n.ID
	case kept != nil:
		receipt, err := canonical.ParseReceipt(kept)
		if err != nil {
			return // the checker has refused it
		}
		id = [32]byte(receipt.GetNodeId())
	default:
		return
	}
	if e[namespace] == nil {
		e[namespace] = map[[32]byte]*erasedNode{}
	}
	one := e[namespace][id]
	if one == nil {
		one = &erasedNode{}
		e[namespace][id] = one
	}
	if one.receipt = record.GetReceipt(); n != nil {
		one.left, one.receipt = record.GetNode(), record.GetNode().GetErasure().GetReceipt()
	}
}

// erasures notes what was erased, or deleted with its namespace, in backups of the same store that are not restored.
func (r *restorer) erasures(ctx context.Context, s *session, identities []age.Identity, restored *archive.Chain) error {
	for _, file := range r.command.Erasures {
		within := ""
		chain, err := s.readBackups(ctx, []string{file}, identities, "looked at", 0, func(c *archive.Chain, record *transcriptv1.ArchiveRecord, n *canonical.Stored) error {
			if record.GetNamespace() != nil {
				within = record.GetNamespace().GetName()
			}
			if is, restored := r.living[within]; restored && is.Is(c.Within().Number) {
				r.erased.see(within, record, n)
			}
			return nil
		})
		if err != nil {
			return err
		}
		if chain.Last().Header().GetStoreId() != restored.Last().Header().GetStoreId() {
			return inputf("%s: of another store than the backups that are restored", file)
		}
		if err := r.deletedBy(chain); err != nil {
			return err
		}
	}
	return nil
}

// deletedBy notes the namespaces that were begun before another backup, and that it has no more. One of a single namespace tells of none.
func (r *restorer) deletedBy(other *archive.Chain) error {
	there, last := other.Namespaces(), other.Last().Header().GetLastNamespace()
	maps.DeleteFunc(r.living, func(name string, one archive.Namespace) bool {
		is, has := there[name]
		return one.Number > 0 && one.Number <= last && !(has && is.Is(one.Number))
	})
	return r.dropDeleted(other)
}

// dropDeleted leaves out the namespaces that do not live any more, as a chain says; but none that was asked for by its name.
func (r *restorer) dropDeleted(chain *archive.Chain) error {
	file := chain.Files()[len(chain.Files())-1].Name
	there, deleted := deletedOf(r.namespaces, r.living)
	for _, of := range deleted {
		if _, mapped := r.command.Map[of]; mapped || of == r.only {
			return usagef("namespace %s was deleted by the time of %s: to restore what it had before, name no file that was made behind its deletion", name(of), file)
		}
	}
	if len(deleted) > 0 {
		r.session.remark("deleted by the time of %s, and not restored: %s", file, nameLine(deleted))
	}
	r.namespaces, r.files.Deleted = there, append(r.files.Deleted, deleted...)
	return nil
}

// put puts a node of the namespace that is being read, as erased where it was erased later.
func (r *restorer) put(ctx context.Context, archived *transcriptv1.ArchivedNode, n *canonical.Stored) error {
	one := r.erased[r.within][n.ID]
	if one == nil {
		return r.putter.put(ctx, archived, n)
	}
	if n.Erased == nil {
		r.applied = append(r.applied, hex.EncodeToString(n.ID[:]))
	}
	left := one.left
	if left == nil {
		left = archived
	}
	left, err := canonical.EraseArchived(left, one.receipt)
	if err != nil {
		return err
	}
	one.put = true
	return r.putter.put(ctx, left, n)
}

// keep keeps the receipts of nodes that the backups have not.
func (r *restorer) keep(ctx context.Context) error {
	for _, namespace := range r.namespaces {
		var waiting [][]byte
		size := 0
		send := func() (err error) {
			if len(waiting) > 0 {
				err = r.in(namespace).RestoreReceipts(ctx, waiting...)
			}
			waiting, size = nil, 0
			return err
		}
		for _, one := range r.erased[namespace] {
			if one.put {
				continue
			}
			waiting, size = append(waiting, one.receipt), size+len(one.receipt)
			if len(waiting) == putNodes || size > setBytes {
				if err := send(); err != nil {
					return err
				}
			}
		}
		if err := send(); err != nil {
			return err
		}
	}
	return nil
}
