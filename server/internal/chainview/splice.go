package chainview

import (
	"fmt"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

// maxPart is the most bytes of messages of one node in one frame. Payloads are smaller; only a node to which repair
// adds very many stubs is larger, and comes in parts, each with a NodeInfo.
const maxPart = canonical.MaxPayloadBytes

// splicer lays rows into frames: bytes go out as they are stored, and nothing is decoded but the headers of rows
// that are repaired, have findings, are counted or are to be told of.
type splicer struct {
	chain chainstore.Chain
	extent
	// counted says that tokens are added up row by row.
	counted bool
	detail  transcriptv1.NodeDetail
	facts   *wire.NodeFacts
	// last is the latest row seen, or the node behind which the reply begins.
	last lastRow
	// unnamed are the links that are to be looked up.
	unnamed []unnamed
	// frame gives the frame that the next need bytes go to, or fails.
	frame  func(need int) (*Frame, error)
	report Report
}

// lastRow is a row that was seen, if present.
type lastRow struct {
	present bool
	seq     uint32
	id      chainstore.ID
}

// saw remembers the row where the next one's parent is to be told.
func (s *splicer) saw(row *chainstore.Row) {
	if s.detail == transcriptv1.NodeDetail_NODE_DETAIL_ENVELOPES {
		s.last = lastRow{true, row.Seq, row.Raw.ID()}
	}
}

// wantsInfo says that something is to be told of nodes.
func (s *splicer) wantsInfo() bool {
	return s.detail != transcriptv1.NodeDetail_NODE_DETAIL_UNSPECIFIED
}

// Add lays the row into a frame. It keeps nothing of the row.
func (s *splicer) Add(row *chainstore.Row) error {
	defer s.saw(row)
	shown, hidden := s.of(row)
	if hidden && !s.wantsInfo() {
		return nil
	}
	whole := !hidden && shown.from == 0 && shown.through == row.Raw.MessageCount()
	if whole && !s.wantsInfo() && !s.counted && !row.Raw.HasFindings() {
		return s.verbatim(row, nil)
	}
	h, err := row.Header()
	if err != nil {
		return err
	}
	if hidden {
		return s.hidden(row, h)
	}
	shown.h = h
	s.report.findIn(&shown)
	if whole && (s.full || !row.Raw.Repaired()) {
		return s.verbatim(row, h)
	}
	return s.repaired(row, &shown)
}

// hidden tells of a node that the view shows nothing of.
func (s *splicer) hidden(row *chainstore.Row, h *chainstore.Header) error {
	p := part{}
	f, info, err := s.begin(row, h, &p)
	if err == nil {
		s.end(f, info, &p)
	}
	return err
}

// verbatim lays the whole payload; h is nil where nothing is to be told of the node, nor counted.
func (s *splicer) verbatim(row *chainstore.Row, h *chainstore.Header) error {
	p := part{bytes: len(row.Payload), messages: row.Raw.MessageCount(), verbatim: true}
	if h != nil {
		details, err := s.details(row)
		if err != nil {
			return err
		}
		p.of, p.through = asPut(h), len(h.Messages)
		p.notes = s.notes(details, &p)
	}
	f, info, err := s.begin(row, h, &p)
	if err != nil {
		return err
	}
	if row.Shared != nil {
		f.Share(row.Shared, row.SharedFrom, len(row.Payload))
	} else {
		f.add(row.Payload)
	}
	s.count(&p)
	s.end(f, info, &p)
	s.shortened(row, row.Payload)
	return nil
}

// shortened counts the messages that a compaction shortened, of those of its row that are shown.
func (s *splicer) shortened(row *chainstore.Row, shown []byte) {
	if row.Raw.IsCompaction() {
		s.report.shortened += int64(canonical.CountShortened(shown))
	}
}

// repaired lays a part of a row, or one without opaque messages and the results that are left out, each stub before the message that ended
// its group, or at the end of the node whose outcome did.
func (s *splicer) repaired(row *chainstore.Row, shown *slots) error {
	h, total, offset := shown.h, 0, 0
	for i := range h.Messages {
		if i == shown.from {
			offset = total
		}
		total += h.Messages[i].Length
	}
	if total != len(row.Payload) {
		return fmt.Errorf("%w: the lengths in the header of node %s do not add up to its payload", chainstore.ErrCorrupt, h.ID)
	}
	details, err := s.details(row)
	if err != nil {
		return err
	}
	begin := offset
	for from, limit := shown.from, shown.limit(); from < limit; {
		p := nextPart(shown, from, limit)
		p.notes = s.notes(details, &p)
		f, info, err := s.begin(row, h, &p)
		if err != nil {
			return err
		}
		f.extend(p.bytes, func(b []byte) []byte {
			for i := p.from; i < p.through; i++ {
				stubs, m := p.of.at(i)
				for _, call := range stubs {
					b = canonical.AppendStub(b, call)
				}
				if m == nil {
					continue
				}
				if p.of.shows(m) {
					b = append(b, row.Payload[offset:offset+m.Length]...)
				}
				offset += m.Length
			}
			return b
		})
		s.count(&p)
		s.end(f, info, &p)
		from = p.through
	}
	s.shortened(row, row.Payload[begin:offset])
	return nil
}

// count adds the tokens of a part, where they are added up row by row.
func (s *splicer) count(p *part) {
	if !s.counted {
		return
	}
	var size compaction.Size
	for i := p.from; i < p.through; i++ {
		stubs, m := p.of.at(i)
		addStubs(&size, stubs)
		if m != nil && p.of.shows(m) {
			tokens, estimated := m.Tokens()
			size.Add(int64(m.Length), tokens, estimated)
		}
	}
	s.report.spend(size.Tokens, size.Estimated)
}

// part is a run of a node's messages, as a view shows it.
type part struct {
	// of are the slots of the node that are shown, of which the part is those from one through the one before another; messages and
	// bytes are what it shows, repairs what was done.
	of                       slots
	from, through            int
	messages, bytes, repairs int
	verbatim                 bool
	// notes are those of the messages shown, where something is told.
	notes []*transcriptv1.MessageNote
}

// leftOut is 1 for a result that repair leaves out, else 0.
func leftOut(m *runloop.Brief) int { return boolToInt(m.Mark.LeftOut != runloop.Shown) }

// nextPart is the longest run from a slot on that fits into a frame, at least one slot, none from limit on.
func nextPart(shown *slots, from, limit int) part {
	p := part{of: *shown, from: from, through: from}
	for ; p.through < limit; p.through++ {
		stubs, m := shown.at(p.through)
		bytes, messages := 0, len(stubs)
		for _, call := range stubs {
			bytes += runloop.StubLength(call)
		}
		repairs := messages
		switch {
		case m == nil:
		case shown.shows(m):
			bytes, messages = bytes+m.Length, messages+1
		default:
			repairs += leftOut(m)
		}
		if p.through > from && p.bytes+bytes > maxPart {
			break
		}
		p.bytes, p.messages, p.repairs = p.bytes+bytes, p.messages+messages, p.repairs+repairs
	}
	return p
}

// begin makes room for a part and for what is told of it.
func (s *splicer) begin(row *chainstore.Row, h *chainstore.Header, p *part) (*Frame, *transcriptv1.NodeInfo, error) {
	info, err := s.info(row, h, p)
	if err != nil {
		return nil, nil, err
	}
	f, err := s.frame(p.bytes + infoSize(info))
	return f, info, err
}

// end counts a part that was laid into f.
func (s *splicer) end(f *Frame, info *transcriptv1.NodeInfo, p *part) {
	s.report.messages += int64(p.messages)
	s.report.bytes += int64(p.bytes)
	s.report.repairs += int64(p.repairs)
	if info != nil {
		f.Nodes = append(f.Nodes, info)
		f.infoBytes += infoSize(info)
	}
}
