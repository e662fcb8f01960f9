package server_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/chainstore/memstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// told is what an agent that answers by reply(strings) tells in a loop: it thinks and reads, says something beside that and its answer,
// and answers.
func told(i int) []step {
	read, reply := fmt.Sprint("r", i), fmt.Sprint("a", i)
	both := calling("read_mail", read)
	both.Parts = append(both.Parts, calling("reply", reply).Parts...)
	both.Parts[1].GetToolCall().Arguments = answerOf(i)
	both.Parts = append([]*transcriptv1.Part{
		{Kind: &transcriptv1.Part_Reasoning{Reasoning: &transcriptv1.Reasoning{Text: "I had better answer", Signature: "s"}}},
		text(fmt.Sprint("answering ", i))[0],
	}, both.Parts...)
	return []step{
		{messages: []*Message{user(fmt.Sprint("question ", i))}},
		{messages: []*Message{calling("search", "s"), result("s", strings.Repeat("found ", 50))}},
		{messages: []*Message{both}},
		{messages: []*Message{result(reply, "sent"), result(read, strings.Repeat("mail ", 50))}},
	}
}

func answerOf(i int) string { return fmt.Sprintf(`{"strings":["answer %d"]}`, i) }

// tellings are the steps of some loops, each ended so.
func tellings(from, to int, end string) (steps []step) {
	for i := from; i < to; i++ {
		steps = append(steps, told(i)...)
		steps[len(steps)-1].end = end
	}
	return steps
}

// saidIn are the arguments of the calls and the results of a tool that are shown.
func saidIn(messages []*Message, tool string) (out []string) {
	ids := map[string]bool{}
	for _, m := range messages {
		for _, p := range m.Parts {
			if c := p.GetToolCall(); c.GetName() == tool {
				out, ids[c.GetId()] = append(out, c.Arguments), true
			}
		}
		if ids[m.GetToolCallId()] && m.GetToolCallId() != "" {
			out = append(out, m.Parts[0].GetText())
		}
	}
	return out
}

// TestAnAgentThatAnswersByAToolIsHeard: the window of an agent that answers by reply(strings) shows what it said: 30 loops, a compaction, 10
// more, with outcomes and without. It is that of the same chain without the compaction.
func TestAnAgentThatAnswersByAToolIsHeard(t *testing.T) {
	for _, end := range []string{"replied", ""} {
		t.Run("outcome "+end, func(t *testing.T) {
			r := newRig(t)
			heard := &Policy{ReplyTools: []string{"send", "reply"}}
			r.steps("plain", tellings(0, 30, end)...)
			r.steps("compacted", tellings(0, 30, end)...)
			made := r.compact(&Compact{Head: byAlias("compacted"), Policy: heard})
			equal(r, "that it is written", made.Written, true)
			for _, alias := range []string{"plain", "compacted"} {
				r.goOn(alias, tellings(30, 40, end))
			}
			whole := r.assemble(&Assemble{Head: byAlias("compacted")})
			equal(r, "the answers in the effective view", len(saidIn(whole.Messages, "reply")), 2*20)
			for name, ask := range map[string]*Assemble{
				"a window":       {Policy: heard},
				"a small one":    {Policy: &Policy{ReplyTools: heard.ReplyTools, MaxRunLoops: proto.Int32(3)}},
				"condensed":      {Policy: heard, CondenseLast: true},
				"in 4,000 bytes": {Policy: &Policy{ReplyTools: heard.ReplyTools, MaxBytes: proto.Int64(4000)}},
			} {
				t.Run(name, func(t *testing.T) { r.sameHeard(ask) })
			}
			ask := &Assemble{Head: byAlias("compacted"), View: conversation, Policy: heard, NodeDetail: ids}
			reply := r.assemble(ask)
			var want []string
			for i := 40 - int(reply.Report.Window.RunLoops); i < 40; i++ {
				want = append(want, answerOf(i), "sent")
			}
			equal(r, "what it said", fmt.Sprint(saidIn(reply.Messages, "reply")), fmt.Sprint(want))
			equal(r, "the loops shown", len(want) > 10, true)
			condensed := reply.Messages[slices.IndexFunc(reply.Messages, func(m *Message) bool { return m.Role == transcriptv1.Role_ROLE_ASSISTANT })]
			equal(r, "a message that lost a call", fmt.Sprint(condensed.Origin, len(condensed.Parts)), fmt.Sprint(transcriptv1.Origin_ORIGIN_SHORTENED, 2))
			deaf := r.assemble(&Assemble{Head: byAlias("plain"), View: conversation})
			equal(r, "what is heard without reply_tools", len(saidIn(deaf.Messages, "reply")), 2)
			frames, err := r.streamed(ask)
			equal(r, "the stream", fmt.Sprint(frames != nil, err), "true <nil>")
			found := must[*transcriptv1.VerifyResponse](r)(lastReport(r))
			equal(r, "the problems", found.ProblemsFound, 0)
		})
	}
}

// goOn puts nodes behind an alias.
func (r *rig) goOn(alias string, steps []step) {
	r.Helper()
	for i, s := range steps {
		put := &PutNode{Parent: byAlias(alias), Messages: s.messages, Aliases: []*Update{{Name: alias}}, Salt: fmt.Appendf(nil, "salt of %8d", i)}
		if s.end != "" {
			put.Metadata = ending(s.end)
		}
		must[*transcriptv1.PutNodeResponse](r)(r.PutNode(r.ctx(), put))
	}
}

// sameHeard holds that a window is the same with a compaction and without.
func (r *rig) sameHeard(ask *Assemble) {
	r.Helper()
	var shown [2]string
	for i, alias := range []string{"plain", "compacted"} {
		req := proto.CloneOf(ask)
		req.Head, req.View = byAlias(alias), conversation
		reply := r.assemble(req)
		shown[i] = fmt.Sprint(inWords(reply.Messages), saidIn(reply.Messages, "reply"))
		equal(r, "that answers are shown", len(saidIn(reply.Messages, "reply")) > 2, true)
	}
	equal(r, "the window", shown[1], shown[0])
}

// TestAnswersAreFoundInHeaders: to find answers no payload is read, but those of messages whose names of calls are too many for a header; and
// these are shown as any other.
func TestAnswersAreFoundInHeaders(t *testing.T) {
	many := calling("reply", "1")
	for i := range 3 {
		many.Parts = append(many.Parts, calling(strings.Repeat(string(rune('a'+i)), 1000), "2").Parts...)
	}
	for name, c := range map[string]struct {
		calls  *Message
		behind string
		reads  int
	}{
		"names that are kept":     {calling("reply", "1"), "u c t u", 0},
		"names that are too many": {many, "u c t u", 1},
	} {
		t.Run(name, func(t *testing.T) {
			store := &payloadCounter{Store: memstore.New(memstore.Options{})}
			r := newRig(t, store)
			r.steps("chat", step{messages: []*Message{user("q")}}, step{messages: []*Message{c.calls}},
				step{messages: []*Message{result("1", "sent")}}, step{messages: []*Message{user("next")}})
			etag := r.assemble(answeredBy(byAlias("chat"), "reply")).Etag
			store.rows = 0
			ask := answeredBy(byAlias("chat"), "reply")
			ask.IfNoneMatch = etag
			equal(r, "that it is known", r.assemble(ask).NotModified, true)
			equal(r, "the payloads read to plan", store.rows, c.reads)
			ask.IfNoneMatch = ""
			reply := r.assemble(ask)
			equal(r, "what is shown", inWords(reply.Messages), c.behind)
			equal(r, "the answer", fmt.Sprint(saidIn(reply.Messages, "reply")), "[{} sent]")
			dry := r.compact(&Compact{Head: byAlias("chat"), Policy: ask.Policy, DryRun: true})
			equal(r, "what a compaction would keep", dry.Report.MessagesAfter, 4)
		})
	}
}
