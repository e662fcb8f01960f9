package chainview

import (
	"context"

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
	put, err := chainstore.HeaderAt(ctx, o.chain, p.Place.Seq)
	if err != nil {
		return from, err
	}
	if o.prefixes == nil {
		o.prefixes = map[uint32]string{}
	}
	from.Node = put.ID.Prefix()
	o.prefixes[p.Place.Seq] = from.Node
	return from, nil
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
