// Package replay gathers the latest tool calls of a chain, with their results, cut to what was asked for.
package replay

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
	"github.com/transcriptd/transcriptd/server/internal/chainview"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

const (
	defaultCalls, maxCalls         = 20, 200
	defaultItemChars, maxItemChars = 500, 10_000
	defaultChars, maxChars         = 8_000, 200_000
	// DefaultMaxBytes is Replayer.MaxBytes outside of tests.
	DefaultMaxBytes = 16 << 20
)

// Replayer replays the calls of chains.
type Replayer struct {
	Store     chainstore.Store
	Renderers map[string]compaction.Renderer
	// MaxBytes is the bytes of messages after which no more are read to find calls and their results; and as many again
	// to show them.
	MaxBytes int
}

// Tools goes back from call to call, each node with calls naming the one before, until there is enough.
func (s *Replayer) Tools(ctx context.Context, req *transcriptv1.ReplayToolsRequest) (*transcriptv1.ReplayToolsResponse, error) {
	ref, err := wire.ParseRef("head", req.Head)
	if err != nil {
		return nil, err
	}
	r := &request{Replayer: s}
	if r.calls, err = wire.Bounded("max_calls", req.MaxCalls, defaultCalls, maxCalls); err != nil {
		return nil, err
	}
	if r.itemChars, err = wire.Bounded("max_item_chars", req.MaxItemChars, defaultItemChars, maxItemChars); err != nil {
		return nil, err
	}
	if r.chars, err = wire.Bounded("max_chars", req.MaxChars, defaultChars, maxChars); err != nil {
		return nil, err
	}
	if err := checkToolNames(req.ToolNames); err != nil {
		return nil, err
	}
	r.names = req.ToolNames
	if r.chain, err = s.Store.Chain(ctx, wire.Namespace(req.Namespace), ref, nil); err != nil {
		return nil, wire.MissingFrom("head", err)
	}
	if err := r.read(ctx); err != nil {
		return nil, err
	}
	return r.reply(ctx)
}

func checkToolNames(names []string) error {
	if slices.Contains(names, "") {
		return wire.InvalidField("tool_names", "must not hold an empty name")
	}
	return wire.CheckToolNames(names)
}

// request gathers the latest calls of a chain: first where they and their results lie, then, newest first, what they say.
type request struct {
	*Replayer
	chain                   chainstore.Chain
	names                   []string
	calls, itemChars, chars int

	// found are the calls, oldest first; more says that there are others, which are left out.
	found []*replayed
	more  bool
	// bytes is what was read of messages.
	bytes int
	loops loopPlaces
}

// reply reads the latest calls that fit, and shows them oldest first. Of the newest, what is too much for all is cut.
func (r *request) reply(ctx context.Context) (*transcriptv1.ReplayToolsResponse, error) {
	reply := &transcriptv1.ReplayToolsResponse{More: r.more}
	left := r.chars
	var blocks []string
	r.bytes = 0
	for _, one := range slices.Backward(r.found) {
		if len(reply.Calls) == r.calls || r.bytes >= r.MaxBytes {
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
func (r *request) show(ctx context.Context, one *replayed) (*transcriptv1.ReplayedCall, error) {
	h, m, err := r.at(ctx, one.call)
	if err != nil {
		return nil, err
	}
	call := wire.CallsOf(m)[one.nth]
	source := compaction.ReplayCall{
		ID: wire.Optional(wire.RedactedName(call.Id)), Name: wire.Optional(wire.RedactedName(call.Name)), State: compaction.ReplayUnanswered, Arguments: redact.Text(call.Arguments),
	}
	loop, err := r.loops.of(ctx, h, int(one.call.Index))
	if err != nil {
		return nil, err
	}
	c := &transcriptv1.ReplayedCall{
		Id: wire.OptionalText(source.ID), Name: wire.OptionalText(source.Name), State: transcriptv1.ToolCallState_TOOL_CALL_STATE_UNANSWERED,
		Call: wire.MessagePlace(h, int(one.call.Index)), RunLoop: loop, At: wire.Timestamp(h.Messages[one.call.Index].SentAt(h.FirstPut)),
	}
	if one.answered {
		if err := r.result(ctx, one, c, &source); err != nil {
			return nil, err
		}
	}
	c.Arguments, c.ArgumentsCut = compaction.Clamp(source.Arguments, r.itemChars)
	c.Text, _ = compaction.Clamp(r.render(wire.Optional(call.Name), &source), 2*r.itemChars)
	return c, nil
}

// result reads the result of a call.
func (r *request) result(ctx context.Context, one *replayed, c *transcriptv1.ReplayedCall, source *compaction.ReplayCall) error {
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
	c.ResultPlace = wire.MessagePlace(h, int(one.result.Index))
	c.Result, c.ResultCut = compaction.Clamp(source.Result, r.itemChars)
	c.ResultCut = c.ResultCut || other
	return nil
}

// at reads a message.
func (r *request) at(ctx context.Context, place runloop.Place) (h *chainstore.Header, m *transcriptv1.Message, err error) {
	err = chainview.ReadRow(ctx, r.chain, place.Seq, func(row *chainstore.Row, header *chainstore.Header) error {
		h = header
		r.bytes += len(row.Payload)
		m, err = chainview.DecodeMessage(h, int(place.Index), row.Payload)
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

// render makes the text of a call of a tool. A renderer sees nothing that was not redacted; what it makes of it is redacted once
// more, since it may put together what was apart.
func (r *request) render(tool runloop.Optional, c *compaction.ReplayCall) string {
	render := r.Renderers[tool.Value]
	if render == nil || !tool.Present {
		render = compaction.Render
	}
	return redact.Text(render(c))
}

// loopPlaces finds the first messages of the run loops of the full view that messages belong to.
type loopPlaces struct {
	chain chainstore.Chain
	// seq is the node that loops are of.
	seq    uint32
	loops  []chainview.MessageLoop
	starts chainview.LoopStarts
}

// of is the first message of the run loop of message i of a node; nil where it is in none.
func (l *loopPlaces) of(ctx context.Context, h *chainstore.Header, i int) (*transcriptv1.MessagePlace, error) {
	if l.loops == nil || l.seq != h.Seq {
		before, err := chainview.LoopBefore(ctx, l.chain, h.Seq)
		if err != nil {
			return nil, err
		}
		l.seq, l.loops = h.Seq, chainview.LoopsIn(before, h)
	}
	return l.starts.Place(ctx, l.chain, &l.loops[i].In)
}
