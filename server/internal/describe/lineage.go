package describe

import (
	"context"
	"fmt"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/chainstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

// lineage tells where the chain comes from and what it started.
func (d *description) lineage(ctx context.Context, reply *transcriptv1.DescribeResponse) error {
	h := d.head()
	reply.Lineage = &transcriptv1.Lineage{Ancestors: wire.Count(h.Seq), Forks: wire.Count(h.Forks)}
	d.forks(reply.Lineage)
	if err := d.spawnedFrom(ctx, reply.Lineage); err != nil {
		return err
	}
	if err := d.compactions(ctx, reply); err != nil {
		return err
	}
	return d.spawned(ctx, reply.Lineage)
}

// forks lists the nearest nodes that are not their parent's first child.
func (d *description) forks(lineage *transcriptv1.Lineage) {
	if lineage.Forks == 0 {
		return
	}
	for _, run := range d.chain.Runs(d.items) {
		if run.From == 0 {
			continue
		}
		fork := &transcriptv1.PathNode{Ancestors: wire.Count(run.From)}
		lineage.ForkNodes = append(lineage.ForkNodes, fork)
		d.rows.header(run.From, func(h *chainstore.Header) error {
			fork.NodeId = h.ID.String()
			return nil
		})
	}
}

// compactions lists the nearest compaction nodes, and asks for the node before those in which the chain ends.
func (d *description) compactions(ctx context.Context, reply *transcriptv1.DescribeResponse) error {
	if d.chain.Compaction() == nil {
		d.said = d.head()
		return nil
	}
	headers, more, err := d.chain.Compactions(ctx, d.items)
	if err != nil {
		return err
	}
	reply.Lineage.HasMoreCompactions = more
	last := int64(d.head().Seq)
	for _, h := range headers {
		info := &transcriptv1.CompactionInfo{
			NodeId: h.ID.String(), Ancestors: wire.Count(h.Seq),
			MessageCount: int32(len(h.Messages)), SizeBytes: int64(h.PayloadLength),
			HasSummary: len(h.Messages) > 0 && h.Messages[0].Summary,
		}
		reply.Lineage.Compactions = append(reply.Lineage.Compactions, info)
		d.rows.header(h.Covers.Seq, func(covered *chainstore.Header) error {
			info.CoversThroughId = covered.ID.String()
			return nil
		})
		if int64(h.Seq) == last {
			last--
		}
	}
	d.rows.header(uint32(max(0, last)), func(h *chainstore.Header) error {
		d.said = h
		return nil
	})
	return nil
}

// spawnedFrom tells which call started the chain, of the nearest node that has such a link, what that node says that it inherits, and how
// many spawns lie above.
func (d *description) spawnedFrom(ctx context.Context, lineage *transcriptv1.Lineage) error {
	link := d.head().Spawned
	if !link.Present {
		return nil
	}
	d.rows.ask(link.Seq, true, func(row *chainstore.Row, h *chainstore.Header) error {
		lineage.SpawnedNodeId, lineage.SpawnedFrom = h.ID.String(), spawnedFromRef(h.SpawnedFrom)
		metadata, err := canonical.DecodeMetadata(row.Metadata)
		if err != nil {
			return fmt.Errorf("%w: %w", chainstore.ErrCorrupt, err)
		}
		lineage.Inheritance = canonical.Inherits(metadata)
		return nil
	})
	depth, atLeast, err := d.chain.SpawnDepth(ctx, maxDepth)
	lineage.SpawnDepth, lineage.SpawnDepthAtLeast = int32(depth), atLeast
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
	lineage.HasMoreSpawned = more
	return nil
}
