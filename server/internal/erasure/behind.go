package erasure

import (
	"context"
	"slices"
	"time"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/server/internal/chainview"
)

// behind looks behind targets for compaction nodes that have copies of them.
type behind struct {
	*run
	// reached are, of a dry run, the nodes that are to be erased and their descendants; listed the compaction nodes that were told of.
	reached, listed map[chainstore.ID]bool
}

// look looks behind a group of targets, which stand ancestors before descendants, and erases what it finds. What is behind a target is behind the
// targets above it.
func (b *behind) look(ctx context.Context, group []chainstore.ID) error {
	below := map[chainstore.ID]bool{}
	for _, id := range group {
		if below[id] {
			continue
		}
		// A compaction that was planned before the last erasure is refused, and one that was committed since is found: so what none is found behind has none.
		for look := 1; ; look++ {
			if look > looks {
				return ErrCopiesGoOn
			}
			before := b.now.Compactions
			if err := b.one(ctx, id, below); err != nil {
				return err
			}
			if b.now.Compactions == before || b.DryRun {
				break
			}
		}
	}
	return nil
}

// one looks behind a target. below takes the targets that it comes to.
func (b *behind) one(ctx context.Context, id chainstore.ID, below map[chainstore.ID]bool) error {
	top := b.targets[id]
	last := top.erasedAt
	if b.DryRun && top.erasedAt == 0 {
		b.reached[id] = true
	}
	var batch []chainstore.ID
	parts := map[chainstore.ID][]bool{}
	flush := func() error {
		err := b.erase(ctx, batch, parts)
		batch, parts = batch[:0], map[chainstore.ID][]bool{}
		return err
	}
	began, seen := time.Now(), 0
	err := b.Store.Descendants(ctx, b.Namespace, id, func(h *chainstore.Header) error {
		if b.DryRun && top.erasedAt == 0 {
			b.reached[h.ID] = true
		}
		t := b.targets[h.ID]
		if t != nil {
			below[h.ID] = true
			last = max(last, t.erasedAt)
		}
		if seen++; seen%stretch == 0 {
			if err := b.tell(nil); err != nil {
				return err
			}
			if err := rest(ctx, began); err != nil {
				return err
			}
			began = time.Now()
		}
		if t != nil || !h.Covers.Present || h.Covers.Seq < top.seq || b.listed[h.ID] {
			return nil
		}
		part, err := b.part(ctx, h, top.erasedAt == 0 || h.FirstPut <= last)
		if err != nil || part == nil {
			return err
		}
		if b.DryRun {
			b.listed[h.ID] = true
		}
		batch, parts[h.ID] = append(batch, h.ID), part
		if len(batch) == batchNodes {
			return flush()
		}
		return nil
	})
	if err != nil {
		return err
	}
	return flush()
}

// part is which messages of a compaction node are to go: copies of targets and, with texts, what is no copy, as summaries are. nil: none.
func (b *behind) part(ctx context.Context, h *chainstore.Header, texts bool) ([]bool, error) {
	part, some := make([]bool, len(h.Messages)), false
	var seqs []uint32
	for i := range h.Messages {
		switch m := &h.Messages[i]; {
		case m.Was > 0:
		case i < len(h.Provenance) && h.Provenance[i].Present:
			seqs = append(seqs, h.Provenance[i].Place.Seq)
		case texts && !m.LeftOutLine:
			part[i], some = true, true
		}
	}
	slices.Sort(seqs)
	seqs = slices.Compact(seqs)
	chain, err := b.Store.Chain(ctx, b.Namespace, chainstore.Ref{ID: h.ID}, nil)
	if err != nil {
		return nil, err
	}
	ids, err := chainview.IDsAt(ctx, chain, seqs...)
	if err != nil {
		return nil, err
	}
	for i := range h.Messages {
		if h.Messages[i].Was > 0 || i >= len(h.Provenance) || !h.Provenance[i].Present {
			continue
		}
		at, _ := slices.BinarySearch(seqs, h.Provenance[i].Place.Seq)
		if t := b.targets[ids[at]]; t != nil && !t.kept {
			part[i], some = true, true
		}
	}
	if !some {
		return nil, nil
	}
	return part, nil
}
