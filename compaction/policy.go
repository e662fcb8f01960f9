// Package compaction decides what of a conversation is shown and what a compaction keeps: run loops condensed, windows,
// results made lines. It works on what headers keep of messages (runloop.Brief) and touches messages only where text is
// cut. Pure: no clock, no store, no gRPC. docs/views.md states the rules side by side with this code.
package compaction

// AllResults is the Policy.KeepToolResults that makes no result a line.
const AllResults = -1

// Policy bounds what is shown. No field is absent here: see Unbounded and Default.
type Policy struct {
	// MaxRunLoops is the loops before the last that are shown, about; 0: no bound.
	MaxRunLoops int
	// MaxAge, in milliseconds, bounds how much older than the last loop one may be that is shown richer than condensed: whole
	// by KeepFullRuns, or with its calls by TraceRequests. 0: no bound. Nothing is dropped by it.
	MaxAge int64
	// MaxBytes and MaxTokens bound what is shown, as far as a loop before the last can go; 0: no bound.
	MaxBytes, MaxTokens int64
	// MaxUserChars and MaxReplyChars are the code points of text kept of user messages and final replies in condensed
	// loops; 0: no bound.
	MaxUserChars, MaxReplyChars int
	// KeepFullRuns is the newest loops before the last that are shown whole.
	KeepFullRuns int
	// KeepToolResults is the newest results before the last assistant message that each loop shown whole keeps, about;
	// or AllResults.
	KeepToolResults int
	// TraceRequests says that condensed loops keep the messages with calls, and their results as lines.
	TraceRequests bool
	// OmitLeftOutLine says that no line tells how many loops are not shown.
	OmitLeftOutLine bool
	// ReplyTools are the names of the tools whose calls are part of the answer, sorted, each once: in condensed loops these calls
	// and their results stay.
	ReplyTools []string
}

// Unbounded is the policy without bounds.
func Unbounded() Policy { return Policy{KeepToolResults: AllResults} }

// Default is the policy whose fields are all absent.
func Default() Policy {
	return Policy{
		MaxRunLoops: 10, MaxAge: 168 * 60 * 60 * 1000, MaxUserChars: 500, MaxReplyChars: 500,
		KeepToolResults: AllResults,
	}
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
