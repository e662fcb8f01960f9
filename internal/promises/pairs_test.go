package promises

import (
	"bytes"
	"fmt"
	"slices"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// holdPair holds promise 4 for an ancestor a of h with no compaction between.
func (w *tree) holdPair(a, h *node, ca, ch *conversation, p *asking) {
	w.t.Helper()
	fail := func(what string) {
		w.t.Helper()
		w.t.Fatalf("%s: A %s, H %s, policy %v, start %d and %d\n%s\nA:\n%s\nH:\n%s", what, a.id[:6], h.id[:6], p.policy, ca.start, ch.start, w.show(h), list(ca.messages()), list(ch.messages()))
	}
	if !bytes.HasPrefix(joined(h.effective().shown), joined(a.effective().shown)) {
		fail("effective(A) is no prefix")
	}
	unasked := len(ca.loops) == 0 || ca.loops[0].leadIn
	if !unasked && ca.start > ch.start {
		fail("the start moved back")
	}
	if la, lh := leftOutIn(ca), leftOutIn(ch); !unasked && ca.start == ch.start && la != lh {
		fail("the left-out line changed though the start did not move: " + la + ", " + lh)
	}
	if unasked && ch.start > 0 && slices.ContainsFunc(ca.early, (*message).isLeftOut) {
		return // the line of a compaction says more now
	}
	if p.condenseLast {
		return
	}
	ofH := joined(ch.messages())
	last := int64(len(ca.loops)) - 1
	sameLast := len(ca.loops) == len(ch.loops) && (len(ca.loops) == 0 || ca.loops[0].leadIn == ch.loops[0].leadIn)
	if sameLast && !stillShort(ca, ch) {
		fail("what became shorter did not stay so")
	}
	switch {
	case !unasked && ca.start != ch.start:
		return
	case len(ca.loops) == 0 || sameLast && len(ca.cleared) == len(ch.cleared):
		if !bytes.HasPrefix(ofH, joined(ca.messages())) {
			fail("conversation(A) is no prefix")
		}
	default:
		common := slices.Concat(ca.preamble, ca.early, one(ca.line))
		for i := ca.start; !unasked && i < last-int64(p.model.keepRuns); i++ {
			if p.model.requests && p.model.recent(ca.loops, i) && !p.model.recent(ch.loops, i) {
				break // a loop that grew too old for its calls
			}
			common = append(common, ca.shown[i-ca.start]...)
		}
		if !bytes.HasPrefix(ofH, joined(common)) {
			fail("the conversations do not agree up to A's last loop")
		}
	}
}

// leftOutIn is what the left-out line of a conversation says; empty where there is none.
func leftOutIn(c *conversation) string {
	for _, m := range c.messages() {
		if m.isLeftOut() {
			return m.Parts[0].GetText()
		}
	}
	return ""
}

// stillShort tells whether what the steps of A made shorter in the loop that is last in A and in H was made so by the same steps in H.
func stillShort(ca, ch *conversation) bool {
	return len(ca.cleared) <= len(ch.cleared) && slices.EqualFunc(ca.cleared, ch.cleared[:len(ca.cleared)], slices.Equal[[]*message])
}

// refuses holds that what is no ancestor is refused.
func (w *tree) refuses(a, h *node) {
	w.t.Helper()
	_, err := w.assemble(w.ctx, &transcriptv1.AssembleRequest{Namespace: w.namespace, Head: ref(h), AfterId: a.id})
	if got := reasonOf(err); got != "NOT_AN_ANCESTOR" {
		w.t.Fatalf("after %s, which is no ancestor of %s: %s", a.id[:6], h.id[:6], fmt.Sprint(err))
	}
}
