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
	return r.reply(ctx)
}

func checkToolNames(names []string) error {
	switch {
	case len(names) > maxToolNames:
		return overLimit("tool_names", "must be at most %d", maxToolNames)
	case slices.Contains(names, ""):
		return invalidField("tool_names", "must not hold an empty name")
	}
	return nil
}

// replay gathers the latest calls of a chain: first where they and their results lie, then, newest first, what they say.
type replay struct {
	chain                   chainstore.Chain
	names                   []string
	calls, itemChars, chars int
	renderers               map[string]compaction.Renderer

	// found are the calls, oldest first; more says that there are earlier ones.
	found []*replayed
	more  bool
	// bytes is what was read of messages.
	bytes int
	loops loopPlaces
}

// replayed is where a call and its result lie.
type replayed struct {
	id runloop.Optional
	// call is the message that has it as its nth call; wanted says that it is to be shown.
	call   runloop.Place
	nth    int
	wanted bool
	// result is the message that answers it, if answered.
	result   runloop.Place
	answered bool
}

// read finds calls until there are enough, or enough was read for them.
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

// rows finds the calls of the nodes from one through another, and reads on for their results.
func (r *replay) rows(ctx context.Context, from, through uint32) (found []*replayed, err error) {
	var g groups
	var open []*replayed
	err = rowsWhile(ctx, r.chain, chainstore.Span{From: from, Through: r.chain.Head().Seq}, func(row *chainstore.Row) (bool, error) {
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
			calls, rest, err := r.message(h, i, row.Payload, open)
			if err != nil {
				return false, err
			}
			open = rest
			for _, one := range calls {
				if one.wanted {
					found = append(found, one)
				}
			}
		}
		return h.Seq < through || len(open) > 0, nil
	})
	return found, err
}

// message returns the message's calls and those that are open behind it; a result answers one.
func (r *replay) message(h *chainstore.Header, i int, payload []byte, open []*replayed) (calls, rest []*replayed, err error) {
	b := &h.Messages[i]
	if b.Calls == 0 && (b.Role != runloop.Tool || b.Mark.LeftOut != runloop.Shown) {
		return nil, open, nil
	}
	m, err := putMessage(h, i, payload)
	if err != nil {
		return nil, nil, err
	}
	at := runloop.Place{Seq: h.Seq, Index: uint32(i)}
	if b.Role == runloop.Tool {
		one, rest, ok := takeFirst(open, func(one *replayed) bool { return one.id == optionalOf(m.ToolCallId) })
		if ok {
			one.result, one.answered = at, true
		}
		return nil, rest, nil
	}
	for n, c := range callsOf(m) {
		wanted := len(r.names) == 0 || c.Name != nil && slices.Contains(r.names, *c.Name)
		calls = append(calls, &replayed{id: optionalOf(c.Id), call: at, nth: n, wanted: wanted})
	}
	return calls, append(open, calls...), nil
}

// reply reads the latest calls that fit, and shows them oldest first. Of the newest, what is too much for all is cut.
func (r *replay) reply(ctx context.Context) (*transcriptv1.ReplayToolsResponse, error) {
	reply := &transcriptv1.ReplayToolsResponse{More: r.more}
	left := r.chars
	var blocks []string
	r.bytes = 0
	for _, one := range slices.Backward(r.found) {
		if len(reply.Calls) == r.calls || r.bytes >= replayRead {
			reply.More = true
			break
		}
		c, err := r.show(ctx, one)
		if err != nil {
			return nil, err
		}
		if len(blocks) == 0 {
			fit(c, left)
		}
		need := max(utf8.RuneCountInString(c.Text)+len("\n\n"), utf8.RuneCountInString(c.Arguments)+utf8.RuneCountInString(c.Result))
		if len(blocks) > 0 && need > left {
			reply.More = true
			break
		}
		left -= need
		reply.Calls, blocks = append(reply.Calls, c), append(blocks, c.Text)
	}
	slices.Reverse(reply.Calls)
	slices.Reverse(blocks)
	reply.Text = strings.Join(blocks, "\n\n")
	return reply, nil
}

// fit cuts what is shown of a call to so many code points: its text, and arguments and result together.
func fit(c *transcriptv1.ReplayedCall, chars int) {
	var cut bool
	c.Text, _ = compaction.Clamp(c.Text, chars)
	c.Arguments, cut = compaction.Clamp(c.Arguments, chars)
	c.ArgumentsCut = c.ArgumentsCut || cut
	c.Result, cut = compaction.Clamp(c.Result, chars-utf8.RuneCountInString(c.Arguments))
	c.ResultCut = c.ResultCut || cut
}

// show reads a call and its result. Secrets are replaced before anything is cut.
func (r *replay) show(ctx context.Context, one *replayed) (*transcriptv1.ReplayedCall, error) {
	h, m, err := r.at(ctx, one.call)
	if err != nil {
		return nil, err
	}
	call := callsOf(m)[one.nth]
	source := compaction.ReplayCall{
		ID: one.id, Name: optionalOf(call.Name), State: compaction.ReplayUnanswered, Arguments: redact.Text(call.Arguments),
	}
	loop, err := r.loops.of(ctx, h, int(one.call.Index))
	if err != nil {
		return nil, err
	}
	c := &transcriptv1.ReplayedCall{
		Id: call.Id, Name: call.Name, State: transcriptv1.ToolCallState_TOOL_CALL_STATE_UNANSWERED,
		Call: messagePlace(h, int(one.call.Index)), RunLoop: loop, At: timestamp(h.Messages[one.call.Index].SentAt(h.FirstPut)),
	}
	if one.answered {
		if err := r.result(ctx, one, c, &source); err != nil {
			return nil, err
		}
	}
	c.Arguments, c.ArgumentsCut = compaction.Clamp(source.Arguments, r.itemChars)
	c.Text, _ = compaction.Clamp(r.render(&source), 2*r.itemChars)
	return c, nil
}

// result reads the result of a call.
func (r *replay) result(ctx context.Context, one *replayed, c *transcriptv1.ReplayedCall, source *compaction.ReplayCall) error {
	h, m, err := r.at(ctx, one.result)
	if err != nil {
		return err
	}
	source.State, c.State = compaction.ReplayOK, transcriptv1.ToolCallState_TOOL_CALL_STATE_OK
	if m.IsError {
		source.State, c.State = compaction.ReplayError, transcriptv1.ToolCallState_TOOL_CALL_STATE_ERROR
	}
	text, other := resultText(m)
	source.Result = redact.Text(text)
	c.ResultPlace = messagePlace(h, int(one.result.Index))
	c.Result, c.ResultCut = compaction.Clamp(source.Result, r.itemChars)
	c.ResultCut = c.ResultCut || other
	return nil
}

// at reads a message.
func (r *replay) at(ctx context.Context, place runloop.Place) (h *chainstore.Header, m *transcriptv1.Message, err error) {
	err = readRow(ctx, r.chain, place.Seq, func(row *chainstore.Row, header *chainstore.Header) error {
		h = header
		r.bytes += len(row.Payload)
		m, err = putMessage(h, int(place.Index), row.Payload)
		return err
	})
	return h, m, err
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

// render makes the text of a call. A renderer sees nothing that was not redacted; what it makes of it is redacted once
// more, since it may put together what was apart.
func (r *replay) render(c *compaction.ReplayCall) string {
	render := r.renderers[c.Name.Value]
	if render == nil || !c.Name.Present {
		render = compaction.Render
	}
	return redact.Text(render(c))
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
