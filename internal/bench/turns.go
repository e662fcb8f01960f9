package bench

import (
	"fmt"
	"math/rand/v2"

	"google.golang.org/protobuf/proto"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/prose"
)

// turn is a node of four messages with 3.5 KB of text that compresses about three times: a question, a call, its result and
// a reply, two thirds of it the result, as in coding sessions. The same seed gives the same turn, another seed another.
func turn(seed uint64) []*transcriptv1.Message {
	random := rand.New(rand.NewPCG(1, seed))
	id := fmt.Sprintf("call_%d", seed)
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

// textBytes is how much text messages have.
func textBytes(messages []*transcriptv1.Message) (n int64) {
	for _, m := range messages {
		for _, p := range m.Parts {
			n += int64(len(p.GetText()) + len(p.GetToolCall().GetArguments()))
		}
	}
	return n
}

func text(s string) []*transcriptv1.Part {
	return []*transcriptv1.Part{{Kind: &transcriptv1.Part_Text{Text: s}}}
}

// seeds gives numbers that nobody else has in this run, so that nothing is put twice unless it is meant to.
func (e *env) seeds(n int) (first uint64) { return e.seed.Add(uint64(n)) - uint64(n) }
