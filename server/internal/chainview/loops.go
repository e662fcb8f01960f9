package chainview

import (
	"context"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// MessageLoop is what the full view's run loops are at a message.
type MessageLoop struct {
	// In is the loop that the message belongs to, as it stands behind the message; Phase None: it is in no loop.
	In runloop.Loop
	// Begins says that it begins it; before is then the loop before as it ended.
	Begins bool
	Before runloop.Loop
}

// LoopsIn finds the run loops of the full view in a node, whose parent's chain ends in a loop. Compaction nodes have no
// part in them.
func LoopsIn(parent runloop.Loop, h *chainstore.Header) []MessageLoop {
	if h.Covers.Present {
		return nil
	}
	loops := make([]MessageLoop, len(h.Messages))
	l := parent
	for i := range h.Messages {
		begins, before := NextInLoop(&l, &h.Messages[i], runloop.Place{Seq: h.Seq, Index: uint32(i)})
		loops[i] = MessageLoop{In: l, Begins: begins, Before: before}
	}
	return loops
}

// NextInLoop lets the next message of the full view, which was put at a place, act on its last loop. It tells whether the message
// begins one, and then how the loop before ended.
func NextInLoop(l *runloop.Loop, m *runloop.Brief, at runloop.Place) (begins bool, before runloop.Loop) {
	for range m.Mark.Stubs {
		l.Stub()
	}
	if !m.Shown() {
		return false, before
	}
	ended := *l
	if begins, _ = l.Next(m, at); begins {
		before = ended
	}
	return begins, before
}

// LoopBefore is the loop of the full view that the chain of the node before a Seq ends in; none before the root.
func LoopBefore(ctx context.Context, chain chainstore.Chain, seq uint32) (runloop.Loop, error) {
	if seq == 0 {
		return runloop.Loop{}, nil
	}
	h, err := chainstore.HeaderAt(ctx, chain, seq-1)
	if err != nil {
		return runloop.Loop{}, err
	}
	return h.State.Full.Loop, nil
}

// Outcome is how a loop ended, if by an outcome.
func Outcome(l *runloop.Loop) transcriptv1.RunOutcome { return transcriptv1.RunOutcome(l.Outcome) }

// LoopState is where a run loop stands; last says that none began after it.
func LoopState(l *runloop.Loop, last bool) transcriptv1.RunLoopState {
	switch {
	case l.Phase == runloop.None:
		return transcriptv1.RunLoopState_RUN_LOOP_STATE_UNSPECIFIED
	case last && l.Open():
		return transcriptv1.RunLoopState_RUN_LOOP_STATE_OPEN
	case l.Interrupted():
		return transcriptv1.RunLoopState_RUN_LOOP_STATE_INTERRUPTED
	default:
		return transcriptv1.RunLoopState_RUN_LOOP_STATE_CLOSED
	}
}

// LoopStarts finds the first messages of run loops. It remembers the ids of their nodes.
type LoopStarts struct{ ids map[uint32]string }

// Place is the first message of a run loop of a chain, always the same; nil for none.
func (s *LoopStarts) Place(ctx context.Context, chain chainstore.Chain, l *runloop.Loop) (*transcriptv1.MessagePlace, error) {
	if l.Phase == runloop.None {
		return nil, nil
	}
	id, known := s.ids[l.Start.Seq]
	if !known {
		h, err := chainstore.HeaderAt(ctx, chain, l.Start.Seq)
		if err != nil {
			return nil, err
		}
		if s.ids == nil {
			s.ids = map[uint32]string{}
		}
		id = h.ID.String()
		s.ids[l.Start.Seq] = id
	}
	return &transcriptv1.MessagePlace{NodeId: id, MessageIndex: int32(l.Start.Index)}, nil
}
