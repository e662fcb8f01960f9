package server

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// lineage tells where the chain comes from and what it started.
func (d *description) lineage(ctx context.Context) (*transcriptv1.Lineage, error) {
	h := d.head()
	lineage := &transcriptv1.Lineage{Ancestors: int64(h.Seq), Forks: int64(h.Forks)}
	for _, tell := range []func(context.Context, *transcriptv1.Lineage) error{
		d.forks, d.compactions, d.spawnedFrom, d.spawned,
	} {
		if err := tell(ctx, lineage); err != nil {
			return nil, err
		}
	}
	return lineage, nil
}

// forks lists the nearest nodes that are not their parent's first child, each read for its id.
func (d *description) forks(ctx context.Context, lineage *transcriptv1.Lineage) error {
	if lineage.Forks == 0 {
		return nil
	}
	for _, run := range d.chain.Runs(d.items) {
		if run.From == 0 {
			continue
		}
		id, err := d.idAt(ctx, run.From)
		if err != nil {
			return err
		}
		lineage.ForkNodes = append(lineage.ForkNodes, pathNode(id, run.From))
	}
	return nil
}

// compactions lists the nearest compaction nodes: each is named by the header of the node before the one nearer.
func (d *description) compactions(ctx context.Context, lineage *transcriptv1.Lineage) error {
	link := d.head().Compaction
	for link.Present && len(lineage.Compactions) < d.items {
		h, err := chainstore.HeaderAt(ctx, d.chain, link.Seq)
		if err != nil {
			return err
		}
		covers, err := d.idAt(ctx, h.Covers.Seq)
		if err != nil {
			return err
		}
		info := &transcriptv1.CompactionInfo{
			NodeId: h.ID.String(), Ancestors: int64(h.Seq), CoversThrough: covers.String(),
			Messages: int64(len(h.Messages)), Bytes: int64(h.PayloadLength),
			Summary: len(h.Messages) > 0 && h.Messages[0].Summary,
		}
		lineage.Compactions = append(lineage.Compactions, info)
		if link, err = d.compactionBefore(ctx, h.Seq); err != nil {
			return err
		}
	}
	lineage.MoreCompactions = link.Present
	return nil
}

func (d *description) compactionBefore(ctx context.Context, seq uint32) (link chainstore.Link, err error) {
	if seq == 0 {
		return link, nil
	}
	h, err := chainstore.HeaderAt(ctx, d.chain, seq-1)
	if err != nil {
		return link, err
	}
	return h.Compaction, nil
}

// spawnedFrom tells which call started the chain, of the nearest node that has such a link.
func (d *description) spawnedFrom(ctx context.Context, lineage *transcriptv1.Lineage) error {
	link := d.head().Spawned
	if !link.Present {
		return nil
	}
	h, err := chainstore.HeaderAt(ctx, d.chain, link.Seq)
	if err != nil {
		return err
	}
	lineage.SpawnedNodeId = h.ID.String()
	lineage.SpawnedFrom = spawnedFromRef(h.SpawnedFrom)
	lineage.Inheritance, err = d.inheritance(ctx, h)
	return err
}

func spawnedFromRef(from *chainstore.SpawnedFrom) *transcriptv1.SpawnedFromRef {
	if from == nil {
		return nil
	}
	return &transcriptv1.SpawnedFromRef{NodeId: from.Node.String(), ToolCallId: optionalText(from.CallID)}
}

// loopFrom is the first node whose calls are of the last run loop of the effective view; false without a loop. Where the
// loop begins in a compaction node, it is the node in which that message was put first.
func (d *description) loopFrom(ctx context.Context) (uint32, bool, error) {
	l := &d.head().State.Effective.Loop
	if l.Phase == runloop.None {
		return 0, false, nil
	}
	if c := d.head().Compaction; !c.Present || l.Start.Seq > c.Seq {
		return l.Start.Seq, true, nil
	}
	h, err := chainstore.HeaderAt(ctx, d.chain, l.Start.Seq)
	if err != nil {
		return 0, false, err
	}
	if i := l.Start.Index; int64(i) < int64(len(h.Provenance)) && h.Provenance[i].Present {
		return h.Provenance[i].Place.Seq, true, nil
	}
	return l.Start.Seq, true, nil
}

// spawned lists what the calls of the last run loop spawned. Of its nodes with calls it looks at as many as a list has
// entries, latest first; what those spawned, latest spawner first, until the list is full, is shown in the order in
// which it was put.
func (d *description) spawned(ctx context.Context, lineage *transcriptv1.Lineage) error {
	spawners, more, err := d.spawners(ctx)
	if err != nil {
		return err
	}
	var ids []chainstore.ID
	for _, spawner := range spawners {
		room := d.items - len(ids)
		found, err := d.store.Spawned(ctx, d.namespace, spawner, room+1)
		if err != nil {
			return err
		}
		found, full := firstOf(found, room)
		ids = append(slices.Clip(found), ids...)
		if more = more || full; full {
			break
		}
	}
	lineage.MoreSpawned = more
	lineage.Spawned, err = d.spawnedChains(ctx, ids)
	return err
}

// spawners are the latest nodes with calls of the last run loop, latest first, and whether it has more.
func (d *description) spawners(ctx context.Context) (ids []chainstore.ID, more bool, err error) {
	from, ok, err := d.loopFrom(ctx)
	if err != nil || !ok {
		return nil, false, err
	}
	for link := d.head().Tools; link.Present && link.Seq >= from; {
		if len(ids) == d.items {
			return ids, true, nil
		}
		var id chainstore.ID
		if id, link, err = d.calling(ctx, link.Seq); err != nil {
			return nil, false, err
		}
		ids = append(ids, id)
	}
	return ids, false, nil
}

// calling reads the id of a node with calls, and where the nearest one before it lies.
func (d *description) calling(ctx context.Context, seq uint32) (id chainstore.ID, before chainstore.Link, err error) {
	next := max(seq, 1) - 1
	span := chainstore.Span{From: next, Through: seq, HeadersOnly: true}
	err = d.chain.Rows(ctx, span, func(r *chainstore.Row) error {
		if next = r.Seq + 1; r.Seq == seq {
			id = r.Raw.ID()
			return nil
		}
		h, err := r.Header()
		if err == nil {
			before = h.Tools
		}
		return err
	})
	if err == nil {
		err = reached(span, next)
	}
	return id, before, err
}

// spawnedChains tells of spawned nodes in the order in which they were first put, those of one millisecond as they come.
func (d *description) spawnedChains(ctx context.Context, ids []chainstore.ID) ([]*transcriptv1.SpawnedChain, error) {
	var headers []*chainstore.Header
	for _, id := range ids {
		chain, err := d.store.Chain(ctx, d.namespace, chainstore.Ref{ID: id}, nil)
		if errors.Is(err, chainstore.ErrNodeNotFound) {
			continue // it went since it was found
		}
		if err != nil {
			return nil, err
		}
		headers = append(headers, chain.Head())
	}
	slices.SortStableFunc(headers, func(a, b *chainstore.Header) int { return cmp.Compare(a.FirstPut, b.FirstPut) })
	chains := make([]*transcriptv1.SpawnedChain, len(headers))
	for i, h := range headers {
		chains[i] = &transcriptv1.SpawnedChain{NodeId: h.ID.String(), SpawnedFrom: spawnedFromRef(h.SpawnedFrom)}
	}
	return chains, nil
}
