package wire

import (
	"slices"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/compaction"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// The range of Policy.max_age, in seconds. 100 years have 36,525 days.
const (
	minAgeSeconds = 1
	maxAgeSeconds = 36_525 * 24 * 60 * 60
)

// ParsePolicy reads a Policy; none is one without fields.
func ParsePolicy(field string, p *transcriptv1.Policy) (compaction.Policy, error) {
	if p == nil {
		return compaction.Chat(), nil
	}
	preset, ok := presets[p.Preset]
	if !ok {
		return compaction.Policy{}, InvalidField(field+".preset", "must be a declared value")
	}
	out := preset()
	if err := parseAge(field+".max_age", p.MaxAge, &out.MaxAge); err != nil {
		return out, err
	}
	for _, err := range []error{
		setBound(field+".max_run_loops", p.MaxRunLoops, &out.MaxRunLoops),
		setBound(field+".max_bytes", p.MaxBytes, &out.MaxBytes),
		setBound(field+".max_tokens", p.MaxTokens, &out.MaxTokens),
		setBound(field+".max_user_chars", p.MaxUserChars, &out.MaxUserChars),
		setBound(field+".max_reply_chars", p.MaxReplyChars, &out.MaxReplyChars),
		setBound(field+".keep_whole_run_loops", p.KeepWholeRunLoops, &out.KeepWholeRunLoops),
		parseClear(field+".clear_tool_results", p.ClearToolResults, &out.Clear),
	} {
		if err != nil {
			return out, err
		}
	}
	if _, ok := transcriptv1.ToolTrace_name[int32(p.ToolTrace)]; !ok {
		return out, InvalidField(field+".tool_trace", "must be a declared value")
	}
	out.TraceRequests = p.ToolTrace == transcriptv1.ToolTrace_TOOL_TRACE_REQUESTS
	out.OmitLeftOutLine = p.OmitLeftOutLine
	var err error
	out.ReplyTools, err = parseTools(field+".reply_tools", p.ReplyTools)
	return out, err
}

// presets are what absent fields are.
var presets = map[transcriptv1.Preset]func() compaction.Policy{
	transcriptv1.Preset_PRESET_UNSPECIFIED: compaction.Chat,
	transcriptv1.Preset_PRESET_UNBOUNDED:   compaction.Unbounded,
	transcriptv1.Preset_PRESET_CHAT:        compaction.Chat,
	transcriptv1.Preset_PRESET_CODING:      compaction.Coding,
	transcriptv1.Preset_PRESET_LONG:        compaction.Long,
	transcriptv1.Preset_PRESET_FRUGAL:      compaction.Frugal,
}

// parseClear sets to to what clears results, unless it is absent.
func parseClear(field string, c *transcriptv1.ClearToolResults, to *compaction.Clear) error {
	switch {
	case c == nil:
		return nil
	case c.Keep == nil && c.ClearArguments != nil:
		return InvalidField(field+".clear_arguments", "must be absent where keep is, which says how many results stay")
	case c.Keep == nil && c.CachedPercent != nil:
		return InvalidField(field+".cached_percent", "must be absent where keep is, which says how many results stay")
	case c.Keep == nil:
		*to = compaction.Clear{}
		return nil
	case *c.Keep < 0:
		return InvalidField(field+".keep", "must not be negative")
	case c.CachedPercent != nil && (*c.CachedPercent < 0 || *c.CachedPercent > 100):
		return InvalidField(field+".cached_percent", "must be from 0 to 100")
	}
	*to = compaction.Clear{On: true, Keep: int(*c.Keep), Arguments: c.GetClearArguments(), CachedPercent: compaction.CachedPercent}
	if c.CachedPercent != nil {
		to.CachedPercent = int(*c.CachedPercent)
	}
	return nil
}

// ResolvedPolicy is a policy as reports tell it: every field but preset and reply_tools. ParsePolicy reads it back as the same policy, but
// for reply_tools. It shares nothing with p.
func ResolvedPolicy(p *compaction.Policy) *transcriptv1.Policy {
	out := &transcriptv1.Policy{
		MaxRunLoops: proto.Int32(int32(p.MaxRunLoops)), MaxAge: durationpb.New(time.Duration(p.MaxAge) * time.Millisecond),
		MaxBytes: proto.Int64(p.MaxBytes), MaxTokens: proto.Int64(p.MaxTokens),
		MaxUserChars: proto.Int32(int32(p.MaxUserChars)), MaxReplyChars: proto.Int32(int32(p.MaxReplyChars)),
		KeepWholeRunLoops: proto.Int32(int32(p.KeepWholeRunLoops)), ToolTrace: transcriptv1.ToolTrace_TOOL_TRACE_DROP,
		OmitLeftOutLine: p.OmitLeftOutLine,
	}
	if p.TraceRequests {
		out.ToolTrace = transcriptv1.ToolTrace_TOOL_TRACE_REQUESTS
	}
	out.ClearToolResults = &transcriptv1.ClearToolResults{}
	if c := &p.Clear; c.On {
		out.ClearToolResults = &transcriptv1.ClearToolResults{
			Keep: proto.Int32(int32(c.Keep)), ClearArguments: proto.Bool(c.Arguments), CachedPercent: proto.Int32(int32(c.CachedPercent)),
		}
	}
	return out
}

// maxReplyTools is the most names of Policy.reply_tools.
const maxReplyTools = 16

// parseTools reads the names of tools: sorted, each once.
func parseTools(field string, names []string) ([]string, error) {
	if len(names) > maxReplyTools {
		return nil, OverLimit(field, "must hold at most %d names", maxReplyTools)
	}
	for i, name := range names {
		switch {
		case name == "":
			return nil, InvalidField(Indexed(field, i), "must not be empty")
		case len(name) > canonical.MaxNameBytes:
			return nil, OverLimit(Indexed(field, i), "must be at most %d bytes", canonical.MaxNameBytes)
		}
	}
	sorted := slices.Clone(names)
	slices.Sort(sorted)
	return slices.Compact(sorted), nil
}

// parseAge sets to to a max_age in milliseconds, unless it is absent.
func parseAge(field string, age *durationpb.Duration, to *int64) error {
	switch {
	case age == nil:
		return nil
	case !age.IsValid() || age.Seconds < 0 || age.Seconds == 0 && age.Nanos < 0:
		return InvalidField(field, "must be a duration that is not negative")
	case age.Seconds == 0 && age.Nanos == 0:
		*to = 0
		return nil
	case age.Seconds < minAgeSeconds || age.Seconds > maxAgeSeconds || age.Seconds == maxAgeSeconds && age.Nanos > 0:
		return InvalidField(field, "must be 0, or from 1 second to 100 years")
	}
	*to = age.AsDuration().Milliseconds()
	return nil
}

// setBound sets to to n, unless it is absent.
func setBound[N int32 | int64, T int | int64](field string, n *N, to *T) error {
	if n == nil {
		return nil
	}
	if *n < 0 {
		return InvalidField(field, "must not be negative")
	}
	*to = T(*n)
	return nil
}
