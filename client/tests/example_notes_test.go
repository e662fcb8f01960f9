package client_test

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// What a message cost is a note beside it, which is not hashed.
func ExampleThread_AppendNode() {
	ctx := context.Background()
	c, stop := dialled()
	defer stop()
	chat, err := c.Chat(ctx, "42", client.System("You count."))
	check(err)
	check(chat.Append(ctx, client.User("How many lines has it?")))

	_, err = chat.AppendNode(ctx, client.Node{
		Messages: []*transcriptv1.Message{client.Assistant("Two lines.")},
		Notes: []*transcriptv1.MessageNote{{
			Model: "model-1", FinishReason: "stop",
			InputTokens: proto.Int32(1200), CachedTokens: proto.Int32(1000), OutputTokens: proto.Int32(30),
			Attributes: map[string]string{"provider": "example"},
		}},
	})
	check(err)

	node, err := c.Node(ctx, client.ByAlias(chat.Alias()))
	check(err)
	note := node.Info.Notes[0]
	fmt.Println(note.Model, note.GetInputTokens(), note.GetCachedTokens(), note.GetOutputTokens(), note.Attributes["provider"])
	// Output: model-1 1200 1000 30 example
}
