package compaction_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/transcriptd/transcriptd/compaction"
)

// rule is a worked example: what a chain shows under a policy.
type rule struct {
	rule, chain string
	policy      func(*compaction.Policy)
	want        string
}

// checkRules checks rules, without left-out lines unless a rule asks for them.
func checkRules(t *testing.T, rules []rule, options func(*compaction.Options)) {
	t.Helper()
	for _, r := range rules {
		t.Run(r.rule, func(t *testing.T) {
			policy := compaction.Unbounded()
			policy.OmitLeftOutLine = true
			if r.policy != nil {
				r.policy(&policy)
			}
			v := parse(t, r.chain)
			o := v.options(policy)
			if options != nil {
				options(&o)
			}
			if got := show(t, v, policy, v.plan(o)); got != r.want {
				t.Errorf("%s: got %q, want %q", r.chain, got, r.want)
			}
		})
	}
}

// TestConversation has a case for each rule on what a conversation shows.
//
// Mutations of the code, tried one at a time; each fails this test or another of this package, at rapid's 100 checks:
// max_run_loops: the step is L, not half of it; max_run_loops: rounded down; max_run_loops counts the last loop; a
// compaction does not count the closed last loop; max_age must be passed, not reached; max_age counts from a clock; max_age: a summary has a time; max_age: the last
// user of a loop tells its time; max_age: its first user alone does; max_age: what is too old counts as whole for max_bytes;
// max_bytes: down to the limit, not to half of it; max_bytes: at the limit already; max_bytes is held at user messages
// only; max_tokens is not held where max_bytes is exceeded; the preamble does not count; early messages do not count;
// the old summary counts beside the new one; the old summary stays beside the new one; condensed loops count as if
// whole; a line counts as if it were none; all that could be a final reply counts; wide text counts one byte a code
// point; a cut message counts more than it has; a cut message does not count its origin; keep_whole_run_loops: one too many;
// tool_trace: results stay whole; tool_trace:
// calls go, results stay; the final reply is the first that can be one; the final reply must be the last message;
// condensed loops lose their system messages; user messages are cut in loops shown whole; under a summary the open
// loop's user messages are cut; under a summary the open loop stays whole; the lead-in is the first loop;
// condense_last condenses an open loop; results that repair leaves out are shown; stubs come behind the message; loops
// begin where marks say; summary_only keeps the closed last loop; text is cut between bytes; text parts behind the cut
// stay; a cut makes a message longer; content_form survives; a part's extras go with a cut; a text is cut though the
// mark takes what is saved; Skip forgets earlier users; Skip leaves the loops added before; limit_exceeded leaves out the
// last loop; loops before the start are remembered.
func TestConversation(t *testing.T) {
	type P = *compaction.Policy
	checkRules(t, []rule{
		{"the last loop is whole, those before are condensed", "p | u c:1 r:1 a | u c:2 r:2 a", nil, "1 4 5 6 7 8"},
		{"an open last loop too", "p | u c:1 r:1 a | u c:2 r:2", nil, "1 4 5 6 7"},
		{"the final reply is the last that can be one", "u a a e | u", nil, "0 2 4"},
		{"whatever follows it", "u a c:1 r:1 e | u", nil, "0 1 5"},
		{"without a reply there is none", "u c:1 r:1 e | u", nil, "0 4"},
		{"system messages of a loop stay with it", "u s c:1 r:1 s a s | u", nil, "0 1 4 5 6 7"},
		{"users that spoke before an answer are one loop", "u u c:1 r:1 u", nil, "0 1 4"},
		{"a summary and early system messages stay", "p m s | u a | u", nil, "1 2 3 4 5"},
		{"stubs go with the calls of a condensed loop", "u c:1 a | u", nil, "0 2 3"},
		{"stubs stay in the last", "u | c:1 a", nil, "0 1 +1 2"},
		{"a stub due before a user is of the loop before", "u c:1 | u", nil, "0 2"},
		{"results that answer nothing are nowhere", "u r:9 a | u r:9 a", nil, "0 2 3 5"},
		{"the lead-in is shown while nobody asked", "p a s c:1 r:1", nil, "1 2 3 4"},
		{"then it goes, with its system messages", "p m a s c:1 s | u a", nil, "1 6 7"},
		{"a lead-in is no loop before the last", "a | u a | u", func(p P) { p.MaxRunLoops = 1 }, "1 2 3"},
		{"nothing at all", "p", nil, ""},
		{"pairs: what answers nothing and what nothing answered", "u c:1,2 r:2 r:9 a | u c:3", nil, "0 4 5 6"},
		{"the user first", "p m s | a c:1 r:1 | u a | u a | u", nil, "1 2 6 7 8 9 10"},
		{"the user first, also where a start drops loops", "p m s | a c:1 r:1 | u a | u a | u",
			func(p P) { p.MaxRunLoops = 1 }, "1 2 8 9 10"},
		{"the same again: a view", "u a | u a | u c:1 r:1 a | u a | u a | u", func(p P) { p.MaxRunLoops = 4 }, "4 7 8 9 10 11 12"},
		{"the same again: its view", "u a | u a | u a | u", func(p P) { p.MaxRunLoops = 4 }, "0 1 2 3 4 5 6"},
		{"prefixes: of the loop that goes on", "p | u c:1 r:1 a | u c:2", nil, "1 4 5 6"},
		{"prefixes: once it was answered", "p | u c:1 r:1 a | u c:2 r:2 a", nil, "1 4 5 6 7 8"},
		{"prefixes: up to it", "p | u c:1 r:1 a | u c:2 r:2 a | u", nil, "1 4 5 8 9"},

		{"max_run_loops: as many as it says are left", "u a u a u a | u", func(p P) { p.MaxRunLoops = 3 }, "0 1 2 3 4 5 6"},
		{"max_run_loops 1: one", "u a u a u a | u", func(p P) { p.MaxRunLoops = 1 }, "4 5 6"},
		{"max_run_loops 4: in steps of 2", "u a u a u a u a u a | u", func(p P) { p.MaxRunLoops = 4 }, "4 5 6 7 8 9 10"},
		{"max_run_loops 4: the step holds", "u a u a u a u a u a u a | u", func(p P) { p.MaxRunLoops = 4 },
			"4 5 6 7 8 9 10 11 12"},

		// The last loop is of 20 s, and 10 s are allowed.
		{"max_age: nothing is dropped", "u@1 a | u@20", func(p P) { p.MaxAge = 10_000 }, "0 1 2"},
		{"max_age: what is too old is not whole", "u@9 e a | u@10 e a | u@20", func(p P) { p.MaxAge, p.KeepWholeRunLoops = 10_000, 5 },
			"0 2 3 4 5 6"},
		{"max_age: nor has it its calls", "u@9 c:1 r:1 a | u@10 c:2 r:2 a | u@20", func(p P) { p.MaxAge, p.TraceRequests = 10_000, true },
			"0 3 4 5 6l 7 8"},
		{"max_age: the first user of a loop tells its time", "u@9 u@10 e a | u@20", func(p P) { p.MaxAge, p.KeepWholeRunLoops = 10_000, 5 },
			"0 1 3 4"},
		{"max_age: so it does of the last", "u@9 e a | u@19 u@20", func(p P) { p.MaxAge, p.KeepWholeRunLoops = 10_000, 5 }, "0 1 2 3 4"},
		{"max_age: or a later user before it", "u@1 u@10 a | u@3 e a | u@20", func(p P) { p.MaxAge, p.KeepWholeRunLoops = 10_000, 5 },
			"0 1 2 3 4 5 6"},
		{"max_age: of the last loop too", "u@1 u@20 a | u@3 e a | u@4", func(p P) { p.MaxAge, p.KeepWholeRunLoops = 10_000, 5 }, "0 1 2 3 4 5 6"},
		{"max_age: the last loop stays whole", "u@20 a | u@1 e a", func(p P) { p.MaxAge = 10_000 }, "0 1 2 3 4"},
		{"max_age: a summary has no time", "m@20 | u@1 e a | u@2", func(p P) { p.MaxAge, p.KeepWholeRunLoops = 10_000, 5 }, "0 1 2 3 4"},
		{"max_age: nor one inside a loop", "u@1 e a m@20 | u@2", func(p P) { p.MaxAge, p.KeepWholeRunLoops = 10_000, 5 }, "0 1 2 3 4"},
		{"max_age: nor has an assistant", "u@1 e a@20 | u@2", func(p P) { p.MaxAge, p.KeepWholeRunLoops = 10_000, 5 }, "0 1 2 3"},

		{"max_bytes: up to it nothing goes", "u=50 a=50 u=50 a=50 u=50 a=50 | u=50 a=50",
			func(p P) { p.MaxBytes = 400 }, "0 1 2 3 4 5 6 7"},
		// The ninth message makes 450; without three loops 150 are left, at most 200.
		{"max_bytes: beyond it, down to half", "u=50 a=50 u=50 a=50 u=50 a=50 u=50 a=50 | u=50 a=50",
			func(p P) { p.MaxBytes = 400 }, "6 7 8 9"},
		{"max_bytes: the last loop stays", "u=50 a=50 | u=50 a=500", func(p P) { p.MaxBytes = 200 }, "2 3"},
		{"max_bytes: the preamble and the summary count", "p=100 m=100 | u=50 a=50 | u=50 a=51",
			func(p P) { p.MaxBytes = 400 }, "1 4 5"},
		// With its call the first loop took 250 while it was the last; condensed it takes 100.
		{"max_bytes: what was dropped for a moment stays dropped", "u=50 a=50 | u=50 c:1=150 r:1*1=100 a=50 | u=50 a=50",
			func(p P) { p.MaxBytes = 400 }, "2 5 6 7"},
		{"max_bytes: of a condensed loop the final reply alone counts", "u=50 a=300 a=50 | u=50 a=50",
			func(p P) { p.MaxBytes = 450 }, "0 2 3 4"},
		// While the first loop is recent it counts 350, and with the last one's first message it counts 100.
		{"max_bytes: what is too old counts as condensed", "u=50@1 e=250 a=50 | u=50@20 a=50 | u=50@20 a=50",
			func(p P) { p.MaxBytes, p.MaxAge, p.KeepWholeRunLoops = 400, 10_000, 5 }, "0 2 3 4 5 6"},
		// The last message makes 350 bytes and 51 tokens. Without the first loop 150 bytes are left, and 49 tokens: too many.
		{"max_bytes and max_tokens: down to half of each that was exceeded", "u=150#1 a=50#1 | u=50#38 a=50#1 | u=50#10",
			func(p P) { p.MaxBytes, p.MaxTokens = 300, 50 }, "4"},
		{"max_bytes and max_tokens: only one was exceeded", "u=150#1 a=50#1 | u=50#37 a=50#1 | u=50#10",
			func(p P) { p.MaxBytes, p.MaxTokens = 300, 50 }, "2 3 4"},
		{"max_tokens: a quarter of the bytes, rounded up", "u=50 a=50 | u=50 a=50", func(p P) { p.MaxTokens = 52 }, "0 1 2 3"},
		{"max_tokens: beyond it", "u=50 a=50 | u=50 a=50", func(p P) { p.MaxTokens = 51 }, "2 3"},

		{"max_user_chars, max_reply_chars: in condensed loops", "u*30 u*9 a*30 | u*30 a*30",
			func(p P) { p.MaxUserChars, p.MaxReplyChars = 10, 11 }, "0x 1 2x 3 4"},
		{"not where the mark takes what is saved", "u*24 a*26 | u",
			func(p P) { p.MaxUserChars, p.MaxReplyChars = 10, 10 }, "0 1x 2"},
		{"neither system messages nor the summary", "m*90 s*90 | u s*90 a | u",
			func(p P) { p.MaxUserChars, p.MaxReplyChars = 10, 10 }, "0 1 2 3 4 5"},

		{"keep_whole_run_loops: the newest before the last", "u e a u e a u e a | u", func(p P) { p.KeepWholeRunLoops = 2 },
			"0 2 3 4 5 6 7 8 9"},
		{"keep_whole_run_loops: the start wins", "u e a u e a | u", func(p P) { p.KeepWholeRunLoops, p.MaxRunLoops = 2, 1 }, "3 4 5 6"},

		{"tool_trace: calls stay, results are lines", "u a c:1,2 r:1 r:2*1 e c:3 a | u",
			func(p P) { p.TraceRequests = true }, "0 2 3l 4 6 +3 7 8"},
		{"tool_trace: only in condensed loops", "u c:1 r:1", func(p P) { p.TraceRequests = true }, "0 1 2"},
	}, nil)
}

// TestLeftOutLine: what is missing is said in one line. The largest has 50 bytes.
func TestLeftOutLine(t *testing.T) {
	type P = *compaction.Policy
	told := func(set func(P)) func(P) {
		return func(p P) {
			if p.OmitLeftOutLine = false; set != nil {
				set(p)
			}
		}
	}
	one := told(func(p P) { p.MaxRunLoops = 1 })
	checkRules(t, []rule{
		{"where loops are dropped", "p | u a u a u a | u", one, "l:2 5 6 7"},
		{"nowhere else", "p | u a u a | u", told(nil), "1 2 3 4 5"},
		{"not of the lead-in", "p | a | u a | u", told(nil), "2 3 4"},
		{"nor is it counted", "a | u a u a | u", one, "l:1 3 4 5"},
		{"behind summary and early system messages", "p m s | u a u a | u", one, "1 2 l:1 5 6 7"},
		{"what compactions dropped is added", "p m l:5 s | u a u a | u", one, "1 3 l:6 6 7 8"},
		{"alone it stays where it is", "p m l:5 s | u a | u", one, "1 l:5 3 4 5 6"},
		{"it is no user's", "l:5 u u a | u", one, "l:5 1 2 3 4"},
		{"nor has it a time", "l:5 u@1 e a | u@20", told(func(p P) { p.MaxAge, p.KeepWholeRunLoops = 10_000, 5 }), "l:5 1 3 4"},
		{"omitted", "m l:5 s | u a u a | u", func(p P) { p.MaxRunLoops = 1 }, "0 2 5 6 7"},
		{"no more than can be said", "l:2147483646 u a u a u a | u", one, "l:2147483647 5 6 7"},
		{"one that says nothing is none", "l:0 u a | u", one, "1 2 3"},
		{"in a loop, of a node made elsewhere, it is not shown", "u l:3 a u a | u", one, "l:4 3 4 5"},
		{"max_bytes counts the largest from the beginning", "u=50 a=50 | u=50 a=50", told(func(p P) { p.MaxBytes = 250 }), "0 1 2 3"},
		{"beyond it", "u=50 a=50 | u=50 a=50", told(func(p P) { p.MaxBytes = 249 }), "l:1 2 3"},
		{"not where it is omitted", "u=50 a=50 | u=50 a=50", func(p P) { p.MaxBytes = 200 }, "0 1 2 3"},
		{"once, beside an older one", "l:5 | u=50 a=50 | u=50 a=50", told(func(p P) { p.MaxBytes = 250 }), "l:5 1 2 3 4"},
		{"max_tokens counts it too", "u=50 a=50 | u=50 a=50", told(func(p P) { p.MaxTokens = 65 }), "0 1 2 3"},
		{"beyond them", "u=50 a=50 | u=50 a=50", told(func(p P) { p.MaxTokens = 64 }), "l:1 2 3"},
	}, nil)
	checkRules(t, []rule{
		{"a compaction writes it", "p | u a u a u a", one, "l:2 5 6"},
		{"and adds up", "m l:5 s | u a u a", one, "0 2 l:6 5 6"},
		{"or keeps it", "m l:5 s | u a", one, "0 l:5 2 3 4"},
		{"omitted, it is dropped with its number", "m l:5 s | u a u a", func(p P) { p.MaxRunLoops = 1 }, "0 2 5 6"},
	}, func(o *compaction.Options) { o.Compact = &compaction.Compact{} })
	checkRules(t, []rule{
		{"where no loop is kept it comes last", "m l:5 s | u a u a", told(nil), "0 2 l:7"},
	}, func(o *compaction.Options) { o.Compact = &compaction.Compact{SummaryOnly: true} })
	given := sizeOf([]put{{m: compaction.Summary(strings.Repeat("s", 100))}}) // 110 bytes
	checkRules(t, []rule{
		{"a summary takes its place", "m l:5 s | u a u a", one, "2 5 6"},
		{"and its room", "u=50 a=50 | u=50 a=50", told(func(p P) { p.MaxBytes = 310 }), "0 1 2 3"},
	}, func(o *compaction.Options) { o.Compact = &compaction.Compact{Summary: &given} })
}

// TestCondenseLast: the last loop is condensed if it is closed.
func TestCondenseLast(t *testing.T) {
	checkRules(t, []rule{
		{"closed", "u c:1 r:1 a | u c:2 r:2 a s", nil, "0 3 4 7 8"},
		{"open", "u c:1 r:1 a | u a c:2 r:2", nil, "0 3 4 5 6 7"},
		{"a lead-in", "c:1 r:1 a", nil, "0 1 2"},
		{"it is cut", "u*30 a*30", func(p *compaction.Policy) { p.MaxUserChars, p.MaxReplyChars = 5, 6 }, "0x 1x"},
		{"the start is that without", "u=50 a=50 | u=50 c:1=200 r:1=200 a=50",
			func(p *compaction.Policy) { p.MaxBytes = 300 }, "2 5"},
		{"keep_whole_run_loops is that without", "u e a | u e a | u e a", func(p *compaction.Policy) { p.KeepWholeRunLoops = 1 },
			"0 2 3 4 5 6 8"},
	}, func(o *compaction.Options) { o.CondenseLast = true })
}

// TestCompaction: what is kept without a summary.
func TestCompaction(t *testing.T) {
	type P = *compaction.Policy
	checkRules(t, []rule{
		{"a closed last loop is condensed", "p | u c:1 r:1 a | u c:2 r:2 a", nil, "1 4 5 8"},
		{"an open one stays whole", "u c:1 r:1 a | u c:2 r:2", nil, "0 3 4 5 6"},
		{"but for lines and marks", "u c:1^600 r:1*600 c:2^600 r:2*600", shortens(0, 100), "0 1x 2l 3 4"},
		{"a closed one keeps neither", "u c:1^600 r:1*600 c:2^600 r:2*600 a", shortens(0, 100), "0 5"},
		{"an old summary stays, and early system messages", "m s | u a", nil, "0 1 2 3"},
		{"a lead-in is open", "a c:1 r:1", nil, "0 1 2"},
		{"and goes once somebody asks", "a s | u", nil, "2"},
		{"max_run_loops counts a closed last loop", "u a u a", func(p P) { p.MaxRunLoops = 1 }, "2 3"},
		{"and no open one", "u a u a u", func(p P) { p.MaxRunLoops = 1 }, "2 3 4"},
		{"keep_whole_run_loops too", "u e a u e a", func(p P) { p.KeepWholeRunLoops = 1 }, "0 2 3 4 5"},
		{"max_age counts from the last, which is recent", "u@1 e a u@20 e a", func(p P) { p.MaxAge, p.KeepWholeRunLoops = 10_000, 5 }, "0 2 3 4 5"},
		{"max_bytes never takes the last", "u=50 a=50 u=50 a=500", func(p P) { p.MaxBytes = 200 }, "2 3"},
	}, func(o *compaction.Options) { o.Compact = &compaction.Compact{} })
}

// TestCompactionWithSummary: the caller's summary takes the place of the old one and of what the open loop did.
func TestCompactionWithSummary(t *testing.T) {
	given := sizeOf([]put{{m: compaction.Summary(strings.Repeat("s", 100))}}) // 110 bytes
	checkRules(t, []rule{
		{"the old summary goes", "m s | u a", nil, "1 2 3"},
		{"closed loops are condensed", "u c:1 r:1 a | u c:2 r:2 a", nil, "0 3 4 7"},
		{"the open loop keeps its user and system messages", "u u s c:1 r:1 a c:2 s r:2", nil, "0 1 2 7"},
		{"uncut", "u*90 c:1", func(p *compaction.Policy) { p.MaxUserChars = 5 }, "0"},
		{"the lead-in keeps its system messages", "a s", nil, "1"},
		{"max_bytes counts the new summary, not the old one", "m=400 | u=50 a=50 | u=50 a=50",
			func(p *compaction.Policy) { p.MaxBytes = 310 }, "1 2 3 4"},
		{"beyond it", "u=50 a=50 | u=50 a=50", func(p *compaction.Policy) { p.MaxBytes = 309 }, "2 3"},
	}, func(o *compaction.Options) { o.Compact = &compaction.Compact{Summary: &given} })
}

// TestSummaryOnly: no closed loop stays.
func TestSummaryOnly(t *testing.T) {
	checkRules(t, []rule{
		{"closed", "s u a u a", nil, ""},
		{"open", "m u a u c:1 r:1", func(p *compaction.Policy) { p.KeepWholeRunLoops = 5 }, "0 3 4 5"},
	}, func(o *compaction.Options) { o.Compact = &compaction.Compact{SummaryOnly: true} })
}

// TestCounts: what a plan counts.
func TestCounts(t *testing.T) {
	given := &compaction.Size{}
	for _, c := range []struct {
		chain                     string
		compact                   *compaction.Compact
		dropped, condensed, whole int64
	}{
		{"u a u a u a u a", nil, 1, 1, 2},
		{"a | u", nil, 0, 0, 1},
		{"a", nil, 0, 0, 0},
		{"s", nil, 0, 0, 0},
		{"u a u a u a u a", &compaction.Compact{}, 2, 1, 1},
		{"u a u a u a u c:1", &compaction.Compact{}, 1, 1, 2},
		{"u a u a u a u c:1", &compaction.Compact{Summary: given}, 1, 2, 1},
		{"u a u a u a u s", &compaction.Compact{Summary: given}, 1, 1, 2},
		{"u a u a u a u a", &compaction.Compact{Summary: given, SummaryOnly: true}, 4, 0, 0},
		{"a", &compaction.Compact{}, 0, 0, 0},
		{"a u", &compaction.Compact{}, 0, 0, 1},
		{"a", &compaction.Compact{Summary: given}, 0, 0, 0},
	} {
		policy := compaction.Unbounded()
		policy.MaxRunLoops, policy.KeepWholeRunLoops = 2, 1
		v := parse(t, c.chain)
		o := v.options(policy)
		o.Compact = c.compact
		if p := v.plan(o); p.Dropped != c.dropped || p.Condensed != c.condensed || p.Whole != c.whole {
			t.Errorf("%s: %d dropped, %d condensed, %d whole", c.chain, p.Dropped, p.Condensed, p.Whole)
		}
	}
}

// TestLimitExceeded: what is always shown alone is over a limit.
func TestLimitExceeded(t *testing.T) {
	bytes, tokens := compaction.Policy{MaxBytes: 350, OmitLeftOutLine: true}, compaction.Policy{MaxTokens: 39, OmitLeftOutLine: true}
	for _, c := range []struct {
		chain  string
		policy compaction.Policy
		want   bool
	}{
		{"p=100 m=100 s=50 | u=50 a=50 | u=50 a=50", bytes, false},
		{"p=100 m=100 s=50 | u=50 a=50 | u=50 a=51", bytes, true},
		{"p=100 m=100 s=150", bytes, false},
		{"p=100 m=100 s=151", bytes, true},
		{"p=100 a=250", bytes, false},
		{"p=100 a=251", bytes, true},
		{"p=100 a=251 | u=50", bytes, false},
		{"p=50 | u=50 a=50 | u=50 a=50", tokens, false}, // 13 each
		{"p=50 | u=50 a=50 | u=50 a=53", tokens, true},
		{"p=50 | u=50 a=50 | u=50 a=53", compaction.Policy{}, false},
		// The line that says 1 has 41 bytes.
		{"u=50 a=50 | u=50 a=50", compaction.Policy{MaxBytes: 141}, false},
		{"u=50 a=50 | u=50 a=50", compaction.Policy{MaxBytes: 140}, true},
		{"u=50 a=50", compaction.Policy{MaxBytes: 100}, false}, // no line stands
	} {
		v := parse(t, c.chain)
		if got := v.plan(v.options(c.policy)).LimitExceeded; got != c.want {
			t.Errorf("%s: exceeded is %t", c.chain, got)
		}
		o := v.options(c.policy)
		o.Compact = &compaction.Compact{}
		if v.plan(o).LimitExceeded {
			t.Errorf("%s: told of a compaction", c.chain)
		}
	}
}

// TestPolicy: the presets.
func TestPolicy(t *testing.T) {
	want := compaction.Policy{
		MaxRunLoops: 10, MaxAge: 604_800_000, MaxUserChars: 500, MaxReplyChars: 500,
	}
	if p := compaction.Chat(); !reflect.DeepEqual(p, want) || p.NeedsSizes() {
		t.Errorf("chat is %+v", p)
	}
	for name, preset := range map[string]struct {
		policy compaction.Policy
		clear  compaction.Clear
	}{
		"coding": {compaction.Coding(), compaction.Clear{On: true, Keep: 5, CachedPercent: 10}},
		"long":   {compaction.Long(), compaction.Clear{On: true, Keep: 10, CachedPercent: 10}},
		"frugal": {compaction.Frugal(), compaction.Clear{On: true, Keep: 2, Arguments: true, CachedPercent: 10}},
	} {
		if want.Clear = preset.clear; !reflect.DeepEqual(preset.policy, want) {
			t.Errorf("%s is %+v", name, preset.policy)
		}
	}
	p := compaction.Unbounded()
	if p.MaxAge != 0 || p.FirstLoop(1<<40) != 0 || p.NeedsSizes() {
		t.Errorf("the unbounded policy is %+v", p)
	}
	for n, want := range []int64{0, 0, 0, 0, 0, 2, 2, 4, 4, 6} {
		if got := (&compaction.Policy{MaxRunLoops: 4}).FirstLoop(int64(n)); got != want {
			t.Errorf("of %d loops the first is %d, want %d", n, got, want)
		}
	}
	if !(&compaction.Policy{MaxBytes: 1}).NeedsSizes() || !(&compaction.Policy{MaxTokens: 1}).NeedsSizes() {
		t.Error("limits need sizes")
	}
}
