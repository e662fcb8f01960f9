// Package turns makes up the conversations that a transcriptd is put under load with. A turn is one node of four messages: a
// question, a tool call, its result and a reply, 3.5 KB of text that zstd compresses about three times, two thirds of it the
// result, as in coding sessions.
package turns

import (
	"context"
	"fmt"
	"math/rand/v2"

	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/prose"
)

// Messages is how many messages a turn has.
const Messages = 4

// Turn is the messages of one turn. The same seed gives the same turn, another seed another. The seed is less than 10^10.
func Turn(seed uint64) []*transcriptv1.Message {
	random := rand.New(rand.NewPCG(1, seed))
	id := CallID(seed)
	return []*transcriptv1.Message{
		{Role: transcriptv1.Role_ROLE_USER, Parts: text(prose.Words(random, 300))},
		{Role: transcriptv1.Role_ROLE_ASSISTANT, Parts: []*transcriptv1.Part{{Kind: &transcriptv1.Part_ToolCall{
			ToolCall: &transcriptv1.ToolCall{
				Id: proto.String(id), Name: proto.String("read_file"), Arguments: `{"path":"` + prose.Words(random, 250) + `"}`,
			},
		}}}},
		{Role: transcriptv1.Role_ROLE_TOOL, ToolCallId: proto.String(id), Parts: text(prose.Words(random, 2300))},
		{Role: transcriptv1.Role_ROLE_ASSISTANT, Parts: text(prose.Words(random, 275+random.IntN(550)))},
	}
}

func text(s string) []*transcriptv1.Part {
	return []*transcriptv1.Part{{Kind: &transcriptv1.Part_Text{Text: s}}}
}

// TextBytes is how much text messages have, arguments of calls included.
func TextBytes(messages []*transcriptv1.Message) (n int) {
	for _, m := range messages {
		for _, p := range m.Parts {
			n += len(p.GetText()) + len(p.GetToolCall().GetArguments())
		}
	}
	return n
}

// CallID is the id of a tool call; all ids have the same length. The number is less than 10^10.
func CallID(number uint64) string { return fmt.Sprintf("call_%010d", number) }

// fillBatch is how many turns Fill puts in a request.
const fillBatch = 200

// Fill puts a chain of turns with the seeds from first on, and returns its head. alias, unless it is empty, points to the head in
// the end. put is told how many turns each request has put.
func Fill(ctx context.Context, c *client.Client, alias string, first uint64, turns int, put func(int)) (head string, err error) {
	for done := 0; done < turns; {
		var nodes []client.Node
		for ; done < turns && len(nodes) < fillBatch; done++ {
			nodes = append(nodes, client.Node{Messages: Turn(first + uint64(done)), Previous: len(nodes) > 0})
		}
		if head != "" {
			nodes[0].Parent = client.ByID(head)
		}
		last := len(nodes) - 1
		if alias != "" {
			nodes[last].Aliases = []client.AliasUpdate{{Name: alias}}
		}
		results, err := c.PutAll(ctx, nodes...)
		if err != nil {
			return "", err
		}
		head = results[last].NodeId
		put(len(nodes))
	}
	return head, nil
}
