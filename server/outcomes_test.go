package server_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// ending is the metadata of a node that ends a run.
func ending(how string) []*transcriptv1.MetadataEntry {
	return []*transcriptv1.MetadataEntry{{Key: "run/end", Value: how}}
}

// step is a node of a chain: its messages, and how it ends the run, if it does.
type step struct {
	messages []*Message
	end      string
}

// steps puts nodes one under the other, and an alias on the last.
func (r *rig) steps(alias string, steps ...step) (ids []string) {
	r.Helper()
	for i, s := range steps {
		put := &PutNode{Messages: s.messages, Aliases: []*Update{{Name: alias}}}
		if s.end != "" {
			put.Metadata = ending(s.end)
		}
		parent := ""
		if i > 0 {
			parent = ids[i-1]
		}
		ids = append(ids, r.putWith(parent, put))
	}
	return ids
}

// inWords tells messages in a word each.
func inWords(messages []*Message) string {
	var out []string
	for _, m := range messages {
		word := strings.ToLower(strings.TrimPrefix(m.Role.String(), "ROLE_"))[:1]
		switch {
		case m.Origin == transcriptv1.Origin_ORIGIN_STUB:
			word = "stub"
		case len(m.Parts) > 0 && m.Parts[0].GetToolCall() != nil:
			word = "c"
		}
		out = append(out, word)
	}
	return strings.Join(out, " ")
}

func TestOutcomes(t *testing.T) {
	one := func(m ...*Message) step { return step{messages: m} }
	ends := func(how string, m ...*Message) step { return step{m, how} }
	for name, c := range map[string]struct {
		chain []step
		// loops are the states and outcomes, newest first; view is the effective one, findings are what is told of it.
		loops, view, findings string
	}{
		"replied by a tool": {
			[]step{one(user("a"), calling("reply", "1")), ends("replied", result("1", "sent"))}, "CLOSED REPLIED", "u c t", "",
		},
		"stopped in a node of its own": {
			[]step{one(user("a"), calling("f", "1")), ends("stopped")}, "CLOSED STOPPED", "u c stub", "",
		},
		"failed before anybody answered":                 {[]step{one(user("a")), ends("failed")}, "CLOSED FAILED", "u", ""},
		"a question after a question that was cancelled": {[]step{ends("cancelled", user("a")), one(user("b"))}, "OPEN, CLOSED CANCELLED", "u u", ""},
		"no outcome": {[]step{one(user("a")), one(user("b"))}, "OPEN", "u u", ""},
		"taken back by more work": {
			[]step{ends("stopped", user("a"), calling("f", "1")), one(assistant(" "))}, "OPEN", "u c stub a", "",
		},
		"taken back, and then left": {
			[]step{ends("stopped", user("a")), one(assistant(" ")), one(user("b"))}, "OPEN, INTERRUPTED", "u a u", "INTERRUPTED_LOOP",
		},
		"calls after it count": {
			[]step{ends("stopped", user("a"), calling("f", "1")), one(calling("f", "2"), assistant("b"))}, "INTERRUPTED", "u c stub c stub a", "UNANSWERED_CALL",
		},
		"a result that comes too late": {
			[]step{ends("stopped", user("a"), calling("f", "1")), one(result("1", "x"))}, "CLOSED STOPPED", "u c stub", "LATE_RESULT",
		},
		"of a lead-in":         {[]step{ends("stopped", assistant("a"), calling("f", "1"))}, "OPEN", "a c stub", "LEAD_IN"},
		"twice":                {[]step{ends("stopped", user("a")), ends("failed")}, "CLOSED FAILED", "u", ""},
		"before anything":      {[]step{ends("stopped", system("s")), one(user("a"), assistant("b"))}, "CLOSED", "s u a", ""},
		"an answer cut short":  {[]step{one(user("a"), &Message{Role: transcriptv1.Role_ROLE_ASSISTANT, Parts: text("x"), State: transcriptv1.MessageState_MESSAGE_STATE_PARTIAL})}, "OPEN", "u a", ""},
		"an answer broken off": {[]step{one(user("a"), &Message{Role: transcriptv1.Role_ROLE_ASSISTANT, Parts: text("x"), State: transcriptv1.MessageState_MESSAGE_STATE_ABORTED})}, "OPEN", "u a", ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			ids := r.steps("chat", c.chain...)
			var loops []string
			for _, l := range r.loops(&ListLoops{Head: byAlias("chat")}).RunLoops {
				loops = append(loops, standing(l.State, l.Outcome))
			}
			equal(r, "the loops", strings.Join(loops, ", "), c.loops)
			if l := r.describe(&Describe{Head: byAlias("chat")}).Loop; len(loops) > 0 {
				equal(r, "the last as described", standing(l.State, l.Outcome), loops[0])
			}
			reply := r.assemble(&Assemble{Head: byAlias("chat"), View: effective, NodeDetail: transcriptv1.NodeDetail_NODE_DETAIL_IDS})
			equal(r, "the view", inWords(reply.Messages), c.view)
			var findings []string
			for _, f := range reply.Report.Findings {
				findings = append(findings, strings.TrimPrefix(f.Kind.String(), "FINDING_KIND_"))
			}
			equal(r, "the findings", strings.Join(findings, " "), c.findings)
			equal(r, "the messages counted", reply.Counters.Effective.Messages, int32(len(reply.Messages)))
			equal(r, "the bytes counted", reply.Counters.Effective.Bytes, reply.Report.Bytes)
			at := 0
			for _, n := range reply.Nodes {
				at += int(n.MessageCount)
			}
			equal(r, "the messages of nodes", at, len(reply.Messages))
			if strings.HasSuffix(c.view, "stub") {
				k := slices.IndexFunc(c.chain, func(s step) bool { return s.end != "" })
				n := reply.Nodes[slices.IndexFunc(reply.Nodes, func(n *transcriptv1.NodeInfo) bool { return n.NodeId == ids[k] })]
				equal(r, "the messages of the node that ends the run", int(n.MessageCount), len(c.chain[k].messages)+1)
			}
			whole := r.assemble(&Assemble{Head: byAlias("chat"), View: conversation, Policy: &Policy{Preset: transcriptv1.Preset_PRESET_UNBOUNDED, KeepWholeRunLoops: proto.Int32(99), MaxBytes: proto.Int64(1 << 40)}})
			if !strings.Contains(c.findings, "LEAD_IN") {
				equal(r, "the conversation with all loops whole", inWords(whole.Messages), c.view)
			}
			found := must[*transcriptv1.VerifyResponse](r)(lastReport(r))
			equal(r, "the problems", found.ProblemsFound, 0)
		})
	}
}

func standing(s transcriptv1.RunLoopState, o transcriptv1.RunOutcome) string {
	out := strings.TrimPrefix(s.String(), "RUN_LOOP_STATE_")
	if o != transcriptv1.RunOutcome_RUN_OUTCOME_UNSPECIFIED {
		out += " " + strings.TrimPrefix(o.String(), "RUN_OUTCOME_")
	}
	return out
}

func TestOutcomesThatAreNone(t *testing.T) {
	r := newRig(t)
	for _, how := range []string{"", "done", "Replied", "replied "} {
		_, err := r.PutNode(r.ctx(), &PutNode{Messages: []*Message{user("a")}, Metadata: append(variables("x", "1"), ending(how)...)})
		if err == nil || !strings.Contains(err.Error(), "metadata[1].value") {
			t.Errorf("%q: %v", how, err)
		}
	}
}

// TestAnswersByATool: an agent that answers by a tool, with outcomes and without: 30 loops, a compaction, 10 more. The loops, what is
// shown of them and what they are said to be are those of the same chain without the compaction.
func TestAnswersByATool(t *testing.T) {
	for _, end := range []string{"replied", ""} {
		t.Run("outcome "+end, func(t *testing.T) {
			r := newRig(t)
			talk := func(from, to int) (steps []step) {
				for i := from; i < to; i++ {
					steps = append(steps, step{messages: []*Message{user(fmt.Sprint("question ", i))}},
						step{[]*Message{calling("reply", fmt.Sprint(i)), result(fmt.Sprint(i), "sent")}, end})
				}
				return steps
			}
			goOn := func(alias string) {
				for i, s := range talk(30, 40) {
					put := &PutNode{Parent: byAlias(alias), Messages: s.messages, Aliases: []*Update{{Name: alias}}, Salt: []byte(fmt.Sprintf("salt of %8d", i))}
					if s.end != "" {
						put.Metadata = ending(s.end)
					}
					must[*transcriptv1.PutNodeResponse](r)(r.PutNode(r.ctx(), put))
				}
			}
			r.steps("plain", talk(0, 30)...)
			r.steps("compacted", talk(0, 30)...)
			unbounded := &Policy{Preset: transcriptv1.Preset_PRESET_UNBOUNDED}
			if made := r.compact(&Compact{Head: byAlias("compacted"), Policy: unbounded}); !made.Written {
				t.Fatal("nothing was compacted")
			}
			for _, alias := range []string{"plain", "compacted"} {
				goOn(alias)
			}
			for name, ask := range map[string]*Assemble{
				"all loops":   {View: conversation, Policy: unbounded},
				"a window":    {View: conversation},
				"a small one": {View: conversation, Policy: &Policy{MaxRunLoops: proto.Int32(3)}},
				"condensed":   {View: conversation, CondenseLast: true},
			} {
				var shown [2]string
				for i, alias := range []string{"plain", "compacted"} {
					ask.Head = byAlias(alias)
					reply := r.assemble(ask)
					var texts []string
					for _, m := range reply.Messages {
						texts = append(texts, m.Parts[0].GetText())
					}
					shown[i] = fmt.Sprint(reply.Counters.Effective.RunLoops, inWords(reply.Messages), texts)
				}
				equal(r, name, shown[1], shown[0])
			}
			equal(r, "the loops", r.assemble(&Assemble{Head: byAlias("compacted")}).Counters.Effective.RunLoops, 40)
			want, got := r.loops(&ListLoops{Head: byAlias("plain"), PageSize: 40}).RunLoops, r.loops(&ListLoops{Head: byAlias("compacted"), PageSize: 40}).RunLoops
			for i := range want {
				equal(r, "a loop's state", standing(got[i].State, got[i].Outcome), standing(want[i].State, want[i].Outcome))
			}
			equal(r, "how many", len(got), len(want))
			found := must[*transcriptv1.VerifyResponse](r)(lastReport(r))
			equal(r, "the problems", found.ProblemsFound, 0)
		})
	}
}

// lastReport verifies the namespace.
func lastReport(r *rig) (*transcriptv1.VerifyResponse, error) {
	stream, err := r.admin.Verify(r.ctx(), &transcriptv1.VerifyRequest{})
	if err != nil {
		return nil, err
	}
	for {
		m, err := stream.Recv()
		if err != nil || m.Done {
			return m, err
		}
	}
}
