package server_test

import (
	"bytes"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/transcriptd/transcriptd/canonical"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// TestPromisesOfConversations holds the promises of design 6 on conversations of random trees, as they come over the wire.
// That a view of a view is itself cannot be asked here, since nobody may put what the server made; it is a test of package
// compaction.
func TestPromisesOfConversations(t *testing.T) {
	r := newRig(t)
	model := &viewModel{rig: r, namespace: "promises"}
	continued := 0
	rapid.Check(t, func(rt *rapid.T) {
		p := &program{viewModel: model, t: rt}
		for range rapid.IntRange(2, 12).Draw(rt, "steps") {
			p.grow()
		}
		head := p.head()
		policy := drawPolicy(rt)
		view := func(head string) *transcriptv1.AssembleResponse {
			return r.assemble(&Assemble{Namespace: p.namespace, Head: byID(head), View: conversation, Policy: policy})
		}
		whole := view(head)
		p.checkPairs(whole)
		p.checkUserFirst(head, whole)
		if limit := policy.GetMaxBytes(); limit > 0 && whole.Report.Bytes > limit && whole.Report.Window.GetRunLoops() > 1 {
			rt.Errorf("%d bytes in %d loops, of at most %d", whole.Report.Bytes, whole.Report.Window.RunLoops, limit)
		}
		path := p.path(head)
		for i := len(path) - 1; i >= 0; i-- {
			if p.checkContinues(policy, view(path[i].id), whole, path) {
				continued++
			}
			if path[i].covers != "" {
				break
			}
		}
		if r.Failed() {
			rt.FailNow()
		}
	})
	if continued == 0 {
		t.Error("no conversation was held against an ancestor's")
	}
}

// checkPairs: each call has its result directly behind it, but in the group at the head, and each result its call.
func (p *program) checkPairs(got *transcriptv1.AssembleResponse) {
	p.Helper()
	p.sameMessages("the conversation, repaired once more,", repair(got.Messages), got.Messages...)
}

// checkUserFirst: behind preamble, early messages and left-out line the user speaks first, if anyone asked.
func (p *program) checkUserFirst(head string, got *transcriptv1.AssembleResponse) {
	p.Helper()
	asks := func(m *Message) bool {
		return m.Role == transcriptv1.Role_ROLE_USER && !aside(m)
	}
	all, _ := p.effective(head)
	if !slices.ContainsFunc(bare(all), asks) {
		return
	}
	first := firstOfLoops(got.Messages)
	if first == len(got.Messages) || !asks(got.Messages[first]) {
		p.Errorf("the user does not speak first in\n%v", brief(got.Messages))
	}
}

// aside tells whether a message is in no run loop, though of a user: a summary or a left-out line.
func aside(m *Message) bool {
	return m.Origin == transcriptv1.Origin_ORIGIN_SUMMARY || m.Origin == transcriptv1.Origin_ORIGIN_LEFT_OUT
}

// firstOfLoops is where run loops begin.
func firstOfLoops(messages []*Message) int {
	i := slices.IndexFunc(messages, func(m *Message) bool {
		early := m.Role == transcriptv1.Role_ROLE_SYSTEM || m.Role == transcriptv1.Role_ROLE_DEVELOPER
		return !early && !aside(m)
	})
	if i < 0 {
		return len(messages)
	}
	return i
}

// loopStarts are where run loops begin, as the messages alone tell; the lead-in is one.
func loopStarts(messages []*Message) (starts []int) {
	asked := false
	for i := firstOfLoops(messages); i < len(messages); i++ {
		switch messages[i].Role {
		case transcriptv1.Role_ROLE_USER:
			if !asked {
				starts = append(starts, i)
			}
			asked = true
		case transcriptv1.Role_ROLE_ASSISTANT, transcriptv1.Role_ROLE_TOOL:
			if len(starts) == 0 {
				starts = append(starts, i)
			}
			asked = false
		}
	}
	return starts
}

// checkContinues: the start of the window does not move back from an ancestor to the head; where it did not move at all,
// both agree up to the ancestor's last loop less those kept whole, and, while that is the head's last too and nothing more was
// cleared, the ancestor's conversation begins the head's.
func (p *program) checkContinues(policy *Policy, before, after *transcriptv1.AssembleResponse, path []*modelNode) bool {
	p.Helper()
	from, to := before.Report.Window, after.Report.Window
	if from == nil || to == nil {
		if from != nil {
			p.Errorf("the loops shown went: %v", from)
		}
		return false
	}
	if p.order(path, to) < p.order(path, from) {
		p.Errorf("the start of the window moved back from %v to %v", from, to)
	}
	leadIn := before.Counters.Effective.RunLoops == 0
	if p.order(path, to) != p.order(path, from) || leadIn {
		return false
	}
	same := len(before.Messages)
	if cleared(before, after) || before.Counters.Effective.RunLoops != after.Counters.Effective.RunLoops {
		starts := loopStarts(before.Messages)
		same = starts[max(0, len(starts)-1-int(policy.GetKeepWholeRunLoops()))]
	}
	if len(after.Messages) < same || !samePrefix(before.Messages, after.Messages, same) {
		p.Errorf("the first %d messages are not those of the head: of\n%v\nbecame\n%v", same, brief(before.Messages), brief(after.Messages))
	}
	return true
}

// cleared tells whether of the messages that an ancestor's conversation shows, more are shortened in the head's.
func cleared(before, after *transcriptv1.AssembleResponse) bool {
	n := min(len(before.Messages), len(after.Messages))
	return shortenedOf(after.Messages[:n]) > shortenedOf(before.Messages[:n])
}

func shortenedOf(messages []*Message) (n int) {
	for _, m := range messages {
		if m.Origin == transcriptv1.Origin_ORIGIN_SHORTENED {
			n++
		}
	}
	return n
}

func samePrefix(a, b []*Message, n int) bool {
	return bytes.Equal(canonical.EncodePayload(a[:n]), canonical.EncodePayload(b[:n]))
}

// order numbers the places of the effective view: the nearest compaction node comes before all others.
func (p *program) order(path []*modelNode, w *transcriptv1.Window) int {
	at := slices.IndexFunc(path, func(n *modelNode) bool { return n.id == w.NodeId })
	if path[at].covers != "" {
		at = -1
	}
	return at*1000 + int(w.MessageIndex)
}
