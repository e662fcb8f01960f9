package client_test

import (
	"context"
	"fmt"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// check ends an example that went wrong.
func check(err error) {
	if err != nil {
		panic(err)
	}
}

// callModel stands for a model.
func callModel(messages []*transcriptv1.Message, _ error) *transcriptv1.Message {
	return client.Assistant(fmt.Sprintf("I have read %d messages.", len(messages)))
}

// The least that an agent does. It needs a server, so it runs in client/tests, with all other examples.
func Example() {
	address := "127.0.0.1:7420"
	ctx := context.Background()

	c, err := client.Dial(address)
	check(err)
	defer c.Close()
	chat, err := c.Chat(ctx, "42", client.System("You are helpful."))
	check(err)
	check(chat.Append(ctx, client.User("Hello?")))
	reply := callModel(chat.Messages(ctx, nil))
	check(chat.Append(ctx, reply))
	fmt.Println(chat.ReplyText(reply)) // [depth:2] I have read 2 messages.
}
