package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

type message = transcriptv1.Message

const (
	prompt    = "You answer messages. Use the tools when you need them. Be brief."
	summarize = "Summarize this conversation for yourself: what was asked and answered, and each tool call with its name, its id and its result."
	maxRounds = 30 // of tools, for one message
)

// agent answers messages. All that it has to know after a crash is in the service and in the ledger.
type agent struct {
	c         *client.Client
	model     model
	files     *files
	compactAt int64 // bytes of what the model is sent
}

// answer gives the reply to a message, from wherever an earlier process left it.
func (a *agent) answer(ctx context.Context, in letter) (reply, error) {
	thread, err := a.c.Start(ctx, client.Turn{
		MessageID: in.ID, ReplyTo: in.ReplyTo,
		System: []*message{client.System(prompt)}, Messages: []*message{client.User(in.Text)},
	})
	if errors.Is(err, client.ErrAliasExists) { // it was begun before, and went on
		thread, err = a.c.Resume(ctx, in.ID)
	}
	if err != nil {
		return reply{}, err
	}
	if !thread.New() {
		if err := a.settle(ctx, thread, in); err != nil {
			return reply{}, err
		}
		if said, err := replied(ctx, thread); err != nil || said != nil {
			return in.reply(thread, said), err
		}
	}
	said, err := a.work(ctx, thread, in)
	if err == nil {
		err = thread.Reply(ctx, in.replyID(), said)
	}
	return in.reply(thread, said), err
}

// replied is the reply that a thread ends in; nil: it has none yet.
func replied(ctx context.Context, thread *client.Thread) (*message, error) {
	messages, err := thread.Messages(ctx, nil)
	if err != nil {
		return nil, err
	}
	last := messages[len(messages)-1]
	if last.GetRole() != transcriptv1.Role_ROLE_ASSISTANT || len(client.Calls(last)) > 0 {
		return nil, nil
	}
	return last, nil
}

// work asks the model, and runs the tools that it asks for, until it says what to reply.
func (a *agent) work(ctx context.Context, thread *client.Thread, in letter) (*message, error) {
	for range maxRounds {
		said, err := a.ask(ctx, thread)
		calls := client.Calls(said)
		if err != nil || len(calls) == 0 {
			return said, err
		}
		// Before the tools run: after a crash the calls are open, and not forgotten.
		if err := thread.Append(ctx, said); err != nil {
			return nil, err
		}
		var results []*message
		for i, call := range calls {
			result, err := a.run(ctx, thread, in.callKey(thread, i), call)
			if err != nil {
				return nil, err
			}
			results = append(results, result)
		}
		if err := thread.AppendResults(ctx, results...); err != nil {
			return nil, err
		}
	}
	return client.Assistant(fmt.Sprintf("I stopped after %d rounds of tools.", maxRounds)), nil
}

// ask gives what the model says next. What it is sent is made shorter first where it has grown.
func (a *agent) ask(ctx context.Context, thread *client.Thread) (*message, error) {
	_, err := thread.CompactWhen(ctx, client.Trigger{
		Bytes: a.compactAt, Compaction: client.Compaction{SummaryOnly: true},
		Summarize: func(ctx context.Context, all []*message) (string, error) {
			said, err := a.model(ctx, append(all, client.User(summarize)), nil)
			return client.Text(said), err
		},
	})
	if err != nil {
		return nil, err
	}
	messages, err := thread.Messages(ctx, nil)
	if err != nil {
		return nil, err
	}
	return a.model(ctx, messages, a.tools(thread, ""))
}

// run runs a call under its key. What the tool says goes to the model; an error is one of the service or the disk.
func (a *agent) run(ctx context.Context, thread *client.Thread, key string, call *transcriptv1.ToolCall) (*message, error) {
	for _, tool := range a.tools(thread, key) {
		if tool.Name == call.GetName() {
			text, err := tool.Call(ctx, call.GetArguments())
			return client.Result(call, text), err
		}
	}
	return client.Result(call, "There is no such tool."), nil
}

// settle ends the calls that a crash left open. Each may have run, and none is just run again: a payment is looked up in
// the ledger, and nobody knows whether the bell rang. The other tools only read.
func (a *agent) settle(ctx context.Context, thread *client.Thread, in letter) error {
	calls, err := thread.OpenCalls(ctx)
	if err != nil {
		return err
	}
	var results []*message
	for i, call := range calls { // all of the round: their results are put at once, but for the bell's, which is not looked up
		if call.GetName() == "ring" {
			continue
		}
		key := in.callKey(thread, i)
		paid, found, err := a.files.paid(key)
		if err != nil {
			return err
		}
		result := client.Result(call, paid)
		if !found { // it did not run, or reads
			if result, err = a.run(ctx, thread, key, call); err != nil {
				return err
			}
		}
		results = append(results, result)
	}
	if len(results) > 0 {
		if err := thread.AppendResults(ctx, results...); err != nil {
			return err
		}
	}
	return thread.AnswerUnknown(ctx)
}
