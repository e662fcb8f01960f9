package describe

import (
	"context"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/chainview"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

// loop tells of the last run loop, as the full view has it, and of what the head awaits. It needs the row in which the loop
// begins, and with previews the head's.
func (d *description) loop(reply *transcriptv1.DescribeResponse) {
	h := d.head()
	l := &h.State.Full.Loop
	status := &transcriptv1.LoopStatus{
		State: chainview.LoopState(l, true), LeadIn: l.Phase != runloop.None && l.LeadIn, Outcome: chainview.Outcome(l),
	}
	reply.Loop = status
	d.pending(status)
	if l.Phase != runloop.None {
		d.began(l, status)
	}
	if d.content {
		d.lastText(status)
	}
}

// stale tells whether an open loop has waited too long since the last node that is no compaction node: condensing is no life sign.
func (d *description) stale(ctx context.Context, status *transcriptv1.LoopStatus) (err error) {
	if status.State != transcriptv1.RunLoopState_RUN_LOOP_STATE_OPEN {
		return nil
	}
	for err == nil && d.said.Covers.Present && d.said.Seq > 0 { // more compaction nodes in a row than are listed
		d.said, err = chainstore.HeaderAt(ctx, d.chain, d.said.Seq-1)
	}
	if err == nil {
		status.Stale = d.now-d.said.FirstPut > d.staleAfter
	}
	return err
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

// began tells of the first message of a loop: its id and time, and as a preview its text where it is the user's.
func (d *description) began(l *runloop.Loop, status *transcriptv1.LoopStatus) {
	d.rows.ask(l.Start.Seq, d.content, func(row *chainstore.Row, h *chainstore.Header) error {
		if int64(l.Start.Index) >= int64(len(h.Messages)) {
			return chainstore.NoRow(l.Start.Seq)
		}
		first := &h.Messages[l.Start.Index]
		at := first.SentAt(h.FirstPut)
		status.First, status.StartedAt = wire.MessagePlace(h, int(l.Start.Index)), wire.Timestamp(at)
		if status.State == transcriptv1.RunLoopState_RUN_LOOP_STATE_OPEN {
			status.OpenFor = d.since(at)
		}
		if d.content && first.Role == runloop.User {
			return d.begins(&status.UserPreview, h, int(l.Start.Index), row)
		}
		return nil
	})
}

// begins tells the beginning of a message's text.
func (d *description) begins(text *string, h *chainstore.Header, i int, row *chainstore.Row) error {
	m, err := chainview.DecodeMessage(h, i, row.Payload)
	if err == nil {
		d.preview.Add(text, m)
	}
	return err
}

// lastText tells the beginning of the text of the head's last message with text; nothing without one.
func (d *description) lastText(status *transcriptv1.LoopStatus) {
	h := d.head()
	for i := len(h.Messages) - 1; i >= 0; i-- {
		if h.Messages[i].TextOctets > 0 {
			d.rows.ask(h.Seq, true, func(row *chainstore.Row, h *chainstore.Header) error {
				return d.begins(&status.LastPreview, h, i, row)
			})
			return
		}
	}
}
