package main

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"
)

type importCommand struct {
	Files      []string `arg:"" optional:"" name:"file" help:"JSON lines, gzipped or not; - or nothing: standard input."`
	Form       string   `default:"openai" enum:"openai,anthropic,responses" aliases:"format" placeholder:"FORM" help:"The form of a line: openai, {\"id\": ..., \"messages\": [...]}; anthropic, which has a member system, too; or responses, {\"id\": ..., \"items\": [...]}. Default: ${default}."`
	Workers    uint     `default:"8" placeholder:"N" help:"Conversations that are stored at once, 1 to 64."`
	SkipBad    bool     `help:"Leave out lines that are malformed, refused or diverged, say which, and go on."`
	Check      bool     `help:"Assemble before every assistant message and at each end, and compare with the list as it is in the file; tell where and why they differ."`
	TimeMember string   `placeholder:"NAME" help:"Read the times of messages from this member; where it is none, from timestamp and created_at."`
	Apart      bool     `help:"Keep each conversation apart from others that begin with the same words: its nodes have a salt made of its id."`
	Move       bool     `help:"Move the alias of a conversation that diverged to the imported one. Its history keeps the other."`
}

func (c *importCommand) Help() string {
	return `A line is a conversation; its id and messages are stored (and Anthropic's system prompt), other members are not. What is not stored as it is written is told at the end. Each message becomes a node, consecutive tool messages become one. The alias chat/ID points to the end.

The member timestamp of a message, else created_at, is when it was sent: a number of seconds or milliseconds since 1970, or RFC 3339. Times that are in no such form, or in another member, are told at the end.

Importing again writes nothing. A conversation that grew is continued and its alias moved forward; one that is stored longer than the line stays. One that diverged (stored under the same id with other messages) is an error, unless --move is given. Compactions do not count: a conversation is continued behind them. An import that was interrupted goes on when it is run again.

Conversations that begin with the same messages share the nodes of these. With --apart they share a first node of system messages alone; importing again with --apart finds them again, and so it does what was stored without.

--check keeps the list beside the chain: before each assistant message that begins a node, and at the end of each conversation, it assembles the effective view, and tells where that differs from the list, and why (a line each). Where it differs in a way that its report does not explain the import ends with exit code 6. Examples:

    transcriptctl import conversations.jsonl.gz
    transcriptctl import --workers 16 --skip-bad data/*.jsonl.gz
    transcriptctl import --check conversations.jsonl.gz
    transcriptctl import --form anthropic requests.jsonl
    transcriptctl import --time-member create_time conversations.jsonl.gz
    zstd -dc big.jsonl.zst | transcriptctl import -`
}

// maxWorkers is the most conversations that are stored at once.
const maxWorkers = 64

// maxInFlight is how many bytes of lines are held at once; one longer line is held alone.
const maxInFlight = 32 << 20

// Run stores conversations.
func (c *importCommand) Run(ctx context.Context, s *session) error {
	if c.Workers < 1 || c.Workers > maxWorkers {
		return usagef("--workers must be from 1 to %d, is %d", maxWorkers, c.Workers)
	}
	files := c.Files
	if len(files) == 0 {
		files = []string{"-"}
	}
	i := &importer{
		session: s, form: formNamed(c.Form), move: c.Move, apart: c.Apart, skipBad: c.SkipBad, checks: c.Check, line: newProgress(s.notes),
		room: semaphore.NewWeighted(maxInFlight), tally: newTally(), times: newTimeMembers(c.TimeMember),
	}
	defer i.line.clear()
	err := i.run(ctx, files, int(c.Workers))
	i.line.clear()
	if err != nil {
		if n := i.tally.conversations(); n > 0 {
			s.remark("%s stored before it stopped; run it again to go on", count(n, "conversation"))
		}
		return err
	}
	return i.tally.print(s, c.Check)
}

// importer stores conversations.
type importer struct {
	*session
	form                 *form
	move, apart, skipBad bool
	// checks says that every request is compared with the list.
	checks bool
	// times are where the times of messages are read from.
	times timeMembers
	line  *progress
	room  *semaphore.Weighted
	tally *tally
}

// badLine is an error of one line: what it says cannot be stored. With --skip-bad the import goes on.
type badLine struct {
	place string // FILE:LINE
	err   error
}

func (e *badLine) Error() string { return e.place + ": " + e.err.Error() }
func (e *badLine) Unwrap() error { return e.err }

// run reads the files and hands each conversation to a worker. One worker gets all lines of an id, so that they are
// stored in the order of the lines.
func (i *importer) run(ctx context.Context, files []string, workers int) error {
	group, ctx := errgroup.WithContext(ctx)
	queues := make([]chan *conversation, workers)
	for n := range queues {
		queues[n] = make(chan *conversation, queueLength)
		group.Go(func() error { return i.work(ctx, queues[n]) })
	}
	group.Go(func() error {
		defer func() {
			for _, q := range queues {
				close(q)
			}
		}()
		seed := maphash.MakeSeed()
		for _, file := range files {
			err := i.readFile(ctx, file, func(c *conversation) error {
				select {
				case queues[maphash.String(seed, c.id)%uint64(workers)] <- c:
					return nil
				case <-ctx.Done():
					return ctx.Err()
				}
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	return group.Wait()
}

// queueLength is how many conversations wait for one worker; how many bytes is bounded by maxInFlight.
const queueLength = 32

// readFile yields the conversations of a file. The bytes of each take room until work gives it back.
func (i *importer) readFile(ctx context.Context, file string, yield func(*conversation) error) error {
	return i.conversations(ctx, file, i.form, func(c *conversation) error {
		c.order = i.tally.read(c)
		if err := i.room.Acquire(ctx, c.room()); err != nil {
			return err
		}
		return yield(c)
	})
}

// work stores conversations until the queue ends.
func (i *importer) work(ctx context.Context, queue <-chan *conversation) error {
	for c := range queue {
		err := i.store(ctx, c)
		i.room.Release(c.room())
		if err := i.judge(err); err != nil {
			return err
		}
		i.line.show(i.tally.text(c.place))
	}
	return nil
}

// judge is the error that ends the import, or nil where it goes on.
func (i *importer) judge(err error) error {
	var bad *badLine
	if !errors.As(err, &bad) || !i.skipBad {
		return err
	}
	i.line.clear()
	text, _ := explain(err)
	i.remark("left out: %s", text)
	i.tally.skip()
	return nil
}

// took is how long something took, for people.
func took(start time.Time) string { return fmt.Sprintf("%.1f s", time.Since(start).Seconds()) }
