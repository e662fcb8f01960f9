package main

import (
	"context"
	"encoding/hex"

	"filippo.io/age"

	"github.com/transcriptd/transcriptd/canonical"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
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
