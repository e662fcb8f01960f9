// Package promises holds the promises of design 6 over random trees, on running servers: views, compactions, recall and
// run loops are what a slow model of the rules says, and keep what is promised for every pair of heads.
package promises

import (
	"flag"
	"maps"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

var pairs = flag.Int("promises.pairs", 2_000, "promises: how many pairs of heads, each under a policy, to judge on each engine")

// enough is as many pairs as show everything that is drawn.
const enough = 4_000

// tally is what was judged.
type tally struct {
	pairs, views, trees, lines int
	// cleared and marked are the views whose last loop has results cleared, and calls with marks; twice those where it was cleared in
	// more steps than one.
	cleared, marked, twice int
	failed                 bool
}

// TestPromises holds the promises over random trees, on every engine. Give -promises.pairs=200000 for the long form.
//
// It catches wrong rules: TestMutations lists mutations of the code and shows, with -promises.mutate, that each is caught
// within 80,000 pairs, drawn eight times at most. They are:
//
//   - more work takes no outcome back
//   - an outcome ends no group
//   - calls before an outcome count as unanswered
//   - an outcome closes the lead-in
//   - what did not come whole is a final reply
//   - run loops of copies are found in their messages
//   - only the first unanswered call of a group gets a stub
//   - an absent call id equals an empty one
//   - calls behind a result still belong to its group
//   - developer messages end the preamble
//   - each user message begins a loop
//   - a loop that was answered once is closed, whatever came since
//   - windows by number slide one step late
//   - old loops are shown whole
//   - old loops keep their calls
//   - what grows too old is weighed as it was
//   - the time of a loop is that of its user alone
//   - messages count as sent, also later than first put
//   - copies count by when the compaction was put
//   - behind a window's start nobody knows who spoke before
//   - the final reply is the last message of the assistant
//   - system messages go with the work that a summary stands for
//   - a cut counts bytes over several parts
//   - a cut may give more text than there was
//   - a window over its limit is cut to the limit, not to half
//   - loops that keep_whole_run_loops has passed are weighed whole
//   - the lead-in stays once a user spoke
//   - summary_only keeps the last closed loop
//   - a compaction may be as large as what it stands for
//   - a compaction forgets when messages were first put
//   - a line names the compaction node that it was copied to
//   - what compactions dropped is not told of
//   - a compaction with a summary tells what it left out
//   - the left-out line cannot be omitted
//   - an older left-out line stays, whatever was dropped since
//   - the left-out line counts as if it said one
//   - what lies before the start that was found is not left out
//   - the left-out line is a user's
//   - a node that the left-out line is told with is verbatim
//   - an older left-out line counts as left out
//   - an etag does not know of omit_left_out_line
//   - an etag does not know of max_age
//   - behind a compaction the group at its end is open, whatever came between
//   - a run loop that ends without a reply is closed
//   - a cut message counts at its limit in bytes, whatever its text
//   - older compactions are shown
//   - what is covered already cannot be covered once more
//   - a view is continued over a compaction
//   - an etag does not know of condense_last
//   - the start of a window is looked for one loop too late
//   - of a message with an answer all calls stay
//   - a message that loses calls keeps its reasoning
//   - a message that loses calls is not cut
//   - each result answers the first call of its group
//   - calls behind a result are of the group before
//   - stubs are no part of an answer
//   - a result of an answer that was cut is cut again
//   - with tool_trace other calls of an answer go
//   - results of answers do not count for max_bytes
//   - an etag does not know of reply_tools
//   - an opaque message is folded like another
//   - every view shows opaque messages
//   - opaque messages have tokens
//   - the depth counts opaque messages
//   - a run loop counts opaque messages
//   - reply_tools are as they are given
//   - a stub answers no call of its group
//   - a point lies behind each result, whatever is open
//   - the debt stays when results are cleared
//   - the debt is that of one point
//   - the debt goes from loop to loop
//   - what has to be sent anew counts as it was put
//   - what has to be sent anew counts from the loop's first message
//   - results that no model has seen push out those kept
//   - where none is kept, results that no model has seen are cleared
//   - the last of what could go stays
//   - answers count among the results that are kept
//   - a line that saves 150 bytes is worth it
//   - what was cleared is cleared again
//   - before any result is seen calls are shortened
//   - marks that save little are worth it
//   - a string of 200 bytes gets a mark
//   - long keys get marks
//   - the first quote ends a string, escaped or not
//   - calls that answer get marks
//   - a message with marks has no content_form
//   - marks of calls that answer count as saved
//   - tool_trace keeps arguments whole
//   - for max_bytes cleared results count whole
//   - for max_bytes a message that loses calls counts with marks
//   - the percent of cached bytes is never read
//   - without keep a preset clears on
//   - frugal keeps arguments
//   - an etag does not know of arguments
//   - an etag does not know of cached_percent
func TestPromises(t *testing.T) {
	for _, engine := range slices.Sorted(maps.Keys(engines)) {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			s := start(t, engine)
			sum := &tally{}
			for sum.pairs < *pairs {
				rapid.Check(t, func(rt *rapid.T) { s.judge(t, rt, sum) })
			}
			t.Logf("%d pairs of heads, %d conversations, %d trees, %d lines recalled; compactions: %v", sum.pairs, sum.views, sum.trees, sum.lines, s.outcomes)
			t.Logf("of the conversations %d have results cleared, %d calls with marks, %d both in several steps", sum.cleared, sum.marked, sum.twice)
			if *pairs >= enough && (sum.cleared == 0 || sum.marked == 0 || sum.twice == 0) {
				t.Errorf("the draw is too tame for clear_tool_results")
			}
		})
	}
}

// judge draws a tree and policies, and holds everything up to the model and the promises.
func (s *stack) judge(t *testing.T, rt *rapid.T, sum *tally) {
	if sum.pairs >= *pairs && !sum.failed {
		return
	}
	done := false
	defer func() { sum.failed = sum.failed || !done }()
	d := &draw{t: rt}
	w := s.plant(t.Context(), rt)
	w.grow(d)
	if len(w.nodes) == 0 {
		done = true
		return
	}
	w.clock.Store(int64(1000 * (1 + d.n(latest))))
	judged := tally{}
	w.holdTree()
	for range 1 + d.n(3) {
		w.holdPolicy(&asking{policy: d.policy(), condenseLast: d.one(4)}, &judged)
	}
	done = true
	judged.trees, judged.lines = 1, len(w.recalled)
	sum.add(&judged)
}

// holdTree holds what no policy bears on.
func (w *tree) holdTree() {
	w.t.Helper()
	for i, h := range w.heads() {
		path := h.path()
		w.holdWhole(h, path[i%len(path)], i%5 == 0)
		if other := w.nodes[(i*7)%len(w.nodes)]; i%3 == 0 && !other.isAncestorOf(h) {
			w.refuses(other, h)
		}
		if i%4 == 0 {
			w.holdLoops(h)
		}
		if i == 0 {
			w.holdRecall(h)
		}
		for _, m := range h.messages {
			if h.covers != nil && m.isLine() {
				w.holdLine(h, m)
			}
		}
	}
	w.holdRecall(w.nodes[len(w.nodes)/2])
}

// holdPolicy judges the conversations of all heads under a policy, and pairs of them.
func (w *tree) holdPolicy(a *asking, sum *tally) {
	w.t.Helper()
	a.model = policyOf(a.policy)
	shown := map[*node]*conversation{}
	for i, h := range w.heads() {
		shown[h] = w.holdConversation(h, a, i%9 == 0)
		sum.views++
		sum.count(shown[h])
		if i%4 == 0 {
			w.holdAtAnotherTime(h, a, shown[h])
			w.holdOtherTools(h, a, shown[h])
			w.holdResolved(h, a, shown[h])
		}
		for _, m := range shown[h].messages() {
			if m.isLine() && len(w.recalled) < maxRecalled {
				w.holdLine(h, m)
			}
		}
	}
	for i, h := range w.nodes {
		for _, ancestor := range ancestors(h, i) {
			w.holdPair(ancestor, h, shown[ancestor], shown[h], a)
			sum.pairs++
		}
	}
}

// holdAtAnotherTime holds that a conversation and its etag are the same whatever the clock says, and that a policy of another age, and
// one that tells otherwise of what is left out, give what is told from the chain.
func (w *tree) holdAtAnotherTime(head *node, a *asking, was *conversation) {
	w.t.Helper()
	at := w.clock.Load()
	for _, then := range []int64{0, at + 7_000, at + 1_000_000_000} {
		w.clock.Store(then)
		if is := w.holdConversation(head, a, false); is.etag != was.etag {
			w.t.Fatalf("at %d the etag is %s, at %d %s", at, was.etag, then, is.etag)
		}
	}
	w.clock.Store(at)
	toggled := &asking{policy: &transcriptv1.Policy{}, condenseLast: a.condenseLast}
	proto.Merge(toggled.policy, a.policy)
	toggled.policy.OmitLeftOutLine = !a.policy.GetOmitLeftOutLine()
	toggled.model = policyOf(toggled.policy)
	w.holdConversation(head, toggled, false)
	if a.policy.GetMaxAge() == nil {
		return
	}
	other := &asking{policy: proto.CloneOf(a.policy), condenseLast: a.condenseLast}
	other.policy.MaxAge.Seconds += 7
	other.model = policyOf(other.policy)
	w.holdConversation(head, other, false)
}

// holdOtherTools holds that reply tools in another order, or given twice, are the same policy, and that others give what the model says.
func (w *tree) holdOtherTools(head *node, a *asking, was *conversation) {
	w.t.Helper()
	if a.policy == nil {
		return
	}
	other := &asking{policy: proto.CloneOf(a.policy), condenseLast: a.condenseLast}
	slices.Reverse(other.policy.ReplyTools)
	other.policy.ReplyTools = append(other.policy.ReplyTools, a.policy.ReplyTools...)
	other.model = policyOf(other.policy)
	if is := w.holdConversation(head, other, false); is.etag != was.etag {
		w.t.Fatalf("with its tools in another order the etag is %s, was %s", is.etag, was.etag)
	}
	other.policy.ReplyTools = []string{"grep"}
	other.model = policyOf(other.policy)
	w.holdConversation(head, other, false)
}

// ancestors are some of a node's ancestors with no compaction between: its parent, and three more.
func ancestors(h *node, i int) (out []*node) {
	var all []*node
	for a := h; a.parent != nil && a.covers == nil; a = a.parent {
		all = append(all, a.parent)
	}
	picked := map[int]bool{}
	for _, k := range []int{0, i, 3 * i, len(all) / 2} {
		if len(all) > 0 && !picked[k%len(all)] {
			picked[k%len(all)] = true
			out = append(out, all[k%len(all)])
		}
	}
	return out
}

// maxRecalled bounds the lines recalled of a tree.
const maxRecalled = 40
