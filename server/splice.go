package server

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// frame is the part of a reply that comes from nodes. messages is the encoded field `repeated Message messages = 1`,
// which payloads laid end to end are; it goes into a reply as it is, through SetUnknown.
type frame struct {
	messages []byte
	nodes    []*transcriptv1.NodeInfo
	// told is the encoded size of nodes.
	told int
}

// size is what the frame takes in a reply.
func (f *frame) size() int { return len(f.messages) + f.told }

func (f *frame) clear() { *f = frame{messages: f.messages[:0]} }

// maxPart is the most bytes of messages of one node in one frame. Payloads are smaller; only a node to which repair
// adds very many stubs is larger, and comes in parts, each with a NodeInfo.
const maxPart = canonical.MaxPayloadBytes

// splicer lays rows into frames: bytes are copied as they are stored, and nothing is decoded but the headers of rows
// that are repaired, have findings or are to be told of.
type splicer struct {
	full   bool
	detail transcriptv1.NodeDetail
	// parent is the node before the next row; nil before a root.
	parent *chainstore.ID
	// room gives the frame that the next need bytes go to, or fails.
	room   func(need int) (*frame, error)
	report report
}

// add lays the row into a frame. It keeps nothing of the row.
func (s *splicer) add(row *chainstore.Row) error {
	err := s.lay(row)
	if s.detail == transcriptv1.NodeDetail_NODE_DETAIL_ENVELOPES {
		id := row.Raw.ID()
		s.parent = &id
	}
	return err
}

func (s *splicer) lay(row *chainstore.Row) error {
	told := s.detail != transcriptv1.NodeDetail_NODE_DETAIL_UNSPECIFIED
	if !told && !row.Raw.HasFindings() {
		return s.verbatim(row, nil)
	}
	h, err := row.Header()
	if err != nil {
		return err
	}
	s.report.find(h)
	if s.full || !row.Raw.Repaired() {
		return s.verbatim(row, h)
	}
	return s.repaired(row, h)
}

// verbatim lays the whole payload; h is nil where nothing is to be told of the node.
func (s *splicer) verbatim(row *chainstore.Row, h *chainstore.Header) error {
	p := part{bytes: len(row.Payload), messages: row.Raw.MessageCount(), verbatim: true}
	if h != nil {
		p.through = len(h.Messages)
	}
	f, info, err := s.begin(row, h, &p)
	if err != nil {
		return err
	}
	f.messages = append(f.messages, row.Payload...)
	s.end(f, info, &p)
	return nil
}

// repaired lays the payload without the results that are left out, each stub before the message that ended its group.
func (s *splicer) repaired(row *chainstore.Row, h *chainstore.Header) error {
	total := 0
	for i := range h.Messages {
		total += h.Messages[i].Length
	}
	if total != len(row.Payload) {
		return fmt.Errorf("%w: the lengths in the header of node %s do not add up to its payload", chainstore.ErrCorrupt, h.ID)
	}
	for from, offset := 0, 0; from < len(h.Messages) || from == 0; {
		p := nextPart(h, from)
		f, info, err := s.begin(row, h, &p)
		if err != nil {
			return err
		}
		for i := p.from; i < p.through; i++ {
			m := &h.Messages[i]
			for _, call := range m.Mark.Stubs {
				f.messages = canonical.AppendStub(f.messages, call)
			}
			if m.Mark.LeftOut == runloop.Shown {
				f.messages = append(f.messages, row.Payload[offset:offset+m.Length]...)
			}
			offset += m.Length
		}
		s.end(f, info, &p)
		from = p.through
	}
	return nil
}

// part is a run of a node's messages, as a view shows it.
type part struct {
	// from and through bound the messages as put; messages and bytes are those shown, repairs what was done.
	from, through            int
	messages, bytes, repairs int
	verbatim                 bool
}

// nextPart is the longest run from a message on that fits into a frame, at least one message.
func nextPart(h *chainstore.Header, from int) part {
	p := part{from: from, through: from}
	for ; p.through < len(h.Messages); p.through++ {
		m := &h.Messages[p.through]
		bytes, messages := 0, len(m.Mark.Stubs)
		for _, call := range m.Mark.Stubs {
			bytes += runloop.StubLength(call)
		}
		repairs := messages
		if m.Mark.LeftOut == runloop.Shown {
			bytes, messages = bytes+m.Length, messages+1
		} else {
			repairs++
		}
		if p.through > from && p.bytes+bytes > maxPart {
			break
		}
		p.bytes, p.messages, p.repairs = p.bytes+bytes, p.messages+messages, p.repairs+repairs
	}
	return p
}

// begin makes room for a part and for what is told of it.
func (s *splicer) begin(row *chainstore.Row, h *chainstore.Header, p *part) (*frame, *transcriptv1.NodeInfo, error) {
	info, err := s.info(row, h, p)
	if err != nil {
		return nil, nil, err
	}
	f, err := s.room(p.bytes + told(info))
	return f, info, err
}

// end counts a part that was laid into f.
func (s *splicer) end(f *frame, info *transcriptv1.NodeInfo, p *part) {
	s.report.messages += int64(p.messages)
	s.report.bytes += int64(p.bytes)
	s.report.repairs += int64(p.repairs)
	if info != nil {
		f.nodes = append(f.nodes, info)
		f.told += told(info)
	}
}

// told is what a NodeInfo takes in a reply; nothing for none.
func told(info *transcriptv1.NodeInfo) int {
	if info == nil {
		return 0
	}
	return 1 + protowire.SizeBytes(proto.Size(info))
}
