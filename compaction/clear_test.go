package compaction_test

import (
	"testing"

	"github.com/transcriptd/transcriptd/compaction"
)

// clears is a policy's clear_tool_results.
func clears(keep, cachedPercent int) func(*compaction.Policy) {
	return func(p *compaction.Policy) {
		p.Clear = compaction.Clear{On: true, Keep: keep, CachedPercent: cachedPercent}
	}
}

// shortens is that with arguments.
func shortens(keep, cachedPercent int) func(*compaction.Policy) {
	return func(p *compaction.Policy) {
		clears(keep, cachedPercent)(p)
		p.Clear.Arguments = true
	}
}

// TestClear has a case for each rule of clear_tool_results. A message c:1 has 31 bytes, a result's line 84, 85 where the result has
// 1,000 bytes of parts, and 2 more where it is the tenth message of the chain or a later one.
//
// Mutations of the code, tried one at a time; each fails this test or another of this package, at rapid's 100 checks: open groups make
// points; a group is one message; answers make no point; answers count for keep; stubs and lines do not; keep counts what no model has
// seen; a line must save more than 200 bytes; keep 0 clears what no model has seen; the call of the oldest kept stays; what is shown is
// counted from the beginning, or as it was, or as if all were cleared; debt must be more; it does not add up; it stays behind a
// clearing, or over loops; with tool_trace calls stay whole; marks do not count the origin; what is cleared counts whole; arguments
// of answers are shortened.
func TestClear(t *testing.T) {
	type P = *compaction.Policy
	both := func(some ...func(P)) func(P) {
		return func(p P) {
			for _, f := range some {
				f(p)
			}
		}
	}
	whole := func(p P) { p.KeepWholeRunLoops = 5 }
	checkRules(t, []rule{
		// The examples of docs/views.md.
		{"nobody has seen the last", "u c:1 r:1 c:2 r:2", clears(0, 100), "0 1 2l 3 4"},
		{"keep 1", "u c:1 r:1 c:2 r:2 c:3 r:3", clears(1, 100), "0 1 2l 3 4 5 6"},
		{"the point is still to come", "u c:1 r:1 c:2 r:2 c:3", clears(1, 100), "0 1 2 3 4 5"},

		{"off", "u c:1 r:1 c:2 r:2", nil, "0 1 2 3 4"},
		{"keep more than there are", "u c:1 r:1 c:2 r:2 c:3 r:3", clears(2, 100), "0 1 2 3 4 5 6"},
		{"a second time in one loop", "u c:1 r:1 c:2 r:2 c:3 r:3 c:4 r:4", clears(1, 100), "0 1 2l 3 4l 5 6 7 8"},
		{"a line that saves 200 bytes", "u c:1 r:1=284 c:2 r:2", clears(0, 100), "0 1 2l 3 4"},
		{"one that saves 199", "u c:1 r:1=283 c:2 r:2", clears(0, 100), "0 1 2 3 4"},
		{"what stays for that counts for keep", "u c:1 r:1 c:2 r:2=283 c:3 r:3", clears(1, 100), "0 1 2l 3 4 5 6"},
		{"a reply is no point", "u c:1 r:1 a", clears(0, 100), "0 1 2 3"},
		{"an empty message has seen too", "u c:1 r:1 e c:2 r:2*1", clears(0, 100), "0 1 2l 3 4 5"},

		{"an open group makes no point", "u c:1 r:1 c:2,3 r:2", clears(0, 100), "0 1 2 3 4"},
		{"nor one of several messages", "u c:1 r:1 c:2 c:3 r:3", clears(0, 100), "0 1 2 3 4 5"},
		{"its last result does", "u c:1 r:1 c:2,3 r:2 r:3", clears(0, 100), "0 1 2l 3 4 5"},
		{"a stub does", "u c:1 r:1 c:2 e", clears(0, 100), "0 1 2l 3 +2 4"},
		{"the last of several stubs", "u c:1 r:1 c:2,3,4 r:3 e", clears(0, 100), "0 1 2l 3 4 +2 +4 5"},
		{"a stub counts for keep", "u c:0,1 r:1 c:2 r:2", clears(1, 100), "0 1 2l +0 3 4"},
		{"so does a line", "u c:1 r:1 c:2 R:2 c:3 r:3", clears(1, 100), "0 1 2l 3 4x 5 6"},
		{"a line is not replaced again", "u c:1 R:1*600 c:2 r:2", clears(0, 100), "0 1 2x 3 4"},

		// Each r saves 916; what is shown from the first on is 1115, 1230, 1345, 1460, 1579 and 1695 bytes. The debt is 91.6, 274.8,
		// 549.6, 916, 1373.8 and 1923.2, and has to be 1003.5, 1107, 1210.5, 1314, 1421.1 and 1525.5.
		{"debt grows", "u c:1 r:1=1000 c:2 r:2=1000 c:3 r:3=1000 c:4 r:4=1000 c:5 r:5=1000 c:6 r:6=1000", clears(0, 10),
			"0 1 2 3 4 5 6 7 8 9 10 11 12"},
		{"until it pays, then all go at once",
			"u c:1 r:1=1000 c:2 r:2=1000 c:3 r:3=1000 c:4 r:4=1000 c:5 r:5=1000 c:6 r:6=1000 c:7 r:7=1000", clears(0, 10),
			"0 1 2l 3 4l 5 6l 7 8l 9 10l 11 12l 13 14"},
		// It saves 1001, and 85 + 31 + 885 bytes are shown from it on.
		{"it pays", "u c:1 r:1=1086 c:2 r:2=885", clears(0, 50), "0 1 2l 3 4"},
		{"it pays not yet", "u c:1 r:1=1086 c:2 r:2=886", clears(0, 50), "0 1 2 3 4"},
		// The second saves 801, and 84 + 31 + 686 bytes are shown from it on.
		{"and again", "u c:1 r:1=1086 c:2 r:2=885 c:3 r:3=686", clears(0, 50), "0 1 2l 3 4l 5 6"},
		{"behind a clearing there is no debt", "u c:1 r:1=1086 c:2 r:2=885 c:3 r:3=687", clears(0, 50), "0 1 2l 3 4 5 6"},
		{"nor at the beginning of a loop", "u c:1 r:1=1086 c:2 r:2=886 a u c:6 r:6=1086 c:8 r:8=886",
			both(clears(0, 50), whole), "0 1 2 3 4 5 6 7 8 9 10"},
		{"cached bytes cost nothing", "u c:1 r:1*3000 c:2 r:2*1 c:3 r:3*1 c:4 r:4*1", clears(0, 0), "0 1 2 3 4 5 6 7 8"},

		{"in loops kept whole too", "u c:1 r:1 a | u c:4 r:4 c:6 r:6 a | u", both(clears(0, 100), func(p P) { p.KeepWholeRunLoops = 1 }),
			"0 3 4 5 6l 7 8 9 10"},
		{"in the lead-in", "c:1 r:1 c:2 r:2", clears(0, 100), "0 1l 2 3"},
		{"not in loops that are condensed", "u c:1 r:1 c:2 r:2 a | u", clears(0, 100), "0 5 6"},
		{"what is no loop's is no candidate", "u c:1 r:1 r:1*900 c:2 r:2", clears(0, 100), "0 1 2l 4 5"},
	}, nil)
}

// TestClearArguments has a case for each rule of arguments. One of 600 letters saves 580 bytes.
func TestClearArguments(t *testing.T) {
	type P = *compaction.Policy
	trace := func(set func(P)) func(P) { return func(p P) { set(p); p.TraceRequests = true } }
	checkRules(t, []rule{
		{"off", "u c:1^600 r:1 c:2^600 r:2", clears(0, 100), "0 1 2l 3 4"},
		{"keep 0: those before the last assistant message", "u c:1^600 r:1 c:2^600 r:2", shortens(0, 100), "0 1x 2l 3 4"},
		{"keep 1: those before the oldest kept, its own too", "u c:1^600 r:1 c:2^600 r:2 c:3^600 r:3", shortens(1, 100),
			"0 1x 2l 3x 4 5 6"},
		{"though it keeps all that there are", "u c:1^600 r:1 c:2^600 r:2", shortens(5, 100), "0 1x 2 3 4"},
		{"none while no result is seen", "u c:1^600 r:1", shortens(1, 100), "0 1 2"},
		{"though calls stand before the last assistant message", "u c:1^600 c:2 r:1 r:2", shortens(1, 100), "0 1 2 3 4"},
		{"where keep 0 takes them", "u c:1^600 c:2 r:1 r:2", shortens(0, 100), "0 1x 2 3 4"},
		{"keep 0 neither", "u c:1^600 r:1", shortens(0, 100), "0 1 2"},
		{"marks that save 200 bytes", "u c:1^220 r:1*1 c:2 r:2", shortens(0, 100), "0 1x 2 3 4"},
		{"marks that save 199", "u c:1^219 r:1*1 c:2 r:2", shortens(0, 100), "0 1 2 3 4"},
		{"in each of two calls", "u c:1,2^219 r:1*1 r:2*1 c:3 r:3", shortens(0, 100), "0 1 2 3 4 5"},
		{"not again", "u c:1^600 r:1*1 c:2 r:2 c:3 r:3", shortens(0, 100), "0 1x 2 3 4l 5 6"},
		// What counts of the call is 700 - 580 + 2, it saves 578 bytes: 122 + 50 + 31 + 375 are shown from it on.
		{"it pays", "u c:1^600=700 r:1=50 c:2 r:2=375", shortens(0, 50), "0 1x 2 3 4"},
		{"it pays not yet", "u c:1^600=700 r:1=50 c:2 r:2=376", shortens(0, 50), "0 1 2 3 4"},

		{"tool_trace", "u c:1^600 r:1 c:2^600 r:2*1 a | u", trace(shortens(0, 0)), "0 1x 2l 3x 4 5 6"},
		{"tool_trace without arguments", "u c:1^600 r:1 c:2^600 r:2*1 a | u", trace(clears(0, 0)), "0 1 2l 3 4 5 6"},
		{"tool_trace: marks that save 199", "u c:1^219 r:1*1 a | u", trace(shortens(0, 0)), "0 1 2 3 4"},
	}, nil)
}

// TestClearCounts: what is cleared counts for limits as it is shown, from where it is.
func TestClearCounts(t *testing.T) {
	type P = *compaction.Policy
	limits := func(bytes, tokens int64, set func(P)) func(P) {
		return func(p P) { set(p); p.MaxBytes, p.MaxTokens = bytes, tokens }
	}
	const (
		results   = "u=50 a=50 | u=50 c:1=100 r:1=1000 c:2=100 r:2=1000"  // 350 + 84 + 1000
		arguments = "u=50 a=50 | u=50 c:1^600=700 r:1=50 c:2=100 r:2=700" // 300 + 122 + 700
		noted     = "u=50 a=50 | u=50 c:1^600=700#20 r:1=50 c:2=100 r:2=700"
		over      = "u=50 a=50 | u=50 c:1^600=700#100 r:1=50 c:2=100 r:2=700"
		traced    = "u=50 c:1^600=700 r:1=1000 a=50 | u=50 a=1444"            // 50 + 122 + 84 + 50 + 1494
		beside    = "u=50 c:1,!2^600=1400 r:1=1000 r:2=50 a=50 | u=50 a=1444" // 50 + 822 + 84 + 100 + 1494
	)
	checkRules(t, []rule{
		{"a line", results, limits(1434, 0, clears(0, 100)), "0 1 2 3 4l 5 6"},
		{"beyond it", results, limits(1433, 0, clears(0, 100)), "2 3 4l 5 6"},
		{"marks", arguments, limits(1122, 0, shortens(0, 100)), "0 1 2 3x 4 5 6"},
		{"beyond them", arguments, limits(1121, 0, shortens(0, 100)), "2 3x 4 5 6"},
		{"marks, in tokens", arguments, limits(0, 283, shortens(0, 100)), "0 1 2 3x 4 5 6"}, // 4·13 + 31 + 25 + 175
		{"beyond those", arguments, limits(0, 282, shortens(0, 100)), "2 3x 4 5 6"},
		{"fewer are noted", noted, limits(0, 272, shortens(0, 100)), "0 1 2 3x 4 5 6"},
		{"beyond these", noted, limits(0, 271, shortens(0, 100)), "2 3x 4 5 6"},
		{"more are noted", over, limits(0, 283, shortens(0, 100)), "0 1 2 3x 4 5 6"},
		{"and do not count", over, limits(0, 282, shortens(0, 100)), "2 3x 4 5 6"},
	}, nil)
	trace := func(p P) { shortens(0, 0)(p); p.TraceRequests = true }
	reply := func(p P) { trace(p); p.ReplyTools = []string{"reply"} }
	checkRules(t, []rule{
		{"tool_trace", traced, limits(1800, 0, trace), "0 1x 2l 3 4 5"},
		{"tool_trace, beyond it", traced, limits(1799, 0, trace), "4 5"},
		{"tool_trace beside an answer", beside, limits(2550, 0, reply), "0 1x 2l 3 4 5 6"},
		{"beyond that", beside, limits(2549, 0, reply), "5 6"},
	}, nil)
	for _, set := range []func(P){clears(0, 100), clears(0, 0)} {
		policy := compaction.Unbounded()
		set(&policy)
		policy.MaxBytes = 1334
		v := parse(t, "u=50 c:1=100 r:1=1000 c:2=100 r:2=1000")
		if got, want := v.plan(v.options(policy)).LimitExceeded, policy.Clear.CachedPercent == 0; got != want {
			t.Errorf("at %d percent the limit is exceeded: %t", policy.Clear.CachedPercent, got)
		}
	}
}
