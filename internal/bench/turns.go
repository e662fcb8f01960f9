package bench

import (
	"bytes"
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
	id := callID(seed)
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

// callID is an id of a call, all of which are as long; the number is less than 10^10.
func callID(number uint64) string { return fmt.Sprintf("call_%010d", number) }

// callOf numbers the calls of conversations: no two of 100,000 conversations, each of as many puts, have the same.
func callOf(conversation, put int) uint64 { return uint64(conversation)*1e5 + uint64(put) }

// withCall are a turn's messages with another id of their call. Turns are put again and again, and no agent gives two calls of a
// conversation the same id. All else is shared.
func withCall(messages []*transcriptv1.Message, number uint64) []*transcriptv1.Message {
	id, call, result := callID(number), messages[1], messages[2]
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

// encodedTurn is a turn as the first field of a request, and where in it the id of its call is.
type encodedTurn struct {
	messages []byte
	ids      [2]int
}

func encodeTurn(seed uint64) (*encodedTurn, error) {
	b, err := proto.Marshal(&transcriptv1.PutNodeRequest{Messages: turn(seed)})
	if err != nil {
		return nil, err
	}
	id, at := []byte(callID(seed)), 0
	e := &encodedTurn{messages: b}
	for i := range e.ids {
		at += bytes.Index(b[at:], id)
		e.ids[i] = at
		at += len(id)
	}
	return e, nil
}

// append appends the turn with another id of its call.
func (e *encodedTurn) append(out []byte, call uint64) []byte {
	from, id := len(out), callID(call)
	out = append(out, e.messages...)
	for _, at := range e.ids {
		copy(out[from+at:], id)
	}
	return out
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
