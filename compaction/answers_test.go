package compaction_test

import (
	"bytes"
	"reflect"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/compaction"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// TestAnswers has a case for each rule of reply_tools.
func TestAnswers(t *testing.T) {
	type P = *compaction.Policy
	reply := func(more ...func(P)) func(P) {
		return func(p P) {
			p.ReplyTools = []string{"another", "reply"}
			for _, f := range more {
				f(p)
			}
		}
	}
	chars := func(n int) func(P) { return func(p P) { p.MaxReplyChars = n } }
	trace := func(p P) { p.TraceRequests = true }
	checkRules(t, []rule{
		{"calls of these tools and their results stay", "u c:1 r:1 c:!2 r:2 c:3 r:3 a | u", reply(), "0 3 4 7 8"},
		{"without the tools they go", "u c:!1 r:1 a | u", nil, "0 3 4"},
		{"of a message with others these alone stay", "u c:1,!2,3 r:1 r:2 r:3 | u", reply(), "0 1x 3 5"},
		{"of calls with one id each has its own result", "u c:1,!1 r:1 r:1 | u", reply(), "0 1x 3 4"},
		{"a group of several messages", "u c:1 c:!2 c:!3,4 r:3 r:2 r:1 r:4 | u", reply(), "0 2 3x 4 5 8"},
		{"a stub is a result", "u c:!1,2 r:2 | u c:!3 a | u", reply(), "0 1x +1 3 4 +3 5 6"},
		{"what answers nothing is no answer", "u c:!1 r:1 r:1 r:9 a r:1 | u", reply(), "0 1 2 5 7"},
		{"texts and results are cut as replies are", "u c:!1*60 r:1*60 a*60 | u", reply(chars(5)), "0 1x 2x 3x 4"},
		{"text beside calls that are lost is cut", "u c:!1,2*60 r:1*18 r:2 | u", reply(chars(5)), "0 1x 2 4"},
		{"loops shown whole are as they are", "u c:1,!2 r:1 r:2", reply(), "0 1 2 3"},
		{"clear_tool_results does not replace them", "u c:!1 r:1*600 c:2 r:2*600 c:3 r:3*600",
			reply(clears(0, 100)), "0 1 2 3 4l 5 6"},
		{"nor does it count them", "u c:1 r:1*600 c:2 r:2*600 c:!3 r:3*600 c:!4 r:4*600",
			reply(clears(1, 100)), "0 1 2l 3 4 5 6 7 8"},
		{"what a stub stands for is no exception", "u c:!0,1 r:1*600 c:2 r:2*600 c:3 r:3*600",
			reply(clears(1, 100)), "0 1 2l +0 3 4 5 6"},
		{"their results make points", "u c:1 r:1*600 c:!2 r:2", reply(clears(0, 100)), "0 1 2l 3 4"},
		{"their arguments stay", "u c:!1^600 r:1 c:2,!3^600 r:2 r:3 c:4 r:4", reply(shortens(0, 100)), "0 1 2 3x 4l 5 6 7"},
		{"with tool_trace too", "u c:!1^600 r:1 c:2,!3^600 r:2 r:3 | u", reply(shortens(0, 0), trace), "0 1 2 3x 4l 5 6"},
		{"tool_trace keeps messages with calls whole", "u c:1,!2*60 r:1 r:2*60 c:3 r:3 | u", reply(trace, chars(5)), "0 1 2l 3x 4 5l 6"},
		{"what is too old for its calls keeps its answers", "u@1 c:1,!2 r:1 r:2 | u@9",
			reply(trace, func(p P) { p.MaxAge = 2000 }), "0 1x 3 4"},
		{"the lead-in goes with all its calls", "a c:!1 r:1 | u", reply(), "3"},
		{"the start drops them too", "u c:!1 r:1 | u c:!4 r:4 | u", reply(func(p P) { p.MaxRunLoops = 1 }), "3 4 5 6"},
	}, nil)
	checkRules(t, []rule{
		{"a message that loses calls counts whole", "u=50 c:1,!2=200 r:1=50 r:2=50 | u=50", reply(func(p P) { p.MaxBytes = 349 }), "4"},
		{"so what is left fits", "u=50 c:1,!2=200 r:1=50 r:2=50 | u=50", reply(func(p P) { p.MaxBytes = 350 }), "0 1x 3 4"},
		{"a result that is cut counts cut", "u=50 c:!1=50 r:1=300 | u=50", reply(chars(5), func(p P) { p.MaxBytes = 399 }), "0 1 2x 3"},
	}, nil)
	checkRules(t, []rule{
		{"a compaction keeps them", "u c:1,!2 r:1 r:2 c:3 r:3 | u c:!7 r:7 a", reply(), "0 1x 3 6 7 8 9"},
		{"the open loop stays whole", "u c:!1 r:1 a | u c:5,!6 r:5 r:6", reply(), "0 1 2 3 4 5 6 7"},
	}, func(o *compaction.Options) { o.Compact = &compaction.Compact{} })
	checkRules(t, []rule{
		{"a summary stands for those of the open loop", "u c:!1 r:1 a | u c:5,!6 r:5 r:6", reply(), "0 1 2 3 4"},
	}, func(o *compaction.Options) { o.Compact = &compaction.Compact{Summary: &compaction.Size{Messages: 1}} })
}

// TestAnswersUntold: what a header does not tell counts as another tool's: calls without names, in headers of version 1, and their
// results and stubs, also in a group that goes on in a header that tells.
func TestAnswersUntold(t *testing.T) {
	for _, c := range []struct {
		chain string
		old   int // messages with headers of version 1
		want  string
	}{
		{"u c:!1 r:1 a | u", 4, "0 3 4"},
		{"u c:!1 r:1 a | u c:!5 r:5 | u", 4, "0 3 4 5 6 7"},
		{"u c:!1 r:1 a | u", 2, "0 3 4"},
		{"u c:!1 c:!2 r:1 r:2 | u", 2, "0 2 4 5"},
		{"u c:!1 c:!2 | u", 2, "0 2 +2 3"},
		{"u c:!1,2 c:!3,4 r:4 | u", 2, "0 2x +3 4"},
	} {
		v := parse(t, c.chain)
		for i := range c.old {
			v.entries[i].brief = v.entries[i].brief.AsVersion1()
		}
		policy := compaction.Unbounded()
		policy.ReplyTools = []string{"reply"}
		if got := show(t, v, policy, v.plan(v.options(policy))); got != c.want {
			t.Errorf("%s, of which %d are of version 1: %q, want %q", c.chain, c.old, got, c.want)
		}
	}
}

// TestAppendAnswer: calls of other tools and reasoning go, arguments, other parts and members stay, the form is left to the parts.
func TestAppendAnswer(t *testing.T) {
	call := func(name *string, arguments string) *transcriptv1.Part {
		return &transcriptv1.Part{Extras: `{"a":1}`, Kind: &transcriptv1.Part_ToolCall{ToolCall: &transcriptv1.ToolCall{
			Id: proto.String("1"), Name: name, Arguments: arguments,
		}}}
	}
	reply := call(proto.String("reply"), `{"strings":["a long answer, which no limit cuts"]}`)
	thought := &transcriptv1.Part{Extras: `{"i":1}`, Kind: &transcriptv1.Part_Reasoning{Reasoning: &transcriptv1.Reasoning{Text: "hm", Signature: "s"}}}
	picture := &transcriptv1.Part{Kind: &transcriptv1.Part_Media{Media: &transcriptv1.Media{MediaType: "image/png"}}}
	m := &transcriptv1.Message{
		Role: roleAssistant, Name: proto.String("N"), State: 2, Joined: true, Extras: `{"n":1}`,
		Parts: []*transcriptv1.Part{thought, textPart("I answer, and read on"), call(proto.String("read"), "{}"), picture, reply, call(nil, "{}"), call(proto.String(""), "{}")},
	}
	policy := compaction.Policy{ReplyTools: []string{"another", "reply"}, MaxReplyChars: 4}
	facts := canonical.FactsOf(m)
	brief := runloop.BriefOf(&facts, runloop.Mark{})
	entry := canonical.AppendMessage(nil, m)
	before := bytes.Clone(entry)
	got, ok := policy.AppendAnswer([]byte("before"), entry, &brief)
	want := proto.CloneOf(m)
	want.Parts, want.Origin = []*transcriptv1.Part{textPart("I answer, and read on"), picture, reply}, transcriptv1.Origin_ORIGIN_SHORTENED
	want.Parts[0] = textPart("I an" + truncated)
	if !ok || !bytes.Equal(got, canonical.AppendMessage([]byte("before"), want)) || !bytes.Equal(entry, before) {
		t.Errorf("%t: the answer is %x, want %x", ok, got, canonical.AppendMessage([]byte("before"), want))
	}
	if out, ok := policy.AppendAnswer(nil, []byte{0x0a, 0x05, 1}, &brief); ok || len(out) > 0 {
		t.Errorf("what does not parse gives %x", out)
	}
	calls := policy.AnswerCalls(facts.Calls)
	if !reflect.DeepEqual(calls, []runloop.Call{{ID: runloop.Some("1"), Name: runloop.Some("reply")}}) {
		t.Errorf("the calls are %v", calls)
	}
}
