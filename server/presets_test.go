package server_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// The presets.
const (
	presetChat   = transcriptv1.Preset_PRESET_CHAT
	presetCoding = transcriptv1.Preset_PRESET_CODING
	presetLong   = transcriptv1.Preset_PRESET_LONG
	presetFrugal = transcriptv1.Preset_PRESET_FRUGAL
)

// resolved is what docs/views.md says of the presets, as reports tell it.
func resolved(clear *Clears) *Policy {
	return &Policy{
		MaxRunLoops: proto.Int32(10), MaxAge: durationpb.New(168 * time.Hour), MaxBytes: new(int64), MaxTokens: new(int64),
		MaxUserChars: proto.Int32(500), MaxReplyChars: proto.Int32(500), KeepWholeRunLoops: new(int32), ClearToolResults: clear,
	}
}

func keeping(n int32, arguments bool) *Clears {
	return &Clears{Keep: &n, ClearArguments: &arguments, CachedPercent: proto.Int32(10)}
}

// writes is a call of a tool whose arguments are long, and its result.
func writes(i int) []*Message {
	id := fmt.Sprint("w", i)
	call := calling("write", id)
	call.Parts[0].GetToolCall().Arguments = fmt.Sprintf(`{"path":"%d.go","text":"needle %d %s"}`, i, i, strings.Repeat("package ", 130))
	return []*Message{call, result(id, fmt.Sprintf("thread %d %s", i, strings.Repeat("wrote ", 400)))}
}

// longLoop is a chain whose last loop has so many calls with long arguments and results.
func longLoop(calls int) []*Message {
	put := []*Message{system("s"), user("hello"), assistant("hello"), user("work")}
	for i := range calls {
		put = append(put, writes(i)...)
	}
	return put
}

// TestPresetsResolve: what a preset comes to is told by replies, by streams and by compactions, as it is documented, and asking for that gives the
// same view and etag.
func TestPresetsResolve(t *testing.T) {
	r := newRig(t)
	r.chain("chat", longLoop(40)...)
	ask := func(p *Policy) *transcriptv1.AssembleResponse {
		return r.assemble(&Assemble{Head: byAlias("chat"), View: conversation, Policy: p})
	}
	shown := map[int]transcriptv1.Preset{}
	for preset, want := range map[transcriptv1.Preset]*Policy{
		transcriptv1.Preset_PRESET_UNSPECIFIED: resolved(&Clears{}), presetChat: resolved(&Clears{}), presetCoding: resolved(keeping(5, false)),
		presetLong: resolved(keeping(10, false)), presetFrugal: resolved(keeping(2, true)),
		transcriptv1.Preset_PRESET_UNBOUNDED: {
			MaxRunLoops: new(int32), MaxAge: durationpb.New(0), MaxBytes: new(int64), MaxTokens: new(int64),
			MaxUserChars: new(int32), MaxReplyChars: new(int32), KeepWholeRunLoops: new(int32), ClearToolResults: &Clears{},
		},
	} {
		want.ToolTrace = transcriptv1.ToolTrace_TOOL_TRACE_DROP
		req := &Assemble{Head: byAlias("chat"), View: conversation, Policy: &Policy{Preset: preset}}
		reply := r.assemble(req)
		frames := must[*transcriptv1.AssembleResponse](r)(r.streamed(req))
		dry := r.compact(&Compact{Head: byAlias("chat"), Policy: req.Policy, DryRun: true})
		for where, got := range map[string]*Policy{"a reply": reply.Report.Policy, "a stream": frames.Report.Policy, "a compaction": dry.Report.Policy} {
			if !proto.Equal(got, want) {
				t.Errorf("%v: %s tells %v, want %v", preset, where, got, want)
			}
		}
		again := ask(reply.Report.Policy)
		equal(r, fmt.Sprint(preset, ": the etag when asked with what was told"), again.Etag, reply.Etag)
		r.sameMessages("the view asked for with what was told", again.Messages, reply.Messages...)
		equal(r, "the policy told then", proto.Equal(again.Report.Policy, want), true)
		if preset >= presetChat {
			shown[shortenedOf(reply.Messages)] = preset
		}
	}
	equal(r, "the numbers of messages that presets shorten", len(shown), 4)
	equal(r, "what shortens none", shown[0], presetChat)
	equal(r, "the etag under chat", ask(&Policy{Preset: presetChat}).Etag, ask(nil).Etag)
	equal(r, "the policy told of another view", r.assemble(&Assemble{Head: byAlias("chat")}).Report.Policy == nil, true)
}

// TestFieldsWinOverPresets: what is said beside a preset goes before it.
func TestFieldsWinOverPresets(t *testing.T) {
	r := newRig(t)
	r.chain("chat", longLoop(30)...)
	ask := func(p *Policy) *transcriptv1.AssembleResponse {
		return r.assemble(&Assemble{Head: byAlias("chat"), View: conversation, Policy: p})
	}
	for name, c := range map[string]struct{ beside, means *Policy }{
		"an empty clear_tool_results": {&Policy{Preset: presetFrugal, ClearToolResults: &Clears{}}, nil},
		"another keep":                {&Policy{Preset: presetFrugal, ClearToolResults: clears(proto.Int32(7))}, &Policy{ClearToolResults: clears(proto.Int32(7))}},
		"the same keep":               {&Policy{Preset: presetLong, ClearToolResults: &Clears{Keep: proto.Int32(5)}}, &Policy{Preset: presetCoding}},
		"max_run_loops":               {&Policy{Preset: presetCoding, MaxRunLoops: proto.Int32(3)}, &Policy{MaxRunLoops: proto.Int32(3), ClearToolResults: keeping(5, false)}},
		"no bounds":                   {&Policy{Preset: transcriptv1.Preset_PRESET_UNBOUNDED, ClearToolResults: keeping(2, true), MaxAge: hours(168), MaxRunLoops: proto.Int32(10), MaxUserChars: proto.Int32(500), MaxReplyChars: proto.Int32(500)}, &Policy{Preset: presetFrugal}},
	} {
		got, want := ask(c.beside), ask(c.means)
		equal(r, name+": the etag", got.Etag, want.Etag)
		equal(r, name+": the policy told", got.Report.Policy.String(), want.Report.Policy.String())
		r.sameMessages(name, got.Messages, want.Messages...)
	}
}
