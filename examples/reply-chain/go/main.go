// Command go is an agent that answers messages: each is a reply to an earlier one, or begins a conversation. It keeps what was said in
// transcriptd. examples/reply-chain/README.md tells what it does and what it reads and writes.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"sync"

	"github.com/transcriptd/transcriptd/client"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("reply-chain", flag.ExitOnError)
	dir := flags.String("dir", "sample", "the `folder` with inbox.jsonl and notes/; the others are written there")
	server := flags.String("server", "127.0.0.1:7420", "where transcriptd serves")
	namespace := flags.String("namespace", "reply-chain", "the namespace of this agent")
	atOnce := flags.Int("at-once", 4, "how many messages to answer at once")
	compactAt := flags.Int64("compact-at", 4000, "compact a conversation past so many `bytes`")
	if err := flags.Parse(args); err != nil {
		return err
	}
	model, err := chosenModel(os.Getenv("MODEL"))
	if err != nil {
		return err
	}
	c, err := client.Dial(*server, client.WithNamespace(*namespace), client.WithVerification())
	if err != nil {
		return err
	}
	defer c.Close()
	a := &agent{c: c, model: model, files: &files{dir: *dir}, compactAt: *compactAt}
	return a.answerAll(ctx, max(1, *atOnce))
}

// answerAll answers what is in the inbox and has no line in the outbox, several messages at once. A message waits for the one that it
// replies to, and is left where that failed.
func (a *agent) answerAll(ctx context.Context, atOnce int) error {
	if _, err := os.Stat(filepath.Join(a.files.dir, "inbox.jsonl")); err != nil {
		return fmt.Errorf("there is no inbox to read (--dir names its folder): %w", err)
	}
	inbox, err := read[letter](a.files, "inbox.jsonl")
	if err != nil {
		return err
	}
	outbox, err := read[reply](a.files, "outbox.jsonl")
	if err != nil {
		return err
	}
	answers := map[string]func() error{} // by the ids of the messages, and of the replies
	for _, r := range outbox {
		answers[r.ID] = func() error { return nil }
	}
	var all []func() error
	places := make(chan struct{}, atOnce)
	for _, in := range inbox {
		answer := answers[in.replyID()]
		if answer == nil {
			before := answers[in.ReplyTo]
			answer = sync.OnceValue(func() error {
				if before != nil && before() != nil {
					return fmt.Errorf("%s: what it replies to was not answered", in.ID)
				}
				places <- struct{}{}
				defer func() { <-places }()
				return a.answerOne(ctx, in)
			})
			all = append(all, answer)
		}
		answers[in.ID], answers[in.replyID()] = answer, answer
	}
	return together(all)
}

// answerOne answers a message and writes the reply to the outbox.
func (a *agent) answerOne(ctx context.Context, in letter) error {
	out, err := a.answer(ctx, in)
	if err != nil {
		return fmt.Errorf("%s: %w", in.ID, err)
	}
	return a.files.add("outbox.jsonl", out)
}

// together runs functions at once and gives what went wrong.
func together(all []func() error) error {
	errs := make([]error, len(all))
	var wg sync.WaitGroup
	for i, f := range all {
		wg.Go(func() { errs[i] = f() })
	}
	wg.Wait()
	return errors.Join(errs...)
}
