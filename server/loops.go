package server

import (
	"context"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// messageLoop is what the full view's run loops are at a message.
type messageLoop struct {
	// in is the loop that the message belongs to, as it stands behind the message; Phase None: it is in no loop.
	in runloop.Loop
	// begins says that it begins it; before is then the loop before as it ended.
	begins bool
	before runloop.Loop
}

// loopsIn finds the run loops of the full view in a node, whose parent's chain ends in a loop. Compaction nodes have no
// part in them.
func loopsIn(parent runloop.Loop, h *chainstore.Header) []messageLoop {
	if h.Covers.Present {
		return nil
	}
	loops := make([]messageLoop, len(h.Messages))
	l := parent
	for i := range h.Messages {
		m := &h.Messages[i]
		for range m.Mark.Stubs {
			l.Stub()
		}
		before, begins := l, false
		if m.Mark.LeftOut == runloop.Shown {
			begins, _ = l.Next(m, runloop.Place{Seq: h.Seq, Index: uint32(i)})
		}
		loops[i] = messageLoop{in: l, begins: begins}
		if begins {
			loops[i].before = before
		}
	}
	return loops
}

// loopBefore is the loop of the full view that the chain of the node before a Seq ends in; none before the root.
func loopBefore(ctx context.Context, chain chainstore.Chain, seq uint32) (runloop.Loop, error) {
	if seq == 0 {
		return runloop.Loop{}, nil
	}
	h, err := chainstore.HeaderAt(ctx, chain, seq-1)
	if err != nil {
		return runloop.Loop{}, err
	}
	return h.State.Full.Loop, nil
}

// loopState is where a run loop stands; last says that none began after it.
func loopState(l *runloop.Loop, last bool) transcriptv1.RunLoopState {
	switch {
	case l.Phase == runloop.None:
		return transcriptv1.RunLoopState_RUN_LOOP_STATE_UNSPECIFIED
	case last && !l.Closed():
		return transcriptv1.RunLoopState_RUN_LOOP_STATE_OPEN
	case l.Interrupted():
		return transcriptv1.RunLoopState_RUN_LOOP_STATE_INTERRUPTED
	default:
		return transcriptv1.RunLoopState_RUN_LOOP_STATE_CLOSED
	}
}
