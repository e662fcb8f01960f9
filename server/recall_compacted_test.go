package server_test

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/transcriptd/transcriptd/chainstore/memstore"
	"github.com/transcriptd/transcriptd/client/openai"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// compacted is a chain that is put message by message under an alias, and compacted on the way.
type compacted struct {
	*rig
	alias  string
	policy *Policy
	path   []filed
	// written counts the compactions that were written, after each of which check is called.
	written int
	check   func()
}

func (c *compacted) put(m *Message) {
	c.Helper()
	req := &PutNode{Namespace: recallSpace, Messages: []*Message{m}, Aliases: []*Update{{Name: c.alias}}}
	if len(c.path) > 0 {
		req.Parent = byAlias(c.alias)
	}
	id := must[*transcriptv1.PutNodeResponse](c.rig)(c.PutNode(c.ctx(), req)).NodeId
	c.path = append(c.path, filed{m, id, 0})
}

// compact compacts the chain, where that makes it smaller and no call is open that it would have to end.
func (c *compacted) compact() {
	c.Helper()
	reply, err := c.Compact(c.ctx(), &Compact{Namespace: recallSpace, Head: byAlias(c.alias), Policy: c.policy})
	if err != nil && failureOf(err).code != codes.FailedPrecondition {
		c.Fatalf("compact: %v", err)
	}
	if reply.GetWritten() {
		c.written++
		c.check()
	}
}

// putInThirds puts a chain, and compacts it at each third.
func (c *compacted) putInThirds(chain []*Message) {
	c.Helper()
	third := max(len(chain)/3, 1)
	for i, m := range chain {
		if c.put(m); (i+1)%third == 0 && c.written < 3 {
			c.compact()
		}
	}
}

// goOn puts turns behind the chain, and compacts each, until three compactions were written.
func (c *compacted) goOn() {
	c.Helper()
	for turns := 0; c.written < 3 && turns < 3; turns++ {
		c.put(user("And now?"))
		c.put(assistant(strings.Repeat("A long answer. ", 100)))
		c.compact()
	}
}

// head is the node that the alias names.
func (c *compacted) head() string {
	c.Helper()
	req := &transcriptv1.ResolveAliasRequest{Namespace: recallSpace, Name: c.alias}
	return must[*transcriptv1.ResolveAliasResponse](c.rig)(c.ResolveAlias(c.ctx(), req)).Alias.NodeId
}

// leftOutLine is the line in place of a result: tool, bytes, call id and place.
var leftOutLine = regexp.MustCompile(`^\[result of ([^\n]*), ([0-9]+) bytes, left out; recall ([^\n]*) ([0-9a-f]{12}\.[0-9]+)\]$`)

// checkLines recalls what each left-out result's line in the effective view of an alias names, and counts the lines.
func (r *rig) checkLines(model *talk, alias string) (lines int) {
	r.Helper()
	head := byAlias(alias)
	return r.checkLinesOf(model, head, r.assemble(&Assemble{Namespace: recallSpace, Head: head}).Messages)
}

// checkLinesOf recalls what each left-out result's line among messages names, and counts the lines.
func (r *rig) checkLinesOf(model *talk, head *NodeRef, messages []*Message) (lines int) {
	r.Helper()
	for _, m := range messages {
		if m.Role != transcriptv1.Role_ROLE_TOOL || m.Origin != transcriptv1.Origin_ORIGIN_SHORTENED {
			continue
		}
		lines++
		line := leftOutLine.FindStringSubmatch(m.Parts[0].GetText())
		if line == nil {
			r.Errorf("a line that cannot be read")
			continue
		}
		got, _ := r.recallWhole(&Recall{Namespace: recallSpace, Head: head, Place: line[4], ToolCallId: m.ToolCallId})
		equal(r, "the bytes", fmt.Sprint(got.ResultBytes), line[2])
		equal(r, "the call's id", got.GetCall().GetId(), strings.TrimSuffix(line[3], map[bool]string{true: "-"}[m.ToolCallId == nil]))
		replaced := 0
		for _, f := range model.all {
			if strings.HasPrefix(f.node, line[4][:12]) {
				replaced++
				equal(r, "that the result is the one", proto.Equal(&Message{Parts: got.Parts}, &Message{Parts: f.Parts}), true)
			}
		}
		equal(r, "the results that the line stands for", replaced, 1)
	}
	return lines
}

// recallEverything recalls every call of a chain by id and occurrence, and every result by its call's id and by its place; it
// counts the results.
func (r *rig) recallEverything(model *talk, head string) (results int) {
	r.Helper()
	var ids []*string
	for i, m := range model.all {
		for _, c := range m.calls() {
			ids = append(ids, c.Id)
		}
		if m.is(transcriptv1.Role_ROLE_TOOL) {
			results++
			ids = append(ids, m.ToolCallId)
			r.recallResult(model, &Recall{Namespace: recallSpace, Head: byID(head), Place: fmt.Sprintf("%.12s.%d", m.node, m.index)}, i)
		}
	}
	seen := map[string]bool{}
	for _, id := range ids {
		if key := fmt.Sprint(id != nil, " ", (&transcriptv1.ToolCall{Id: id}).GetId()); !seen[key] {
			seen[key] = true
			r.recallAll(model, head, id)
		}
	}
	return results
}

// TestRecallAfterCompactions: three compactions, with whatever they keep, take no call away and move no run loop.
func TestRecallAfterCompactions(t *testing.T) {
	r := newRig(t)
	chain := []*Message{system("s")}
	for i := range 12 {
		chain = append(chain, user(fmt.Sprint("question ", i)), calling("f", "same", fmt.Sprint("own", i)),
			result("same", strings.Repeat(fmt.Sprint("result ", i), 50)), result(fmt.Sprint("own", i), strings.Repeat("own", 100)),
			calling("f", "then"), result("then", "short"), assistant("done"))
	}
	two := int32(2)
	for name, policy := range map[string]*Policy{
		"default": nil, "lines": {ToolTrace: transcriptv1.ToolTrace_TOOL_TRACE_REQUESTS}, "whole": {KeepWholeRunLoops: &two, ClearToolResults: clears(new(int32))},
	} {
		lines := 0
		c := &compacted{rig: r, alias: name, policy: policy}
		c.check = func() { lines += r.checkLines(newTalk(c.path), name) }
		c.putInThirds(chain)
		equal(r, name+": the compactions", c.written, 3)
		model, head := newTalk(c.path), c.head()
		equal(r, name+": the results", r.recallEverything(model, head), 36)
		equal(r, name+": whether there are lines", lines > 0, name != "default")
		r.sameLoops(model.loops(), &ListLoops{Namespace: recallSpace, Head: byAlias(name), PageSize: 5})
		for i := range 10 { // the head is a compaction node: it holds copies, and its places are nobody's
			_, err := r.RecallToolCall(r.ctx(), &Recall{Namespace: recallSpace, Head: byAlias(name), Place: fmt.Sprint(head, ".", i)})
			r.fails(err, codes.NotFound, "TOOL_CALL_NOT_FOUND", "")
		}
	}
}

// TestRecallOfRealConversations: every result of every real conversation is found by its call's id and occurrence, and by its
// place, after three compactions; and each left-out result's line in the view behind each of the three leads to the result
// that it replaced. 800 conversations do not get smaller three times by themselves, most being short: these go on until they
// do, turn by turn.
func TestRecallOfRealConversations(t *testing.T) {
	dir := os.Getenv("TRANSCRIPTS_DIR")
	if dir == "" {
		t.Skip("TRANSCRIPTS_DIR is not set: the real transcripts are not part of the repository, see docs/data.md")
	}
	policy := &Policy{
		ToolTrace: transcriptv1.ToolTrace_TOOL_TRACE_REQUESTS, ClearToolResults: clears(new(int32)), MaxRunLoops: new(int32),
		MaxAge: new(durationpb.Duration),
	}
	var conversations, short, results, lines int
	for _, file := range realFiles() {
		t.Run(file, func(t *testing.T) {
			r := newPlainRig(t, memstore.New(memstore.Options{}))
			eachConversation(t, filepath.Join(dir, file), func(messages []*Message) {
				conversations++
				c := &compacted{rig: r, alias: fmt.Sprint(conversations), policy: policy}
				c.check = func() { lines += r.checkLines(newTalk(c.path), c.alias) }
				c.putInThirds(messages)
				if c.written < 3 {
					short++
					c.goOn()
				}
				equal(r, "the compactions", c.written, 3)
				model := newTalk(c.path)
				results += r.recallEverything(model, c.head())
				r.sameLoops(model.loops(), &ListLoops{Namespace: recallSpace, Head: byAlias(c.alias), PageSize: 100})
				if r.Failed() {
					t.Fatalf("at conversation %d", conversations)
				}
			})
		})
	}
	t.Logf("%d conversations, %d too short, %d results, %d lines", conversations, short, results, lines)
	if conversations != 970 || results != 5744 || short > 800 || lines < results {
		t.Errorf("%d conversations, %d too short, %d results, %d lines", conversations, short, results, lines)
	}
}

// realFiles are the files of real conversations.
func realFiles() []string {
	return []string{
		"api-wire.jsonl.gz", "claude-code.jsonl.gz", "gemini-cli.jsonl.gz", "glaive-zh.jsonl.gz", "oasst-paths.jsonl.gz",
		"swe-agent.jsonl.gz", "tau-airline.jsonl.gz",
	}
}

func eachConversation(t *testing.T, path string, each func([]*Message)) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for d := json.NewDecoder(bufio.NewReader(z)); ; {
		var c struct{ Messages json.RawMessage }
		err := d.Decode(&c)
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		messages, _, err := openai.Parse(c.Messages)
		if err != nil {
			t.Fatal(err)
		}
		each(messages)
	}
}
