package server_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/chainstore/memstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// clearsAll shows every loop whole, and clears at once each result that a model has seen, and all arguments before it.
func clearsAll() *Policy {
	return &Policy{
		Preset: transcriptv1.Preset_PRESET_UNBOUNDED, KeepWholeRunLoops: proto.Int32(1 << 30),
		ClearToolResults: &Clears{Keep: new(int32), ClearArguments: proto.Bool(true), CachedPercent: proto.Int32(100)},
	}
}

// shortForms are the messages of a chain whose arguments can be shortened, by what they are then.
func shortForms(model *talk) map[string]int {
	out := map[string]int{}
	for i, m := range model.all {
		short := proto.CloneOf(m.Message)
		if shortenCalls(short); len(m.calls()) > 0 && !slices.EqualFunc(filed{Message: short}.calls(), m.calls(), sameArguments) {
			out[encoded(short)] = i
		}
	}
	return out
}

func encoded(m *Message) string {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func sameArguments(a, b *transcriptv1.ToolCall) bool { return a.Arguments == b.Arguments }

// checkMarks recalls each call whose arguments are shortened among messages, and counts these calls. But for their arguments and the origin
// the messages are as they were put.
func (r *rig) checkMarks(model *talk, head *NodeRef, messages []*Message) (marks int) {
	r.Helper()
	forms := shortForms(model)
	for _, m := range messages {
		shown := filed{Message: m}
		if m.Origin != transcriptv1.Origin_ORIGIN_SHORTENED || len(shown.calls()) == 0 {
			continue
		}
		at, found := forms[encoded(m)]
		if !found {
			r.Errorf("a message with shortened calls that was not put: %v", m)
			continue
		}
		for nth, c := range model.all[at].calls() {
			if sameArguments(c, shown.calls()[nth]) {
				continue
			}
			marks++
			same := model.of(c.Id)
			n := slices.IndexFunc(same, func(other *modelCall) bool { return other.at == at && other.nth == nth })
			req := &Recall{Namespace: recallSpace, Head: head, ToolCallId: c.Id, Occurrence: int32(n)}
			r.sameRecall(model, req, same[n], same[n].result, len(same)-1-n)
		}
	}
	return marks
}

// hidden counts what a test of views that clear came by.
type hidden struct{ lines, marks int }

// check recalls each line and mark that an alias' effective view shows, and its conversations under policies.
func (c *hidden) check(r *rig, path []filed, alias string) {
	r.Helper()
	model, head := newTalk(path), byAlias(alias)
	for _, ask := range []*Assemble{
		{}, {View: conversation, Policy: &Policy{Preset: presetFrugal}}, {View: conversation, Policy: clearsAll()},
	} {
		ask.Namespace, ask.Head = recallSpace, head
		messages := must[*transcriptv1.AssembleResponse](r)(r.streamed(ask)).Messages
		c.lines += r.checkLinesOf(model, head, messages)
		c.marks += r.checkMarks(model, head, messages)
	}
}

// TestClearedIsRecalled: what is cleared is recalled whole, on a chain and behind compactions that cleared it, and found by Search.
func TestClearedIsRecalled(t *testing.T) {
	r := newRig(t)
	var plain, behind hidden
	c := &compacted{rig: r, alias: "plain"}
	for _, m := range longLoop(20) {
		c.put(m)
	}
	plain.check(r, c.path, c.alias)
	equal(r, "the results and calls that clearing at once makes shorter", fmt.Sprint(plain.lines > 19, plain.marks > 19), "true true")

	c = &compacted{rig: r, alias: "compacted", policy: &Policy{Preset: presetFrugal}}
	c.check = func() { behind.check(r, c.path, c.alias) }
	var put []*Message
	for i := range 3 {
		for n := range 12 {
			put = append(put, writes(100*i+n)...)
		}
	}
	c.putInThirds(append(longLoop(0), put...))
	equal(r, "the compactions", c.written, 3)
	effective := r.assemble(&Assemble{Namespace: recallSpace, Head: byAlias(c.alias)}).Messages
	model := newTalk(c.path)
	equal(r, "that a compaction keeps lines", r.checkLinesOf(model, byAlias(c.alias), effective) > 0, true)
	equal(r, "that a compaction keeps marks", r.checkMarks(model, byAlias(c.alias), effective) > 0, true)
	equal(r, "the results", r.recallEverything(model, c.head()), 36)
	for i := range 36 {
		n := i/12*100 + i%12
		for _, text := range []string{fmt.Sprintf("needle %d package", n), fmt.Sprintf("thread %d wrote", n)} {
			found := must[*transcriptv1.SearchResponse](r)(r.Search(r.ctx(), &transcriptv1.SearchRequest{
				Namespace: recallSpace, Scope: &transcriptv1.SearchRequest_Head{Head: byAlias(c.alias)}, Pattern: &transcriptv1.SearchRequest_Text{Text: text},
			}))
			equal(r, "the messages found with "+text, len(found.Hits), 1)
		}
	}
}

// TestClearedOfRealConversations: under clearing policies, each line and each mark of every real conversation leads to just what was put, on
// the conversation as it is and behind compactions that cleared it.
func TestClearedOfRealConversations(t *testing.T) {
	dir := os.Getenv("TRANSCRIPTS_DIR")
	if dir == "" {
		t.Skip("TRANSCRIPTS_DIR is not set: the real transcripts are not part of the repository, see docs/data.md")
	}
	var plain, behind hidden
	conversations, compactions := 0, 0
	for _, file := range realFiles() {
		t.Run(file, func(t *testing.T) {
			r := newPlainRig(t, memstore.New(memstore.Options{}))
			eachConversation(t, filepath.Join(dir, file), func(messages []*Message) {
				conversations++
				whole := &compacted{rig: r, alias: fmt.Sprint("whole", conversations)}
				for _, m := range messages {
					whole.put(m)
				}
				plain.check(r, whole.path, whole.alias)
				c := &compacted{rig: r, alias: fmt.Sprint("compacted", conversations), policy: clearsAll()}
				if conversations%2 == 0 {
					c.policy = &Policy{Preset: presetFrugal}
				}
				c.check = func() { behind.check(r, c.path, c.alias) }
				c.putInThirds(messages)
				compactions += c.written
				if r.Failed() {
					t.Fatalf("at conversation %d", conversations)
				}
			})
		})
	}
	t.Logf("%d conversations: %+v; behind %d compactions: %+v", conversations, plain, compactions, behind)
	if conversations != 970 || min(plain.lines, plain.marks, behind.lines, behind.marks, compactions) == 0 {
		t.Errorf("%d conversations: %+v; behind %d compactions: %+v", conversations, plain, compactions, behind)
	}
}
