package server_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/memstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// version1 is a store whose headers are of version 1, as far as views of a chain without a compaction read them.
type version1 struct{ chainstore.Store }

type version1Chain struct {
	chainstore.Chain
	head *chainstore.Header
}

func asVersion1(h *chainstore.Header) *chainstore.Header {
	if h == nil {
		return nil
	}
	old := *h
	old.Version1, old.Messages = true, slices.Clone(h.Messages)
	for i := range old.Messages {
		old.Messages[i] = old.Messages[i].AsVersion1()
	}
	return &old
}

func (s version1) Chain(ctx context.Context, namespace string, head chainstore.Ref, after *chainstore.ID) (chainstore.Chain, error) {
	c, err := s.Store.Chain(ctx, namespace, head, after)
	if err != nil {
		return nil, err
	}
	return version1Chain{c, asVersion1(c.Head())}, nil
}

func (c version1Chain) Head() *chainstore.Header { return c.head }

func (c version1Chain) Headers(ctx context.Context, seqs ...uint32) ([]*chainstore.Header, error) {
	headers, err := c.Chain.Headers(ctx, seqs...)
	for i, h := range headers {
		headers[i] = asVersion1(h)
	}
	return headers, err
}

func (c version1Chain) FirstWhere(ctx context.Context, from uint32, b chainstore.Bounds) (before, first *chainstore.Header, err error) {
	before, first, err = c.Chain.FirstWhere(ctx, from, b)
	return asVersion1(before), asVersion1(first), err
}

func (c version1Chain) Rows(ctx context.Context, spans []chainstore.Span, yield func(*chainstore.Row) error) error {
	return c.Chain.Rows(ctx, spans, func(row *chainstore.Row) error {
		h, err := row.Header()
		if err != nil {
			return err
		}
		old := *row
		old.Raw = chainstore.AppendHeader(nil, asVersion1(h))
		return yield(&old)
	})
}

// allPresets are the policies that presets name, and policies that show calls of condensed loops with short arguments and bound bytes.
func allPresets() map[string]*Policy {
	out := map[string]*Policy{"clears all": clearsAll(), "no policy": nil}
	for preset, name := range transcriptv1.Preset_name {
		out[name] = &Policy{Preset: transcriptv1.Preset(preset)}
	}
	traced := clearsAll()
	traced.KeepWholeRunLoops, traced.ToolTrace = nil, transcriptv1.ToolTrace_TOOL_TRACE_REQUESTS
	bounded := clearsAll()
	bounded.MaxBytes = proto.Int64(9_000)
	small := &Policy{Preset: presetFrugal, MaxRunLoops: proto.Int32(2), KeepWholeRunLoops: proto.Int32(1)}
	out["traced"], out["by bytes"], out["small"] = traced, bounded, small
	return out
}

// severalLoops is a chain of loops with calls with long arguments, some of them of other forms, several in a message.
func severalLoops() []*Message {
	put := longLoop(12)
	for i := range 5 {
		one, other := writes(1000+i), writes(2000+i)
		both := one[0]
		both.Parts = append(both.Parts, other[0].Parts...)
		both.Parts = append(both.Parts, calling("read", fmt.Sprint("r", i)).Parts...)
		put = append(put, user(fmt.Sprint("loop ", i)), both, other[1], one[1], result(fmt.Sprint("r", i), "short"))
		put = append(put, writes(3000+i)...)
		put = append(put, assistant("done"))
	}
	put = append(put, user("the last"))
	for i := range 8 {
		put = append(put, writes(4000+i)...)
	}
	return put
}

// TestClearedWithOldHeaders: where headers are of version 1, which do not tell what shorter arguments save, the messages with calls are read,
// and the view is the same; where they are not, nothing is read that is not shown.
func TestClearedWithOldHeaders(t *testing.T) {
	store := memstore.New(memstore.Options{})
	counted := map[string]*payloadCounter{"2": {Store: store}, "1": {Store: version1{store}}}
	r, old := newPlainRig(t, counted["2"]), newPlainRig(t, counted["1"])
	put := severalLoops()
	r.chain("chat", put...)
	withCalls := 0
	for _, m := range put {
		withCalls += min(1, len(filed{Message: m}.calls()))
	}
	for name, p := range allPresets() {
		req := &Assemble{Head: byAlias("chat"), View: conversation, Policy: p}
		rows := map[string]int{}
		replies := map[string]*transcriptv1.AssembleResponse{}
		for version, from := range map[string]*rig{"2": r, "1": old} {
			counted[version].rows = 0
			replies[version] = must[*transcriptv1.AssembleResponse](r)(from.streamed(req))
			rows[version] = counted[version].rows
		}
		r.sameMessages(name, replies["1"].Messages, replies["2"].Messages...)
		equal(r, name+": the report", replies["1"].Report.String(), replies["2"].Report.String())
		equal(r, name+": the etag", replies["1"].Etag, replies["2"].Etag)
		more := rows["1"] - rows["2"]
		if arguments := replies["2"].Report.Policy.ClearToolResults.GetClearArguments(); more > withCalls || (more > 0) != arguments {
			t.Errorf("%s: %d rows are read, %d with old headers; %d have calls", name, rows["2"], rows["1"], withCalls)
		}
		if rows["2"] > len(put) {
			t.Errorf("%s: %d rows are read of %d", name, rows["2"], len(put))
		}
	}
}

// TestSavingsOfCopies: a compaction node's header tells what shorter arguments of its copies save, nothing of those that are short.
func TestSavingsOfCopies(t *testing.T) {
	store := memstore.New(memstore.Options{})
	r := newPlainRig(t, store)
	r.chain("chat", severalLoops()...)
	clear := &Clears{Keep: proto.Int32(2), ClearArguments: proto.Bool(true), CachedPercent: proto.Int32(100)}
	made := r.compact(&Compact{Head: byAlias("chat"), Policy: &Policy{ClearToolResults: clear, KeepWholeRunLoops: proto.Int32(1)}})
	equal(r, "that it is written", made.Written, true)
	node := must[*transcriptv1.GetNodeResponse](r)(r.GetNode(r.ctx(), &transcriptv1.GetNodeRequest{Node: byID(made.NodeId)}))
	c := must[chainstore.Chain](r)(store.Chain(r.ctx(), "default", chainstore.Ref{Alias: "chat"}, nil))
	equal(r, "the head", c.Head().ID.String(), made.NodeId)
	short, whole := 0, 0
	for i, m := range node.Messages {
		var want runloop.Savings
		for k, call := range (filed{Message: m}).calls() {
			saves := runloop.SavingOf(call.Arguments)
			if saves > 0 && want == nil {
				want = make(runloop.Savings, len(filed{Message: m}.calls()))
			}
			if saves > 0 {
				want[k] = saves
			}
		}
		if !slices.Equal(c.Head().Messages[i].Savings, want) {
			t.Errorf("message %d saves %v, told are %v", i, want, c.Head().Messages[i].Savings)
		}
		switch {
		case len(filed{Message: m}.calls()) > 0 && m.Origin == transcriptv1.Origin_ORIGIN_SHORTENED:
			short++
			equal(r, "that short arguments save nothing", want == nil, true)
		case want != nil:
			whole++
		}
	}
	equal(r, "that there are copies of both kinds", fmt.Sprint(short > 0, whole > 0), "true true")
}
