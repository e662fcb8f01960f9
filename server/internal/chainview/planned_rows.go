package chainview

import (
	"fmt"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// message is a message of a row to which a plan says what becomes of it, a stub due before it, or the left-out line before the first
// loop shown.
type message struct {
	// stub is not nil for a stub, leftOut not 0 for the line that says so many; then nothing else is set.
	stub    *runloop.Call
	leftOut int64

	brief  *runloop.Brief
	index  int
	action compaction.Action
	// bytes are the message as stored, an entry of a payload; borrowed from the row.
	bytes []byte
}

// appendCut appends a message as its action cuts it; false, and dst as it was, where that is not shorter, or it is not cut.
func appendCut(dst []byte, m *message, policy *compaction.Policy) ([]byte, bool) {
	switch m.action {
	case compaction.CutUser:
		return compaction.AppendCut(dst, m.bytes, policy.MaxUserChars)
	case compaction.CutReply:
		return compaction.AppendCut(dst, m.bytes, policy.MaxReplyChars)
	case compaction.Answer:
		return policy.AppendAnswer(dst, m.bytes, m.brief)
	case compaction.Shorten:
		return policy.AppendShort(dst, m.bytes)
	default:
		return dst, false
	}
}

// eachMessage calls f with the stubs that a plan shows, those at the row's end too, with the left-out line, and with every message of a
// row that belongs to the view and that
// repair shows, dropped ones too; f keeps none. The row has its payload.
func eachMessage(h *chainstore.Header, r *viewRow, a *planCursor, f func(*message) error) error {
	offset := 0
	for i := range h.Messages {
		b := &h.Messages[i]
		bytes, err := entry(r.Payload, offset, b.Length)
		if err != nil {
			return fmt.Errorf("node %s: %w", h.ID, err)
		}
		offset += b.Length
		if i < r.from || i >= r.through {
			continue
		}
		began := a.started
		stubs, action := a.of(runloop.Place{Seq: h.Seq, Index: uint32(i)}, b)
		if a.started && !began {
			if err := eachLine(a.plan.LeftOut, f); err != nil {
				return err
			}
		}
		if err := eachStub(b.Mark.Stubs, stubs, f); err != nil {
			return err
		}
		if !b.Shown() {
			continue
		}
		a.one = message{brief: b, index: i, action: action, bytes: bytes}
		if err := f(&a.one); err != nil {
			return err
		}
	}
	if r.through < len(h.Messages) {
		return nil
	}
	return eachStub(h.Stubs, a.atEnd(len(h.Stubs)), f)
}

// eachLine calls f with the left-out line that says so many loops; with none for 0.
func eachLine(loops int64, f func(*message) error) error {
	if loops == 0 {
		return nil
	}
	return f(&message{leftOut: loops})
}

// eachStub calls f with the stubs that are shown.
func eachStub(calls []runloop.Call, actions []compaction.Action, f func(*message) error) error {
	for k, action := range actions {
		if action != compaction.Drop {
			if err := f(&message{stub: &calls[k]}); err != nil {
				return err
			}
		}
	}
	return nil
}
