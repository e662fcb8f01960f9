package client_test

import (
	"context"
	"fmt"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// A chat window shows the latest messages first, and reads back as its reader scrolls up.
func ExampleClient_Back() {
	ctx := context.Background()
	c, stop := dialled()
	defer stop()
	chat, err := c.Chat(ctx, "42", client.System("You are helpful."))
	check(err)
	for i := range 4 {
		check(chat.Append(ctx, client.User(fmt.Sprint("question ", i))))
		check(chat.Append(ctx, client.Assistant("answer")))
	}

	pages := c.Back(ctx, client.ByAlias(chat.Alias()), client.Query{View: transcriptv1.View_VIEW_FULL, LastMessages: 4})
	for page, err := range pages {
		check(err)
		messages, err := page.Messages()
		check(err)
		fmt.Println(len(messages), "messages from", client.Text(messages[0]), "on; more:", page.MoreBefore)
	}
	// Output:
	// 4 messages from question 2 on; more: true
	// 4 messages from question 0 on; more: true
	// 1 messages from You are helpful. on; more: false
}
