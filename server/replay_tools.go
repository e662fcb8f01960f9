package server

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/redact"
)

const (
	defaultReplayCalls, maxReplayCalls         = 20, 200
	defaultReplayItemChars, maxReplayItemChars = 500, 10_000
	defaultReplayChars, maxReplayChars         = 8_000, 200_000
	// replayRead is the bytes of messages after which no earlier calls are looked at.
	replayRead = 16 << 20
)

// ReplayTools goes back from call to call, each node with calls naming the one before, until there is enough.
func (t *transcripts) ReplayTools(ctx context.Context, req *transcriptv1.ReplayToolsRequest) (*transcriptv1.ReplayToolsResponse, error) {
	ref, err := parseRef("head", req.Head)
	if err != nil {
		return nil, err
	}
	r := &replay{renderers: t.renderers}
	if r.calls, err = bounded("max_calls", req.MaxCalls, defaultReplayCalls, maxReplayCalls); err != nil {
		return nil, err
	}
	if r.itemChars, err = bounded("max_item_chars", req.MaxItemChars, defaultReplayItemChars, maxReplayItemChars); err != nil {
		return nil, err
	}
	if r.chars, err = bounded("max_chars", req.MaxChars, defaultReplayChars, maxReplayChars); err != nil {
		return nil, err
	}
	if err := checkToolNames(req.ToolNames); err != nil {
		return nil, err
	}
	r.names = req.ToolNames
	if r.chain, err = t.store.Chain(ctx, namespaceOf(req.Namespace), ref, nil); err != nil {
		return nil, err
	}
	if err := r.read(ctx); err != nil {
		return nil, err
	}
	return r.reply(), nil
}

func checkToolNames(names []string) error {
	if len(names) > maxToolNames {
		return overLimit("tool_names", "must be at most %d", maxToolNames)
	}
	return nil
}

// replay gathers the latest calls of a chain.
type replay struct {
	chain                   chainstore.Chain
	names                   []string
	calls, itemChars, chars int
	renderers               map[string]compaction.Renderer

	// found are the calls, oldest first; more says that there are earlier ones.
	found []*replayed
	more  bool
	bytes int
	loops loopPlaces
}

// replayed is a call and what it answers to.
type replayed struct {
	call   *transcriptv1.ReplayedCall
	source compaction.ReplayCall
}

// read gathers calls until there are enough, or enough was read for them.
func (r *replay) read(ctx context.Context) error {
	r.loops.chain = r.chain
	through := r.chain.Head().Seq
	for link := r.chain.Head().Tools; link.Present; {
		if len(r.found) >= r.calls || r.bytes >= replayRead {
			r.more = true
			return nil
		}
		first, before, err := r.groupStart(ctx, link.Seq)
		if err != nil {
			return err
		}
		found, err := r.rows(ctx, first, through)
		if err != nil {
			return err
		}
		r.found = append(found, r.found...)
		if first == 0 {
			break
		}
		through, link = first-1, before
	}
	return nil
}

// groupStart is the first node of the group of calls that a node has the last calls of, and the nearest node with calls
// before it.
func (r *replay) groupStart(ctx context.Context, seq uint32) (first uint32, before chainstore.Link, err error) {
	for seq > 0 {
		h, err := chainstore.HeaderAt(ctx, r.chain, seq-1)
		if err != nil {
			return 0, before, err
		}
		if before = h.Tools; !before.Present || len(h.State.Group.Calls) == 0 || h.State.Group.Results {
			return seq, before, nil
		}
		seq = before.Seq
	}
	return 0, chainstore.Link{}, nil
}

// rows gathers the calls of the nodes from one through another, and reads on for their results.
func (r *replay) rows(ctx context.Context, from, through uint32) ([]*replayed, error) {
	var g groups
	var found, open []*replayed
	err := rowsWhile(ctx, r.chain, chainstore.Span{From: from, Through: r.chain.Head().Seq}, func(row *chainstore.Row) (bool, error) {
		h, err := row.Header()
		if err != nil || h.Covers.Present {
			return err == nil, err
		}
		r.bytes += len(row.Payload)
		for i := range h.Messages {
			b := &h.Messages[i]
			begins, wasOpen := g.next(b), len(open) > 0
			if begins || !g.open {
				open = nil
			}
			if h.Seq > through && (begins || !wasOpen || !g.open) {
				return false, nil
			}
			calls, err := r.message(ctx, h, i, row.Payload, &open)
			if err != nil {
				return false, err
			}
			found = append(found, calls...)
		}
		return h.Seq < through || len(open) > 0, nil
	})
	return found, err
}

// message returns the message's calls, and lets a result answer an open one.
func (r *replay) message(ctx context.Context, h *chainstore.Header, i int, payload []byte, open *[]*replayed) ([]*replayed, error) {
	b := &h.Messages[i]
	if b.Calls == 0 && (b.Role != runloop.Tool || b.Mark.LeftOut != runloop.Shown) {
		return nil, nil
	}
	m, err := putMessage(h, i, payload)
	if err != nil {
		return nil, err
	}
	at := messagePlace(h, i)
	if b.Role == runloop.Tool {
		*open = r.answer(*open, m, at)
		return nil, nil
	}
	var found []*replayed
	for _, p := range m.Parts {
		c := p.GetToolCall()
		if c == nil {
			continue
		}
		one := &replayed{source: compaction.ReplayCall{ID: optionalOf(c.Id), Name: optionalOf(c.Name), State: compaction.ReplayUnanswered}}
		*open = append(*open, one)
		if len(r.names) > 0 && !slices.Contains(r.names, c.GetName()) {
			continue
		}
		loop, err := r.loops.of(ctx, h, i)
		if err != nil {
			return nil, err
		}
		one.source.Arguments = redact.Text(c.Arguments)
		one.call = &transcriptv1.ReplayedCall{
			Id: c.Id, Name: c.Name, State: transcriptv1.ToolCallState_TOOL_CALL_STATE_UNANSWERED, Call: at, RunLoop: loop,
			At: timestamp(b.SentAt(h.FirstPut)),
		}
		one.call.Arguments, one.call.ArgumentsCut = compaction.Clamp(one.source.Arguments, r.itemChars)
		found = append(found, one)
	}
	return found, nil
}

// answer lets a result answer the first open call with its id, and returns the calls that stay open.
func (r *replay) answer(open []*replayed, m *transcriptv1.Message, at *transcriptv1.MessagePlace) []*replayed {
	for k, one := range open {
		if one.source.ID != optionalOf(m.ToolCallId) {
			continue
		}
		if one.call != nil {
			one.result(m, at, r.itemChars)
		}
		return append(open[:k:k], open[k+1:]...)
	}
	return open
}

func (one *replayed) result(m *transcriptv1.Message, at *transcriptv1.MessagePlace, chars int) {
	one.source.State, one.call.State = compaction.ReplayOK, transcriptv1.ToolCallState_TOOL_CALL_STATE_OK
	if m.IsError {
		one.source.State, one.call.State = compaction.ReplayError, transcriptv1.ToolCallState_TOOL_CALL_STATE_ERROR
	}
	text, other := resultText(m)
	one.source.Result = redact.Text(text)
	one.call.ResultPlace = at
	one.call.Result, one.call.ResultCut = compaction.Clamp(one.source.Result, chars)
	one.call.ResultCut = one.call.ResultCut || other
}

// resultText is the text of a result, json parts included; other tells whether it has parts that are neither.
func resultText(m *transcriptv1.Message) (text string, other bool) {
	var texts []string
	for _, p := range m.Parts {
		switch k := p.Kind.(type) {
		case *transcriptv1.Part_Text:
			texts = append(texts, k.Text)
		case *transcriptv1.Part_Json:
			texts = append(texts, k.Json)
		default:
			other = true
		}
	}
	return strings.Join(texts, "\n"), other
}

// reply chooses the latest calls that fit and shows them oldest first.
func (r *replay) reply() *transcriptv1.ReplayToolsResponse {
	reply := &transcriptv1.ReplayToolsResponse{More: r.more}
	left := r.chars
	var blocks []string
	for _, one := range slices.Backward(r.found) {
		c := one.call
		c.Text, _ = compaction.Clamp(r.render(&one.source), 2*r.itemChars)
		need := utf8.RuneCountInString(c.Text) + len("\n\n")
		items := utf8.RuneCountInString(c.Arguments) + utf8.RuneCountInString(c.Result)
		if len(reply.Calls) == r.calls || max(need, items) > left {
			reply.More = true
			break
		}
		left -= max(need, items)
		reply.Calls = append(reply.Calls, c)
		blocks = append(blocks, c.Text)
	}
	slices.Reverse(reply.Calls)
	slices.Reverse(blocks)
	reply.Text = strings.Join(blocks, "\n\n")
	return reply
}

// render makes the text of a call. A call's own renderer sees nothing that was not redacted; what it makes of it is
// redacted once more, since it may put together what was apart.
func (r *replay) render(c *compaction.ReplayCall) string {
	if render := r.renderers[c.Name.Value]; render != nil && c.Name.Present {
		return redact.Text(render(c))
	}
	return compaction.Render(c)
}

// loopPlaces finds the first messages of the run loops of the full view that messages belong to.
type loopPlaces struct {
	chain chainstore.Chain
	// seq is the node that loops are of; starts are ids of nodes in which loops begin.
	seq    uint32
	loops  []messageLoop
	starts map[uint32]chainstore.ID
}

// of is the first message of the run loop of message i of a node; nil where it is in none.
func (l *loopPlaces) of(ctx context.Context, h *chainstore.Header, i int) (*transcriptv1.MessagePlace, error) {
	if l.loops == nil || l.seq != h.Seq {
		before, err := loopBefore(ctx, l.chain, h.Seq)
		if err != nil {
			return nil, err
		}
		l.seq, l.loops = h.Seq, loopsIn(before, h)
	}
	loop := l.loops[i].in
	if loop.Phase == runloop.None {
		return nil, nil
	}
	id, known := l.starts[loop.Start.Seq]
	if !known {
		start, err := chainstore.HeaderAt(ctx, l.chain, loop.Start.Seq)
		if err != nil {
			return nil, err
		}
		if l.starts == nil {
			l.starts = map[uint32]chainstore.ID{}
		}
		id = start.ID
		l.starts[loop.Start.Seq] = id
	}
	return &transcriptv1.MessagePlace{NodeId: id.String(), MessageIndex: int32(loop.Start.Index)}, nil
}
