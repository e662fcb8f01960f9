package bench

import (
	"context"
	"fmt"
	"math/rand/v2"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// differentTurns is how many turns conversations are made of: so many that none comes twice in what the store compresses
// together.
const differentTurns = 128

// conversations are chains that grow by a turn a put. Turns are made before, and shared but for the ids of calls: the parent makes
// the nodes differ.
type conversations struct {
	namespace string
	turns     [differentTurns][]*transcriptv1.Message
	all       []conversation
}

// conversation is one of them. It is its putter's.
type conversation struct {
	salt []byte
	head string
	puts int
}

// newConversations makes n conversations without a turn, different from those of every other run.
func newConversations(namespace string, first uint64, n int) *conversations {
	c := &conversations{namespace: namespace, all: make([]conversation, n)}
	for i := range c.turns {
		c.turns[i] = turn(first + uint64(i))
	}
	for i := range c.all {
		c.all[i].salt = fmt.Appendf(nil, "%016x", rand.Uint64())
	}
	return c
}

// next is the request that puts conversation i's next turn.
func (c *conversations) next(i int) *transcriptv1.PutNodeRequest {
	own := &c.all[i]
	req := &transcriptv1.PutNodeRequest{
		Namespace: c.namespace, Messages: withCall(c.turns[(i*7+own.puts)%differentTurns], callOf(i, own.puts)), Salt: own.salt,
	}
	if own.head != "" {
		req.Parent = byID(own.head)
	}
	own.puts++
	return req
}

// put puts conversation i's next turn.
func (c *conversations) put(ctx context.Context, rpc transcriptv1.TranscriptServiceClient, i int) error {
	res, err := rpc.PutNode(ctx, c.next(i))
	if err == nil {
		c.all[i].head = res.NodeId
	}
	return err
}
