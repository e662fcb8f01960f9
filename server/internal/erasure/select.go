package erasure

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/chainstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

// selectNodes finds the targets: SharedRootError, canonical.ErrLimit.
func (r *run) selectNodes(ctx context.Context) error {
	find := r.byContent
	switch {
	case len(r.IDs) > 0:
		find = r.byID
	case r.Prefix != "":
		find = r.byPrefix
	}
	if err := find(ctx); err != nil {
		return err
	}
	return r.date(ctx)
}

// add takes a node that is selected.
func (r *run) add(h *chainstore.Header) error {
	if r.targets[h.ID] != nil {
		return nil
	}
	if r.selected++; r.selected > r.Most {
		return r.tooMany()
	}
	t := &target{seq: h.Seq}
	r.targets[h.ID] = t
	switch shared := h.Seq == 0 && len(h.Salt) == 0; {
	case h.Erased != nil:
		t.erasedAt, t.again = undated, h.Covers.Present
	case shared && r.Roots == transcriptv1.SharedRoots_SHARED_ROOTS_KEEP:
		t.kept = true
		r.now.SharedRootsKept++
	case shared && r.Roots == transcriptv1.SharedRoots_SHARED_ROOTS_UNSPECIFIED && !r.DryRun:
		return &SharedRootError{h.ID}
	}
	return nil
}

// byID selects the nodes of the request. One that was erased, and collected since, is one that was erased before.
func (r *run) byID(ctx context.Context) error {
	var headers []*chainstore.Header
	err := r.Store.Nodes(ctx, r.Namespace, r.IDs, func(n *chainstore.FoundNode) error {
		headers = append(headers, n.Header)
		return nil
	})
	if err != nil {
		return err
	}
	r.now.NodesLookedAt = int64(len(headers))
	there := make(map[chainstore.ID]bool, len(headers))
	for _, h := range headers {
		there[h.ID] = true
		if err := r.add(h); err != nil {
			return err
		}
	}
	for i, id := range r.IDs {
		if there[id] {
			continue
		}
		receipt, err := r.Store.Receipt(ctx, r.Namespace, id)
		if errors.Is(err, chainstore.ErrNotErased) {
			err = &wire.Missing{Field: wire.Indexed("nodes.ids", i), Err: chainstore.ErrNodeNotFound}
		}
		if err != nil {
			return err
		}
		r.leftBefore(id, &receipt)
		if err := r.passedOver(&chainstore.Header{ID: id}); err != nil {
			return err
		}
	}
	return nil
}

// byPrefix selects what aliases reach, and did in their history. Of names that are forgotten there are labels of before in the files.
func (r *run) byPrefix(ctx context.Context) error {
	heads := map[chainstore.ID]bool{}
	_, err := r.Store.ExportAliases(ctx, 0, func(name string) bool { return name == r.Namespace }, chainstore.ExportYield{
		Forgotten: true,
		Namespace: func(*chainstore.ExportedNamespace) error { return nil },
		Alias: func(a *chainstore.ExportedAlias) error {
			if strings.HasPrefix(a.Name, r.Prefix) {
				if r.names = append(r.names, a.Name); len(r.names) > r.Most {
					return r.tooMany()
				}
				if len(a.Labels) > 0 {
					r.labelled++
				}
				for i := range a.States {
					if s := &a.States[i]; !s.Deleted && !heads[s.Node] {
						heads[s.Node] = true
						if r.heads = append(r.heads, s.Node); len(r.heads) > r.Most {
							return r.tooMany()
						}
					}
				}
			}
			return nil
		},
	})
	if err != nil {
		return err
	}
	for _, head := range r.heads {
		if r.targets[head] != nil {
			continue
		}
		if err := r.path(ctx, head); err != nil {
			return err
		}
	}
	return nil
}

// stretch is how many rows of a path are read at a time.
const stretch = 256

// path selects a node and its ancestors, from the former on until it comes to one whose ancestors are selected.
func (r *run) path(ctx context.Context, head chainstore.ID) error {
	chain, err := r.Store.Chain(ctx, r.Namespace, chainstore.Ref{ID: head}, nil)
	if errors.Is(err, chainstore.ErrNodeNotFound) {
		return nil // of a state that keeps nothing any more
	}
	if err != nil {
		return err
	}
	for through := int64(chain.Head().Seq); through >= 0; through -= stretch {
		began, known := time.Now(), false
		span := chainstore.Span{From: uint32(max(0, through-stretch+1)), Through: uint32(through), HeadersOnly: true}
		err := chain.Rows(ctx, []chainstore.Span{span}, func(row *chainstore.Row) error {
			known = known || r.targets[row.Raw.ID()] != nil
			h, err := row.Header()
			if err != nil {
				return err
			}
			return r.add(h)
		})
		if err != nil {
			return err
		}
		if r.now.NodesLookedAt += through - int64(span.From) + 1; known {
			return nil
		}
		if err := r.breathe(ctx, began); err != nil {
			return err
		}
	}
	return nil
}

// byContent selects by what nodes have. Nodes that were erased are looked behind, too: an earlier call that was cut may have left copies of them.
func (r *run) byContent(ctx context.Context) error {
	now, err := r.Store.Point(ctx)
	if err != nil {
		return err
	}
	var cursor []byte
	for {
		began := time.Now()
		page, next, err := r.Store.ExportNodes(ctx, r.Namespace, chainstore.ExportSpan{Through: now}, cursor, pageBytes)
		if err != nil {
			return err
		}
		for i := range page {
			if err := r.judge(&page[i]); err != nil {
				return err
			}
		}
		r.now.NodesLookedAt += int64(len(page))
		if err := r.breathe(ctx, began); err != nil || next == nil {
			return err
		}
		cursor = next
	}
}

// judge selects a node if it has what is looked for. In a compaction node attributes are those of copies, which go with what they are copied from.
func (r *run) judge(n *chainstore.ExportedNode) error {
	h := n.Header
	switch {
	case h.Erased != nil && !h.Covers.Present:
		r.targets[h.ID] = &target{seq: h.Seq, erasedAt: undated, unselected: true}
		return nil
	case r.Metadata != nil:
		entries, err := canonical.DecodeMetadata(n.Metadata)
		if err != nil || !slices.ContainsFunc(entries, func(m *transcriptv1.MetadataEntry) bool {
			return m.GetKey() == r.Metadata.GetKey() && m.GetValue() == r.Metadata.GetValue()
		}) {
			return err
		}
	default:
		details, err := chainstore.DecodeDetails(n.Details, len(h.Messages))
		wanted := chainstore.Attribute{Key: r.Attribute.GetKey(), Value: r.Attribute.GetValue()}
		if err != nil || h.Covers.Present || !slices.ContainsFunc(details, func(d chainstore.Detail) bool { return slices.Contains(d.Attributes, wanted) }) {
			return err
		}
	}
	return r.add(h)
}

// undated is the erasedAt of a target before its receipt is read.
const undated = -1

// date reads when targets were erased that were erased before.
func (r *run) date(ctx context.Context) error {
	for _, id := range r.sorted(func(t *target) bool { return t.erasedAt == undated }) {
		t := r.targets[id]
		receipt, err := r.Store.Receipt(ctx, r.Namespace, id)
		if err != nil {
			return err
		}
		t.erasedAt = erasedAt(receipt.Bytes)
		if t.unselected || t.again {
			continue
		}
		r.leftBefore(id, &receipt)
		if err := r.passedOver(&chainstore.Header{ID: id, Seq: t.seq}); err != nil {
			return err
		}
	}
	return nil
}

// passedOver tells of a selected node of which nothing is left to erase.
func (r *run) passedOver(h *chainstore.Header) error {
	r.now.AlreadyErased++
	entry := &transcriptv1.ErasedNode{
		NodeId: h.ID.String(), Root: h.Seq == 0, Salted: len(h.Salt) > 0, Cause: transcriptv1.EraseCause_ERASE_CAUSE_SELECTED, AlreadyErased: true,
	}
	return r.tell(func(report *transcriptv1.EraseResponse) { report.Nodes = append(report.Nodes, entry) })
}

// sorted are the targets that are wanted, ancestors before descendants.
func (r *run) sorted(wanted func(*target) bool) (ids []chainstore.ID) {
	for id, t := range r.targets {
		if !t.kept && wanted(t) {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b chainstore.ID) int {
		return cmp.Or(cmp.Compare(r.targets[a].seq, r.targets[b].seq), slices.Compare(a[:], b[:]))
	})
	return ids
}
