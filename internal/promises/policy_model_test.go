package promises

import (
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// policy is a policy with its defaults filled in. 0 is no bound.
type policy struct {
	loops                 int64
	age                   int64
	bytes, tokens         int64
	userChars, replyChars int
	keepRuns              int
	// clear is nil where nothing is cleared.
	clear    *clears
	requests bool
	omitLine bool
	// replyTools are the tools whose calls are part of the answer.
	replyTools []string

	// shorts has what was made shorter already.
	shorts map[*message]item
}

// presetOf is the policy that a preset names.
func presetOf(preset transcriptv1.Preset) policy {
	out := policy{loops: 10, age: 168 * 3600 * 1000, userChars: 500, replyChars: 500}
	switch preset {
	case transcriptv1.Preset_PRESET_UNBOUNDED:
		out = policy{}
	case transcriptv1.Preset_PRESET_CODING:
		out.clear = &clears{keep: 5, cached: 10}
	case transcriptv1.Preset_PRESET_LONG:
		out.clear = &clears{keep: 10, cached: 10}
	case transcriptv1.Preset_PRESET_FRUGAL:
		out.clear = &clears{keep: 2, cached: 10, arguments: true}
	default:
	}
	return out
}

// policyOf reads a policy; none is one without fields.
func policyOf(p *transcriptv1.Policy) policy {
	out := presetOf(p.GetPreset())
	out.shorts = map[*message]item{}
	if p == nil {
		return out
	}
	if p.MaxAge != nil {
		out.age = p.MaxAge.AsDuration().Milliseconds()
	}
	if p.MaxRunLoops != nil {
		out.loops = int64(*p.MaxRunLoops)
	}
	if p.MaxUserChars != nil {
		out.userChars = int(*p.MaxUserChars)
	}
	if p.MaxReplyChars != nil {
		out.replyChars = int(*p.MaxReplyChars)
	}
	if c := p.ClearToolResults; c != nil {
		out.clear = clearsOf(c)
	}
	out.bytes, out.tokens, out.keepRuns = p.GetMaxBytes(), p.GetMaxTokens(), int(p.GetKeepWholeRunLoops())
	out.omitLine = p.OmitLeftOutLine
	out.requests = p.ToolTrace == transcriptv1.ToolTrace_TOOL_TRACE_REQUESTS
	out.replyTools = p.ReplyTools
	return out
}

func clearsOf(c *transcriptv1.ClearToolResults) *clears {
	if c.Keep == nil {
		return nil
	}
	out := &clears{keep: int(*c.Keep), arguments: c.GetClearArguments(), cached: 10}
	if c.CachedPercent != nil {
		out.cached = int64(*c.CachedPercent)
	}
	return out
}

func milliseconds(n int64) *durationpb.Duration {
	return durationpb.New(time.Duration(n) * time.Millisecond)
}
