package main

import (
	"context"
	"strconv"
	"strings"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// endFlags ask for the end of a view.
type endFlags struct {
	Last      int32  `placeholder:"N" help:"Only the last N messages; more where they would begin within a group of tool calls."`
	LastBytes int32  `placeholder:"N" help:"Only as many messages at the end as take at most N bytes, but at least one, and no group of tool calls is parted; with --last, both limits hold."`
	Before    string `placeholder:"NODE.I" help:"With --last or --last-bytes: those before message I of a node, as a remark of the page before gives it."`
}

// end adds what the flags ask for to a query.
func (f *endFlags) end(ctx context.Context, s *session, q *client.Query) error {
	q.LastMessages, q.LastBytes = f.Last, f.LastBytes
	asked := f.Last != 0 || f.LastBytes != 0
	switch {
	case asked && q.View == transcriptv1.View_VIEW_CONVERSATION:
		return usagef("--last and --last-bytes need --view effective or full")
	case f.Before == "":
		return nil
	case !asked:
		return usagef("--before needs --last or --last-bytes")
	}
	dot := strings.LastIndexByte(f.Before, '.')
	index, err := strconv.ParseInt(f.Before[dot+1:], 10, 32)
	if dot < 0 || err != nil {
		return usagef("--before must be NODE.I: a node, a dot and the place of a message in it, from 0")
	}
	node, err := s.id(ctx, f.Before[:dot])
	q.Before = &transcriptv1.MessagePlace{NodeId: node, MessageIndex: int32(index)}
	return err
}

// tellMore says on standard error how to see what comes before the messages printed.
func (s *session) tellMore(first *client.Assembly) {
	if first.MoreBefore {
		s.remark("there is more before these messages: see --before %s.%d", short(first.Begin.GetNodeId()), first.Begin.GetMessageIndex())
	}
}
