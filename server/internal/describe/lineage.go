package describe

import (
	"context"

	"github.com/transcriptd/transcriptd/chainstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/chainview"
	"github.com/transcriptd/transcriptd/server/internal/wire"
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
		id, err := chainview.IDAt(ctx, d.chain, run.From)
		if err != nil {
			return err
		}
		lineage.ForkNodes = append(lineage.ForkNodes, pathNode(*id, run.From))
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
		covers, err := chainview.IDAt(ctx, d.chain, h.Covers.Seq)
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
	return &transcriptv1.SpawnedFromRef{NodeId: from.Node.String(), ToolCallId: wire.OptionalText(from.CallID)}
}

// spawned lists what the nodes of the path spawned, those of the latest nodes first chosen, in the order in which it was put.
func (d *description) spawned(ctx context.Context, lineage *transcriptv1.Lineage) error {
	headers, more, err := d.chain.Spawned(ctx, d.items)
	if err != nil {
		return err
	}
	for _, h := range headers {
		one := &transcriptv1.SpawnedChain{NodeId: h.ID.String(), SpawnedFrom: spawnedFromRef(h.SpawnedFrom)}
		lineage.Spawned = append(lineage.Spawned, one)
	}
	lineage.MoreSpawned = more
	return nil
}
