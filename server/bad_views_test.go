package server_test

import (
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// callView asks for a view in one reply and in frames, which must fail alike.
func callView(req *Assemble) func(*rig) error {
	return func(r *rig) error {
		_, err := r.Assemble(r.ctx(), req)
		_, other := r.streamed(req)
		one, two := failureOf(err), failureOf(other)
		if one.code != two.code || one.reason != two.reason || one.field != two.field {
			r.Errorf("the stream fails otherwise: %v, %v", err, other)
		}
		return err
	}
}

// badPolicy is a policy out of range, and the field of it that is.
type badPolicy struct {
	name   string
	policy *Policy
	field  string
}

func badPolicies() []badPolicy {
	age := func(d *durationpb.Duration) *Policy { return &Policy{MaxAge: d} }
	clearing := func(c *Clears) *Policy { return &Policy{ClearToolResults: c} }
	return []badPolicy{
		{"negative max_run_loops", &Policy{MaxRunLoops: proto.Int32(-1)}, "policy.max_run_loops"},
		{"least max_run_loops", &Policy{MaxRunLoops: proto.Int32(-1 << 31)}, "policy.max_run_loops"},
		{"negative max_bytes", &Policy{MaxBytes: proto.Int64(-1)}, "policy.max_bytes"},
		{"least max_bytes", &Policy{MaxBytes: proto.Int64(-1 << 63)}, "policy.max_bytes"},
		{"negative max_tokens", &Policy{MaxTokens: proto.Int64(-1)}, "policy.max_tokens"},
		{"negative max_user_chars", &Policy{MaxUserChars: proto.Int32(-1)}, "policy.max_user_chars"},
		{"negative max_reply_chars", &Policy{MaxReplyChars: proto.Int32(-1)}, "policy.max_reply_chars"},
		{"negative keep_whole_run_loops", &Policy{KeepWholeRunLoops: proto.Int32(-1)}, "policy.keep_whole_run_loops"},
		{"a negative keep", clearing(&Clears{Keep: proto.Int32(-1)}), "policy.clear_tool_results.keep"},
		{"the least keep", clearing(&Clears{Keep: proto.Int32(-1 << 31)}), "policy.clear_tool_results.keep"},
		{"arguments without keep", clearing(&Clears{ClearArguments: proto.Bool(true)}), "policy.clear_tool_results.clear_arguments"},
		{"no arguments without keep", clearing(&Clears{ClearArguments: proto.Bool(false)}), "policy.clear_tool_results.clear_arguments"},
		{"cached_percent without keep", clearing(&Clears{CachedPercent: proto.Int32(10)}), "policy.clear_tool_results.cached_percent"},
		{"a negative cached_percent", clearing(&Clears{Keep: proto.Int32(1), CachedPercent: proto.Int32(-1)}), "policy.clear_tool_results.cached_percent"},
		{"a cached_percent over 100", clearing(&Clears{Keep: proto.Int32(1), CachedPercent: proto.Int32(101)}), "policy.clear_tool_results.cached_percent"},
		{"a trace unknown", &Policy{ToolTrace: 3}, "policy.tool_trace"},
		{"a trace below", &Policy{ToolTrace: -1}, "policy.tool_trace"},
		{"a negative age", age(durationpb.New(-time.Hour)), "policy.max_age"},
		{"an age a nanosecond below zero", age(durationpb.New(-1)), "policy.max_age"},
		{"an age a nanosecond above zero", age(durationpb.New(1)), "policy.max_age"},
		{"an age below a second", age(durationpb.New(time.Second - 1)), "policy.max_age"},
		{"an age of mixed signs", age(&durationpb.Duration{Seconds: 5, Nanos: -1}), "policy.max_age"},
		{"an age over a century", age(&durationpb.Duration{Seconds: century, Nanos: 1}), "policy.max_age"},
		{"an age out of range", age(&durationpb.Duration{Seconds: 1 << 62}), "policy.max_age"},
		{"a tool without a name", &Policy{ReplyTools: []string{"reply", ""}}, "policy.reply_tools[1]"},
		{"a preset unknown", &Policy{Preset: transcriptv1.Preset(len(transcriptv1.Preset_name))}, "policy.preset"},
		{"a preset below", &Policy{Preset: -1}, "policy.preset"},
	}
}

// Clears is of a policy.
type Clears = transcriptv1.ClearToolResults

// century is in seconds.
const century = int64(36_525 * 24 * 60 * 60)

// goodPolicies are at the ends of what is allowed.
func goodPolicies() []*Policy {
	return []*Policy{
		{}, {MaxAge: durationpb.New(0)}, {MaxAge: durationpb.New(time.Second)}, {MaxAge: &durationpb.Duration{Seconds: century}},
		unbounded(),
		{ToolTrace: transcriptv1.ToolTrace_TOOL_TRACE_DROP}, {ClearToolResults: clears(nil)}, {ClearToolResults: clears(new(int32))},
		{ClearToolResults: &Clears{Keep: new(int32), ClearArguments: proto.Bool(false), CachedPercent: new(int32)}},
		{ReplyTools: append(slices.Repeat([]string{"reply"}, 15), strings.Repeat("n", 1024))},
		{
			MaxRunLoops: proto.Int32(1<<31 - 1), MaxBytes: proto.Int64(1<<63 - 1), MaxTokens: proto.Int64(1<<63 - 1), MaxUserChars: proto.Int32(1<<31 - 1),
			MaxReplyChars: proto.Int32(1<<31 - 1), KeepWholeRunLoops: proto.Int32(1<<31 - 1), ClearToolResults: clears(proto.Int32(1<<31 - 1)),
		},
	}
}

// answeredBy asks for a conversation whose answers are given by tools.
func answeredBy(head *transcriptv1.NodeRef, tools ...string) *Assemble {
	return &Assemble{Head: head, View: conversation, Policy: &Policy{ReplyTools: tools}}
}

// badViews are requests for views that are refused, or just not.
func badViews(w *planted) []bad {
	chat := byAlias("chat")
	facts := func(keys ...string) *Assemble {
		return &Assemble{Head: chat, NodeDetail: ids, NodeFacts: &transcriptv1.NodeFacts{MetadataKeys: keys}}
	}
	cases := []bad{
		{"a view of no head", callView(&Assemble{}), invalid, badField, "head"},
		{"a view of an empty head", callView(&Assemble{Head: &NodeRef{}}), invalid, badField, "head"},
		{"a view of a prefix", callView(&Assemble{Head: byID("abcdef")}), invalid, badField, "head.node_id"},
		{"a view of 63 digits", callView(&Assemble{Head: byID(w.elsewhere[1:])}), invalid, badField, "head.node_id"},
		{"a view of an absent head", callView(&Assemble{Head: byID(absent)}), notFound, noNode, "head"},
		{"a view of an absent alias", callView(&Assemble{Head: byAlias("nobody")}), notFound, noAlias, "head"},
		{"a view of a long alias", callView(&Assemble{Head: byAlias(strings.Repeat("x", 513))}), invalid, overLimit, "head.alias"},
		{"a view of another namespace", callView(&Assemble{Head: chat, Namespace: "other"}), notFound, noAlias, "head"},
		{"a view unknown", callView(&Assemble{Head: chat, View: 4}), invalid, badField, "view"},
		{"a view below", callView(&Assemble{Head: chat, View: -1}), invalid, badField, "view"},
		{"a detail unknown", callView(&Assemble{Head: chat, NodeDetail: 3}), invalid, badField, "node_detail"},
		{"a detail below", callView(&Assemble{Head: chat, NodeDetail: -1}), invalid, badField, "node_detail"},
		{"a long etag", callView(&Assemble{Head: chat, IfNoneMatch: strings.Repeat("x", 257)}), invalid, overLimit, "if_none_match"},
		{"the longest etag", callView(&Assemble{Head: chat, IfNoneMatch: strings.Repeat("x", 256)}), codes.OK, "", ""},
		{"after no id", callView(&Assemble{Head: chat, AfterId: "x"}), invalid, badField, "after_id"},
		{"after what is not there", callView(&Assemble{Head: chat, AfterId: absent}), notFound, noNode, "after_id"},
		{"after a branch", callView(&Assemble{Head: chat, AfterId: w.elsewhere}), unfit, "NOT_AN_ANCESTOR", ""},
		{"after a branch, in full", callView(&Assemble{Head: chat, View: full, AfterId: w.elsewhere}), unfit, "NOT_AN_ANCESTOR", ""},
		{"after with a conversation", callView(&Assemble{Head: chat, View: conversation, AfterId: w.chat[3]}), invalid, badField, "after_id"},
		{"fewer than no messages", callView(&Assemble{Head: chat, LastMessages: -1}), invalid, badField, "last_messages"},
		{"the most messages", callView(&Assemble{Head: chat, LastMessages: 10_000}), codes.OK, "", ""},
		{"more than the most messages", callView(&Assemble{Head: chat, LastMessages: 10_001}), invalid, overLimit, "last_messages"},
		{"fewer than no bytes", callView(&Assemble{Head: chat, LastBytes: -1}), invalid, badField, "last_bytes"},
		{"the end of a view over 4 MiB", callView(&Assemble{Head: byID(w.large), LastMessages: 3}), codes.OK, "", ""},
		{"the end of a view, over 4 MiB", asked((*rig).Assemble, &Assemble{Head: byID(w.large), LastMessages: 100}), codes.ResourceExhausted, "USE_STREAM_ASSEMBLE", ""},
		{"last messages of a conversation", callView(&Assemble{Head: chat, View: conversation, LastMessages: 1}), invalid, badField, "last_messages"},
		{"last bytes of a conversation", callView(&Assemble{Head: chat, View: conversation, LastBytes: 1}), invalid, badField, "last_bytes"},
		{"last messages after a node", callView(&Assemble{Head: chat, LastMessages: 1, AfterId: w.chat[0]}), invalid, badField, "last_messages"},
		{"before a place alone", callView(&Assemble{Head: chat, Before: &transcriptv1.MessagePlace{NodeId: w.chat[1]}}), invalid, badField, "before"},
		{"before a place without a node", callView(&Assemble{Head: chat, LastMessages: 1, Before: &transcriptv1.MessagePlace{}}), invalid, badField, "before.node_id"},
		{"before a place below", callView(lastBefore(chat, w.chat[1], -1)), invalid, badField, "before.message_index"},
		{"before a place behind its node", callView(lastBefore(chat, w.chat[1], 1_000)), invalid, badField, "before.message_index"},
		{"before a place far behind its node", callView(lastBefore(chat, w.chat[1], 1<<31-1)), invalid, badField, "before.message_index"},
		{"before what is not there", callView(lastBefore(chat, absent, 0)), notFound, noNode, "before.node_id"},
		{"before a place that was compacted", callView(lastBefore(byAlias("compacted"), w.chat[3], 0)), unfit, "NOT_IN_VIEW", ""},
		{"before a place on a branch", callView(lastBefore(chat, w.elsewhere, 0)), unfit, "NOT_AN_ANCESTOR", ""},
		{"a policy without a view", callView(&Assemble{Head: chat, Policy: &Policy{}}), invalid, badField, "policy"},
		{"a policy with the effective view", callView(&Assemble{Head: chat, View: effective, Policy: &Policy{}}), invalid, badField, "policy"},
		{"a policy with the full view", callView(&Assemble{Head: chat, View: full, Policy: &Policy{}}), invalid, badField, "policy"},
		{"condense_last without a view", callView(&Assemble{Head: chat, CondenseLast: true}), invalid, badField, "condense_last"},
		{"condense_last with the effective view", callView(&Assemble{Head: chat, View: effective, CondenseLast: true}), invalid, badField, "condense_last"},
		{"facts without a detail", callView(&Assemble{Head: chat, NodeFacts: &transcriptv1.NodeFacts{}}), invalid, badField, "node_facts"},
		{"facts of no key", callView(facts()), codes.OK, "", ""},
		{"facts of 16 keys", callView(facts(strings.Split("abcdefghijklmnop", "")...)), codes.OK, "", ""},
		{"facts of 17 keys", callView(facts(strings.Split("abcdefghijklmnopq", "")...)), invalid, overLimit, "node_facts.metadata_keys"},
		{"facts of an empty key", callView(facts("a", "")), invalid, badField, "node_facts.metadata_keys[1]"},
		{"facts of the longest key", callView(facts(strings.Repeat("k", 256))), codes.OK, "", ""},
		{"facts of a longer key", callView(facts(strings.Repeat("k", 257))), invalid, overLimit, "node_facts.metadata_keys[0]"},
		{"facts of a key twice", callView(facts("a", "b", "a")), invalid, badField, "node_facts.metadata_keys[2]"},
		{"17 reply tools", callView(answeredBy(chat, slices.Repeat([]string{"reply"}, 17)...)), invalid, overLimit, "policy.reply_tools"},
		{"a reply tool with a long name", callView(answeredBy(chat, "reply", strings.Repeat("n", 1025))), invalid, overLimit, "policy.reply_tools[1]"},
		{"a view over 4 MiB", asked((*rig).Assemble, &Assemble{Head: byID(w.large)}), codes.ResourceExhausted, "USE_STREAM_ASSEMBLE", ""},
	}
	for _, c := range badPolicies() {
		cases = append(cases, bad{c.name, callView(&Assemble{Head: chat, View: conversation, Policy: c.policy}), invalid, badField, c.field})
	}
	for _, p := range goodPolicies() {
		cases = append(cases, bad{"a policy in range", callView(&Assemble{Head: chat, View: conversation, Policy: p}), codes.OK, "", ""})
	}
	return cases
}

func lastBefore(head *NodeRef, node string, index int32) *Assemble {
	return &Assemble{Head: head, LastMessages: 1, Before: &transcriptv1.MessagePlace{NodeId: node, MessageIndex: index}}
}
