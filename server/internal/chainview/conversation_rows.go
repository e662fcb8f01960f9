package chainview

import (
	"context"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

// conversationWriter lays the rows of a conversation into frames. What is shown as it is, is copied as it is stored, and what is cut is
// cut as it is stored. Calls and results are decoded where there are lines, to know which tools they name.
type conversationWriter struct {
	*conversation
	s      *splicer
	cursor planCursor
	// calls follows calls and results, if lines says that there are lines.
	calls pairing
	lines bool
	// row is the present row and h its header; out is what it shows. The memory of both serves all rows.
	row *chainstore.Row
	h   *chainstore.Header
	out rowOutput
	// details are those of its messages, where something is told.
	details []chainstore.Detail
	// scratch is memory for a line.
	scratch []byte
}

func newConversationWriter(c *conversation, s *splicer) *conversationWriter {
	return &conversationWriter{
		h: &chainstore.Header{}, conversation: c, s: s, cursor: planCursor{plan: c.plan}, lines: c.hasLines(),
	}
}

// rowOutput is what a part of a row shows.
type rowOutput struct {
	bytes    []byte
	messages int
	notes    wire.NoteList
	size     compaction.Size
	// stubs, lines and shortened count what is not as it was stored, lines those that tell what is left out; before, what is, and a
	// compaction shortened; split says that a part
	// went before.
	stubs, lines, shortened, before int
	split                           bool
}

func (m *rowOutput) clear() { *m = rowOutput{bytes: m.bytes[:0]} }

// Add lays what the conversation shows of a row into a frame. It keeps nothing of the row.
func (w *conversationWriter) Add(row *chainstore.Row) error {
	defer w.s.saw(row)
	preamble, body := w.view.parts(row)
	if !row.Raw.HasFindings() && w.cursor.passes(body) {
		return nil
	}
	err := w.header(row)
	if err != nil {
		return err
	}
	if preamble == 0 && body == len(w.h.Messages) && !w.lines && !row.Raw.Repaired() && w.cursor.keeps(body) {
		w.find(0, body)
		return w.s.verbatim(row, w.h)
	}
	if w.details, err = w.s.details(row); err != nil {
		return err
	}
	w.row = row
	w.out.clear()
	if err := w.preamble(preamble); err != nil {
		return err
	}
	r := &viewRow{Row: row, from: preamble, through: body}
	err = eachMessage(w.h, r, &w.cursor, func(m *message) error { return w.message(m) })
	if err != nil {
		return err
	}
	w.find(preamble, body)
	return w.flush()
}

// Link is the splicer's.
func (w *conversationWriter) Link(ctx context.Context) error { return w.s.Link(ctx) }

// header decodes what is needed of a row's header.
func (w *conversationWriter) header(row *chainstore.Row) error {
	if w.s.wantsInfo() || row.Raw.IsCompaction() || row.Raw.HasFindings() { // of which the report asks what lies before
		return row.HeaderInto(w.h)
	}
	return row.MessagesInto(w.h)
}

// preamble shows the first n messages of a row.
func (w *conversationWriter) preamble(n int) error {
	offset := 0
	for i := range n {
		m := &w.h.Messages[i]
		bytes, err := entry(w.row.Payload, offset, m.Length)
		if err != nil {
			return err
		}
		offset += m.Length
		if !m.Shown() {
			w.s.report.repairs += int64(leftOut(m))
			continue
		}
		if err := w.keep(m, i, bytes); err != nil {
			return err
		}
	}
	w.s.report.find(w.h, 0, n)
	return nil
}

// find reports what is found in the messages of a row that belong to the loops shown.
func (w *conversationWriter) find(from, through int) {
	start := w.plan.Start
	if !w.cursor.started {
		return
	}
	if w.h.Seq == start.Seq {
		w.s.report.window = &transcriptv1.Window{NodeId: w.h.ID.String(), MessageIndex: int32(start.Index)}
		from = max(from, int(start.Index))
	}
	w.s.report.find(w.h, from, through)
	for i := from; i < through; i++ {
		w.s.report.repairs += int64(leftOut(&w.h.Messages[i]))
	}
}

// message shows a message, or a stub before one, as the plan says.
func (w *conversationWriter) message(m *message) error {
	switch {
	case m.stub != nil:
		return w.stub(*m.stub)
	case m.leftOut > 0:
		return w.leftOut(m.leftOut)
	case m.action == compaction.Drop:
		return nil
	case w.pairs(m.brief):
		return w.paired(m)
	case m.action == compaction.Keep:
		return w.keep(m.brief, m.index, m.bytes)
	default:
		return w.cut(m)
	}
}

// cut shows a message cut, which makes it no longer.
func (w *conversationWriter) cut(m *message) error {
	if err := w.reserve(len(m.bytes)); err != nil {
		return err
	}
	before := len(w.out.bytes)
	var did bool
	if w.out.bytes, did = appendCut(w.out.bytes, m, &w.policy); !did {
		return w.keep(m.brief, m.index, m.bytes)
	}
	w.shortened(m, len(w.out.bytes)-before)
	return nil
}

// pairs tells whether a message has to be known for the lines to name their tools.
func (w *conversationWriter) pairs(m *runloop.Brief) bool {
	return w.lines && (m.Calls > 0 || m.Role == runloop.Tool)
}

// paired follows a message with calls, or a result, and shows it, as it is, cut, or as its line.
func (w *conversationWriter) paired(at *message) error {
	decoded, err := canonical.DecodePayload(at.bytes)
	if err != nil {
		return err
	}
	m, f := decoded[0], canonical.FactsOf(decoded[0])
	if at.action == compaction.Answer {
		f.Calls = w.policy.AnswerCalls(f.Calls)
	}
	call := w.calls.next(&f)
	switch at.action {
	case compaction.Line:
	case compaction.Keep:
		return w.keep(at.brief, at.index, at.bytes)
	default:
		return w.cut(at)
	}
	w.origins.line(w.h, at.index, m, &f, call)
	w.scratch = canonical.AppendMessage(w.scratch[:0], m)
	if err := w.reserve(len(w.scratch)); err != nil {
		return err
	}
	w.out.bytes = append(w.out.bytes, w.scratch...)
	w.shortened(at, len(w.scratch))
	return nil
}

// keep shows message i of the row as it is stored.
func (w *conversationWriter) keep(m *runloop.Brief, i int, bytes []byte) error {
	tokens, estimated := m.Tokens()
	if err := w.reserve(len(bytes)); err != nil {
		return err
	}
	w.out.bytes = append(w.out.bytes, bytes...)
	if w.row.Raw.IsCompaction() {
		w.out.before += canonical.CountShortened(bytes)
	}
	if m.LeftOutLine {
		w.s.report.line.Add(int64(len(bytes)), tokens, estimated)
	}
	w.shown(&m.Note, wire.DetailAt(w.details, i), len(bytes), tokens, estimated)
	return nil
}

// shortened counts a message that was changed. A count of its tokens is no longer right.
func (w *conversationWriter) shortened(m *message, bytes int) {
	w.out.shortened++
	note := runloop.Note{SentAt: m.brief.Note.SentAt, HasSentAt: m.brief.Note.HasSentAt}
	w.shown(&note, wire.DetailAt(w.details, m.index), bytes, runloop.EstimateTokens(int64(bytes)), true)
}

func (w *conversationWriter) stub(call runloop.Call) error {
	n := runloop.StubLength(call)
	if err := w.reserve(n); err != nil {
		return err
	}
	w.calls.stub(call)
	w.out.bytes = canonical.AppendStub(w.out.bytes, call)
	w.out.stubs++
	w.shown(&runloop.Note{}, nil, n, runloop.EstimateTokens(int64(n)), true)
	return nil
}

// leftOut shows the left-out line for so many loops.
func (w *conversationWriter) leftOut(loops int64) error {
	n := runloop.LeftOutLength(loops)
	if err := w.reserve(n); err != nil {
		return err
	}
	tokens := runloop.EstimateTokens(int64(n))
	w.out.bytes = canonical.AppendLeftOut(w.out.bytes, loops)
	w.out.lines++
	w.s.report.line.Add(int64(n), tokens, true)
	w.shown(&runloop.Note{}, nil, n, tokens, true)
	return nil
}

// shown counts a message.
func (w *conversationWriter) shown(note *runloop.Note, detail *chainstore.Detail, bytes int, tokens int64, estimated bool) {
	w.out.messages++
	w.out.size.Add(int64(bytes), tokens, estimated)
	if w.s.wantsInfo() {
		w.out.notes.Add(note, detail)
	}
}

// reserve makes room for a message: what the row shows comes in parts, where it does not fit into one frame.
func (w *conversationWriter) reserve(bytes int) error {
	if w.out.messages == 0 || len(w.out.bytes)+bytes <= maxPart {
		return nil
	}
	w.out.split = true
	if err := w.flush(); err != nil {
		return err
	}
	w.out.clear()
	w.out.split = true
	return nil
}

// flush lays what was made into a frame, if it shows anything.
func (w *conversationWriter) flush() error {
	m := &w.out
	if m.messages == 0 {
		return nil
	}
	p := part{
		messages: m.messages, bytes: len(m.bytes), repairs: m.stubs, notes: m.notes.List(),
		verbatim: !m.split && m.stubs+m.lines+m.shortened == 0 && m.messages == len(w.h.Messages),
	}
	f, info, err := w.s.begin(w.row, w.h, &p)
	if err != nil {
		return err
	}
	f.add(m.bytes)
	w.s.end(f, info, &p)
	w.s.report.shortened += int64(m.shortened + m.before)
	w.s.report.spend(m.size.Tokens, m.size.Estimated)
	return nil
}
