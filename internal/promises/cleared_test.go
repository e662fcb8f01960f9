package promises

import (
	"slices"

	"google.golang.org/protobuf/proto"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// holdCleared holds of the last loop, shown whole, what is promised of every clear_tool_results: no result that no model has seen
// becomes a line, nor do the newest that are kept, nor results of reply_tools, whose calls keep their arguments; and without it all stays.
func (w *tree) holdCleared(req *transcriptv1.AssembleRequest, head *node, c *conversation, a *asking) {
	w.t.Helper()
	p := &a.model
	if len(c.loops) == 0 || a.condenseLast && c.loops[len(c.loops)-1].closed() {
		return
	}
	put, shown := c.loops[len(c.loops)-1].messages, c.shown[len(c.shown)-1]
	spoken, results := false, 0 // read from the end
	for i := len(put) - 1; i >= 0; i-- {
		m, as := put[i], shown[i]
		counts := m.Role == tool && !p.answers(m)
		if counts && spoken {
			results++
		}
		spoken = spoken || m.Role == assistant
		mayGo := p.clear != nil && (counts && spoken && results > p.clear.keep || m.Role == assistant && p.clear.arguments)
		if as != m && !mayGo || !slices.EqualFunc(p.answering(m), p.answering(as), func(a, b *transcriptv1.ToolCall) bool { return proto.Equal(a, b) }) {
			w.t.Fatalf("%v: message %d of the last loop must stay as it is: %v, not %v\n%s", req, i, m.Message, as.Message, w.show(head))
		}
	}
}

// answering are the calls of a message that answer.
func (p *policy) answering(m *message) []*transcriptv1.ToolCall {
	return slices.DeleteFunc(m.calls(), func(c *transcriptv1.ToolCall) bool { return !p.replies(c) })
}

// holdResolved holds that the policy that a report tells, with the reply_tools that it does not tell, gives the same reply, and other
// clear_tool_results what is told from the chain.
func (w *tree) holdResolved(head *node, a *asking, was *conversation) {
	w.t.Helper()
	told := &asking{policy: a.model.resolved(), condenseLast: a.condenseLast}
	told.policy.ReplyTools = a.policy.GetReplyTools()
	told.model = policyOf(told.policy)
	if is := w.holdConversation(head, told, false); is.etag != was.etag {
		w.t.Fatalf("with the policy that the report tells the etag is %s, was %s: %v", is.etag, was.etag, a.policy)
	}
	c := told.policy.ClearToolResults
	if c.Keep == nil {
		return
	}
	for _, other := range []*transcriptv1.ClearToolResults{
		{Keep: proto.Int32(*c.Keep + 1), ClearArguments: c.ClearArguments, CachedPercent: c.CachedPercent},
		{Keep: c.Keep, ClearArguments: proto.Bool(!c.GetClearArguments()), CachedPercent: c.CachedPercent},
		{Keep: c.Keep, ClearArguments: c.ClearArguments, CachedPercent: proto.Int32((*c.CachedPercent + 50) % 101)},
		{},
	} {
		told.policy.ClearToolResults = other
		told.model = policyOf(told.policy)
		w.holdConversation(head, told, false)
	}
}

// count takes up what clear_tool_results did in a conversation.
func (s *tally) count(c *conversation) {
	lines, calls := 0, 0
	for _, m := range slices.Concat(c.cleared...) {
		if m.Role == tool {
			lines++
		} else {
			calls++
		}
	}
	if lines > 0 {
		s.cleared++
	}
	if calls > 0 {
		s.marked++
	}
	if len(c.cleared) > 1 {
		s.twice++
	}
}

// add takes up another tally.
func (s *tally) add(o *tally) {
	s.pairs, s.views, s.trees, s.lines = s.pairs+o.pairs, s.views+o.views, s.trees+o.trees, s.lines+o.lines
	s.cleared, s.marked, s.twice = s.cleared+o.cleared, s.marked+o.marked, s.twice+o.twice
}
