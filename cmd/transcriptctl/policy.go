package main

import (
	"reflect"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// policyFlags are the fields of a Policy; a flag that is not given leaves its field to the server's default.
type policyFlags struct {
	MaxRunLoops     *int32         `group:"policy" placeholder:"N" help:"Show at most so many run loops before the last; 0: all. Default: 10."`
	MaxAge          *time.Duration `group:"policy" placeholder:"DURATION" help:"How much older than the last run loop one may be that --keep-full-runs shows whole and --tool-trace with its calls; 0: any. Default: 168h."`
	MaxBytes        *int64         `group:"policy" placeholder:"N" help:"Show at most this many bytes, as far as run loops before the last can go; 0: no bound. Default: 0."`
	MaxTokens       *int64         `group:"policy" placeholder:"N" help:"The same in tokens. Default: 0."`
	MaxUserChars    *int32         `group:"policy" placeholder:"N" help:"Characters of a user message in a condensed run loop; 0: all. Default: 500."`
	MaxReplyChars   *int32         `group:"policy" placeholder:"N" help:"Characters of the final reply of a condensed run loop; 0: all. Default: 500."`
	KeepFullRuns    *int32         `group:"policy" placeholder:"N" help:"Show so many run loops before the last whole. Default: 0."`
	KeepToolResults *int32         `group:"policy" placeholder:"N" help:"In run loops shown whole, keep at least so many of the results that a model has seen, the newest; the rest become lines, some at a time. Default: all."`
	ToolTrace       bool           `group:"policy" help:"Keep the tool calls of condensed run loops, and their results as lines."`
	OmitLeftOutLine bool           `group:"policy" help:"Do not say to the model how many run loops are not shown."`
	ReplyTools      []string       `group:"policy" placeholder:"NAME" help:"Tools that answer: condensed run loops keep their calls and the results of these. May be given several times; a comma parts names."`
	Unbounded       bool           `group:"policy" help:"No bounds but those of the other flags, instead of the defaults."`
}

// given tells whether any flag is.
func (f *policyFlags) given() bool { return !reflect.ValueOf(*f).IsZero() }

// policy is what the flags say.
func (f *policyFlags) policy() *transcriptv1.Policy {
	p := &transcriptv1.Policy{}
	if f.Unbounded {
		p = client.Unbounded()
	}
	flags := &transcriptv1.Policy{
		MaxRunLoops: f.MaxRunLoops, MaxBytes: f.MaxBytes, MaxTokens: f.MaxTokens, MaxUserChars: f.MaxUserChars,
		MaxReplyChars: f.MaxReplyChars, KeepFullRuns: f.KeepFullRuns,
		OmitLeftOutLine: f.OmitLeftOutLine,
		ReplyTools:      f.ReplyTools,
	}
	if f.MaxAge != nil {
		flags.MaxAge = durationpb.New(*f.MaxAge)
	}
	if f.ToolTrace {
		flags.ToolTrace = transcriptv1.ToolTrace_TOOL_TRACE_REQUESTS
	}
	if f.KeepToolResults != nil {
		flags.ClearToolResults = &transcriptv1.ClearToolResults{Keep: f.KeepToolResults}
	}
	proto.Merge(p, flags)
	return p
}
