package loops

import (
	"context"
	"fmt"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/chainview"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

// maxLoopCalls is the calls that are listed of a loop.
const maxLoopCalls = 100

// next describes the loop and steps to the one before. Headers say nearly everything; of payloads only those are read that
// hold the calls to list, their results and what a preview shows, one at a time.
func (l *runLoops) next(ctx context.Context) (*transcriptv1.RunLoop, error) {
	s := &loopScan{runLoops: l, opening: true, reply: &transcriptv1.RunLoop{State: chainview.LoopState(&l.loop, l.last), LeadIn: l.loop.LeadIn}}
	if err := s.headers(ctx); err != nil {
		return nil, err
	}
	if err := s.calls(ctx); err != nil {
		return nil, err
	}
	if err := s.previews(ctx); err != nil {
		return nil, err
	}
	if l.preview.Redact {
		redactCalls(s.reply.ToolCalls)
	}
	l.loop, l.end, l.last = s.before, l.loop.Start, false
	return s.reply, nil
}

// loopScan describes one loop.
type loopScan struct {
	*runLoops
	reply *transcriptv1.RunLoop
	// before is the loop before, as it ended.
	before runloop.Loop
	// opening says that nobody has answered so far; asked are the rows through which users' text comes before that.
	opening bool
	asked   rowRange
	// answer is the final reply.
	answer   runloop.Place
	answered bool
	groups   chainview.Groups
	// wanted says that calls of the group at hand are listed; listed are the rows with these calls and their results.
	wanted bool
	listed rowRange
	seen   int64 // calls so far
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

// headers reads the loop's headers, and how the loop before ended.
func (s *loopScan) headers(ctx context.Context) error {
	start := s.loop.Start
	span := chainstore.Span{From: max(start.Seq, 1) - 1, Through: s.lastRow(), HeadersOnly: true}
	var parent runloop.Loop
	err := s.chain.Rows(ctx, []chainstore.Span{span}, func(row *chainstore.Row) error {
		h, err := row.Header()
		switch {
		case err != nil:
			return err
		case h.Seq < start.Seq:
			parent = h.State.Full.Loop
			return nil
		case h.Seq == start.Seq:
			at := chainview.LoopsIn(parent, h)
			if int64(start.Index) >= int64(len(at)) || !at[start.Index].Begins {
				return fmt.Errorf("%w: no run loop begins in node %s where one should", chainstore.ErrCorrupt, h.ID)
			}
			s.before = at[start.Index].Before
			s.reply.First, s.reply.StartedAt = wire.MessagePlace(h, int(start.Index)), wire.Timestamp(h.Messages[start.Index].SentAt(h.FirstPut))
		}
		for i, through := s.messages(h); i < through; i++ {
			s.add(h, i)
		}
		return nil
	})
	if err == nil && s.reply.First == nil {
		err = chainstore.NoRow(start.Seq)
	}
	return err
}

// lastRow is the last row that the loop has messages in, or a later one.
func (s *loopScan) lastRow() uint32 {
	if s.end.Index == 0 {
		return s.end.Seq - 1
	}
	return s.end.Seq
}

// messages are those of a node that belong to the loop, from one through the one before another.
func (s *loopScan) messages(h *chainstore.Header) (from, through int) {
	if h.Covers.Present {
		return 0, 0
	}
	from, through = 0, len(h.Messages)
	if h.Seq == s.loop.Start.Seq {
		from = int(s.loop.Start.Index)
	}
	if h.Seq == s.end.Seq {
		through = int(s.end.Index)
	}
	return from, through
}

// add counts a message of the loop.
func (s *loopScan) add(h *chainstore.Header, i int) {
	m, r := &h.Messages[i], s.reply
	tokens, estimated := m.Tokens()
	r.Messages++
	r.Bytes += int64(m.Length)
	r.Tokens += tokens
	r.TokensEstimated = r.TokensEstimated || estimated
	r.Last, r.EndedAt = wire.MessagePlace(h, i), wire.Timestamp(m.SentAt(h.FirstPut))
	s.read += m.Length
	s.addCalls(m, h.Seq)
	if m.Mark.LeftOut != runloop.Shown {
		return
	}
	switch m.Role {
	case runloop.User:
		if s.opening && m.TextPoints > 0 {
			s.asked.add(h.Seq)
		}
	case runloop.Assistant, runloop.Tool:
		s.opening = false
	default:
	}
	if m.CanReply() {
		s.answer, s.answered = runloop.Place{Seq: h.Seq, Index: uint32(i)}, true
	}
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
		s.reply.Unanswered += int64(m.Calls)
	case m.Role == runloop.Tool && m.Mark.LeftOut == runloop.Shown:
		s.reply.Unanswered--
		if s.wanted {
			s.listed.add(seq)
		}
	}
}

// payloads yields the loop's messages in rows that are read with their payloads, until yield wants no more.
func (s *loopScan) payloads(ctx context.Context, rows rowRange, yield func(h *chainstore.Header, i int, payload []byte) (more bool, err error)) error {
	if !rows.any {
		return nil
	}
	return chainview.RowsWhile(ctx, s.chain, rows.Span, func(row *chainstore.Row) (more bool, err error) {
		h, err := row.Header()
		if err != nil {
			return false, err
		}
		s.read += len(row.Payload)
		more = true
		for i, through := s.messages(h); i < through && more && err == nil; i++ {
			s.read -= h.Messages[i].Length // counted already
			more, err = yield(h, i, row.Payload)
		}
		return more, err
	})
}

// calls lists the loop's first calls, and pairs them with their results.
func (s *loopScan) calls(ctx context.Context) error {
	var g chainview.Groups
	var open []*transcriptv1.ToolCallSummary // calls listed of the group at hand, less those that are answered
	err := s.payloads(ctx, s.listed, func(h *chainstore.Header, i int, payload []byte) (bool, error) {
		b := &h.Messages[i]
		if g.Next(b) {
			open = nil
		}
		switch {
		case b.Calls > 0 && len(s.reply.ToolCalls) < maxLoopCalls:
		case b.Role == runloop.Tool && b.Mark.LeftOut == runloop.Shown && len(open) > 0:
		default:
			return true, nil
		}
		m, err := chainview.DecodeMessage(h, i, payload)
		if err != nil {
			return false, err
		}
		if b.Role == runloop.Tool {
			open = answer(open, m, wire.MessagePlace(h, i))
		} else {
			open = append(open, s.list(m, wire.MessagePlace(h, i))...)
		}
		return true, nil
	})
	s.reply.MoreToolCalls = s.seen - int64(len(s.reply.ToolCalls))
	return err
}

// list lists the message's calls, as many as there is room for, and returns what it listed.
func (s *loopScan) list(m *transcriptv1.Message, at *transcriptv1.MessagePlace) []*transcriptv1.ToolCallSummary {
	before := len(s.reply.ToolCalls)
	for _, p := range m.Parts {
		if c := p.GetToolCall(); c != nil && len(s.reply.ToolCalls) < maxLoopCalls {
			s.reply.ToolCalls = append(s.reply.ToolCalls, &transcriptv1.ToolCallSummary{
				Id: c.Id, Name: c.Name, State: transcriptv1.ToolCallState_TOOL_CALL_STATE_UNANSWERED, Call: at,
			})
		}
	}
	return s.reply.ToolCalls[before:]
}

// answer lets a result answer the first open call with its id, and returns the calls that stay open.
func answer(open []*transcriptv1.ToolCallSummary, result *transcriptv1.Message, at *transcriptv1.MessagePlace) []*transcriptv1.ToolCallSummary {
	c, rest, ok := chainview.TakeFirst(open, func(c *transcriptv1.ToolCallSummary) bool {
		return wire.Optional(c.Id) == wire.Optional(result.ToolCallId)
	})
	if ok {
		c.State, c.Result = transcriptv1.ToolCallState_TOOL_CALL_STATE_OK, at
		if result.IsError {
			c.State = transcriptv1.ToolCallState_TOOL_CALL_STATE_ERROR
		}
	}
	return rest
}

// previews reads the beginnings of the text that opens the loop and of its final reply.
func (s *loopScan) previews(ctx context.Context) error {
	if s.preview.Chars == 0 {
		return nil
	}
	opening := true
	err := s.payloads(ctx, s.asked, func(h *chainstore.Header, i int, payload []byte) (bool, error) {
		b := &h.Messages[i]
		switch {
		case b.Mark.LeftOut != runloop.Shown:
		case b.Role == runloop.Assistant || b.Role == runloop.Tool:
			opening = false
		case b.Role == runloop.User && b.TextPoints > 0:
			m, err := chainview.DecodeMessage(h, i, payload)
			if err != nil {
				return false, err
			}
			return s.preview.Add(&s.reply.UserPreview, m), nil
		}
		return opening, nil
	})
	if err != nil || !s.answered {
		return err
	}
	row := rowRange{Span: chainstore.Span{From: s.answer.Seq, Through: s.answer.Seq}, any: true}
	return s.payloads(ctx, row, func(h *chainstore.Header, i int, payload []byte) (bool, error) {
		if i != int(s.answer.Index) {
			return true, nil
		}
		m, err := chainview.DecodeMessage(h, i, payload)
		if err == nil {
			s.preview.Add(&s.reply.ReplyPreview, m)
		}
		return false, err
	})
}
