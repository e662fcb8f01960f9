package erasure

import (
	"context"
	"time"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/deadline"
)

// lookEvery is how often it looks whether content has left the files.
const lookEvery = 250 * time.Millisecond

// wait waits until the content of all nodes that are erased has left the files.
func (r *run) wait(ctx context.Context) error {
	r.now.Phase = transcriptv1.ErasePhase_ERASE_PHASE_PURGING
	for left := r.purges; ; {
		for len(left) > 0 {
			receipt, err := r.Store.Receipt(ctx, r.Namespace, left[0].id)
			if err != nil {
				return err
			}
			if receipt.PurgedAt == 0 {
				break
			}
			left = left[1:]
		}
		r.now.NodesInFiles = 0
		for _, p := range left {
			r.now.NodesInFiles += p.nodes
		}
		gone, err := r.labelsAreGone(ctx)
		if err != nil {
			return err
		}
		if err := r.tell(nil); err != nil || len(left) == 0 && gone {
			return err
		}
		if err := deadline.Sleep(ctx, lookEvery); err != nil {
			return err
		}
	}
}

// labelsAreGone tells whether no labels are in the files that were erased by this call, or before it.
func (r *run) labelsAreGone(ctx context.Context) (bool, error) {
	if r.labelsAt == 0 {
		return true, nil
	}
	p, err := r.Store.Purging(ctx)
	return p.Aliases == 0 || p.Since > r.labelsAt, err
}
