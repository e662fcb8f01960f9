package server

import (
	"context"
	"errors"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// groups follows the groups of calls along the messages as they were put, by their headers alone. Messages of compaction
// nodes have no part in it.
type groups struct {
	// open says that the messages so far end in a group; results, that a result was paired in it.
	open, results bool
}

// next takes the next message. It tells whether that begins a group; if not, open tells whether the group before goes on.
// A result that is left out neither belongs to the group nor ends it.
func (g *groups) next(m *runloop.Brief) (begins bool) {
	switch {
	case m.Mark.LeftOut != runloop.Shown:
	case m.Role == runloop.Tool:
		g.results = true
	case m.Calls > 0:
		begins = !g.open || g.results
		*g = groups{open: true}
	default:
		*g = groups{}
	}
	return begins
}

// rowsWhile yields the rows of a span until yield wants no more.
func rowsWhile(ctx context.Context, chain chainstore.Chain, span chainstore.Span, yield func(*chainstore.Row) (more bool, err error)) error {
	enough := errors.New("enough")
	err := chain.Rows(ctx, span, func(row *chainstore.Row) error {
		more, err := yield(row)
		if err == nil && !more {
			err = enough
		}
		return err
	})
	if errors.Is(err, enough) {
		return nil
	}
	return err
}

// putMessage decodes message i of a node.
func putMessage(h *chainstore.Header, i int, payload []byte) (*transcriptv1.Message, error) {
	offset := 0
	for k := range i {
		offset += h.Messages[k].Length
	}
	b, err := entry(payload, offset, h.Messages[i].Length)
	if err != nil {
		return nil, err
	}
	messages, err := canonical.DecodePayload(b)
	if err != nil || len(messages) != 1 {
		return nil, errors.Join(chainstore.ErrCorrupt, err)
	}
	return messages[0], nil
}

// messagePlace is where message i of a node lies, as the wire has it.
func messagePlace(h *chainstore.Header, i int) *transcriptv1.MessagePlace {
	return &transcriptv1.MessagePlace{NodeId: h.ID.String(), MessageIndex: int32(i)}
}

// optionalOf is a string of a message that may be absent.
func optionalOf(s *string) runloop.Optional {
	if s == nil {
		return runloop.Optional{}
	}
	return runloop.Some(*s)
}
