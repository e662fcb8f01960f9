package describe

import (
	"context"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/chainview"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

// loop tells of the last run loop of the effective view and of what the head awaits. It reads the row in which the loop
// begins, and with previews the head's.
func (d *description) loop(ctx context.Context) (*transcriptv1.LoopStatus, error) {
	h := d.head()
	l := &h.State.Effective.Loop
	status := &transcriptv1.LoopStatus{State: chainview.LoopState(l, true), LeadIn: l.Phase != runloop.None && l.LeadIn}
	d.pending(status)
	if status.State == transcriptv1.RunLoopState_RUN_LOOP_STATE_OPEN {
		last, err := d.lastSaid(ctx)
		if err != nil {
			return nil, err
		}
		status.Stale = d.now-last > d.staleAfter
	}
	if l.Phase != runloop.None {
		if err := d.began(ctx, l, status); err != nil {
			return nil, err
		}
	}
	if d.content {
		var err error
		if status.LastPreview, err = d.lastText(ctx); err != nil {
			return nil, err
		}
	}
	return status, nil
}

// lastSaid is when the last node was put that is no compaction node: condensing is no life sign.
func (d *description) lastSaid(ctx context.Context) (int64, error) {
	h := d.head()
	for h.Covers.Present && h.Seq > 0 {
		var err error
		if h, err = chainstore.HeaderAt(ctx, d.chain, h.Seq-1); err != nil {
			return 0, err
		}
	}
	return h.FirstPut, nil
}

// pending lists the calls at the head without a result.
func (d *description) pending(status *transcriptv1.LoopStatus) {
	g := &d.head().State.Group
	for i := range g.Calls {
		switch c := &g.Calls[i]; {
		case g.Answered[i]:
		case len(status.Pending) == d.items:
			status.MorePending++
		default:
			status.Pending = append(status.Pending, &transcriptv1.PendingCall{Id: wire.OptionalText(c.ID), Name: wire.OptionalText(c.Name)})
		}
	}
}

// began reads the first message of a loop: its id and time, and as a preview its text where it is the user's.
func (d *description) began(ctx context.Context, l *runloop.Loop, status *transcriptv1.LoopStatus) error {
	h, err := chainstore.HeaderAt(ctx, d.chain, l.Start.Seq)
	if err != nil {
		return err
	}
	if int64(l.Start.Index) >= int64(len(h.Messages)) {
		return chainview.NoRow(l.Start.Seq)
	}
	first := &h.Messages[l.Start.Index]
	at := first.SentAt(h.FirstPut)
	status.First, status.StartedAt = wire.MessagePlace(h, int(l.Start.Index)), wire.Timestamp(at)
	if status.State == transcriptv1.RunLoopState_RUN_LOOP_STATE_OPEN {
		status.OpenFor = d.since(at)
	}
	if d.content && first.Role == runloop.User {
		status.UserPreview, err = d.begins(ctx, l.Start)
	}
	return err
}

// begins is the beginning of a message's text.
func (d *description) begins(ctx context.Context, at runloop.Place) (text string, err error) {
	m, err := chainview.MessageAt(ctx, d.chain, at)
	if err == nil {
		d.preview.Add(&text, m)
	}
	return text, err
}

// lastText is the beginning of the text of the head's last message with text; empty without one.
func (d *description) lastText(ctx context.Context) (string, error) {
	h := d.head()
	for i := len(h.Messages) - 1; i >= 0; i-- {
		if h.Messages[i].TextOctets > 0 {
			return d.begins(ctx, runloop.Place{Seq: h.Seq, Index: uint32(i)})
		}
	}
	return "", nil
}
