package client_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"

	"google.golang.org/grpc"

	"github.com/transcriptd/transcriptd/chainstore/memstore"
	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/testserver"
	"github.com/transcriptd/transcriptd/server"
)

// serve runs a server until the test ends and gives its address.
func serve(tb testing.TB) string {
	stack := testserver.StartWith(tb, memstore.New(memstore.Options{}), server.Config{Version: "test"})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- stack.GRPC.Serve(listener) }()
	tb.Cleanup(func() {
		stack.GRPC.Stop()
		if err := <-served; err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			tb.Errorf("serve: %v", err)
		}
	})
	return listener.Addr().String()
}

// exampleTB lets an example use what is made for tests.
type exampleTB struct {
	testing.TB
	cleanups []func()
}

func (e *exampleTB) Helper()                           {}
func (e *exampleTB) Cleanup(f func())                  { e.cleanups = append(e.cleanups, f) }
func (e *exampleTB) Errorf(format string, args ...any) { fmt.Printf(format, args...) }
func (e *exampleTB) Fatal(args ...any)                 { panic(fmt.Sprint(args...)) }
func (e *exampleTB) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// example runs a server for an example and gives its address.
func example() (address string, stop func()) {
	tb := new(exampleTB)
	return serve(tb), func() {
		for i := len(tb.cleanups) - 1; i >= 0; i-- {
			tb.cleanups[i]()
		}
	}
}

// check ends an example that went wrong.
func check(err error) {
	if err != nil {
		panic(err)
	}
}

// callModel stands for a model.
func callModel(messages []*transcriptv1.Message, _ error) *transcriptv1.Message {
	last := messages[len(messages)-1]
	if last.Role == transcriptv1.Role_ROLE_USER && client.Text(last) == "What is in notes.txt?" {
		return client.Assistant("", client.Call("call-1", "read", `{"path":"notes.txt"}`))
	}
	return client.Assistant(fmt.Sprintf("I have read %d messages.", len(messages)))
}

// The least that an agent does.
func Example() {
	address, stop := example()
	defer stop()
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
	// Output: [depth:2] I have read 2 messages.
}

// A message arrives, the model calls a tool, and the reply gets an alias, to which the next message replies.
func ExampleClient_Start() {
	address, stop := example()
	defer stop()
	ctx := context.Background()
	c, err := client.Dial(address, client.WithVerification())
	check(err)
	defer c.Close()

	thread, err := c.Start(ctx, client.Turn{
		MessageID: "m1",
		System:    []*transcriptv1.Message{client.System("You are helpful.")},
		Messages:  []*transcriptv1.Message{client.User("What is in notes.txt?")},
	})
	check(err)
	for {
		message := callModel(thread.Messages(ctx, nil))
		calls := client.Calls(message)
		if len(calls) == 0 {
			check(thread.Reply(ctx, "o1", message))
			fmt.Println(thread.ReplyText(message))
			break
		}
		check(thread.Append(ctx, message)) // before the tools run
		var results []*transcriptv1.Message
		for _, call := range calls {
			results = append(results, client.Result(call, "Buy milk."))
		}
		check(thread.AppendResults(ctx, results...))
	}

	next, err := c.Start(ctx, client.Turn{
		MessageID: "m2", ReplyTo: "o1", Messages: []*transcriptv1.Message{client.User("Thanks!")},
	})
	check(err)
	fmt.Println(client.Text(callModel(next.Messages(ctx, nil))))
	// Output:
	// [depth:3] I have read 4 messages.
	// I have read 6 messages.
}

// Two replies to the same message are two branches; Fork makes one by hand.
func ExampleThread_Fork() {
	address, stop := example()
	defer stop()
	ctx := context.Background()
	c, err := client.Dial(address)
	check(err)
	defer c.Close()

	chat, err := c.Chat(ctx, "story", client.System("You tell stories."))
	check(err)
	check(chat.Append(ctx, client.User("Once upon a time")))
	other, err := chat.Fork(ctx, client.ChatAlias("story/sad"))
	check(err)
	check(chat.Append(ctx, client.Assistant("there was joy.")))
	check(other.Append(ctx, client.Assistant("there was rain.")))
	for _, branch := range []*client.Thread{chat, other} {
		messages, err := branch.Messages(ctx, nil)
		check(err)
		fmt.Println(branch.Alias()+":", client.Text(messages[1]), client.Text(messages[2]))
	}
	// Output:
	// chat/story: Once upon a time there was joy.
	// chat/story/sad: Once upon a time there was rain.
}

// After a crash the thread goes on from where it was. Calls without a result may have run: they are the caller's to
// check, and what cannot be found out is answered as unknown.
func ExampleClient_Resume() {
	address, stop := example()
	defer stop()
	ctx := context.Background()
	c, err := client.Dial(address)
	check(err)
	defer c.Close()
	thread, err := c.Start(ctx, client.Turn{MessageID: "m1", Messages: []*transcriptv1.Message{client.User("Book it.")}})
	check(err)
	check(thread.Append(ctx, client.Assistant("", client.Call("call-1", "pay", "{}"), client.Call("call-2", "mail", "{}"))))
	// Here the agent crashes, and starts again.

	thread, err = c.Resume(ctx, "m1")
	check(err)
	calls, err := thread.OpenCalls(ctx)
	check(err)
	fmt.Println(len(calls), "open calls")
	paid := client.Result(calls[0], "paid") // as the bank says when asked
	check(thread.AppendResults(ctx, paid))
	check(thread.AnswerUnknown(ctx))
	messages, err := thread.Messages(ctx, nil)
	check(err)
	for _, result := range messages[2:] {
		fmt.Println(result.GetToolCallId(), client.Text(result))
	}
	// Output:
	// 2 open calls
	// call-1 paid
	// call-2 [result unknown: the agent was interrupted while this call may have been running]
}

// A run ends with its outcome, whatever its last message is; so does one whose agent is gone.
func ExampleThread_Finish() {
	address, stop := example()
	defer stop()
	ctx := context.Background()
	c, err := client.Dial(address)
	check(err)
	defer c.Close()
	thread, err := c.Start(ctx, client.Turn{MessageID: "m1", Messages: []*transcriptv1.Message{client.User("Count to infinity.")}})
	check(err)
	check(thread.Append(ctx, client.Assistant("", client.Call("call-1", "count", "{}"))))
	// Here the agent crashes, and nobody is to go on with it.

	dead, err := c.Resume(ctx, "m1")
	check(err)
	check(dead.Finish(ctx, client.Stopped, client.Assistant("I got to 4096 and stopped.")))
	for loop, err := range c.RunLoops(ctx, client.ByAlias("msg/m1"), nil) {
		check(err)
		fmt.Println(loop.State, loop.Outcome)
	}
	// Output: RUN_LOOP_STATE_CLOSED RUN_OUTCOME_STOPPED
}

// Errors are told apart by their reason.
func ExampleError() {
	address, stop := example()
	defer stop()
	ctx := context.Background()
	c, err := client.Dial(address)
	check(err)
	defer c.Close()
	first, err := c.Chat(ctx, "42", client.System("You are helpful."))
	check(err)
	second, err := c.Chat(ctx, "42")
	check(err)
	check(first.Append(ctx, client.User("I was first.")))

	err = second.Append(ctx, client.User("No, I was."))
	if moved, ok := errors.AsType[*client.Error](err); ok && errors.Is(err, client.ErrAliasMoved) {
		fmt.Println(moved.Head() == first.Head())
		check(second.Refresh(ctx))
		check(second.Append(ctx, client.User("Sorry, you were.")))
	}
	fmt.Println(second.Depth())
	// Output:
	// true
	// 2
}
