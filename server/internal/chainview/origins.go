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
	// prefixes name, as lines do, the nodes of the messages that the compaction node holds and that become lines.
	prefixes map[uint32]string
}

// origins looks up what the lines of a plan name.
func (e *Effective) origins(ctx context.Context, plan *compaction.Plan) (*origins, error) {
	seqs := e.copiedLines(plan)
	if len(seqs) == 0 {
		return &origins{}, nil
	}
	ids, err := IDsAt(ctx, e.chain, seqs...)
	if err != nil {
		return nil, err
	}
	o := &origins{prefixes: make(map[uint32]string, len(ids))}
	for i, id := range ids {
		o.prefixes[seqs[i]] = id.Prefix()
	}
	return o, nil
}

// copiedLines are the Seqs where those messages were put that the compaction node holds and a plan makes lines, in order. The node is the
// first that the plan tells of.
func (e *Effective) copiedLines(plan *compaction.Plan) (seqs []uint32) {
	if e.compaction == nil || !slices.Contains(plan.Actions, compaction.Line) {
		return nil
	}
	h, cursor := e.compaction, planCursor{plan: plan}
	for i := range h.Messages {
		_, action := cursor.of(runloop.Place{Seq: h.Seq, Index: uint32(i)}, &h.Messages[i])
		if from := h.Provenance[i]; action == compaction.Line && from.Present {
			seqs = append(seqs, from.Place.Seq)
		}
	}
	slices.Sort(seqs)
	return slices.Compact(seqs)
}

// provenance is where message i of a node was put first.
func (o *origins) provenance(h *chainstore.Header, i int) chainstore.Provenance {
	if h.Covers.Present {
		return h.Provenance[i]
	}
	return chainstore.Provenance{Present: true, Place: runloop.Place{Seq: h.Seq, Index: uint32(i)}}
}

// source is the same as a line tells it.
func (o *origins) source(h *chainstore.Header, i int) runloop.Source {
	p := o.provenance(h, i)
	if !h.Covers.Present || !p.Present {
		return runloop.Source{Node: h.ID.Prefix(), Index: i}
	}
	return runloop.Source{Node: o.prefixes[p.Place.Seq], Index: int(p.Place.Index)}
}

// line makes message i of a node, the result of a call, its line.
func (o *origins) line(h *chainstore.Header, i int, m *transcriptv1.Message, f *runloop.Facts, call runloop.Call) {
	name := f.Name
	if !name.Present {
		name = call.Name
	}
	compaction.MakeLine(m, f, name, o.source(h, i))
}
