package server_test

import (
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/transcriptd/transcriptd/chainstore/memstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/testserver"
	"github.com/transcriptd/transcriptd/server"
)

// callView asks for a view in one reply and in frames, which must fail alike.
func callView(req *Assemble) func(*rig) error {
	return func(r *rig) error {
		_, err := r.Assemble(r.ctx(), req)
		if _, other := r.streamed(req); failureOf(err).reason != failureOf(other).reason {
			r.Errorf("the stream fails otherwise: %v, %v", err, other)
		}
		return err
	}
}

// badViews are requests for views that are refused, or just not.
func badViews() []bad {
	cases := []bad{
		{"a view above", callView(&Assemble{Head: byID(absent), View: 4}), invalid, badField, "view"},
		{"after with a conversation", callView(&Assemble{Head: byID(absent), View: conversation, AfterId: absent}), invalid, badField, "after_id"},
		{"a policy without a conversation", callView(&Assemble{Head: byID(absent), Policy: &Policy{}}), invalid, badField, "policy"},
		{"a policy with the full view", callView(&Assemble{Head: byID(absent), View: full, Policy: &Policy{}}), invalid, badField, "policy"},
		{"condense_last without a conversation", callView(&Assemble{Head: byID(absent), View: effective, CondenseLast: true}), invalid, badField, "condense_last"},
	}
	age := func(d *durationpb.Duration) *Policy { return &Policy{MaxAge: d} }
	now := func(ts *timestamppb.Timestamp) *Policy { return &Policy{Now: ts} }
	century := int64(36_525 * 24 * 60 * 60)
	for _, c := range []struct {
		name   string
		policy *Policy
		field  string
	}{
		{"negative max_run_loops", &Policy{MaxRunLoops: proto.Int32(-1)}, "policy.max_run_loops"},
		{"negative max_bytes", &Policy{MaxBytes: proto.Int64(-1)}, "policy.max_bytes"},
		{"negative max_tokens", &Policy{MaxTokens: proto.Int64(-1)}, "policy.max_tokens"},
		{"negative max_user_chars", &Policy{MaxUserChars: proto.Int32(-1)}, "policy.max_user_chars"},
		{"negative max_reply_chars", &Policy{MaxReplyChars: proto.Int32(-1)}, "policy.max_reply_chars"},
		{"negative keep_full_runs", &Policy{KeepFullRuns: proto.Int32(-1)}, "policy.keep_full_runs"},
		{"negative keep_tool_results", &Policy{KeepToolResults: proto.Int32(-1)}, "policy.keep_tool_results"},
		{"a trace unknown", &Policy{ToolTrace: 3}, "policy.tool_trace"},
		{"a trace below", &Policy{ToolTrace: -1}, "policy.tool_trace"},
		{"a negative age", age(durationpb.New(-time.Hour)), "policy.max_age"},
		{"an age a nanosecond below zero", age(durationpb.New(-1)), "policy.max_age"},
		{"an age a nanosecond above zero", age(durationpb.New(1)), "policy.max_age"},
		{"an age below a second", age(durationpb.New(time.Second - 1)), "policy.max_age"},
		{"an age of mixed signs", age(&durationpb.Duration{Seconds: 5, Nanos: -1}), "policy.max_age"},
		{"an age over a century", age(&durationpb.Duration{Seconds: century, Nanos: 1}), "policy.max_age"},
		{"an age out of range", age(&durationpb.Duration{Seconds: 1 << 62}), "policy.max_age"},
		{"before 1970", now(timestamppb.New(time.Unix(-1, 0))), "policy.now"},
		{"after 9999", now(&timestamppb.Timestamp{Seconds: 253402300800}), "policy.now"},
		{"odd nanoseconds", now(&timestamppb.Timestamp{Nanos: -1}), "policy.now"},
	} {
		cases = append(cases, bad{c.name, callView(&Assemble{Head: byID(absent), View: conversation, Policy: c.policy}), invalid, badField, c.field})
	}
	for _, p := range []*Policy{
		{}, age(durationpb.New(0)), age(durationpb.New(time.Second)), age(&durationpb.Duration{Seconds: century}), now(&timestamppb.Timestamp{}),
		now(&timestamppb.Timestamp{Seconds: 253402300799, Nanos: 999_999_999}), {ToolTrace: transcriptv1.ToolTrace_TOOL_TRACE_DROP},
		{
			MaxRunLoops: proto.Int32(1<<31 - 1), MaxBytes: proto.Int64(1<<63 - 1), MaxTokens: proto.Int64(1<<63 - 1), MaxUserChars: proto.Int32(1<<31 - 1),
			MaxReplyChars: proto.Int32(1<<31 - 1), KeepFullRuns: proto.Int32(1<<31 - 1), KeepToolResults: proto.Int32(1<<31 - 1),
		},
	} {
		cases = append(cases, bad{"a policy in range", callView(&Assemble{Head: byAlias("chat"), View: conversation, Policy: p}), codes.OK, "", ""})
	}
	return cases
}

func TestBadViews(t *testing.T) {
	r := newRig(t)
	r.chain("chat", system("s"), user("u"), calling("read", "1"), result("1", "one"), assistant("a"), user("v"))
	r.refuses(badViews())
}

// TestAges: ages count from the server's clock, unless the policy gives a time; defaults hold where fields are absent, and
// nothing without a policy.
func TestAges(t *testing.T) {
	at := time.UnixMilli(epoch)
	stack := testserver.StartWith(t, memstore.New(memstore.Options{Now: func() time.Time { return at }}), server.Config{Now: func() time.Time { return at }})
	r := &rig{T: t, Stack: stack, TranscriptServiceClient: transcriptv1.NewTranscriptServiceClient(stack.Conn)}
	r.chain("chat", user("old"), assistant("ancient"))
	at = at.Add(200 * time.Hour)
	r.chain("", user("another"))
	must[*transcriptv1.PutNodeResponse](r)(r.PutNode(r.ctx(), &PutNode{
		Parent: byAlias("chat"), Messages: []*Message{user("new")}, Aliases: []*Update{{Name: "chat"}},
	}))
	ask := func(p *Policy) int {
		return len(r.assemble(&Assemble{Head: byAlias("chat"), View: conversation, Policy: p}).Messages)
	}
	equal(r, "the messages without a policy", ask(nil), 3)
	equal(r, "the messages of the default policy", ask(&Policy{}), 1)
	equal(r, "the messages without a bound", ask(&Policy{MaxAge: durationpb.New(0)}), 3)
	equal(r, "the messages of a longer time", ask(&Policy{MaxAge: durationpb.New(1000 * time.Hour)}), 3)
	equal(r, "the messages as of an earlier time", ask(&Policy{Now: timestamppb.New(time.UnixMilli(epoch))}), 3)
}
