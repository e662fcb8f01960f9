package server

import (
	"context"
	"slices"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// shower lays the rows of a conversation into frames. What is shown as it is, is copied as it is stored; only messages
// that are cut or become lines are decoded, and, where there are lines, calls and results, to know which tool they name.
type shower struct {
	*conversation
	s       *splicer
	apply   application
	origins origins
	// calls follows calls and results, if lines says that there are lines.
	calls pairing
	lines bool
	// row is the present row and h its header; made is what it shows, whose memory serves all rows.
	row  *chainstore.Row
	h    *chainstore.Header
	made made
}

func newShower(c *conversation, s *splicer) *shower {
	return &shower{
		conversation: c, s: s, apply: application{plan: c.plan},
		origins: origins{chain: c.view.chain, compaction: c.view.compaction}, lines: c.hasLines(),
	}
}

// made is what a part of a row shows.
type made struct {
	bytes    []byte
	messages int
	notes    noteList
	size     compaction.Size
	// stubs, cut and shortened count what is not as it was put: split says that a part went before.
	stubs, shortened int
	split            bool
}

func (m *made) clear() { *m = made{bytes: m.bytes[:0]} }

// add lays what the conversation shows of a row into a frame. It keeps nothing of the row.
func (w *shower) add(ctx context.Context, row *chainstore.Row) error {
	defer w.s.saw(row)
	preamble, body := w.view.parts(row)
	if preamble == 0 && !row.Raw.HasFindings() && w.apply.passes(body) {
		return nil
	}
	var err error
	if w.h, err = row.Header(); err != nil {
		return err
	}
	w.row = row
	w.made.clear()
	if err := w.preamble(ctx, preamble); err != nil {
		return err
	}
	r := &viewRow{Row: row, from: preamble, through: body}
	err = eachMessage(w.h, r, &w.apply, func(m *message) error { return w.message(ctx, m) })
	if err != nil {
		return err
	}
	w.find(preamble, body)
	return w.flush(ctx)
}

// preamble shows the first n messages of a row.
func (w *shower) preamble(ctx context.Context, n int) error {
	offset := 0
	for i := range n {
		m := &w.h.Messages[i]
		bytes, err := entry(w.row.Payload, offset, m.Length)
		if err != nil {
			return err
		}
		offset += m.Length
		if m.Mark.LeftOut != runloop.Shown {
			continue
		}
		if err := w.keep(ctx, m, bytes); err != nil {
			return err
		}
	}
	w.s.report.find(w.h, 0, n)
	return nil
}

// find reports what is found in the messages of a row that belong to the loops shown.
func (w *shower) find(from, through int) {
	start := w.plan.Start
	if !w.apply.started {
		return
	}
	if w.h.Seq == start.Seq {
		w.s.report.window = &transcriptv1.Window{NodeId: w.h.ID.String(), MessageIndex: int32(start.Index)}
		from = max(from, int(start.Index))
	}
	w.s.report.find(w.h, from, through)
	for i := from; i < through; i++ {
		w.s.report.repairs += int64(once(w.h.Messages[i].Mark.LeftOut != runloop.Shown))
	}
}

// message shows a message, or a stub before one, as the plan says.
func (w *shower) message(ctx context.Context, m *message) error {
	switch {
	case m.stub != nil:
		return w.stub(ctx, *m.stub)
	case m.action == compaction.Drop:
		return nil
	case m.action == compaction.Keep && !w.pairs(m.brief):
		return w.keep(ctx, m.brief, m.bytes)
	}
	decoded, err := canonical.DecodePayload(w.needed(m))
	if err != nil {
		return err
	}
	changed, err := w.change(ctx, m, decoded[0])
	if err != nil {
		return err
	}
	if !changed {
		return w.keep(ctx, m.brief, m.bytes)
	}
	return w.shorten(ctx, m.brief, decoded[0])
}

// needed is what has to be decoded of a message.
func (w *shower) needed(m *message) []byte {
	switch m.action {
	case compaction.CutUser:
		return truncate(m.bytes, w.policy.MaxUserChars)
	case compaction.CutReply:
		return truncate(m.bytes, w.policy.MaxReplyChars)
	default:
		return m.bytes
	}
}

// pairs tells whether a message has to be known for the lines to name their tools.
func (w *shower) pairs(m *runloop.Brief) bool {
	return w.lines && (m.Calls > 0 || m.Role == runloop.Tool)
}

// change cuts a message or makes it a line, as the plan says, and tells whether it changed.
func (w *shower) change(ctx context.Context, at *message, m *transcriptv1.Message) (bool, error) {
	switch at.action {
	case compaction.CutUser:
		return compaction.Cut(m, w.policy.MaxUserChars), nil
	case compaction.CutReply:
		return compaction.Cut(m, w.policy.MaxReplyChars), nil
	}
	f := canonical.FactsOf(m)
	call, _ := w.calls.next(&f)
	switch at.action {
	case compaction.Line:
		name := f.Name
		if !name.Present {
			name = call.Name
		}
		from, err := w.origins.source(ctx, w.h, at.index)
		if err == nil {
			compaction.MakeLine(m, &f, name, from)
		}
		return true, err
	default:
		return false, nil
	}
}

// keep shows a message as it is stored.
func (w *shower) keep(ctx context.Context, m *runloop.Brief, bytes []byte) error {
	tokens, estimated := m.Tokens()
	if err := w.room(ctx, len(bytes)); err != nil {
		return err
	}
	w.made.bytes = append(w.made.bytes, bytes...)
	w.shown(&m.Note, len(bytes), tokens, estimated)
	return nil
}

// shorten shows a message that was changed. A count of its tokens is no longer right.
func (w *shower) shorten(ctx context.Context, b *runloop.Brief, m *transcriptv1.Message) error {
	bytes := canonical.AppendMessage(nil, m)
	if err := w.room(ctx, len(bytes)); err != nil {
		return err
	}
	w.made.bytes = append(w.made.bytes, bytes...)
	w.made.shortened++
	w.shown(&runloop.Note{SentAt: b.Note.SentAt, HasSentAt: b.Note.HasSentAt}, len(bytes), runloop.EstimateTokens(int64(len(bytes))), true)
	return nil
}

func (w *shower) stub(ctx context.Context, call runloop.Call) error {
	n := runloop.StubLength(call)
	if err := w.room(ctx, n); err != nil {
		return err
	}
	w.calls.stub(call)
	w.made.bytes = canonical.AppendStub(w.made.bytes, call)
	w.made.stubs++
	w.shown(&runloop.Note{}, n, runloop.EstimateTokens(int64(n)), true)
	return nil
}

// shown counts a message.
func (w *shower) shown(note *runloop.Note, bytes int, tokens int64, estimated bool) {
	w.made.messages++
	w.made.size.Add(int64(bytes), tokens, estimated)
	if w.s.told() {
		w.made.notes.add(note)
	}
}

// room makes room for a message: what the row shows comes in parts, where it does not fit into one frame.
func (w *shower) room(ctx context.Context, bytes int) error {
	if w.made.messages == 0 || len(w.made.bytes)+bytes <= maxPart {
		return nil
	}
	w.made.split = true
	if err := w.flush(ctx); err != nil {
		return err
	}
	w.made.clear()
	w.made.split = true
	return nil
}

// flush lays what was made into a frame, if it shows anything.
func (w *shower) flush(ctx context.Context) error {
	m := &w.made
	if m.messages == 0 {
		return nil
	}
	p := part{
		messages: m.messages, bytes: len(m.bytes), repairs: m.stubs, notes: m.notes.list(),
		verbatim: !m.split && m.stubs == 0 && m.shortened == 0 && m.messages == len(w.h.Messages),
	}
	f, info, err := w.s.begin(ctx, w.row, w.h, &p)
	if err != nil {
		return err
	}
	f.messages = append(f.messages, m.bytes...)
	w.s.end(f, info, &p)
	w.s.report.shortened += int64(m.shortened)
	w.s.report.spend(m.size.Tokens, m.size.Estimated)
	return nil
}

// passes goes past n messages, without stubs before them, of which the plan shows nothing; if it shows something, or may,
// it stays where it is and returns false.
func (a *application) passes(n int) bool {
	if n == 0 {
		return true
	}
	if !a.started || slices.ContainsFunc(a.plan.Actions[a.next:a.next+n], func(x compaction.Action) bool { return x != compaction.Drop }) {
		return false
	}
	a.take(n)
	return true
}
