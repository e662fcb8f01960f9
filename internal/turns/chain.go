package turns

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// different is how many turns a source repeats: so many that none comes twice in what a store compresses together.
const different = 128

// Source makes chains whose turns are made beforehand, so that a put costs its caller little. Its methods may run at once.
type Source struct {
	namespace string
	turns     [different][]*transcriptv1.Message
	made      atomic.Uint64
}

// NewSource makes a source of chains in a namespace.
func NewSource(namespace string) *Source {
	s := &Source{namespace: namespace}
	for i := range s.turns {
		s.turns[i] = Turn(uint64(i))
	}
	return s
}

// Chain begins a chain, equal to none that anybody else puts.
func (s *Source) Chain() *Chain {
	return &Chain{source: s, Salt: fmt.Appendf(nil, "%016x", rand.Uint64()), Number: s.made.Add(1)}
}

// Chain grows by a turn a put. It is its caller's alone.
type Chain struct {
	source *Source
	// Salt makes its nodes differ from those of other chains.
	Salt []byte
	// Number tells it from other chains of its source.
	Number uint64
	// Head is the node that was put last, empty before the first.
	Head string
	// Turns counts the puts that were begun: one that failed is followed by another turn.
	Turns int
}

// Next is the request that puts the next turn on the head.
func (c *Chain) Next() *transcriptv1.PutNodeRequest {
	turn, call := c.Step()
	req := &transcriptv1.PutNodeRequest{
		Namespace: c.source.namespace, Messages: withCall(c.source.turns[turn], call), Salt: c.Salt,
	}
	if c.Head != "" {
		req.Parent = &transcriptv1.NodeRef{Ref: &transcriptv1.NodeRef_NodeId{NodeId: c.Head}}
	}
	return req
}

// Step goes on to the next turn: which of the source's it is, and the number of its call's id.
func (c *Chain) Step() (turn int, call uint64) {
	turn, call = int((c.Number*7+uint64(c.Turns))%different), c.Number*1e5+uint64(c.Turns)
	c.Turns++
	return turn, call
}

// Put puts the next turn, which is the head then, and tells how much text it has.
func (c *Chain) Put(ctx context.Context, rpc transcriptv1.TranscriptServiceClient) (textBytes int, err error) {
	req := c.Next()
	res, err := rpc.PutNode(ctx, req)
	if err != nil {
		return 0, err
	}
	c.Head = res.NodeId
	return TextBytes(req.Messages), nil
}

// withCall is a turn's messages with another id of their call: no agent gives two calls of a conversation the same one. All else
// is shared.
func withCall(messages []*transcriptv1.Message, number uint64) []*transcriptv1.Message {
	id, call, result := CallID(number), messages[1], messages[2]
	was := call.Parts[0].GetToolCall()
	return []*transcriptv1.Message{
		messages[0],
		{Role: call.Role, Parts: []*transcriptv1.Part{{Kind: &transcriptv1.Part_ToolCall{
			ToolCall: &transcriptv1.ToolCall{Id: &id, Name: was.Name, Arguments: was.Arguments},
		}}}},
		{Role: result.Role, ToolCallId: &id, Parts: result.Parts},
		messages[3],
	}
}
