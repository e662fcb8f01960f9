package chainview

import (
	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

// maxFindings is how many findings a report lists.
const maxFindings = 100

// Report adds up what a reply holds.
type Report struct {
	messages, bytes, repairs int64
	tokens                   int64
	estimated                bool
	findings                 []*transcriptv1.Finding
	more                     int64
	shortened                int64
	// What only a conversation has. line is the left-out line that is shown.
	line          compaction.Size
	leftOut       *transcriptv1.LeftOut
	window        *transcriptv1.Window
	limitExceeded bool
	policy        *compaction.Policy
}

func (r *Report) proto() *transcriptv1.Report {
	out := &transcriptv1.Report{
		Messages: wire.Count(r.messages), Bytes: r.bytes, Repairs: wire.Count(r.repairs), Findings: r.findings, MoreFindings: wire.Count(r.more),
		Tokens: r.tokens, TokensEstimated: r.estimated, ShortenedMessages: wire.Count(r.shortened), LeftOut: r.leftOut, Window: r.window,
		LimitExceeded: r.limitExceeded,
	}
	if r.policy != nil {
		out.Policy = wire.ResolvedPolicy(r.policy)
	}
	return out
}

// spend adds tokens.
func (r *Report) spend(tokens int64, estimated bool) {
	r.tokens += tokens
	r.estimated = r.estimated || estimated
}

// Join is the report of rows and of those behind them, whose report is the other; a nil report is of none.
func (r *Report) Join(behind *Report) *Report {
	if r == nil {
		return behind
	}
	r.messages, r.bytes, r.repairs = r.messages+behind.messages, r.bytes+behind.bytes, r.repairs+behind.repairs
	r.shortened += behind.shortened
	room := min(maxFindings-len(r.findings), len(behind.findings))
	r.findings = append(r.findings, behind.findings[:room]...)
	r.more += behind.more + int64(len(behind.findings)-room)
	return r
}

// find adds what the marks of a node's messages tell, from one through the one before another. Behind a compaction, and in its copies, no
// lead-in begins in the full view: a loop has begun in what it covers.
func (r *Report) find(h *chainstore.Header, from, through int) {
	r.findErased(h, from, through)
	for i := from; i < through; i++ {
		r.add(h, i, transcriptv1.FindingKind_FINDING_KIND_UNANSWERED_CALL, len(h.Messages[i].Mark.Stubs))
		r.findAt(h, i)
	}
}

// findIn is find for a part of a row: calls without a result are found where their stubs stand, if the view has stubs.
func (r *Report) findIn(p *slots) {
	if p.put {
		r.find(p.h, p.from, p.through)
		return
	}
	r.findErased(p.h, p.from, p.through)
	for i := p.from; i < p.through; i++ {
		r.add(p.h, i, transcriptv1.FindingKind_FINDING_KIND_UNANSWERED_CALL, len(p.stubs(i)))
		r.findAt(p.h, i)
	}
	if p.ends {
		r.add(p.h, p.through, transcriptv1.FindingKind_FINDING_KIND_UNANSWERED_CALL, len(p.stubs(p.through)))
	}
}

// findErased adds that messages were erased.
func (r *Report) findErased(h *chainstore.Header, from, through int) {
	first, count := 0, 0
	for i := from; i < through; i++ {
		if h.Messages[i].Was == 0 {
			continue
		}
		if count++; count == 1 {
			first = i
		}
	}
	r.add(h, first, transcriptv1.FindingKind_FINDING_KIND_ERASED, count)
}

// findAt adds what the mark of a message tells, but for calls without a result.
func (r *Report) findAt(h *chainstore.Header, i int) {
	m := &h.Messages[i].Mark
	r.add(h, i, leftOutKind(m.LeftOut), 1)
	r.add(h, i, transcriptv1.FindingKind_FINDING_KIND_DUPLICATE_CALL_ID, m.RepeatedIDs)
	r.add(h, i, transcriptv1.FindingKind_FINDING_KIND_INTERRUPTED_LOOP, boolToInt(m.Interrupts))
	r.add(h, i, transcriptv1.FindingKind_FINDING_KIND_LEAD_IN, boolToInt(m.LeadIn && !h.Compaction.Present))
}

// add adds a finding of a message, unless there is none: no kind, or a count of 0.
func (r *Report) add(h *chainstore.Header, message int, kind transcriptv1.FindingKind, count int) {
	switch {
	case count == 0 || kind == transcriptv1.FindingKind_FINDING_KIND_UNSPECIFIED:
	case len(r.findings) == maxFindings:
		r.more++
	default:
		r.findings = append(r.findings, &transcriptv1.Finding{
			Kind: kind, NodeId: h.ID.String(), MessageIndex: int32(message), Count: int32(count),
		})
	}
}

func leftOutKind(why runloop.LeftOut) transcriptv1.FindingKind {
	switch why {
	case runloop.Duplicate:
		return transcriptv1.FindingKind_FINDING_KIND_DUPLICATE_RESULT
	case runloop.Late:
		return transcriptv1.FindingKind_FINDING_KIND_LATE_RESULT
	case runloop.Orphan:
		return transcriptv1.FindingKind_FINDING_KIND_ORPHAN_RESULT
	default:
		return transcriptv1.FindingKind_FINDING_KIND_UNSPECIFIED
	}
}

func boolToInt(is bool) int {
	if is {
		return 1
	}
	return 0
}
