package chainview

import (
	"context"
	"slices"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// origins tells where the messages of a view were put first.
type origins struct {
	chain      chainstore.Chain
	compaction *chainstore.Header
	// prefixes has the ids of nodes that were looked up, as lines name them.
	prefixes map[uint32]string
}

// provenance is where message i of a node was put first.
func (o *origins) provenance(h *chainstore.Header, i int) chainstore.Provenance {
	if h.Covers.Present {
		return h.Provenance[i]
	}
	return chainstore.Provenance{Present: true, Place: runloop.Place{Seq: h.Seq, Index: uint32(i)}}
}

// source is the same as a line tells it.
func (o *origins) source(ctx context.Context, h *chainstore.Header, i int) (runloop.Source, error) {
	p := o.provenance(h, i)
	if !h.Covers.Present || !p.Present {
		return runloop.Source{Node: h.ID.Prefix(), Index: i}, nil
	}
	from := runloop.Source{Node: o.prefixes[p.Place.Seq], Index: int(p.Place.Index)}
	if from.Node != "" {
		return from, nil
	}
	if err := o.name(ctx, h); err != nil {
		return from, err
	}
	from.Node = o.prefixes[p.Place.Seq]
	return from, nil
}

// name looks up the nodes that the results in a compaction node were put in.
func (o *origins) name(ctx context.Context, h *chainstore.Header) error {
	var seqs []uint32
	for i, p := range h.Provenance {
		if p.Present && h.Messages[i].Role == runloop.Tool {
			seqs = append(seqs, p.Place.Seq)
		}
	}
	slices.Sort(seqs)
	seqs = slices.Compact(seqs)
	ids, err := IDsAt(ctx, o.chain, seqs...)
	if err != nil {
		return err
	}
	if o.prefixes == nil {
		o.prefixes = map[uint32]string{}
	}
	for i, id := range ids {
		o.prefixes[seqs[i]] = id.Prefix()
	}
	return nil
}

// line makes message i of a node, the result of a call, its line.
func (o *origins) line(ctx context.Context, h *chainstore.Header, i int, m *transcriptv1.Message, f *runloop.Facts, call runloop.Call) error {
	name := f.Name
	if !name.Present {
		name = call.Name
	}
	from, err := o.source(ctx, h, i)
	if err == nil {
		compaction.MakeLine(m, f, name, from)
	}
	return err
}
