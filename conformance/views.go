package conformance

import (
	"fmt"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// viewCase is an example of docs/views.md: what is put, and what views show of it. An empty expectation is not looked at.
type viewCase struct {
	name, put string
	effective string
	// conversation is what is shown under policy.
	conversation string
	policy       *transcriptv1.Policy
	condenseLast bool
}

func viewChecks() []Check {
	groups := []struct {
		id, promise string
		cases       []viewCase
	}{
		{"views/repair", "in the effective view each call is followed by its result: strays are left out, calls left unanswered get a stub", repairCases},
		{"views/opaque", "an opaque message is in the full view alone, and begins and ends nothing", opaqueCases},
		{"views/outcomes", "an outcome ends the group and closes the run loop", outcomeCases},
		{"views/conversation", "a conversation shows the preamble, past loops condensed, and the last loop whole", conversationCases},
		{"views/condense-last", "condense_last condenses the last loop too, if it is closed", condenseCases},
		{"views/max-run-loops", "max_run_loops drops past loops in steps, and the left-out line counts them", loopCases},
		{"views/cut-texts", "max_user_chars and max_reply_chars cut texts of condensed loops, where that makes them shorter", cutCases},
		{"views/keep-whole-run-loops", "keep_whole_run_loops shows the newest past loops whole", keepCases},
		{"views/tool-trace", "tool_trace keeps calls of condensed loops, and their results as lines", traceCases},
		{"views/reply-tools", "the calls of reply_tools stay in condensed loops, with their results", answerCases},
		{"views/clear-tool-results", "clear_tool_results makes old results lines, and none that no model has seen", clearCases},
		{"views/max-bytes", "max_bytes moves the start until at most half is shown, and what must be shown stays", byteCases},
	}
	var all []Check
	for _, g := range groups {
		all = append(all, Check{ID: g.id, Promise: g.promise, run: func(p *probe) {
			for _, c := range g.cases {
				p.viewCase(c)
			}
		}})
	}
	return all
}

// viewCase puts a chain and looks at its views.
func (p *probe) viewCase(c viewCase) {
	chain := p.chain(c.put)
	what := func(view string) string { return fmt.Sprintf("the %s view of `%s` (%s)", view, c.put, c.name) }
	full := chain.view(&transcriptv1.AssembleRequest{View: transcriptv1.View_VIEW_FULL})
	p.sameMessages(what("full"), full.GetMessages(), chain.messages)
	if c.effective != "" {
		is(p, what("effective"), chain.letters(chain.view(&transcriptv1.AssembleRequest{}).GetMessages()), written(c.effective))
	}
	if c.conversation != "" {
		reply := chain.view(&transcriptv1.AssembleRequest{
			View: transcriptv1.View_VIEW_CONVERSATION, Policy: c.policy, CondenseLast: c.condenseLast,
		})
		is(p, what("conversation"), chain.letters(reply.GetMessages()), written(c.conversation))
	}
}

// unbounded is a policy without bounds.
func unbounded() *transcriptv1.Policy {
	return &transcriptv1.Policy{Preset: transcriptv1.Preset_PRESET_UNBOUNDED}
}

// bounded is an unbounded policy with what a function sets.
func bounded(set func(*transcriptv1.Policy)) *transcriptv1.Policy {
	p := unbounded()
	set(p)
	return p
}

var repairCases = []viewCase{
	{name: "everything whole", put: "s | u c1 r1 a | u", effective: "s | u c1 r1 a | u"},
	{name: "call 1 got no result", put: "u c1c2 r2 a", effective: "u c1c2 r2 +1 a"},
	{name: "two results", put: "u c1 r1 r1 a", effective: "u c1 r1 a"},
	{name: "open at the head", put: "u c1c2 r2", effective: "u c1c2 r2"},
	{name: "late", put: "u c1 r1 a r1", effective: "u c1 r1 a"},
	{name: "a stray result and an unanswered call", put: "s u c1 r1 a | u c2 r9 u a | u c3 r3", effective: "s u c1 r1 a | u c2 +2 u a | u c3 r3"},
	{name: "an empty message ends the group", put: "u c1 e r1", effective: "u c1 +1 e"},
	{name: "one group of two messages with calls", put: "u c1 c2 r2 r1 a", effective: "u c1 c2 r2 r1 a"},
	{name: "stubs in the order of the calls", put: "u c1c2c3 r2 u", effective: "u c1c2c3 r2 +1 +3 u"},
	{name: "ids that repeat", put: "u c1 r1 c1 r1 a", effective: "u c1 r1 c1 r1 a"},
	{name: "a result first", put: "r1 u a", effective: "u a"},
}

var opaqueCases = []viewCase{
	{name: "everywhere", put: "o s o u c1 o r1 o a o", effective: "s u c1 r1 a", conversation: "s u c1 r1 a", policy: unbounded()},
	{name: "behind a loop", put: "u a o | u", effective: "u a u", conversation: "u a u", policy: unbounded()},
}

var outcomeCases = []viewCase{
	{name: "late behind an outcome", put: "u c1 !stopped r1", effective: "u c1 +1"},
	{name: "two loops", put: "u !failed | u a", effective: "u u a"},
	{name: "answered by a tool", put: "u c1 r1 !replied | u", effective: "u c1 r1 u", conversation: "u u", policy: unbounded()},
}

var conversationCases = []viewCase{
	{name: "past loops condensed", put: "s u c1 r1 a | u c2 r9 u a | u c3 r3", conversation: "s u a | u | u a | u c3 r3", policy: unbounded()},
	{name: "a loop that went on after its reply", put: "s | u c1 r1 a | u a c2 r2 e | u c3 r3", conversation: "s | u a | u a | u c3 r3", policy: unbounded()},
	{name: "the lead-in while it is the last", put: "s | a s c1 r1", conversation: "s | a s c1 r1", policy: unbounded()},
	{name: "the lead-in goes", put: "s | a s c1 r1 | u", conversation: "s | u", policy: unbounded()},
	{name: "system messages before the first loop", put: "s d | u s a | u", conversation: "s d | u s a | u", policy: unbounded()},
	{name: "a user who writes three times", put: "u u s u a | u", conversation: "u u s u a | u", policy: unbounded()},
	{name: "a partial message is no reply", put: "u p | u", conversation: "u u", policy: unbounded()},
	{name: "the defaults", put: "s u c1 r1 a | u", conversation: "s u a | u"},
}

var condenseCases = []viewCase{
	{name: "closed", put: "s | u c1 r1 a | u c2 r2 a", conversation: "s | u a | u a", policy: unbounded(), condenseLast: true},
	{name: "open", put: "s | u c1 r1 a | u a c2 r2", conversation: "s | u a | u a c2 r2", policy: unbounded(), condenseLast: true},
	{name: "without", put: "s | u c1 r1 a | u c2 r2 a", conversation: "s | u a | u c2 r2 a", policy: unbounded()},
}

func loops(n int32) *transcriptv1.Policy {
	return bounded(func(p *transcriptv1.Policy) { p.MaxRunLoops = &n })
}

var loopCases = []viewCase{
	{name: "4 of 4", put: "u a u a u a u a u", conversation: "u a u a u a u a u", policy: loops(4)},
	{name: "4 of 5", put: "u a u a u a u a u a u", conversation: "l2 u a u a u a u", policy: loops(4)},
	{name: "4 of 6", put: "u a u a u a u a u a u a u", conversation: "l2 u a u a u a u a u", policy: loops(4)},
	{name: "4 of 7", put: "u a u a u a u a u a u a u a u", conversation: "l4 u a u a u a u", policy: loops(4)},
	{name: "1 of 3", put: "s u a u a u a u", conversation: "s l2 u a u", policy: loops(1)},
	{name: "0 is no bound", put: "u a u a u a u", conversation: "u a u a u a u", policy: loops(0)},
	{
		name: "without the line", put: "u a u a u a u", conversation: "u a u",
		policy: bounded(func(p *transcriptv1.Policy) { p.MaxRunLoops, p.OmitLeftOutLine = proto.Int32(1), true }),
	},
}

var cutCases = []viewCase{
	{name: "the defaults", put: "U A | U A", conversation: "u… a… U A"},
	{name: "users alone", put: "U A | u", conversation: "u… A u", policy: bounded(func(p *transcriptv1.Policy) { p.MaxUserChars = proto.Int32(50) })},
	{name: "replies alone", put: "U A | u", conversation: "U a… u", policy: bounded(func(p *transcriptv1.Policy) { p.MaxReplyChars = proto.Int32(50) })},
	{name: "too little to cut", put: "U A | u", conversation: "U A u", policy: bounded(func(p *transcriptv1.Policy) { p.MaxReplyChars, p.MaxUserChars = proto.Int32(590), proto.Int32(590) })},
}

var keepCases = []viewCase{
	{name: "the last before the last", put: "u c1 r1 a | u c2 r2 a | u", conversation: "u a | u c2 r2 a | u", policy: bounded(func(p *transcriptv1.Policy) { p.KeepWholeRunLoops = proto.Int32(1) })},
	{name: "more than there are", put: "u c1 r1 a | u", conversation: "u c1 r1 a | u", policy: bounded(func(p *transcriptv1.Policy) { p.KeepWholeRunLoops = proto.Int32(9) })},
	{
		name: "the start wins", put: "u c1 r1 a | u c2 r2 a | u", conversation: "l1 u c2 r2 a | u",
		policy: bounded(func(p *transcriptv1.Policy) { p.KeepWholeRunLoops, p.MaxRunLoops = proto.Int32(2), proto.Int32(1) }),
	},
}

func requests() *transcriptv1.Policy {
	return bounded(func(p *transcriptv1.Policy) { p.ToolTrace = transcriptv1.ToolTrace_TOOL_TRACE_REQUESTS })
}

var traceCases = []viewCase{
	{name: "lines", put: "u a c1 R1 e a | u", conversation: "u c1 r1' a u", policy: requests()},
	{name: "stubs stay", put: "u c1 e a | u", conversation: "u c1 +1 a u", policy: requests()},
}

func answers() *transcriptv1.Policy {
	return bounded(func(p *transcriptv1.Policy) { p.ReplyTools = []string{"reply"} })
}

var answerCases = []viewCase{
	{name: "answers stay", put: "u c1 r1 c2k3 r2 r3 c4 r4 | u k5 r5 | u", conversation: "u k3… r3 | u k5 r5 | u", policy: answers()},
	{name: "without them", put: "u c1 r1 c2k3 r2 r3 c4 r4 | u k5 r5 | u", conversation: "u u u", policy: unbounded()},
	{name: "one that was not answered", put: "u c2k1 r2 e | u", conversation: "u k1… +1 u", policy: answers()},
}

func clearing(keep, cached int32) *transcriptv1.Policy {
	return bounded(func(p *transcriptv1.Policy) {
		p.ClearToolResults = &transcriptv1.ClearToolResults{Keep: &keep, CachedPercent: &cached}
	})
}

var clearCases = []viewCase{
	{name: "what no model has seen stays", put: "u c1 R1 c2 R2", conversation: "u c1 r1' c2 R2", policy: clearing(0, 100)},
	{name: "one is kept", put: "u c1 R1 c2 R2 c3 R3", conversation: "u c1 r1' c2 R2 c3 R3", policy: clearing(1, 100)},
	{name: "no point yet", put: "u c1 R1 c2 R2 c3", conversation: "u c1 R1 c2 R2 c3", policy: clearing(1, 100)},
	{name: "cached bytes cost nothing", put: "u c1 R1 c2 R2 c3 R3", conversation: "u c1 R1 c2 R2 c3 R3", policy: clearing(0, 0)},
	{name: "short results stay", put: "u c1 r1 c2 r2 c3 r3", conversation: "u c1 r1 c2 r2 c3 r3", policy: clearing(0, 100)},
}

func bytesLimit(n int64) *transcriptv1.Policy {
	return bounded(func(p *transcriptv1.Policy) { p.MaxBytes = &n })
}

var byteCases = []viewCase{
	{name: "all fits", put: "U A U A U A U", conversation: "U A U A U A U", policy: bytesLimit(7000)},
	{name: "what must be shown stays", put: "U A U A U A U", conversation: "l3 U", policy: bytesLimit(10)},
	{name: "half", put: "U A U A U A U", conversation: "l2 U A U", policy: bytesLimit(4000)},
}

// durationOf is a duration of seconds.
func durationOf(seconds int64) *durationpb.Duration { return &durationpb.Duration{Seconds: seconds} }
