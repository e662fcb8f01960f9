// Package compaction decides what of a conversation is shown and what a compaction keeps: run loops condensed, windows,
// results made lines. It works on what headers keep of messages (runloop.Brief) and touches messages only where text is
// cut. Pure: no clock, no store, no gRPC. docs/views.md states the rules side by side with this code.
package compaction

// Policy bounds what is shown. No field is absent here: see Unbounded and Default.
type Policy struct {
	// MaxRunLoops is the loops before the last that are shown, about; 0: no bound.
	MaxRunLoops int
	// MaxAge, in milliseconds, bounds how much older than the last loop one may be that is shown richer than condensed: whole
	// by KeepWholeRunLoops, or with its calls by TraceRequests. 0: no bound. Nothing is dropped by it.
	MaxAge int64
	// MaxBytes and MaxTokens bound what is shown, as far as a loop before the last can go; 0: no bound.
	MaxBytes, MaxTokens int64
	// MaxUserChars and MaxReplyChars are the code points of text kept of user messages and final replies in condensed
	// loops; 0: no bound.
	MaxUserChars, MaxReplyChars int
	// KeepWholeRunLoops is the newest loops before the last that are shown whole.
	KeepWholeRunLoops int
	// Clear says which results of loops shown whole become lines.
	Clear Clear
	// TraceRequests says that condensed loops keep the messages with calls, and their results as lines.
	TraceRequests bool
	// OmitLeftOutLine says that no line tells how many loops are not shown.
	OmitLeftOutLine bool
	// ReplyTools are the names of the tools whose calls are part of the answer, sorted, each once: in condensed loops these calls
	// and their results stay.
	ReplyTools []string
}

// Clear is when results of loops shown whole become lines, and arguments get marks. The zero Clear clears nothing.
type Clear struct {
	// On says that anything is cleared.
	On bool
	// Keep is the newest results before the loop's last assistant message that stay.
	Keep int
	// Arguments says that the arguments of calls before those are shortened too, and those of the calls that TraceRequests keeps.
	Arguments bool
	// CachedPercent is what a byte costs that a provider has cached, in percent of one that it has not; 0 to 100.
	CachedPercent int
}

// CachedPercent is that of a Clear where nothing else is said.
const CachedPercent = 10

// The policies that presets name; docs/views.md has what each costs.

// Unbounded is the policy without bounds.
func Unbounded() Policy { return Policy{} }

// Chat is the policy whose fields are all absent.
func Chat() Policy {
	return Policy{MaxRunLoops: 10, MaxAge: 168 * 60 * 60 * 1000, MaxUserChars: 500, MaxReplyChars: 500}
}

// Coding is for agents that work with tools: Chat that keeps 5 results.
func Coding() Policy { return clears(Clear{Keep: 5}) }

// Long is for tasks that look back more: Chat that keeps 10 results.
func Long() Policy { return clears(Clear{Keep: 10}) }

// Frugal is Chat that keeps 2 results and shortens arguments.
func Frugal() Policy { return clears(Clear{Keep: 2, Arguments: true}) }

func clears(c Clear) Policy {
	p := Chat()
	c.On, c.CachedPercent = true, CachedPercent
	p.Clear = c
	return p
}

// NeedsSizes tells whether the start of the window depends on the sizes of what comes before it, so that a planner has to
// be given every message of the view; else FirstLoop tells it.
func (p *Policy) NeedsSizes() bool { return p.MaxBytes > 0 || p.MaxTokens > 0 }

// FirstLoop is the first of n loops, counted from 0, that MaxRunLoops leaves: 0 if n is at most L, else
// s * ceil((n - L) / s) where s = max(1, floor(L / 2)).
func (p *Policy) FirstLoop(n int64) int64 {
	limit := int64(p.MaxRunLoops)
	if limit <= 0 || n <= limit {
		return 0
	}
	step := max(1, limit/2)
	return step * ((n - limit + step - 1) / step)
}
