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

	"github.com/transcriptd/transcriptd/chainstore/memstore"
	"github.com/transcriptd/transcriptd/client/openai"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// compacting puts a chain message by message under an alias, compacts it three times on the way, and gives it with its
// places, and how many compactions were written.
func (r *rig) compacting(alias string, policy *Policy, chain []*Message) (path []filed, written int) {
	r.Helper()
	for i, m := range chain {
		req := &PutNode{Namespace: recallSpace, Messages: []*Message{m}, Aliases: []*Update{{Name: alias}}}
		if i > 0 {
			req.Parent = byAlias(alias)
		}
		id := must[*transcriptv1.PutNodeResponse](r)(r.PutNode(r.ctx(), req)).NodeId
		path = append(path, filed{m, id, 0})
		if third := max(len(chain)/3, 1); (i+1)%third != 0 {
			continue
		}
		reply, err := r.Compact(r.ctx(), &Compact{Namespace: recallSpace, Head: byAlias(alias), Policy: policy})
		if err != nil && failureOf(err).code != codes.FailedPrecondition {
			r.Fatalf("compact: %v", err)
		}
		if reply.GetWritten() {
			written++
		}
	}
	return path, written
}

// leftOutLine is the line in place of a result: tool, bytes, call id and place.
var leftOutLine = regexp.MustCompile(`^\[result of ([^\n]*), ([0-9]+) bytes, left out; recall ([^\n]*) ([0-9a-f]{12}\.[0-9]+)\]$`)

// checkLines recalls what each left-out result's line in the effective view of an alias names, and counts the lines.
func (r *rig) checkLines(model *talk, alias string) (lines int) {
	r.Helper()
	head := byAlias(alias)
	for _, m := range r.assemble(&Assemble{Namespace: recallSpace, Head: head}).Messages {
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
		for _, f := range model.all {
			if strings.HasPrefix(f.node, line[4][:12]) {
				equal(r, "that the result is the one", proto.Equal(&Message{Parts: got.Parts}, &Message{Parts: f.Parts}), true)
			}
		}
	}
	return lines
}

// recallEverything recalls every call of a chain by id and occurrence, and every result by its place.
func (r *rig) recallEverything(model *talk, alias string) {
	r.Helper()
	type key struct {
		id     string
		absent bool
	}
	seen := map[key]bool{}
	for _, c := range model.calls {
		if k := (key{c.GetId(), c.Id == nil}); !seen[k] {
			seen[k] = true
			for n, c := range model.of(c.Id) {
				r.sameRecall(model, &Recall{Namespace: recallSpace, Head: byAlias(alias), ToolCallId: c.Id, Occurrence: int32(n)}, c, c.result, model.earlier(c))
			}
		}
	}
}

// TestRecallAfterCompactions: three compactions, with whatever they keep, take no call away and move no run loop.
func TestRecallAfterCompactions(t *testing.T) {
	r := newRig(t)
	chain := []*Message{system("s")}
	for i := range 12 {
		chain = append(chain, user(fmt.Sprint("question ", i)), calling("f", "same", fmt.Sprint("own", i)),
			result("same", strings.Repeat(fmt.Sprint("result ", i), 50)), result(fmt.Sprint("own", i), strings.Repeat("own", 100)), assistant("done"))
	}
	two := int32(2)
	for name, policy := range map[string]*Policy{
		"default": nil, "lines": {ToolTrace: transcriptv1.ToolTrace_TOOL_TRACE_REQUESTS}, "whole": {KeepFullRuns: &two, KeepToolResults: new(int32)},
	} {
		path, written := r.compacting(name, policy, chain)
		equal(r, name+": the compactions", written, 3)
		model := newTalk(path)
		r.recallEverything(model, name)
		for i := range model.all {
			if model.all[i].is(transcriptv1.Role_ROLE_TOOL) {
				r.recallResult(model, &Recall{Namespace: recallSpace, Head: byAlias(name), Place: fmt.Sprintf("%.12s.0", model.all[i].node)}, i)
			}
		}
		equal(r, name+": whether there are lines", r.checkLines(model, name) > 0, name != "default")
		r.sameLoops(model.loops(), &ListLoops{Namespace: recallSpace, Head: byAlias(name), PageSize: 5})
		head := must[*transcriptv1.ResolveAliasResponse](r)(r.ResolveAlias(r.ctx(), &transcriptv1.ResolveAliasRequest{Namespace: recallSpace, Name: name})).Alias.NodeId
		for i := range 10 { // the head is a compaction node: it holds copies, and its places are nobody's
			_, err := r.RecallToolCall(r.ctx(), &Recall{Namespace: recallSpace, Head: byAlias(name), Place: fmt.Sprint(head, ".", i)})
			r.fails(err, codes.NotFound, "TOOL_CALL_NOT_FOUND", "")
		}
	}
}

// TestRecallOfRealConversations: every result of every real conversation is found by its call's id and occurrence after
// three compactions, and every left-out result's line leads to the result that it replaced.
func TestRecallOfRealConversations(t *testing.T) {
	dir := os.Getenv("TRANSCRIPTS_DIR")
	if dir == "" {
		t.Skip("TRANSCRIPTS_DIR is not set: the real transcripts are not part of the repository, see docs/data.md")
	}
	r := newPlainRig(t, memstore.New(memstore.Options{}))
	var conversations, results, lines, compactions int
	for _, file := range []string{
		"api-wire.jsonl.gz", "claude-code.jsonl.gz", "gemini-cli.jsonl.gz", "glaive-zh.jsonl.gz", "oasst-paths.jsonl.gz",
		"swe-agent.jsonl.gz", "tau-airline.jsonl.gz",
	} {
		eachConversation(t, filepath.Join(dir, file), func(messages []*Message) {
			conversations++
			alias := fmt.Sprint(conversations)
			policy := &Policy{ToolTrace: transcriptv1.ToolTrace_TOOL_TRACE_REQUESTS, KeepToolResults: new(int32)}
			path, written := r.compacting(alias, policy, messages)
			model := newTalk(path)
			r.recallEverything(model, alias)
			lines += r.checkLines(model, alias)
			r.sameLoops(model.loops(), &ListLoops{Namespace: recallSpace, Head: byAlias(alias), PageSize: 100})
			compactions += written
			for _, c := range model.calls {
				if c.result >= 0 {
					results++
				}
			}
			if r.Failed() {
				t.Fatalf("at conversation %d of %s", conversations, file)
			}
		})
	}
	t.Logf("%d conversations, %d compactions, %d results, %d lines", conversations, compactions, results, lines)
	if conversations != 970 || min(results, lines, compactions) < 1000 {
		t.Errorf("%d conversations, %d compactions, %d results, %d lines: too few were tried", conversations, compactions, results, lines)
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
