package client_test

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// dialled is a client of a server that ends with the example.
func dialled(opts ...client.Option) (c *client.Client, stop func()) {
	address, end := example()
	c, err := client.Dial(address, opts...)
	check(err)
	return c, func() { check(c.Close()); end() }
}

// talk is a conversation of n questions, each with a call whose result is long, and their answers.
func talk(ctx context.Context, c *client.Client, n int) *client.Thread {
	chat, err := c.Chat(ctx, "42", client.System("You are helpful."))
	check(err)
	for i := range n {
		call := client.Call(fmt.Sprint("call-", i), "read", "{}")
		check(chat.Append(ctx, client.User(fmt.Sprintf("What is in file %d?", i))))
		check(chat.Append(ctx, client.Assistant("", call)))
		check(chat.AppendResults(ctx, client.Result(call, strings.Repeat("A line of the file. ", 100))))
		check(chat.Append(ctx, client.Assistant("Lines.")))
	}
	return chat
}

// printed shows messages, each in a line.
func printed(messages []*transcriptv1.Message, err error) {
	check(err)
	for _, m := range messages {
		text := client.Text(m)
		for _, call := range client.Calls(m) {
			text += "calls " + call.GetName()
		}
		if len(text) > 40 {
			text = text[:40] + "..."
		}
		fmt.Println(strings.ToLower(strings.TrimPrefix(m.Role.String(), "ROLE_"))+":", text)
	}
}

// What to send to a model: everything, or a conversation in which past loops are condensed, bounded by a policy.
func ExampleThread_Messages() {
	ctx := context.Background()
	c, stop := dialled()
	defer stop()
	chat := talk(ctx, c, 4)

	everything, err := chat.Messages(ctx, nil)
	check(err)
	fmt.Println(len(everything), "messages")
	printed(chat.Messages(ctx, &transcriptv1.Policy{MaxRunLoops: proto.Int32(2)}))
	// Output:
	// 17 messages
	// system: You are helpful.
	// user: [1 earlier turns are not shown]
	// user: What is in file 1?
	// assistant: Lines.
	// user: What is in file 2?
	// assistant: Lines.
	// user: What is in file 3?
	// assistant: calls read
	// tool: A line of the file. A line of the file. ...
	// assistant: Lines.
}

// An agent that answers by a tool: with ReplyTools past loops keep its answers, and not what it read to find them.
func ExampleThread_Messages_replyTools() {
	ctx := context.Background()
	c, stop := dialled()
	defer stop()
	chat, err := c.Chat(ctx, "letters", client.System("Answer each letter by the tool reply."))
	check(err)
	for _, letter := range []string{"When do you open?", "And on Sundays?", "Thank you!"} {
		read := client.Call("read-"+letter, "read", "{}")
		reply := client.Call("reply-"+letter, "reply", `{"strings":["At nine."]}`)
		check(chat.Append(ctx, client.User(letter)))
		check(chat.Append(ctx, client.Assistant("", read, reply)))
		check(chat.Finish(ctx, client.Replied, client.Result(read, "Opening hours: 9 to 5."), client.Result(reply, "sent")))
	}

	printed(chat.Messages(ctx, &transcriptv1.Policy{ReplyTools: []string{"reply"}}))
	// Output:
	// system: Answer each letter by the tool reply.
	// user: When do you open?
	// assistant: calls reply
	// tool: sent
	// user: And on Sundays?
	// assistant: calls reply
	// tool: sent
	// user: Thank you!
	// assistant: calls readcalls reply
	// tool: Opening hours: 9 to 5.
	// tool: sent
}

// A compaction puts something short in the place of what was said, for good; the originals stay in the chain.
func ExampleThread_Compact() {
	ctx := context.Background()
	c, stop := dialled(client.WithVerification())
	defer stop()
	chat := talk(ctx, c, 4)

	res, err := chat.Compact(ctx, client.Compaction{
		Summary: "The user asked for four files, of lines each.", SummaryOnly: true,
	})
	check(err)
	fmt.Println(res.Written, res.Report.MessagesBefore, "messages became", res.Report.MessagesAfter)
	check(chat.Append(ctx, client.User("And file 4?")))
	printed(chat.Messages(ctx, nil))

	all, err := c.Assemble(ctx, client.ByAlias(chat.Alias()), client.Query{View: transcriptv1.View_VIEW_FULL})
	check(err)
	messages, err := all.Messages()
	check(err)
	fmt.Println(len(messages), "were ever put")
	// Output:
	// true 16 messages became 1
	// system: You are helpful.
	// user: The user asked for four files, of lines ...
	// user: And file 4?
	// 18 were ever put
}

// An agent asks before each call of its model whether it is time to compact. Mostly that costs nothing.
func ExampleThread_CompactWhen() {
	ctx := context.Background()
	c, stop := dialled()
	defer stop()
	chat := talk(ctx, c, 4)
	when := client.Trigger{
		Bytes:      5000,
		Compaction: client.Compaction{SummaryOnly: true},
		Summarize: func(_ context.Context, all []*transcriptv1.Message) (string, error) {
			return fmt.Sprintf("A model made this of %d messages.", len(all)), nil
		},
	}

	check(chat.Append(ctx, client.User("And file 4?")))
	res, err := chat.CompactWhen(ctx, when)
	check(err)
	fmt.Println(res.GetWritten())
	printed(chat.Messages(ctx, nil))
	check(chat.Append(ctx, client.Assistant("There is none.")))

	check(chat.Append(ctx, client.User("And file 5?")))
	res, err = chat.CompactWhen(ctx, when)
	check(err)
	fmt.Println(res.GetWritten())
	// Output:
	// true
	// system: You are helpful.
	// user: A model made this of 18 messages.
	// user: And file 4?
	// false
}

// Tools with which a model gets back what it no longer sees. Tool.Anthropic gives the other form.
func ExampleThread_RecallTool() {
	ctx := context.Background()
	c, stop := dialled()
	defer stop()
	chat := talk(ctx, c, 4)
	tools := []*client.Tool{chat.RecallTool(), chat.SearchTool()}
	for _, tool := range tools {
		fmt.Println(tool.Name, len(tool.OpenAI()) > 0) // for "tools" of the request
	}
	_, err := chat.Compact(ctx, client.Compaction{SummaryOnly: true, Summary: "They read files."})
	check(err)

	// The model answered with calls.
	message := client.Assistant("",
		client.Call("call-7", "recall_tool_call", `{"call_id":"call-2","offset":1980}`),
		client.Call("call-8", "search_history", `{"query":"file 3?"}`))
	check(chat.Append(ctx, message))
	var results []*transcriptv1.Message
	for _, call := range client.Calls(message) {
		tool := tools[slices.IndexFunc(tools, func(t *client.Tool) bool { return t.Name == call.GetName() })]
		text, err := tool.Call(ctx, call.Arguments)
		check(err)
		results = append(results, client.Result(call, text))
	}
	check(chat.AppendResults(ctx, results...))
	fmt.Println(strings.TrimSpace(client.Text(results[0])))
	fmt.Println(strings.HasSuffix(client.Text(results[1]), ": What is in file 3?\n"))
	// Output:
	// recall_tool_call true
	// search_history true
	// call: read {}
	// result:
	// A line of the file.
	// true
}

// A subagent works in a chain of its own, linked to the call that started it. The parent sees the result, and only that.
func ExampleThread_Spawn() {
	ctx := context.Background()
	c, stop := dialled()
	defer stop()
	parent, err := c.Chat(ctx, "42", client.System("You delegate."))
	check(err)
	call := client.Call("call-1", "research", `{"question":"How high is it?"}`)
	check(parent.Append(ctx, client.User("How high is the tower?")))
	check(parent.Append(ctx, client.Assistant("", call)))

	child, err := parent.Spawn(ctx, client.Spawn{
		CallID: call.GetId(), Alias: "sub/" + call.GetId(), Inherit: client.InheritArguments,
		Messages: []*transcriptv1.Message{client.System("You research."), client.User("How high is it?")},
	})
	check(err)
	check(child.Append(ctx, client.Assistant("300 m, after long work.")))

	check(parent.AppendResults(ctx, client.Result(call, "300 m")))
	printed(parent.Messages(ctx, nil))
	d, err := c.Describe(ctx, client.ByAlias(child.Alias()), nil)
	check(err)
	fmt.Println(d.Lineage.SpawnedFrom.GetToolCallId(), d.Lineage.Inheritance, d.Lineage.SpawnDepth)
	// Output:
	// system: You delegate.
	// user: How high is the tower?
	// assistant: calls research
	// tool: 300 m
	// call-1 INHERITANCE_ARGUMENTS 1
}

// An agent sets variables in the metadata of what it appends: with the value, or declared where it keeps that itself.
func ExampleClient_Variables() {
	ctx := context.Background()
	c, stop := dialled()
	defer stop()
	chat, err := c.Chat(ctx, "42", client.System("You read."))
	check(err)
	book := strings.Repeat("It was the best of times. ", 8000) // kept by the agent

	_, err = chat.AppendNode(ctx, client.Node{
		Messages: []*transcriptv1.Message{client.User("Read the book.")},
		Metadata: map[string]string{
			client.VariableKey("page"): "1",
			client.VariableInfoKey("context"): client.DeclaredVariable{
				Type: "str", Size: int64(len(book)), Preview: book[:200], Iteration: 1,
			}.Metadata(),
		},
	})
	check(err)
	variables, err := c.Variables(ctx, client.ByAlias(chat.Alias()), "context", "page")
	check(err)

	for _, v := range variables {
		fmt.Printf("%s: %s, %d bytes, %.10s\n", v.Name, v.Type, v.SizeBytes, v.Preview)
	}
	// Output:
	// context: str, 208000 bytes, It was the
	// page: number, 1 bytes, 1
}

// What a server sends is checked against the ids; ErrVerification is the end of trust.
func ExampleWithVerification() {
	ctx := context.Background()
	c, stop := dialled(client.WithVerification())
	defer stop()
	chat := talk(ctx, c, 1)

	// The id of a head commits to all that was said.
	known := chat.Head()
	all, err := c.Assemble(ctx, client.ByID(known), client.Query{View: transcriptv1.View_VIEW_FULL})
	check(err)
	messages, err := all.Messages()
	check(err)
	fmt.Println(len(messages), "messages, of", len(all.Nodes), "nodes")
	// Output:
	// 5 messages, of 5 nodes
}

// Assemble tells of the nodes, and of what a policy leaves out.
func ExampleClient_Assemble() {
	ctx := context.Background()
	c, stop := dialled()
	defer stop()
	chat := talk(ctx, c, 4)

	a, err := c.Assemble(ctx, client.ByAlias(chat.Alias()), client.Query{
		View: transcriptv1.View_VIEW_CONVERSATION, Policy: client.Unbounded(), CondenseLast: true,
	})
	check(err)
	printed(a.Messages())
	fmt.Println(a.Report.LeftOut.Messages, "messages left out")
	// Output:
	// system: You are helpful.
	// user: What is in file 0?
	// assistant: Lines.
	// user: What is in file 1?
	// assistant: Lines.
	// user: What is in file 2?
	// assistant: Lines.
	// user: What is in file 3?
	// assistant: Lines.
	// 8 messages left out
}
