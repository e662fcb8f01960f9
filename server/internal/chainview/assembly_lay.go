package chainview

import (
	"context"
	"errors"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// ErrLarge says that a view has more than its frame may have. Who reads rows must not wait for room: as long as rows are read, the store keeps
// all that was written since.
var ErrLarge = errors.New("the view is too large for one frame")

// Lay reads the view into a frame of so many bytes at most, and returns its report. After an error, which is ErrLarge for more, the
// frame is dropped.
func (a *Assembly) Lay(ctx context.Context, f *Frame, most int) (*transcriptv1.Report, error) {
	into, report := a.Writer(func(need int) (*Frame, error) {
		if f.Size()+need > most {
			return nil, ErrLarge
		}
		return f, nil
	})
	err := ReadAll(ctx, a.Chain, a.spans(), into.Add)
	if err == nil {
		err = into.Link(ctx)
	}
	if err != nil {
		f.Drop()
		return nil, err
	}
	return a.Report(report), nil
}

// Expected tells how many bytes of messages the view has at most, or exactly. Error: ErrLarge where they are more than a limit for sure.
func (a *Assembly) Expected(ctx context.Context, limit int64) (most int, exactly bool, err error) {
	total := a.totals(a.Chain.Head()).Bytes
	if a.last != nil {
		total = a.last.size.bytes
	}
	if c := a.conversation; c != nil && c.plan.LeftOut > 0 {
		total += int64(runloop.LeftOutLength(c.plan.LeftOut))
	}
	switch {
	case a.conversation != nil || total <= limit && a.base != nil:
		return int(min(total, limit)), false, nil
	case a.base != nil:
		seen, err := a.baseBytes(ctx)
		if err != nil {
			return 0, false, err
		}
		total -= seen
	}
	if total > limit {
		return 0, false, ErrLarge
	}
	return int(total), true, nil
}

// Least tells about how many bytes of messages the view has for sure, as far as that is known without reading them.
func (a *Assembly) Least() int64 {
	if a.conversation == nil {
		return 0
	}
	return a.conversation.plan.LastBytes
}

// baseBytes is the size of the view of the base.
func (a *Assembly) baseBytes(ctx context.Context) (bytes int64, err error) {
	h, err := chainstore.HeaderAt(ctx, a.Chain, a.Chain.After())
	if err != nil {
		return 0, err
	}
	return a.totals(h).Bytes, nil
}
