package erasure

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/chainstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// erase erases nodes, or tells what of them would be. parts has those of which only some messages go.
func (r *run) erase(ctx context.Context, ids []chainstore.ID, parts map[chainstore.ID][]bool) error {
	for len(ids) > 0 {
		began := time.Now()
		pieces, done, err := r.pieces(ctx, ids[:min(len(ids), batchNodes)], parts)
		if err != nil {
			return err
		}
		ids = ids[done:]
		if err := r.batch(ctx, pieces); err != nil {
			return err
		}
		if err := rest(ctx, began); err != nil {
			return err
		}
	}
	return nil
}

// labels erases those of aliases.
func (r *run) labels(ctx context.Context) error {
	if len(r.names) == 0 {
		return nil
	}
	for some := range slices.Chunk(r.names, chainstore.MaxErased) {
		had := 0
		err := r.Holds.Labels(ctx, some, func() (err error) {
			had, err = r.Store.EraseLabels(ctx, r.Namespace, some)
			return err
		})
		if err != nil {
			return err
		}
		r.now.LabelsErased += int64(had)
		r.labelsAt = time.Now().UnixMilli()
		if err := r.tell(nil); err != nil {
			return err
		}
	}
	return nil
}

// piece is a node with what is to be left of it, and what is told of it.
type piece struct {
	left  chainstore.ErasedNode
	entry *transcriptv1.ErasedNode
}

// pieces reads nodes until they have batchBytes, and makes what is to be left of them. done is how many ids it has looked at.
func (r *run) pieces(ctx context.Context, ids []chainstore.ID, parts map[chainstore.ID][]bool) (pieces []piece, done int, err error) {
	size, full := 0, errors.New("the batch is full")
	err = r.Store.Nodes(ctx, r.Namespace, ids, func(n *chainstore.FoundNode) error {
		part, ok := parts[n.Header.ID]
		p, err := pieceOf(n, func(i int) bool { return !ok || part[i] })
		if err != nil {
			return err
		}
		if ok {
			p.entry.Cause = transcriptv1.EraseCause_ERASE_CAUSE_COPIES
		}
		pieces = append(pieces, p)
		for ids[done] != n.Header.ID {
			done++ // one that is not there
		}
		done++
		if size += len(n.Payload) + len(n.Metadata); size >= batchBytes {
			return full
		}
		return nil
	})
	if err == nil {
		done = len(ids)
	} else if errors.Is(err, full) {
		err = nil
	}
	return pieces, done, err
}

// pieceOf makes what is to be left of a node of which some messages go.
func pieceOf(n *chainstore.FoundNode, goes func(i int) bool) (p piece, err error) {
	h := n.Header
	messages, err := canonical.DecodePayload(n.Payload)
	if err != nil {
		return p, err
	}
	p.left = chainstore.ErasedNode{ID: h.ID, Payload: canonical.EncodePayload(canonical.ErasedWhere(messages, goes))}
	if p.left.Facts, err = canonical.CheckPayload(p.left.Payload); err != nil {
		return p, err
	}
	if len(p.left.Facts) != len(h.Messages) {
		return p, chainstore.ErrBadErasure
	}
	p.entry = &transcriptv1.ErasedNode{
		NodeId: h.ID.String(), Root: h.Seq == 0, Salted: len(h.Salt) > 0, Cause: transcriptv1.EraseCause_ERASE_CAUSE_SELECTED,
	}
	present, left := n.Payload, p.left.Payload
	for i := range h.Messages {
		was, is := present[:h.Messages[i].Length], left[:p.left.Facts[i].Length]
		present, left = present[len(was):], left[len(is):]
		if h.Messages[i].Was == 0 && goes(i) && (!h.Covers.Present || !bytes.Equal(was, is)) {
			p.entry.Messages++
			p.entry.MessageBytes += int64(len(was))
		}
	}
	p.entry.AlreadyErased = h.Erased != nil && p.entry.Messages == 0
	return p, p.digest(n)
}

// digest adds what cannot be told from what is left.
func (p *piece) digest(n *chainstore.FoundNode) error {
	h := n.Header
	if was := h.Erased.Clone(); was != nil {
		p.left.PayloadDigest, p.left.MetadataDigest, p.left.Variables = was.PayloadDigest, was.MetadataDigest, was.Variables
		return nil
	}
	p.left.PayloadDigest = canonical.PayloadDigest(h.Salt, n.Payload)
	if len(n.Metadata) == 0 {
		return nil
	}
	entries, err := canonical.CheckMetadata(n.Metadata)
	if err != nil {
		return err
	}
	digest := chainstore.ID(canonical.MetadataDigest(h.Salt, n.Metadata))
	p.left.MetadataDigest, p.left.Variables = &digest, canonical.Variables(entries)
	return nil
}

// batch erases nodes, or with DryRun counts them, and tells of them.
func (r *run) batch(ctx context.Context, pieces []piece) error {
	var nodes []chainstore.ErasedNode
	var entries []*transcriptv1.ErasedNode
	for i := range pieces {
		left, entry := &pieces[i].left, pieces[i].entry
		copies := entry.Cause == transcriptv1.EraseCause_ERASE_CAUSE_COPIES
		if copies && entry.Messages == 0 {
			continue // stubs are no copies, and tell nothing
		}
		if entry.AlreadyErased {
			r.leaves(left.ID, 1)
			if err := r.passedOver(&chainstore.Header{ID: left.ID, Seq: r.targets[left.ID].seq}); err != nil {
				return err
			}
			continue
		}
		if t := r.targets[left.ID]; t != nil {
			t.erasedAt = 0
		}
		nodes, entries = append(nodes, *left), append(entries, entry)
	}
	erased, err := r.commit(ctx, nodes)
	if err != nil {
		return err
	}
	r.now.NodesErased += int64(erased)
	for i, entry := range entries {
		if err := r.count(ctx, nodes[i].ID, entry); err != nil {
			return err
		}
	}
	return r.tell(func(report *transcriptv1.EraseResponse) { report.Nodes = entries })
}

// count counts a node that was erased, or would be.
func (r *run) count(ctx context.Context, id chainstore.ID, entry *transcriptv1.ErasedNode) error {
	r.now.Messages += entry.Messages
	r.now.MessageBytes += entry.MessageBytes
	if entry.Cause == transcriptv1.EraseCause_ERASE_CAUSE_COPIES {
		r.now.Compactions++
	}
	if !r.DryRun {
		return nil
	}
	children, err := r.Store.Children(ctx, r.Namespace, chainstore.Ref{ID: id}, nil, 2)
	entry.Forked = len(children) > 1
	return err
}

// commit erases nodes with their receipts: in halves where they are too large for one commit.
func (r *run) commit(ctx context.Context, nodes []chainstore.ErasedNode) (int, error) {
	if len(nodes) == 0 || r.DryRun {
		return len(nodes), nil
	}
	ids := make([]chainstore.ID, len(nodes))
	for i := range nodes {
		ids[i] = nodes[i].ID
		receipt, err := r.Receipts.make(ctx, r.Namespace, ids[i], r.Reference)
		if err != nil {
			return 0, err
		}
		nodes[i].Receipt = receipt
	}
	erased := 0
	err := r.Holds.Erase(ctx, ids, func() (err error) {
		erased, err = r.Store.Erase(ctx, r.Namespace, nodes)
		return err
	})
	if !errors.Is(err, chainstore.ErrTooLarge) || len(nodes) == 1 {
		if erased == len(nodes) {
			r.leaves(ids[0], erased)
		} else { // others erased some of them
			for _, id := range ids {
				r.leaves(id, 1)
			}
		}
		return erased, err
	}
	half := len(nodes) / 2
	erased, err = r.commit(ctx, nodes[:half])
	if err != nil {
		return erased, err
	}
	more, err := r.commit(ctx, nodes[half:])
	return erased + more, err
}
