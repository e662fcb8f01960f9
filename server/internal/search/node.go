package search

import (
	"context"
	"fmt"
	"slices"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/redact"
	"github.com/transcriptd/transcriptd/server/internal/chainview"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

// nodeScan is a node being looked at.
type nodeScan struct {
	span     *spanScan
	header   *chainstore.Header
	messages []*transcriptv1.Message
	// known is what the node's place in its chain tells; nil until it is asked for.
	known *nodePlace
	// hits are those found so far, newest first.
	hits []*hit
}

// nodePlace is what comes from the chain before a node, for each of its messages.
type nodePlace struct {
	loops []chainview.MessageLoop
	// tools are, of results, the tools' names.
	tools []runloop.Optional
}

// decode reads the messages.
func (n *nodeScan) decode(payload []byte) (err error) {
	if n.messages, err = canonical.DecodePayload(payload); err != nil {
		return err
	}
	if len(n.messages) != len(n.header.Messages) {
		return fmt.Errorf("%w: node %s has another number of messages than its header", chainstore.ErrCorrupt, n.header.ID)
	}
	return nil
}

// place gives what the node's place tells.
func (n *nodeScan) place() (*nodePlace, error) {
	if n.known != nil {
		return n.known, nil
	}
	before, err := n.span.state(n.header.Seq)
	if err != nil {
		return nil, err
	}
	n.known = &nodePlace{
		loops: chainview.LoopsIn(before.Full.Loop, n.header),
		tools: resultTools(before.Group, canonical.Facts(n.messages)),
	}
	return n.known, nil
}

// resultTools are the tools' names of the results among messages behind a group: their own, else those of the calls that
// they answer, as runloop.State pairs them.
func resultTools(g runloop.Group, facts []runloop.Facts) []runloop.Optional {
	names := make([]runloop.Optional, len(facts))
	g.Answered = slices.Clone(g.Answered)
	for i := range facts {
		m := &facts[i]
		if m.Opaque {
			continue
		}
		if m.Role != runloop.Tool {
			if len(m.Calls) == 0 || g.Results {
				g = runloop.Group{}
			}
			g.Calls = append(slices.Clip(g.Calls), m.Calls...)
			g.Answered = append(g.Answered, make([]bool, len(m.Calls))...)
			continue
		}
		names[i] = m.Name
		for k, c := range g.Calls {
			if c.ID != m.CallID || g.Answered[k] {
				continue
			}
			g.Answered[k], g.Results = true, true
			if !m.Name.Present {
				names[i] = c.Name
			}
			break
		}
	}
	return names
}

// message looks at a message that the filters of the header let pass, and adds a hit for it if it matches. The cause of the
// context's end if it ended meanwhile.
func (n *nodeScan) message(ctx context.Context, i int) error {
	m, q := n.messages[i], n.span.page.query
	result := m.Role == transcriptv1.Role_ROLE_TOOL
	if result && len(q.tools) > 0 {
		at, err := n.place()
		if err != nil {
			return err
		}
		if name := at.tools[i]; !name.Present || !q.tools[name.Value] {
			return nil
		}
	}
	for _, f := range fieldsOf(m, result, q.tools) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		found, err := q.pattern.find(ctx, f.text)
		if err != nil {
			return err
		}
		if len(found) > 0 {
			return n.hit(ctx, i, &f, found)
		}
	}
	return nil
}

// field is a text of a message that is looked at.
type field struct {
	part int
	kind transcriptv1.SearchField
	text string
	// call is that which the text belongs to; nil for other parts.
	call *transcriptv1.ToolCall
}

// fieldsOf are the texts of a message in order. Where tools are asked for, of a message that is no result only its
// calls of them count.
func fieldsOf(m *transcriptv1.Message, result bool, tools map[string]bool) (fields []field) {
	all := result || len(tools) == 0
	for i, part := range m.Parts {
		f := field{part: i}
		switch k := part.Kind.(type) {
		case *transcriptv1.Part_Text:
			f.kind, f.text = transcriptv1.SearchField_SEARCH_FIELD_TEXT, k.Text
		case *transcriptv1.Part_Reasoning:
			f.kind, f.text = transcriptv1.SearchField_SEARCH_FIELD_REASONING, k.Reasoning.GetText()
		case *transcriptv1.Part_Json:
			f.kind, f.text = transcriptv1.SearchField_SEARCH_FIELD_JSON, k.Json
		case *transcriptv1.Part_ToolCall:
			f.call = k.ToolCall
			if !all && (f.call.Name == nil || !tools[*f.call.Name]) {
				continue
			}
			if f.call.Name != nil {
				f.kind, f.text = transcriptv1.SearchField_SEARCH_FIELD_TOOL_NAME, *f.call.Name
				fields = append(fields, f)
			}
			f.kind, f.text = transcriptv1.SearchField_SEARCH_FIELD_ARGUMENTS, f.call.Arguments
		default:
			continue
		}
		if all || f.call != nil {
			fields = append(fields, f)
		}
	}
	return fields
}

// hit adds a message that matches.
func (n *nodeScan) hit(ctx context.Context, i int, f *field, found []textRange) error {
	at, err := n.place()
	if err != nil {
		return err
	}
	h := &transcriptv1.SearchHit{
		Place:     &transcriptv1.MessagePlace{NodeId: n.header.ID.String(), MessageIndex: int32(i)},
		Role:      n.messages[i].Role,
		Alias:     n.span.alias,
		PartIndex: int32(f.part),
		Field:     f.kind,
		SentAt:    wire.Timestamp(n.header.Messages[i].SentAt(n.header.FirstPut)),
	}
	switch {
	case h.Role == transcriptv1.Role_ROLE_TOOL:
		h.ToolCallId = n.messages[i].ToolCallId
		if name := at.tools[i]; name.Present {
			h.ToolName = &name.Value
		}
	case f.call != nil:
		h.ToolName = f.call.Name
	}
	if h.Excerpt, h.Matches, err = n.span.page.query.show(ctx, f.text, found); err != nil {
		return err
	}
	if n.span.page.query.redact != nil {
		redactHit(h)
	}
	n.hits = append(n.hits, &hit{SearchHit: h, place: runloop.Place{Seq: n.header.Seq, Index: uint32(i)}, loop: at.loops[i].In})
	return nil
}

// show is the excerpt of a text with matches. Redacted, it has those that are left, and shows what is around the first of
// them, or without any where the first was.
func (q *query) show(ctx context.Context, text string, found []textRange) (string, []*transcriptv1.TextRange, error) {
	around := found[0]
	if q.redact != nil {
		redacted := q.redact(text)
		left, err := q.pattern.find(ctx, redacted)
		if err != nil {
			return "", nil, err
		}
		if found = left; len(left) > 0 {
			around = left[0]
		} else {
			at := redactedAt(text, redacted, around.start)
			around = textRange{at, at}
		}
		text = redacted
	}
	shown, matches := excerpt(text, around, found, q.excerpt)
	return shown, matches, nil
}

func redactHit(h *transcriptv1.SearchHit) {
	h.ToolCallId, h.ToolName, h.Alias = wire.RedactedName(h.ToolCallId), wire.RedactedName(h.ToolName), redact.Text(h.Alias)
}
