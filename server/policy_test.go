package server_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/chainstore/memstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/testserver"
	"github.com/transcriptd/transcriptd/server"
)

// dated is a rig whose clock the test sets, that of the store and of the server.
type dated struct {
	*rig
	at   time.Time
	head string
}

func newDated(t *testing.T) *dated {
	t.Helper()
	c := &dated{}
	now := func() time.Time { return c.at }
	stack := testserver.StartWith(t, memstore.New(memstore.Options{Now: now}), server.Config{Now: now})
	c.rig = &rig{T: t, Stack: stack, TranscriptServiceClient: transcriptv1.NewTranscriptServiceClient(stack.Conn)}
	c.set(0)
	return c
}

// hour is an hour of the clock.
func hour(n int) time.Time { return time.UnixMilli(epoch).Add(time.Duration(n) * time.Hour) }

func (c *dated) set(n int) { c.at = hour(n) }

// loop puts a run loop of four messages at an hour of the clock, its user message sent at another if that is not negative.
func (c *dated) loop(name string, at, sent int) {
	c.Helper()
	c.set(at)
	req := &PutNode{Messages: work(name)}
	if c.head != "" {
		req.Parent = byID(c.head)
	}
	if sent >= 0 {
		req.Notes = []*transcriptv1.MessageNote{{SentAt: timestamppb.New(hour(sent))}, {}, {}, {}}
	}
	c.head = must[*transcriptv1.PutNodeResponse](c.rig)(c.PutNode(c.ctx(), req)).NodeId
}

// shapes tells of each loop of a conversation its name and how it is shown: whole, with its calls, or condensed.
func (c *dated) shapes(p *Policy) string {
	c.Helper()
	var out []string
	calls, lines := 0, 0
	for _, m := range c.assemble(&Assemble{Head: byID(c.head), View: conversation, Policy: p}).Messages {
		switch {
		case m.Role == transcriptv1.Role_ROLE_USER:
			out = append(out, strings.TrimPrefix(m.Parts[0].GetText(), "question "))
			calls, lines = 0, 0
		case m.Role == transcriptv1.Role_ROLE_TOOL && m.Origin == transcriptv1.Origin_ORIGIN_SHORTENED:
			lines++
		case m.Role == transcriptv1.Role_ROLE_TOOL:
			calls++
		case m.Parts[0].GetText() != "":
			out[len(out)-1] += map[[2]int]string{{1, 0}: " whole", {0, 1}: " traced", {0, 0}: " condensed"}[[2]int{calls, lines}]
		}
	}
	return strings.Join(out, ", ")
}

func hours(n int) *durationpb.Duration { return durationpb.New(time.Duration(n) * time.Hour) }

// wholeWithin shows the loops before the last whole that are so many hours older at most.
func wholeWithin(n int) *Policy { return &Policy{KeepWholeRunLoops: proto.Int32(9), MaxAge: hours(n)} }

// TestOldLoopsAreCondensed: max_age takes from old loops what is richer than condensed, and drops none.
func TestOldLoopsAreCondensed(t *testing.T) {
	c := newDated(t)
	for i, at := range []int{0, 100, 268, 269} {
		c.loop(string(rune('a'+i)), at, -1)
	}
	traced := func(age *durationpb.Duration) *Policy {
		return &Policy{ToolTrace: transcriptv1.ToolTrace_TOOL_TRACE_REQUESTS, KeepWholeRunLoops: proto.Int32(1), MaxAge: age}
	}
	for _, x := range []struct {
		name   string
		policy *Policy
		want   string
	}{
		{"no policy", nil, "a condensed, b condensed, c condensed, d whole"},
		{"the default age", &Policy{KeepWholeRunLoops: proto.Int32(9)}, "a condensed, b condensed, c whole, d whole"},
		{"an age that reaches a loop to the millisecond", wholeWithin(169), "a condensed, b whole, c whole, d whole"},
		{"an age of a millisecond less", &Policy{KeepWholeRunLoops: proto.Int32(9), MaxAge: durationpb.New(169*time.Hour - time.Millisecond)}, "a condensed, b condensed, c whole, d whole"},
		{"any age", wholeWithin(0), "a whole, b whole, c whole, d whole"},
		{"an age that keep_whole_run_loops bounds", traced(hours(200)), "a condensed, b traced, c whole, d whole"},
		{"an age that no loop has", traced(durationpb.New(time.Second)), "a condensed, b condensed, c condensed, d whole"},
		{"any age, traced", traced(hours(0)), "a traced, b traced, c whole, d whole"},
	} {
		equal(c.rig, x.name, c.shapes(x.policy), x.want)
	}
}

// TestPoliciesReadNoClock: the same chain and policy give the same bytes and the same etag whatever the server's clock says, and
// a compaction keeps the same.
func TestPoliciesReadNoClock(t *testing.T) {
	c := newDated(t)
	for i := range 14 {
		c.loop(fmt.Sprint(i), 20*i, -1)
	}
	for _, p := range []*Policy{nil, {}, unbounded(), wholeWithin(100), {MaxBytes: proto.Int64(3000), MaxAge: hours(30), KeepWholeRunLoops: proto.Int32(5)}} {
		seen := map[string]bool{}
		for _, at := range []int{260, 0, -1000, 300, 500, 5000, 100_000} {
			c.set(at)
			reply := c.assemble(&Assemble{Head: byID(c.head), View: conversation, Policy: p})
			dry := c.compact(&Compact{Head: byID(c.head), Policy: p, DryRun: true})
			seen[fmt.Sprintf("%s %x %v", reply.Etag, canonical.EncodePayload(reply.Messages), dry.Report)] = true
			equal(c.rig, "not_modified", c.assemble(&Assemble{Head: byID(c.head), View: conversation, Policy: p, IfNoneMatch: reply.Etag}).NotModified, true)
		}
		equal(c.rig, fmt.Sprint("what the days show under ", p), len(seen), 1)
	}
}

// TestTimesOfLoops: a sent_at that is later than the first put does not count, and an earlier one does. Times do not go back.
func TestTimesOfLoops(t *testing.T) {
	for _, x := range []struct {
		name  string
		loops [][2]int // when each was put and sent
		want  string
	}{
		{"the first was sent later than put", [][2]int{{0, 300}, {200, -1}}, "a condensed, b whole"},
		{"the last was sent later than put", [][2]int{{0, -1}, {1, 500}}, "a whole, b whole"},
		{"the first was sent earlier than put", [][2]int{{150, 0}, {151, -1}}, "a condensed, b whole"},
		{"the last was sent earlier than put", [][2]int{{0, -1}, {200, 50}}, "a whole, b whole"},
		{"the second was sent earlier than the first", [][2]int{{90, -1}, {150, 0}, {151, -1}}, "a whole, b whole, c whole"},
		{"the last was sent earlier than the second", [][2]int{{0, -1}, {150, -1}, {151, 10}}, "a condensed, b whole, c whole"},
	} {
		t.Run(x.name, func(t *testing.T) {
			c := newDated(t)
			for i, l := range x.loops {
				c.loop(string(rune('a'+i)), l[0], l[1])
			}
			equal(c.rig, "the conversation", c.shapes(wholeWithin(100)), x.want)
		})
	}
}

// TestTimesOfCopies: a compaction copies a message with the time that it counted with as its sent_at, and that counts as it
// stands, also where the clock of the server was set back before the compaction was put.
func TestTimesOfCopies(t *testing.T) {
	c := newDated(t)
	c.loop("old", 0, -1)
	c.loop("a", 0, 300) // counts as 0
	c.loop("b", 100, -1)
	c.loop("c", 120, 110)
	c.set(50)
	c.head = c.compact(&Compact{Head: byID(c.head), ThroughId: c.head, Policy: &Policy{KeepWholeRunLoops: proto.Int32(3), MaxAge: hours(0)}}).NodeId
	info := must[*transcriptv1.GetNodeResponse](c.rig)(c.GetNode(c.ctx(), &transcriptv1.GetNodeRequest{Node: byID(c.head)})).Info
	var sent []string
	for _, n := range info.Notes {
		if n.SentAt == nil {
			sent = append(sent, "-")
		} else {
			sent = append(sent, fmt.Sprint(n.SentAt.AsTime().Sub(hour(0)).Hours()))
		}
	}
	equal(c.rig, "the hours that the copies tell", strings.Join(sent, " "), "0 0 0 0 0 0 100 100 100 100 110 120 120 120")
	c.loop("d", 240, -1)
	for age, want := range map[int]string{
		129: "old condensed, a condensed, b condensed, c condensed, d whole",
		130: "old condensed, a condensed, b condensed, c whole, d whole",
		140: "old condensed, a condensed, b whole, c whole, d whole",
		239: "old condensed, a condensed, b whole, c whole, d whole",
		240: "old condensed, a whole, b whole, c whole, d whole",
	} {
		equal(c.rig, fmt.Sprint("an age of ", age), c.shapes(wholeWithin(age)), want)
	}
}

// TestCompactKeepsOldLoops: a compaction condenses what is too old to be kept whole, and drops nothing for its age.
func TestCompactKeepsOldLoops(t *testing.T) {
	c := newDated(t)
	for i := range 4 {
		c.loop(fmt.Sprint(i), 100*i, -1)
	}
	for age, want := range map[int]string{99: "0 3 1", 100: "0 2 2", 200: "0 1 3", 0: "0 0 4"} {
		c.set(10_000)
		equal(c.rig, fmt.Sprint("loops dropped, condensed and whole within ", age, " hours"), loops(c.compact(&Compact{
			Head: byID(c.head), Policy: wholeWithin(age), DryRun: true,
		})), want)
	}
	equal(c.rig, "loops dropped, condensed and whole by default", loops(c.compact(&Compact{Head: byID(c.head), DryRun: true})), "0 4 0")
}

// TestPresets: a preset says what absent fields are, and a field that is there goes before it. No policy is one without fields.
func TestPresets(t *testing.T) {
	r := newRig(t)
	var put []*Message
	for i := range 15 {
		put = append(put, user(fmt.Sprint(i, strings.Repeat("u", 600))), assistant(strings.Repeat("r", 600)))
	}
	head := r.put("", put...)
	ask := func(p *Policy) string {
		reply := r.assemble(&Assemble{Head: byID(head), View: conversation, Policy: p})
		cut := 0
		for _, m := range reply.Messages {
			if m.Origin == transcriptv1.Origin_ORIGIN_SHORTENED {
				cut++
			}
		}
		return fmt.Sprint(len(reply.Messages)/2, " loops, ", cut, " cut")
	}
	kept := func(p *Policy) string {
		report := r.compact(&Compact{Head: byID(head), Policy: p, DryRun: true}).Report
		return fmt.Sprint(report.RunLoopsDropped, " dropped, ", report.ShortenedMessages, " cut")
	}
	with := func(change func(*Policy)) *Policy {
		p := unbounded()
		change(p)
		return p
	}
	for _, x := range []struct {
		name       string
		policy     *Policy
		view, kept string
	}{
		{"no policy", nil, "10 loops, 18 cut", "5 dropped, 20 cut"},
		{"one without fields", &Policy{}, "10 loops, 18 cut", "5 dropped, 20 cut"},
		{"unbounded", unbounded(), "15 loops, 0 cut", "0 dropped, 0 cut"},
		{"max_run_loops over unbounded", with(func(p *Policy) { p.MaxRunLoops = proto.Int32(10) }), "10 loops, 0 cut", "5 dropped, 0 cut"},
		{"max_user_chars over unbounded", with(func(p *Policy) { p.MaxUserChars = proto.Int32(10) }), "15 loops, 14 cut", "0 dropped, 15 cut"},
		{"max_reply_chars over unbounded", with(func(p *Policy) { p.MaxReplyChars = proto.Int32(10) }), "15 loops, 14 cut", "0 dropped, 15 cut"},
		{"no bound over the defaults", &Policy{MaxRunLoops: proto.Int32(0)}, "15 loops, 28 cut", "0 dropped, 30 cut"},
	} {
		equal(r, x.name+", assembled", ask(x.policy), x.view)
		equal(r, x.name+", compacted", kept(x.policy), x.kept)
	}
}
