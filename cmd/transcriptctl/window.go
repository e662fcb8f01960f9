package main

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

type windowCommand struct {
	Ref string `arg:"" help:"The node that the chain ends in."`
	policyFlags
}

func (c *windowCommand) Help() string {
	return `Asks for the messages before each assistant message of the chain that begins a node, once in the effective view and once as a conversation under the policy of the flags (the server's defaults without any), and prints a line for each: messages and bytes both ways, and how much of what is shown the request before had too (what a provider has cached). The last line tells the sums; cost counts a cached byte as a tenth. Ages (--max-age) count to when each request was made, unless --now is given. Examples:

    transcriptctl window chat/42
    transcriptctl window chat/42 --unbounded --keep-tool-results 5
    transcriptctl window chat/42 --output json | jq .shown_bytes`
}

// windowRow is a request, as printed with --output json.
type windowRow struct {
	Head          string `json:"head"`
	Bytes         int64  `json:"bytes"`
	Messages      int64  `json:"messages"`
	ShownBytes    int64  `json:"shown_bytes"`
	ShownMessages int64  `json:"shown_messages"`
	ReusedBytes   int64  `json:"reused_bytes"`
}

// Run prints what a policy saves on a chain.
func (c *windowCommand) Run(ctx context.Context, s *session) error {
	ref, err := s.ref(ctx, c.Ref)
	if err != nil {
		return err
	}
	heads, err := s.requestHeads(ctx, ref)
	if err != nil {
		return err
	}
	whole, shown := &spending{strategy: everything()}, &spending{strategy: bounded("policy", c.policy())}
	for _, head := range heads {
		row, err := s.window(ctx, head, whole, shown)
		if err != nil {
			return err
		}
		if s.json {
			err = s.printJSON(row)
		} else {
			err = s.printLine("%s  %5d messages %10s  shown %5d %10s (%s)  reused %s", short(row.Head), row.Messages, size(row.Bytes),
				row.ShownMessages, size(row.ShownBytes), percent(row.ShownBytes, row.Bytes), percent(row.ReusedBytes, row.ShownBytes))
		}
		if err = errors.Join(err, s.out.Flush()); err != nil {
			return err
		}
	}
	if s.json {
		return nil
	}
	return s.printLine("%s: %s of the bytes, %s of the cost of sending everything", count(int64(len(heads)), "request"),
		percent(shown.input, whole.input), fmt.Sprintf("%.1f %%", 100*ratio(shown.cost(), whole.cost())))
}

func (s *session) window(ctx context.Context, head string, whole, shown *spending) (*windowRow, error) {
	now, err := s.timeOf(ctx, head)
	if err != nil {
		return nil, err
	}
	all, err := whole.ask(ctx, s.Client, head, now)
	if err != nil {
		return nil, err
	}
	some, err := shown.ask(ctx, s.Client, head, now)
	if err != nil {
		return nil, err
	}
	return &windowRow{
		Head: head, Bytes: all.sent, Messages: int64(len(all.messages)), ShownBytes: some.sent,
		ShownMessages: int64(len(some.messages)), ReusedBytes: some.reused,
	}, nil
}

// timeOf is when the last message of a node was sent, else first put: about when the request was made that it ends.
func (s *session) timeOf(ctx context.Context, id string) (*timestamppb.Timestamp, error) {
	n, err := s.NodeInfo(ctx, client.ByID(id))
	if err != nil {
		return nil, err
	}
	if notes := n.GetInfo().GetNotes(); len(notes) > 0 && notes[len(notes)-1].GetSentAt() != nil {
		return notes[len(notes)-1].GetSentAt(), nil
	}
	return n.GetFirstPut(), nil
}

// requestHeads are the heads at which a model was asked: the parents of the nodes that begin with an assistant message.
func (s *session) requestHeads(ctx context.Context, ref client.Ref) (heads []string, err error) {
	query := client.Query{View: transcriptv1.View_VIEW_FULL, Detail: transcriptv1.NodeDetail_NODE_DETAIL_IDS}
	before := ""
	for frame, err := range s.Frames(ctx, ref, query) {
		if err != nil {
			return nil, err
		}
		messages, err := frame.Messages()
		if err != nil {
			return nil, err
		}
		for _, n := range frame.Nodes {
			own := messages[:n.GetMessageCount()]
			messages = messages[n.GetMessageCount():]
			if before != "" && len(own) > 0 && own[0].GetRole() == transcriptv1.Role_ROLE_ASSISTANT {
				heads = append(heads, before)
			}
			before = n.GetNodeId()
		}
	}
	return heads, nil
}
