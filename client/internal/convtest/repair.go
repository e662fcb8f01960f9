package convtest

import (
	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/client/internal/groups"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// Repairs is how many results the server's repair leaves out of the messages, and how many stubs it adds, those of
// the calls that are open at the end included.
func Repairs(messages []*transcriptv1.Message) (leftOut, stubs int) {
	end := &transcriptv1.Message{Role: transcriptv1.Role_ROLE_USER}
	var state runloop.State
	marks, _, err := state.Fold(runloop.Node{
		Messages: canonical.Facts(append(append([]*transcriptv1.Message(nil), messages...), end)),
	}, func(runloop.Optional) bool { return false })
	if err != nil {
		return -1, -1
	}
	for _, mark := range marks {
		stubs += len(mark.Stubs)
		if mark.LeftOut != runloop.Shown {
			leftOut++
		}
	}
	return leftOut, stubs
}

// OpenCalls tells whether the messages end in a group with calls that have no result.
func OpenCalls(messages []*transcriptv1.Message) bool {
	steps, _ := groups.Split(messages)
	if len(steps) == 0 {
		return false
	}
	last := steps[len(steps)-1]
	return len(last.Answered) < len(last.Calls)
}
