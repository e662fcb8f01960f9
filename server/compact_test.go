package server_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/memstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

type (
	Compact = transcriptv1.CompactRequest
	Policy  = transcriptv1.Policy
)

// compact compacts; a summary that names no node tells of all that can be covered.
func (r *rig) compact(req *Compact) *transcriptv1.CompactResponse {
	r.Helper()
	if req.ThroughId == "" && !req.DryRun && (req.Summary != "" || req.SummaryOnly) {
		req.ThroughId = r.lastCovered(req)
	}
	return must[*transcriptv1.CompactResponse](r)(r.Compact(r.ctx(), req))
}

// lastCovered is the last node that a compaction can cover, as a dry run tells.
func (r *rig) lastCovered(req *Compact) string {
	r.Helper()
	dry := proto.CloneOf(req)
	dry.DryRun = true
	return must[*transcriptv1.CompactResponse](r)(r.Compact(r.ctx(), dry)).ThroughId
}

func summary(s string) *Message {
	m := user(s)
	m.Origin = transcriptv1.Origin_ORIGIN_SUMMARY
	return m
}

func cutTo(m *Message, s string) *Message {
	c := proto.Clone(m).(*Message)
	c.Parts, c.Origin = text(s), transcriptv1.Origin_ORIGIN_SHORTENED
	return c
}

// work is a loop: a question, calls and results of some bulk, and a reply.
func work(n string) []*Message {
	return []*Message{
		user("question " + n), calling("read", "c"+n), result("c"+n, strings.Repeat("bulk "+n+" ", 50)), assistant("reply " + n),
	}
}

func concat(lists ...[]*Message) (all []*Message) {
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

func condensed(n string) []*Message {
	return []*Message{user("question " + n), assistant("reply " + n)}
}

// clean fails the test if Verify finds something.
func (r *rig) clean(namespace string) {
	r.Helper()
	stream, err := r.admin.Verify(r.ctx(), &transcriptv1.VerifyRequest{Namespace: namespace})
	if err != nil {
		r.Fatal(err)
	}
	for {
		m, err := stream.Recv()
		if err != nil {
			r.Fatalf("verify ended with %v", err)
		}
		for _, p := range m.Problems {
			r.Errorf("verify: %v", p)
		}
		if m.Done {
			return
		}
	}
}

func TestCompactCondensesClosedLoops(t *testing.T) {
	r := newRig(t)
	sys, open := system("be brief"), []*Message{user("question 3"), calling("read", "c3"), result("c3", "fine")}
	put := concat([]*Message{sys}, work("1"), work("2"), open)
	ids := r.chain("chat", put...)
	dry := r.compact(&Compact{Head: byAlias("chat"), DryRun: true})
	res := r.compact(&Compact{Head: byAlias("chat")})
	equal(r, "the dry run's report", dry.Report.String(), res.Report.String())
	equal(r, "written on a dry run", dry.Written || dry.NodeId != "" || len(dry.Aliases) > 0, false)
	equal(r, "written", res.Written, true)
	equal(r, "the head", res.HeadId, ids[len(ids)-1])
	equal(r, "through", res.ThroughId, ids[len(ids)-1])
	equal(r, "alias", fmt.Sprintf("%s %t %t", res.Aliases[0].Name, res.Aliases[0].Changed, res.Aliases[0].PreviousId == res.HeadId), "chat true true")
	want := concat([]*Message{sys}, condensed("1"), condensed("2"), open)
	view := r.assemble(&Assemble{Head: byAlias("chat"), NodeDetail: envelopes})
	r.sameMessages("the effective view", view.Messages, want...)
	r.sameMessages("the full view", r.assemble(&Assemble{Head: byAlias("chat"), View: full}).Messages, put...)
	equal(r, "the messages before", res.Report.MessagesBefore, 11)
	equal(r, "the messages after", res.Report.MessagesAfter, 7)
	equal(r, "the bytes after", res.Report.BytesAfter, view.Report.Bytes-int64(proto.Size(&transcriptv1.Payload{Messages: []*Message{sys}})))
	equal(r, "loops", fmt.Sprint(res.Report.RunLoopsDropped, res.Report.RunLoopsCondensed, res.Report.RunLoopsWhole), "0 2 1")
	equal(r, "full depth", res.Counters.Full.Depth, 8)
	equal(r, "effective", fmt.Sprint(res.Counters.Effective.Messages, res.Counters.Effective.RunLoops, res.Counters.Effective.Depth), "8 3 6")
	node := must[*transcriptv1.GetNodeResponse](r)(r.GetNode(r.ctx(), &transcriptv1.GetNodeRequest{Node: byID(res.NodeId)}))
	equal(r, "covers", node.Info.Envelope.CoversThroughId, res.ThroughId)
	equal(r, "parent", node.Info.Envelope.ParentId, res.HeadId)
	again := r.compact(&Compact{Head: byAlias("chat")})
	equal(r, "a repeat", fmt.Sprint(again.Written, again.NotWrittenReason), "false NOT_WRITTEN_REASON_NOTHING_SHRINKS")
	r.clean("")
}

func TestCompactSummary(t *testing.T) {
	r := newRig(t)
	open := []*Message{user("question 3"), system("hint"), calling("read", "c3"), result("c3", strings.Repeat("x", 500))}
	r.chain("chat", concat(work("1"), work("2"), open)...)
	res := r.compact(&Compact{Head: byAlias("chat"), Summary: "they read"})
	r.sameMessages("the effective view", r.assemble(&Assemble{Head: byAlias("chat")}).Messages,
		concat([]*Message{summary("they read")}, condensed("1"), condensed("2"), open[:2])...)
	equal(r, "replaced", res.Report.SummaryReplaced, false)
	r.put2("chat", assistant("reply 3"), user(strings.Repeat("long ", 200)), assistant("reply 4"))
	res = r.compact(&Compact{Head: byAlias("chat"), Summary: "they still read", SummaryOnly: true})
	r.sameMessages("with the summary alone", r.assemble(&Assemble{Head: byAlias("chat")}).Messages, summary("they still read"))
	equal(r, "replaced", res.Report.SummaryReplaced, true)
	r.put2("chat", concat(work("5"), work("6"))...)
	r.compact(&Compact{Head: byAlias("chat")})
	r.sameMessages("with the old summary", r.assemble(&Assemble{Head: byAlias("chat")}).Messages,
		concat([]*Message{summary("they still read")}, condensed("5"), condensed("6"))...)
	r.compact(&Compact{Head: byAlias("chat"), SummaryOnly: true})
	r.compact(&Compact{Head: byAlias("chat"), SummaryOnly: true, Summary: "s"})
	r.sameMessages("with a shorter summary", r.assemble(&Assemble{Head: byAlias("chat")}).Messages, summary("s"))
	r.clean("")
}

// put2 appends a node of messages to an alias and moves it there.
func (r *rig) put2(alias string, messages ...*Message) string {
	r.Helper()
	return must[*transcriptv1.PutNodeResponse](r)(r.PutNode(r.ctx(), &PutNode{
		Parent: byAlias(alias), Messages: messages, Aliases: []*Update{{Name: alias}},
	})).NodeId
}

func TestCompactPolicy(t *testing.T) {
	r := newRig(t)
	var put []*Message
	for i := range 14 {
		put = append(put, work(fmt.Sprint(i))...)
	}
	put = append(put, user(strings.Repeat("ä", 600)), assistant(strings.Repeat("b", 600)), user("open"))
	ids := r.chain("chat", put...)
	equal(r, "loops by default", loops(r.compact(&Compact{Head: byID(ids[len(ids)-1]), DryRun: true})), "5 10 1")
	n := func(i int32) *int32 { return &i }
	for want, p := range map[string]*Policy{
		"14 1 1": {MaxRunLoops: n(1)},
		"13 2 1": {MaxRunLoops: n(2), KeepWholeRunLoops: n(0)},
		"0 15 1": {MaxRunLoops: n(0)},
		"5 7 4":  {KeepWholeRunLoops: n(3)},
	} {
		equal(r, "loops by policy", loops(r.compact(&Compact{Head: byID(ids[len(ids)-1]), DryRun: true, Policy: p})), want)
	}
	r.compact(&Compact{Head: byAlias("chat"), Policy: &Policy{MaxRunLoops: n(1), MaxUserChars: n(10), MaxReplyChars: n(20)}})
	r.sameMessages("cut", r.assemble(&Assemble{Head: byAlias("chat")}).Messages,
		canonical.LeftOut(14), cutTo(put[56], strings.Repeat("ä", 10)+"...[truncated]"), cutTo(put[57], strings.Repeat("b", 20)+"...[truncated]"), put[58])
	r.clean("")
}

func loops(c *transcriptv1.CompactResponse) string {
	return fmt.Sprint(c.Report.RunLoopsDropped, c.Report.RunLoopsCondensed, c.Report.RunLoopsWhole)
}

// TestCompactLines makes results lines, twice, and reads what the lines say.
func TestCompactLines(t *testing.T) {
	r := newRig(t)
	n := func(i int32) *int32 { return &i }
	bulk := strings.Repeat("bulk ", 100)
	ids := r.chain("chat", user("go"), calling("read", "a"), result("a", bulk), calling("read", "b"), result("b", bulk),
		calling("read", "c"), result("c", bulk))
	res := r.compact(&Compact{Head: byAlias("chat"), Policy: &Policy{ClearToolResults: clears(n(0))}})
	equal(r, "shortened", res.Report.ShortenedMessages, 2)
	line := func(id, node string) *Message {
		m := result(id, fmt.Sprintf("[result of read, %d bytes, left out; recall %s %s.0]", proto.Size(&Message{Parts: text(bulk)}), id, node[:12]))
		m.Origin = transcriptv1.Origin_ORIGIN_SHORTENED
		return m
	}
	want := []*Message{user("go"), calling("read", "a"), line("a", ids[2]), calling("read", "b"), line("b", ids[4]),
		calling("read", "c"), result("c", bulk)}
	r.sameMessages("with lines", r.assemble(&Assemble{Head: byAlias("chat")}).Messages, want...)
	r.put2("chat", calling("read", "d"))
	head := r.put2("chat", result("d", "short"))
	r.compact(&Compact{Head: byAlias("chat"), Policy: &Policy{ClearToolResults: clears(n(0))}})
	want = append(want[:6:6], line("c", ids[6]), calling("read", "d"), result("d", "short"))
	r.sameMessages("with one line more", r.assemble(&Assemble{Head: byAlias("chat")}).Messages, want...)
	equal(r, "messages ever put", int(r.assemble(&Assemble{Head: byID(head), View: full}).Report.Messages), 9)
	r.clean("")
}

func TestCompactThrough(t *testing.T) {
	r := newRig(t)
	put := concat([]*Message{system("s"), system("t")}, work("1"), work("2"), []*Message{user("3"), calling("x", "o")})
	ids := r.chain("chat", put...)
	head := ids[len(ids)-1]
	elsewhere := r.put(ids[2], user("a branch"))
	refused := func(through string, code codes.Code, reason string) {
		r.Helper()
		_, err := r.Compact(r.ctx(), &Compact{Head: byID(head), ThroughId: through})
		r.fails(err, code, reason, map[codes.Code]string{codes.NotFound: "through_id"}[code])
	}
	refused(strings.Repeat("0", 64), codes.NotFound, "NODE_NOT_FOUND")
	refused(elsewhere, codes.FailedPrecondition, "NOT_AN_ANCESTOR")
	refused(ids[0], codes.FailedPrecondition, "ALREADY_COVERED")
	refused(head, codes.FailedPrecondition, "OPEN_TOOL_CALLS")
	refused(ids[3], codes.FailedPrecondition, "OPEN_TOOL_CALLS")
	equal(r, "through, where none is given", r.compact(&Compact{Head: byID(head), DryRun: true}).ThroughId, ids[len(ids)-2])
	res := r.compact(&Compact{Head: byAlias("chat"), ThroughId: ids[5]})
	r.sameMessages("covering the first loop", r.assemble(&Assemble{Head: byAlias("chat")}).Messages,
		concat(put[:2], condensed("1"), put[6:])...)
	_, err := r.Compact(r.ctx(), &Compact{Head: byAlias("chat"), ThroughId: ids[4]})
	r.fails(err, codes.FailedPrecondition, "ALREADY_COVERED", "")
	r.put2("chat", result("o", "done"), assistant("reply 3"))
	r.compact(&Compact{Head: byAlias("chat"), ThroughId: ids[9]})
	r.sameMessages("covering the second too", r.assemble(&Assemble{Head: byAlias("chat")}).Messages,
		concat(put[:2], condensed("1"), condensed("2"), put[10:], []*Message{result("o", "done"), assistant("reply 3")})...)
	equal(r, "the first covered", res.ThroughId, ids[5])
	open := r.chain("", calling("x", "1"))
	_, err = r.Compact(r.ctx(), &Compact{Head: byID(open[0])})
	r.fails(err, codes.FailedPrecondition, "OPEN_TOOL_CALLS", "")
	r.clean("")
}

// TestCompactPreambleAlone: where nothing follows the preamble there is nothing to shrink, whatever through_id and summary say.
func TestCompactPreambleAlone(t *testing.T) {
	r := newRig(t)
	ids := r.chain("chat", system("one"), system("two"))
	for name, req := range map[string]*Compact{
		"as it is":                 {},
		"a dry run of a summary":   {Summary: "s", DryRun: true},
		"through the head":         {ThroughId: ids[1]},
		"through a node before":    {ThroughId: ids[0]},
		"a summary":                {ThroughId: ids[1], Summary: "s"},
		"with nothing but summary": {ThroughId: ids[1], Summary: "s", SummaryOnly: true},
	} {
		req.Head = byAlias("chat")
		reply, err := r.Compact(r.ctx(), req)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		equal(r, name, fmt.Sprint(reply.Written, reply.NotWrittenReason), "false NOT_WRITTEN_REASON_NOTHING_SHRINKS")
	}
}

// TestShortenedByCompaction: a report counts what a compaction shortened and the reply shows.
func TestShortenedByCompaction(t *testing.T) {
	r := newRig(t)
	r.chain("chat", concat([]*Message{user(strings.Repeat("a", 600)), assistant("short"), user("next")}, manyResults())...)
	lead := r.compact(&Compact{Head: byAlias("chat"), Policy: &Policy{MaxUserChars: proto.Int32(10), ClearToolResults: clears(proto.Int32(0))}})
	equal(r, "what the compaction shortened", lead.Report.ShortenedMessages, 3)
	r.put2("chat", user("and now?"))
	shortened := func(req *Assemble) string {
		req.Head = byAlias("chat")
		var counts []string
		for _, detail := range []transcriptv1.NodeDetail{0, envelopes} {
			req.NodeDetail = detail
			counts = append(counts, fmt.Sprint(r.assemble(req).Report.ShortenedMessages))
		}
		return strings.Join(counts, " ")
	}
	equal(r, "in the effective view", shortened(&Assemble{}), "3 3")
	equal(r, "in the full view", shortened(&Assemble{View: full}), "0 0")
	equal(r, "in a conversation that shows them", shortened(&Assemble{View: conversation, Policy: &Policy{KeepWholeRunLoops: proto.Int32(9)}}), "3 3")
	equal(r, "in one that cuts them again", shortened(&Assemble{View: conversation, Policy: &Policy{MaxUserChars: proto.Int32(5)}}), "1 1")
}

// manyResults is a loop that is open, with two results that a model has seen.
func manyResults() (out []*Message) {
	for _, id := range []string{"a", "b", "c"} {
		out = append(out, calling("read", id), result(id, strings.Repeat("bulk ", 100)))
	}
	return out
}

// between runs f, once, before a Commit that puts a compaction node.
type between struct {
	chainstore.Store
	f func()
}

func (b *between) Commit(ctx context.Context, namespace string, change *chainstore.Change) (*chainstore.Committed, error) {
	if f := b.f; f != nil && len(change.Nodes) > 0 && change.Nodes[0].Compaction != nil {
		b.f = nil
		f()
	}
	return b.Store.Commit(ctx, namespace, change)
}

func TestCompactWhileWritersGoOn(t *testing.T) {
	store := &between{Store: memstore.New(memstore.Options{})}
	r := newRig(t, store)
	ids := r.chain("chat", concat(work("1"), work("2"))...)
	store.f = func() { r.put2("chat", user("meanwhile"), assistant("ok")) }
	res := r.compact(&Compact{Head: byAlias("chat")})
	equal(r, "the head it was made at", res.HeadId, ids[len(ids)-1])
	r.sameMessages("with what came meanwhile", r.assemble(&Assemble{Head: byAlias("chat")}).Messages,
		concat(condensed("1"), condensed("2"), []*Message{user("meanwhile"), assistant("ok")})...)
	_, err := r.PutNode(r.ctx(), &PutNode{Parent: byAlias("chat"), Messages: []*Message{user("x")}, Aliases: []*Update{{
		Name: "chat", Precondition: headIs(res.Aliases[0].PreviousId),
	}}})
	f := r.fails(err, codes.Aborted, "ALIAS_MOVED", "")
	equal(r, "only compacted", fmt.Sprint(f.conflicts[0].OnlyCompacted, f.conflicts[0].NodeId == res.NodeId), "true true")
	_, err = r.PutNode(r.ctx(), &PutNode{Parent: byAlias("chat"), Messages: []*Message{user("x")}, Aliases: []*Update{{
		Name: "chat", Precondition: headIs(ids[0]),
	}}})
	equal(r, "only compacted", r.fails(err, codes.Aborted, "ALIAS_MOVED", "").conflicts[0].OnlyCompacted, false)
	r.clean("")
}

func headIs(id string) *transcriptv1.AliasPrecondition {
	return &transcriptv1.AliasPrecondition{Condition: &transcriptv1.AliasPrecondition_HeadId{HeadId: id}}
}

func TestCompactTwiceAtOnce(t *testing.T) {
	store := &between{Store: memstore.New(memstore.Options{})}
	r := newRig(t, store)
	r.chain("chat", concat(work("1"), work("2"))...)
	store.f = func() { r.compact(&Compact{Head: byAlias("chat")}) }
	equal(r, "the one that lost", r.compact(&Compact{Head: byAlias("chat")}).NotWrittenReason.String(), "NOT_WRITTEN_REASON_NOTHING_SHRINKS")
	other := r.put("", user("another chain"), assistant("with a reply"))
	store.f = func() {
		must[*transcriptv1.AliasResponse](r)(r.Alias(r.ctx(), &transcriptv1.AliasRequest{
			Aliases: []*transcriptv1.AliasMove{{Name: "chat", Target: byID(other)}},
		}))
	}
	r.put2("chat", work("3")...)
	equal(r, "where the alias was moved off its chain", r.compact(&Compact{Head: byAlias("chat")}).HeadId, other)
	r.clean("")
}

func TestCompactAliases(t *testing.T) {
	r := newRig(t)
	ids := r.chain("chat", concat(work("1"), work("2"))...)
	head := ids[len(ids)-1]
	salt := []byte("0123456789abcdef")
	res := r.compact(&Compact{Head: byID(head), Salt: salt, Aliases: []*Update{{Name: "compacted", Precondition: mustNotExist()}}})
	equal(r, "aliases", fmt.Sprintf("%d %s %t", len(res.Aliases), res.Aliases[0].Name, res.Aliases[0].Changed), "1 compacted true")
	again := r.compact(&Compact{Head: byID(head), Salt: salt, Aliases: []*Update{{Name: "compacted", Precondition: mustNotExist()}}})
	equal(r, "the same again", fmt.Sprint(again.Written, again.NodeId == res.NodeId, again.Aliases[0].Changed), "true true false")
	unsalted := r.compact(&Compact{Head: byID(head)})
	equal(r, "the same without salt", unsalted.NodeId == res.NodeId, false)
	_, err := r.Compact(r.ctx(), &Compact{Head: byID(head), Aliases: []*Update{{Name: "compacted", Precondition: mustNotExist()}}})
	r.fails(err, codes.AlreadyExists, "ALIAS_EXISTS", "")
	_, err = r.Compact(r.ctx(), &Compact{Head: byAlias("chat"), Aliases: []*Update{{Name: "chat"}}})
	r.fails(err, codes.InvalidArgument, "DUPLICATE_ALIAS", "aliases[0].name")
	_, err = r.Compact(r.ctx(), &Compact{Head: byAlias("gone")})
	r.fails(err, codes.NotFound, "ALIAS_NOT_FOUND", "head")
	r.clean("")
}

func mustNotExist() *transcriptv1.AliasPrecondition {
	return &transcriptv1.AliasPrecondition{Condition: &transcriptv1.AliasPrecondition_MustNotExist{MustNotExist: true}}
}

func TestCompactTooLarge(t *testing.T) {
	r := newRig(t)
	var put []*Message
	for i := range 600 {
		put = append(put, work(fmt.Sprint(i))...)
	}
	ids := r.chain("chat", put...)
	zero := int32(0)
	_, err := r.Compact(r.ctx(), &Compact{Head: byAlias("chat"), Policy: &Policy{MaxRunLoops: &zero}})
	r.fails(err, codes.InvalidArgument, "COMPACTION_TOO_LARGE", "")
	equal(r, "the alias", must[*transcriptv1.ResolveAliasResponse](r)(r.ResolveAlias(r.ctx(), &transcriptv1.ResolveAliasRequest{Name: "chat"})).Alias.NodeId, ids[len(ids)-1])
	r.compact(&Compact{Head: byAlias("chat"), Policy: &Policy{MaxRunLoops: &zero}, ThroughId: ids[1199]})
}

// TestCompactSummaryTellsOfNothingLater: a summary stands for what it was made of, whatever happens meanwhile.
func TestCompactSummaryTellsOfNothingLater(t *testing.T) {
	store := &between{Store: memstore.New(memstore.Options{})}
	r := newRig(t, store)
	r.chain("chat", concat(work("1"), work("2"))...)
	store.f = func() { r.compact(&Compact{Head: byAlias("chat")}); r.put2("chat", work("3")...) }
	r.compact(&Compact{Head: byAlias("chat"), Summary: "of 1 and 2", SummaryOnly: true})
	r.sameMessages("with what came meanwhile", r.assemble(&Assemble{Head: byAlias("chat")}).Messages,
		concat([]*Message{summary("of 1 and 2")}, work("3"))...)
	other := r.put("", concat(work("7"), work("8"))...)
	elsewhere := func() {
		must[*transcriptv1.AliasResponse](r)(r.Alias(r.ctx(), &transcriptv1.AliasRequest{
			Aliases: []*transcriptv1.AliasMove{{Name: "chat", Target: byID(other)}},
		}))
	}
	store.f = elsewhere
	more := &Compact{Head: byAlias("chat"), Summary: "of 3 too", SummaryOnly: true}
	more.ThroughId = r.lastCovered(more)
	_, err := r.Compact(r.ctx(), more)
	r.fails(err, codes.FailedPrecondition, "NOT_AN_ANCESTOR", "")
	store.f = func() {
		must[*transcriptv1.DeleteAliasResponse](r)(r.DeleteAlias(r.ctx(), &transcriptv1.DeleteAliasRequest{Name: "chat"}))
	}
	_, err = r.Compact(r.ctx(), &Compact{Head: byAlias("chat")})
	r.fails(err, codes.NotFound, "ALIAS_NOT_FOUND", "head")
	r.clean("")
}

// TestCompactALongOpenLoop: where nothing can shrink that is the answer, however much there is.
func TestCompactALongOpenLoop(t *testing.T) {
	r := newRig(t)
	put := []*Message{user("go")}
	for i := range 600 {
		put = append(put, calling("read", fmt.Sprint(i)), result(fmt.Sprint(i), "ok"))
	}
	r.chain("chat", put...)
	equal(r, "an open loop of 1,201 messages", r.compact(&Compact{Head: byAlias("chat")}).NotWrittenReason.String(), "NOT_WRITTEN_REASON_NOTHING_SHRINKS")
}
