package wire_test

import (
	"reflect"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"pgregory.net/rapid"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

func drawPolicy(t *rapid.T) *transcriptv1.Policy {
	return &transcriptv1.Policy{
		Preset:      transcriptv1.Preset(rapid.IntRange(0, len(transcriptv1.Preset_name)-1).Draw(t, "preset")),
		MaxRunLoops: maybe(t, "max_run_loops", rapid.Int32Min(0)), MaxBytes: maybe(t, "max_bytes", rapid.Int64Min(0)),
		MaxTokens: maybe(t, "max_tokens", rapid.Int64Min(0)), MaxUserChars: maybe(t, "max_user_chars", rapid.Int32Min(0)),
		MaxReplyChars: maybe(t, "max_reply_chars", rapid.Int32Min(0)), KeepWholeRunLoops: maybe(t, "keep_whole_run_loops", rapid.Int32Min(0)),
		ToolTrace:       transcriptv1.ToolTrace(rapid.IntRange(0, len(transcriptv1.ToolTrace_name)-1).Draw(t, "tool_trace")),
		OmitLeftOutLine: rapid.Bool().Draw(t, "omit_left_out_line"), MaxAge: drawAge(t), ClearToolResults: drawClear(t),
		ReplyTools: rapid.SliceOfN(rapid.SampledFrom([]string{"reply", "send", "a"}), 0, 4).Draw(t, "reply_tools"),
	}
}

// maybe draws a value or none.
func maybe[T any](t *rapid.T, label string, of *rapid.Generator[T]) *T {
	if rapid.Bool().Draw(t, "no "+label) {
		return nil
	}
	v := of.Draw(t, label)
	return &v
}

func drawAge(t *rapid.T) *durationpb.Duration {
	switch rapid.IntRange(0, 2).Draw(t, "age") {
	case 0:
		return nil
	case 1:
		return durationpb.New(0)
	}
	return &durationpb.Duration{
		Seconds: rapid.Int64Range(1, 36_525*24*60*60-1).Draw(t, "seconds"), Nanos: rapid.Int32Range(0, 999_999_999).Draw(t, "nanos"),
	}
}

func drawClear(t *rapid.T) *transcriptv1.ClearToolResults {
	switch rapid.IntRange(0, 2).Draw(t, "clear") {
	case 0:
		return nil
	case 1:
		return &transcriptv1.ClearToolResults{}
	}
	return &transcriptv1.ClearToolResults{
		Keep: proto.Int32(rapid.Int32Min(0).Draw(t, "keep")), ClearArguments: maybe(t, "arguments", rapid.Bool()),
		CachedPercent: maybe(t, "cached_percent", rapid.Int32Range(0, 100)),
	}
}

// TestResolvedPolicy: a policy as reports tell it is read as the same policy, but for reply_tools; it names no preset, sets every other
// field, and is nobody else's.
func TestResolvedPolicy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		policy, err := wire.ParsePolicy("policy", drawPolicy(t))
		if err != nil {
			t.Fatal(err)
		}
		told := wire.ResolvedPolicy(&policy)
		kept := proto.CloneOf(told)
		again, err := wire.ParsePolicy("policy", told)
		if err != nil {
			t.Fatalf("%v is refused: %v", told, err)
		}
		if again.ReplyTools = policy.ReplyTools; !reflect.DeepEqual(again, policy) {
			t.Fatalf("%+v came back as %+v", policy, again)
		}
		fields := told.ProtoReflect().Descriptor().Fields()
		for i := range fields.Len() {
			f := fields.Get(i)
			absent := f.Name() == "preset" || f.Name() == "reply_tools" || f.Name() == "omit_left_out_line" && !policy.OmitLeftOutLine
			if told.ProtoReflect().Has(f) == absent {
				t.Fatalf("%s in %v", f.Name(), told)
			}
		}
		policy.MaxBytes, policy.MaxTokens, policy.Clear.Arguments, policy.Clear.Keep = 7, 7, !policy.Clear.Arguments, 7
		if !proto.Equal(told, kept) {
			t.Fatal("it changed with the policy")
		}
	})
}
