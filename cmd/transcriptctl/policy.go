package main

import (
	"reflect"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// policyFlags are the fields of a Policy; a flag that is not given leaves its field to the server's default.
type policyFlags struct {
	Preset            string         `group:"policy" default:"" enum:"chat,coding,long,frugal,unbounded," placeholder:"NAME" help:"What flags of the policy that are not given are: chat (their defaults), coding, long, frugal or unbounded. Default: chat."`
	MaxRunLoops       *int32         `group:"policy" placeholder:"N" help:"Show at most so many run loops before the last; 0: all. Default: 10."`
	MaxAge            *time.Duration `group:"policy" placeholder:"DURATION" help:"How much older than the last run loop one may be that --keep-whole-run-loops shows whole and --tool-trace with its calls; 0: any. Default: 168h."`
	MaxBytes          *int64         `group:"policy" placeholder:"N" help:"Show at most this many bytes, as far as run loops before the last can go; 0: no bound. Default: 0."`
	MaxTokens         *int64         `group:"policy" placeholder:"N" help:"The same in tokens. Default: 0."`
	MaxUserChars      *int32         `group:"policy" placeholder:"N" help:"Characters of a user message in a condensed run loop; 0: all. Default: 500."`
	MaxReplyChars     *int32         `group:"policy" placeholder:"N" help:"Characters of the final reply of a condensed run loop; 0: all. Default: 500."`
	KeepWholeRunLoops *int32         `group:"policy" placeholder:"N" help:"Show so many run loops before the last whole. Default: 0."`
	KeepToolResults   *int32         `group:"policy" placeholder:"N" help:"In run loops shown whole, keep so many of the results that a model has seen, the newest; older ones become lines once that pays. Default: all."`
	ShortenArguments  bool           `group:"policy" help:"With --keep-tool-results: shorten long texts in the arguments of calls before the results kept, too."`
	CachedPercent     *int32         `group:"policy" placeholder:"N" help:"With --keep-tool-results: what a byte costs that the provider has cached, in percent of a new one; 100: it caches nothing. Default: 10."`
	ToolTrace         bool           `group:"policy" help:"Keep the tool calls of condensed run loops, and their results as lines."`
	OmitLeftOutLine   bool           `group:"policy" help:"Do not say to the model how many run loops are not shown."`
	ReplyTools        []string       `group:"policy" placeholder:"NAME" help:"Tools that answer: condensed run loops keep their calls and the results of these. May be given several times; a comma parts names."`
}

// given tells whether any flag is.
func (f *policyFlags) given() bool { return !reflect.ValueOf(*f).IsZero() }

// presets are what --preset names; without it there is none.
var presets = map[string]transcriptv1.Preset{
	"chat": transcriptv1.Preset_PRESET_CHAT, "coding": transcriptv1.Preset_PRESET_CODING, "long": transcriptv1.Preset_PRESET_LONG,
	"frugal": transcriptv1.Preset_PRESET_FRUGAL, "unbounded": transcriptv1.Preset_PRESET_UNBOUNDED,
}

// policy is what the flags say.
func (f *policyFlags) policy() (p *transcriptv1.Policy, err error) {
	p = &transcriptv1.Policy{
		Preset: presets[f.Preset], MaxRunLoops: f.MaxRunLoops, MaxBytes: f.MaxBytes, MaxTokens: f.MaxTokens, MaxUserChars: f.MaxUserChars,
		MaxReplyChars: f.MaxReplyChars, KeepWholeRunLoops: f.KeepWholeRunLoops, OmitLeftOutLine: f.OmitLeftOutLine, ReplyTools: f.ReplyTools,
	}
	if f.MaxAge != nil {
		p.MaxAge = durationpb.New(*f.MaxAge)
	}
	if f.ToolTrace {
		p.ToolTrace = transcriptv1.ToolTrace_TOOL_TRACE_REQUESTS
	}
	p.ClearToolResults, err = f.clear()
	return p, err
}

// clear is what the flags say of results that become lines; nil: nothing, so that the preset's holds.
func (f *policyFlags) clear() (*transcriptv1.ClearToolResults, error) {
	switch {
	case f.KeepToolResults == nil && f.ShortenArguments:
		return nil, usagef("--shorten-arguments needs --keep-tool-results, with a --preset too")
	case f.KeepToolResults == nil && f.CachedPercent != nil:
		return nil, usagef("--cached-percent needs --keep-tool-results, with a --preset too")
	case f.KeepToolResults == nil:
		return nil, nil
	}
	return &transcriptv1.ClearToolResults{Keep: f.KeepToolResults, ClearArguments: proto.Bool(f.ShortenArguments), CachedPercent: f.CachedPercent}, nil
}

// endFields are the flags of fields about the end of a view.
var endFields = map[string]string{
	"last_messages": "--last", "last_bytes": "--last-bytes", "before.node_id": "--before", "before.message_index": "--before",
}

// flagOf is how a user knows a field that the server refuses: that of a policy, of the end of a view and of an erasure by its flag, any other as it is.
func flagOf(field string) string {
	name, ok := strings.CutPrefix(field, "policy.")
	switch {
	case settingFields[field] != "":
		return settingFields[field]
	case endFields[field] != "":
		return endFields[field]
	case field == "shared_roots":
		return "--shared"
	case field == "reference":
		return "--reference"
	case !ok:
		return field
	case name == "clear_tool_results.keep":
		return "--keep-tool-results"
	}
	return "--" + strings.ReplaceAll(strings.TrimPrefix(name, "clear_tool_results."), "_", "-")
}
