package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

type windowCommand struct {
	Ref string `arg:"" help:"The node that the chain ends in."`
	policyFlags
}

func (c *windowCommand) Help() string {
	return `Asks for the messages before each assistant message of the chain that begins a node, once in the effective view and once as a conversation under the policy of the flags (the server's defaults without any), and prints a line for each: messages and bytes both ways, and how much of what is shown the request before had too (what a provider has cached). The last line tells the sums; cost counts a cached byte as a tenth. A quote is a result that the assistant message quotes, 24 or more characters in a row that stood in results alone; it is forgotten where the conversation did not show that result whole.

A chain is assembled at nodes. Where a node holds more than one step, such as a whole turn, what was asked within it is not to be had: the line is of the node with all that it holds, and says how many requests that stands for. Examples:

    transcriptctl window chat/42
    transcriptctl window chat/42 --preset coding
    transcriptctl window chat/42 --output json | jq -r .shownBytes`
}

// windowRow is a request, as printed with --output json.
type windowRow struct {
	Head          string `json:"nodeId"`
	Bytes         int64  `json:"bytes,string"`
	Messages      int64  `json:"messages,string"`
	ShownBytes    int64  `json:"shownBytes,string"`
	ShownMessages int64  `json:"shownMessages,string"`
	ReusedBytes   int64  `json:"reusedBytes,string"`
	// Quoted counts the results that the assistant message behind the head quotes, QuotedHidden those of them that the policy does not
	// show whole.
	Quoted       int64 `json:"quoted,string"`
	QuotedHidden int64 `json:"quotedHidden,string"`
	// Within is how many requests were made within the head; the row stands for these, too.
	Within int64 `json:"within,string,omitempty"`
}

// windowTable prints requests, a line each.
func (s *session) windowTable() func(*windowRow) error {
	bytes := len("1023.9 KiB")
	t := s.table(nodeColumn(), right("MESSAGES"), right("BYTES").wide(bytes), right("SHOWN MESSAGES"), right("SHOWN BYTES"), right("SHARE").wide(len("100.0 %")),
		right("REUSED").wide(len("100.0 %")), right("REQUESTS WITHIN"))
	return func(r *windowRow) error {
		within := ""
		if r.Within > 0 {
			within = decimal(r.Within)
		}
		return t.print(r, short(r.Head), decimal(r.Messages), size(r.Bytes), decimal(r.ShownMessages), size(r.ShownBytes), percent(r.ShownBytes, r.Bytes),
			percent(r.ReusedBytes, r.ShownBytes), within)
	}
}

// Run prints what a policy saves on a chain.
func (c *windowCommand) Run(ctx context.Context, s *session) error {
	ref, err := s.ref(ctx, c.Ref)
	if err != nil {
		return err
	}
	policy, err := c.policy()
	if err != nil {
		return err
	}
	heads, err := s.requestHeads(ctx, ref)
	if err != nil {
		return err
	}
	whole, shown := &spending{strategy: everything()}, &spending{strategy: bounded("policy", policy)}
	nodes, within, print := int64(0), int64(0), s.windowTable()
	for _, head := range heads {
		row, err := s.window(ctx, head, whole, shown)
		if err != nil {
			return err
		}
		if row.Within > 0 {
			nodes, within = nodes+1, within+row.Within
		}
		if err = errors.Join(print(row), s.out.Flush()); err != nil {
			return err
		}
	}
	if within > 0 {
		s.remark("%s made within nodes, where nothing can be assembled: such a node is told as a whole; "+
			"make each message a node to see each request", count(within, "request"))
	}
	if s.json {
		return nil
	}
	requests := count(int64(len(heads))-nodes, "request")
	switch {
	case len(heads) == 0:
		return s.printLine("%s: nothing comes before an assistant message", requests)
	case nodes > 0:
		requests += " and " + count(nodes, "node")
	}
	forgotten := ""
	if shown.quoted > 0 {
		forgotten = fmt.Sprintf("; %d of %s forgotten", shown.forgotten, count(shown.quoted, "quote"))
	}
	return s.printLine("%s: %s of the bytes, %.1f %% of the cost of sending everything%s",
		requests, percent(shown.input, whole.input), 100*ratio(shown.cost(), whole.cost()), forgotten)
}

func (s *session) window(ctx context.Context, head requestHead, whole, shown *spending) (*windowRow, error) {
	all, err := whole.ask(ctx, s.Client, head.id)
	if err != nil {
		return nil, err
	}
	some, err := shown.ask(ctx, s.Client, head.id)
	if err != nil {
		return nil, err
	}
	return &windowRow{
		Head: head.id, Within: head.within, Bytes: all.sent, Messages: int64(len(all.messages)), ShownBytes: some.sent,
		ShownMessages: int64(len(some.messages)), ReusedBytes: some.reused,
		Quoted: int64(len(head.quoted)), QuotedHidden: shown.quote(some, head.quoted),
	}, nil
}

// requestHead is a head at which a model was asked, or one that stands for what it was asked within it.
type requestHead struct {
	id string
	// within is how many assistant messages the node has behind its first message.
	within int64
	// quoted are the results that the assistant message behind the node quotes, encoded; none where that is not the next message.
	quoted [][]byte
}

// requestHeads are the heads at which a model was asked: the parents of the nodes that begin with an assistant message.
// What it was asked in the middle of a node cannot be assembled; the node itself is a head for that.
func (s *session) requestHeads(ctx context.Context, ref client.Ref) (heads []requestHead, err error) {
	query := client.Query{View: transcriptv1.View_VIEW_FULL, Detail: transcriptv1.NodeDetail_NODE_DETAIL_IDS}
	before, said := requestHead{}, newQuotes()
	for frame, err := range s.Frames(ctx, ref, query) {
		if err != nil {
			return nil, err
		}
		messages, err := frame.Messages()
		if err != nil {
			return nil, err
		}
		for _, n := range frame.Nodes {
			count := ownMessages(n, len(messages))
			own := messages[:count]
			messages = messages[count:]
			asked := before.id != "" && len(own) > 0 && isAnswer(own[0])
			if before.quoted = said.addNode(own); asked || before.within > 0 {
				heads = append(heads, before)
			}
			before = requestHead{id: n.GetNodeId(), within: repliesWithin(own)}
		}
	}
	if before.within > 0 {
		heads = append(heads, before)
	}
	return heads, nil
}

// repliesWithin counts the assistant messages behind the first message of a node.
func repliesWithin(node []*transcriptv1.Message) (n int64) {
	for i, m := range node {
		if i > 0 && isAnswer(m) {
			n++
		}
	}
	return n
}
