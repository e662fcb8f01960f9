package wire

import (
	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// Copies tells where the messages of a compaction node come from; nil for other nodes.
func Copies(h *chainstore.Header) *transcriptv1.CompactionCopies {
	if !h.Covers.Present {
		return nil
	}
	c := &transcriptv1.CompactionCopies{LastLoop: loopPhase(h.Stands)}
	for i := range h.Messages {
		from := &transcriptv1.CopiedFrom{}
		if i < len(h.Provenance) && h.Provenance[i].Present {
			place := h.Provenance[i].Place
			from.Ancestors, from.MessageIndex = proto.Int32(int32(place.Seq)), proto.Int32(int32(place.Index))
		}
		c.CopiedFrom = append(c.CopiedFrom, from)
		if h.Messages[i].Mark.BeginsLoop {
			c.LoopBegins = append(c.LoopBegins, int32(i))
		}
	}
	return c
}

// loopPhases are the phases in the order of the contract's.
func loopPhases() [4]runloop.Phase {
	return [4]runloop.Phase{
		transcriptv1.LoopPhase_LOOP_PHASE_UNSPECIFIED: runloop.None, transcriptv1.LoopPhase_LOOP_PHASE_ASKED: runloop.Asked,
		transcriptv1.LoopPhase_LOOP_PHASE_WORKING: runloop.Working, transcriptv1.LoopPhase_LOOP_PHASE_ENDED: runloop.Ended,
	}
}

func loopPhase(p runloop.Phase) transcriptv1.LoopPhase {
	for said, is := range loopPhases() {
		if is == p {
			return transcriptv1.LoopPhase(said)
		}
	}
	return transcriptv1.LoopPhase_LOOP_PHASE_UNSPECIFIED
}

// ParsePhase is the phase that a client names; false for one that the contract does not have.
func ParsePhase(p transcriptv1.LoopPhase) (runloop.Phase, bool) {
	all := loopPhases()
	if p < 0 || int(p) >= len(all) {
		return runloop.None, false
	}
	return all[p], true
}
