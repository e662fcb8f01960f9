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
	// to show calls of which the results alone were read.
	MaxBytes int
}

// Tools reads groups of calls, newest first, until there is enough.
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
	r.left = r.chars
	r.bound(req.PastLoopsOnly)
	if err := r.read(ctx); err != nil {
		return nil, err
	}
	return r.finish(ctx)
}

// bound says how far calls are looked for: to the head, or to where the last run loop begins. The results of earlier calls lie
// before that too.
func (r *request) bound(pastOnly bool) {
	h := r.chain.Head()
	r.end = h.Seq
	last := &h.State.Full.Loop
	if !pastOnly || last.Phase == runloop.None {
		return
	}
	r.before, r.end = &last.Start, last.Start.Seq
	if last.Start.Index == 0 {
		r.nowhere = last.Start.Seq == 0
		r.end = max(last.Start.Seq, 1) - 1
	}
}

func checkToolNames(names []string) error {
	if slices.Contains(names, "") {
		return wire.InvalidField("tool_names", "must not hold an empty name")
	}
	return wire.CheckToolNames(names)
}

// request gathers the latest calls of a chain, group by group, each group's newest first.
type request struct {
	*Replayer
	chain                   chainstore.Chain
	names                   []string
	calls, itemChars, chars int
	// end is the last node that calls and their results are looked for in; nowhere says that there is none.
	end     uint32
	nowhere bool
	// before is where the last run loop begins, if its calls are not wanted.
	before *runloop.Place

	// shown are the calls, and blocks their texts, newest first; more says that there are others, which are left out.
	shown  []*transcriptv1.ReplayedCall
	blocks []string
	more   bool
	// left is the code points that there is room for.
	left int
	// bytes is what was read of messages, and again what was read once more to show calls.
	bytes, again int
	loops        loopPlaces
}

// show shows the calls of a group that fit. Of the newest of all, what is too much is cut. Secrets are replaced before anything is.
func (r *request) show(g *group) {
	for _, one := range slices.Backward(g.found) {
		if len(r.shown) == r.calls || one.says == nil {
			r.more = true
			return
		}
		c := r.replayed(g, one)
		if len(r.blocks) == 0 {
			fit(c, r.left)
		}
		need := max(utf8.RuneCountInString(c.Text)+len("\n\n"), utf8.RuneCountInString(c.Arguments)+utf8.RuneCountInString(c.Result))
		if len(r.blocks) > 0 && need > r.left {
			r.more = true
			return
		}
		r.left -= need
		r.shown, r.blocks = append(r.shown, c), append(r.blocks, c.Text)
	}
}

// finish makes the reply of what is shown, oldest first.
func (r *request) finish(ctx context.Context) (*transcriptv1.ReplayToolsResponse, error) {
	if err := r.loops.name(ctx, r.chain); err != nil {
		return nil, err
	}
	slices.Reverse(r.shown)
	slices.Reverse(r.blocks)
	return &transcriptv1.ReplayToolsResponse{Calls: r.shown, HasMoreCalls: r.more, Text: strings.Join(r.blocks, "\n\n")}, nil
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

// replayed is a call and its result as they are shown.
func (r *request) replayed(g *group, one *replayed) *transcriptv1.ReplayedCall {
	n, i := g.node(one.call.Seq), int(one.call.Index)
	source := compaction.ReplayCall{
		ID: wire.Optional(wire.RedactedName(one.says.Id)), Name: wire.Optional(wire.RedactedName(one.says.Name)),
		State: compaction.ReplayUnanswered, Arguments: redact.Text(one.says.Arguments),
	}
	c := &transcriptv1.ReplayedCall{
		Id: wire.OptionalText(source.ID), Name: wire.OptionalText(source.Name), State: transcriptv1.ToolCallState_TOOL_CALL_STATE_UNANSWERED,
		CallPlace: wire.MessagePlace(n.Header, i), CalledAt: wire.Timestamp(n.Header.Messages[i].SentAt(n.Header.FirstPut)),
	}
	if one.result != nil {
		r.result(one, c, &source)
	}
	c.Arguments, c.ArgumentsCut = compaction.Clamp(source.Arguments, r.itemChars)
	c.Text, _ = compaction.Clamp(r.render(wire.Optional(one.says.Name), &source), 2*r.itemChars)
	r.loops.add(c, n, i)
	return c
}

// result shows the result of a call.
func (r *request) result(one *replayed, c *transcriptv1.ReplayedCall, source *compaction.ReplayCall) {
	source.State, c.State = compaction.ReplayOK, transcriptv1.ToolCallState_TOOL_CALL_STATE_OK
	if one.result.IsError {
		source.State, c.State = compaction.ReplayError, transcriptv1.ToolCallState_TOOL_CALL_STATE_ERROR
	}
	text, other := resultText(one.result)
	source.Result = redact.Text(text)
	c.ResultPlace = one.resultPlace
	c.Result, c.ResultCut = compaction.Clamp(source.Result, r.itemChars)
	c.ResultCut = c.ResultCut || other
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

// loopPlaces finds the first messages of the run loops of the full view that calls belong to.
type loopPlaces struct {
	// node is that which loops are of.
	node  *chainstore.Header
	loops []chainview.MessageLoop
	// calls are to be told where the loops of starts begin; a call of no loop is not among them.
	calls  []*transcriptv1.ReplayedCall
	starts []runloop.Place
}

// add takes a call in message i of a node.
func (l *loopPlaces) add(c *transcriptv1.ReplayedCall, n *chainstore.CallNode, i int) {
	if l.node != n.Header {
		var before runloop.Loop
		if n.Before != nil {
			before = n.Before.State.Full.Loop
		}
		l.node, l.loops = n.Header, chainview.LoopsIn(before, n.Header)
	}
	if in := &l.loops[i].In; in.Phase != runloop.None {
		l.calls, l.starts = append(l.calls, c), append(l.starts, in.Start)
	}
}

// name tells the calls where their loops begin.
func (l *loopPlaces) name(ctx context.Context, chain chainstore.Chain) error {
	var seqs []uint32
	for _, at := range l.starts {
		seqs = append(seqs, at.Seq)
	}
	slices.Sort(seqs)
	seqs = slices.Compact(seqs)
	ids, err := chainview.IDsAt(ctx, chain, seqs...)
	if err != nil {
		return err
	}
	for i, c := range l.calls {
		k, _ := slices.BinarySearch(seqs, l.starts[i].Seq)
		c.RunLoopPlace = &transcriptv1.MessagePlace{NodeId: ids[k].String(), MessageIndex: int32(l.starts[i].Index)}
	}
	return nil
}
