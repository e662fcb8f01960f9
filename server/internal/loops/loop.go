package loops

import (
	"cmp"
	"slices"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/chainview"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

const (
	// maxLoopCalls is the calls that are listed of a loop.
	maxLoopCalls = 100
	// redactedPoints is the code points of users' text that are read for a preview beside those that it may have, for what
	// redaction takes away.
	redactedPoints = 64 << 10
)

// loopScan describes one loop. Headers say nearly everything; of payloads only those are read that hold the calls to list, their
// results and what a preview shows.
type loopScan struct {
	preview   wire.Preview
	arguments int
	reply     *transcriptv1.RunLoop
	// start is where it begins, and end behind where it ends; before is the loop before, as it ended.
	start, end runloop.Place
	before     runloop.Loop
	// read is the bytes of the loop's messages, and of what else was read with them.
	read int
	// opening says that nobody has answered so far; asked are the rows with the users' text before that which a preview may need,
	// of so many code points.
	opening bool
	asked   rowRange
	points  int
	// answer is the final reply.
	answer   runloop.Place
	answered bool
	groups   chainview.Groups
	// wanted says that calls of the group at hand are listed; listed are the rows with these calls and their results.
	wanted bool
	listed rowRange
	// Of the loop so far: messages, calls, and calls without a result.
	counted, seen, unanswered int64

	payloads payloadScan
}

// payloadScan is what a loopScan knows while it is shown payloads.
type payloadScan struct {
	groups chainview.Groups
	// open are the calls listed of the group at hand, less those that are answered.
	open []*transcriptv1.ToolCallSummary
	// spoken says that somebody answered the users, or that their preview is full.
	spoken bool
}

// rowRange is a run of rows, from the first that was added through the last.
type rowRange struct {
	chainstore.Span
	any bool
}

func (r *rowRange) add(seq uint32) {
	if !r.any {
		r.From, r.any = seq, true
	}
	r.Through = seq
}

func (r *rowRange) has(seq uint32) bool { return r.any && r.From <= seq && seq <= r.Through }

// newLoopScan begins a loop with the message at a place of a node.
func newLoopScan(l *runLoops, h *chainstore.Header, at runloop.Place, before runloop.Loop) *loopScan {
	i := int(at.Index)
	return &loopScan{preview: l.preview, arguments: l.arguments, start: at, before: before, opening: true, reply: &transcriptv1.RunLoop{
		First: wire.MessagePlace(h, i), StartedAt: wire.Timestamp(h.Messages[i].SentAt(h.FirstPut)),
	}}
}

// ended says how the loop ended, and where; last: none comes after it.
func (s *loopScan) ended(l *runloop.Loop, end runloop.Place, last bool) {
	s.end = end
	s.reply.State, s.reply.LeadIn, s.reply.Outcome = chainview.LoopState(l, last), l.LeadIn, chainview.Outcome(l)
	if s.reply.State == transcriptv1.RunLoopState_RUN_LOOP_STATE_OPEN {
		s.reply.EndedAt = nil
	}
}

// messages are those of a node that belong to the loop, from one through the one before another.
func (s *loopScan) messages(h *chainstore.Header) (from, through int) {
	if h.Covers.Present {
		return 0, 0
	}
	from, through = 0, len(h.Messages)
	if h.Seq == s.start.Seq {
		from = int(s.start.Index)
	}
	if h.Seq == s.end.Seq {
		through = int(s.end.Index)
	}
	return from, through
}

// add counts a message of the loop, which an opaque one is not.
func (s *loopScan) add(h *chainstore.Header, i int) {
	m, r := &h.Messages[i], s.reply
	if s.read += m.Length; m.Opaque {
		return
	}
	tokens, estimated := m.Tokens()
	s.counted++
	r.Bytes += int64(m.Length)
	r.Tokens += tokens
	r.TokensEstimated = r.TokensEstimated || estimated
	r.Last, r.EndedAt = wire.MessagePlace(h, i), wire.Timestamp(m.SentAt(h.FirstPut))
	s.addCalls(m, h.Seq)
	if m.Mark.LeftOut != runloop.Shown {
		return
	}
	switch m.Role {
	case runloop.User:
		if s.opening && m.TextPoints > 0 && s.points < s.wantedPoints() {
			s.asked.add(h.Seq)
			s.points += m.TextPoints
		}
	case runloop.Assistant, runloop.Tool:
		s.opening = false
	default:
	}
	if m.CanReply() {
		s.answer, s.answered = runloop.Place{Seq: h.Seq, Index: uint32(i)}, true
	}
}

// wantedPoints is the code points of users' text behind which no more is read for a preview.
func (s *loopScan) wantedPoints() int {
	if s.preview.Redact && s.preview.Chars > 0 {
		return s.preview.Chars + redactedPoints
	}
	return s.preview.Chars
}

// addCalls counts the message's calls, or the call that it answers. Every result that is shown answers one.
func (s *loopScan) addCalls(m *runloop.Brief, seq uint32) {
	if s.groups.Next(m) {
		s.wanted = false
	}
	switch {
	case m.Calls > 0:
		if s.seen < maxLoopCalls {
			s.wanted = true
			s.listed.add(seq)
		}
		s.seen += int64(m.Calls)
		s.unanswered += int64(m.Calls)
	case m.Role == runloop.Tool && m.Mark.LeftOut == runloop.Shown:
		s.unanswered--
		if s.wanted {
			s.listed.add(seq)
		}
	}
}

// spans are the rows whose payloads are to be read, in order, each once.
func (s *loopScan) spans() (spans []chainstore.Span) {
	for _, r := range []rowRange{s.asked, s.listed, s.replied()} {
		if r.any {
			spans = append(spans, r.Span)
		}
	}
	slices.SortFunc(spans, func(a, b chainstore.Span) int { return cmp.Compare(a.From, b.From) })
	for i := 1; i < len(spans); {
		if before := &spans[i-1]; spans[i].From <= before.Through+1 {
			before.Through = max(before.Through, spans[i].Through)
			spans = slices.Delete(spans, i, i+1)
		} else {
			i++
		}
	}
	return spans
}

// replied is the row with the final reply, if a preview is to show it.
func (s *loopScan) replied() (r rowRange) {
	if s.answered && s.preview.Chars > 0 {
		r.add(s.answer.Seq)
	}
	return r
}

// row takes a row with its payload.
func (s *loopScan) row(row *chainstore.Row) error {
	h, err := row.Header()
	if err != nil {
		return err
	}
	s.read += len(row.Payload)
	for i, through := s.messages(h); i < through && err == nil; i++ {
		s.read -= h.Messages[i].Length // counted already
		err = s.message(h, i, row.Payload)
	}
	if s.payloads.groups.End(h.Outcome); !s.payloads.groups.Open {
		s.payloads.open = nil
	}
	return err
}

// message takes a message. It is decoded if it has calls to list or answers one of them, or if a preview shows it.
func (s *loopScan) message(h *chainstore.Header, i int, payload []byte) error {
	b := &h.Messages[i]
	called := s.listed.has(h.Seq) && s.calls(b)
	asked := s.asked.has(h.Seq) && s.asks(b)
	replied := s.preview.Chars > 0 && s.answered && s.answer == runloop.Place{Seq: h.Seq, Index: uint32(i)}
	if !called && !asked && !replied {
		return nil
	}
	m, err := chainview.DecodeMessage(h, i, payload)
	if err != nil {
		return err
	}
	p := &s.payloads
	switch {
	case called && b.Role == runloop.Tool:
		p.open = answer(p.open, m, wire.MessagePlace(h, i), wire.Timestamp(b.SentAt(h.FirstPut)))
	case called:
		p.open = append(p.open, s.list(m, wire.MessagePlace(h, i), wire.Timestamp(b.SentAt(h.FirstPut)))...)
	}
	if asked {
		p.spoken = !s.preview.Add(&s.reply.UserPreview, m)
	}
	if replied {
		s.preview.Add(&s.reply.ReplyPreview, m)
	}
	return nil
}

// calls tells whether a message has calls that are to be listed, or may answer one that is.
func (s *loopScan) calls(b *runloop.Brief) bool {
	p := &s.payloads
	if p.groups.Next(b) {
		p.open = nil
	}
	return b.Calls > 0 && len(s.reply.ToolCalls) < maxLoopCalls ||
		b.Role == runloop.Tool && b.Mark.LeftOut == runloop.Shown && len(p.open) > 0
}

// asks tells whether the preview of what users ask shows a message.
func (s *loopScan) asks(b *runloop.Brief) bool {
	p := &s.payloads
	shown := b.Shown()
	if shown && (b.Role == runloop.Assistant || b.Role == runloop.Tool) {
		p.spoken = true
	}
	return !p.spoken && shown && b.Role == runloop.User && b.TextPoints > 0
}

// finish completes the reply, once all rows were taken.
func (s *loopScan) finish() {
	s.reply.Messages, s.reply.UnansweredCalls = wire.Count(s.counted), wire.Count(s.unanswered)
	s.reply.MoreToolCalls = wire.Count(s.seen - int64(len(s.reply.ToolCalls)))
	if s.preview.Redact {
		redactCalls(s.reply.ToolCalls)
	}
}
