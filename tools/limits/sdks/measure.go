package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// figures are what a process measures, which it prints as JSON. Times are medians, in milliseconds.
type figures struct {
	// Append is that of a thread's append of one message of 200 bytes.
	Append float64 `json:"append_ms"`
	// Ask is that of a thread's messages of the session, with the policy coding.
	Ask float64 `json:"ask_ms"`
	// Read is that of the effective view of the long chain, its messages decoded; Verified the same with ids that are verified.
	Read     float64 `json:"read_ms"`
	Verified float64 `json:"verified_ms"`
	// Stream is how long the full view of the deep chain takes in frames, the messages of each decoded and dropped; Messages how many came.
	Stream   float64 `json:"stream_ms"`
	Messages int     `json:"messages"`
	// Early is the resident memory in bytes once 10,000 of these came, Most the most from then on.
	Early int64 `json:"early_bytes"`
	Most  int64 `json:"most_bytes"`
}

// How often each is measured, and after how many messages memory is.
const (
	warmUp, appends, asked, reads = 50, 300, 50, 21
	early                         = 10_000
)

// measure measures the SDK in Go. name is that of a chat that nobody has begun.
func measure(ctx context.Context, address, name string) (f *figures, err error) {
	c, err := client.Dial(address)
	if err != nil {
		return nil, err
	}
	strict, err := client.Dial(address, client.WithVerification())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.Close(), strict.Close()) }()
	thread, err := c.Chat(ctx, name, client.System("You are helpful."))
	if err != nil {
		return nil, err
	}
	asks, err := c.Open(ctx, session)
	if err != nil {
		return nil, err
	}
	f = new(figures)
	said := client.User(strings.Repeat("x", 200))
	read := func(c *client.Client) func() error {
		return func() error {
			a, err := c.Assemble(ctx, client.ByAlias(long), client.Query{})
			if err != nil {
				return err
			}
			_, err = a.Messages()
			return err
		}
	}
	var warm float64
	for _, m := range []struct {
		into  *float64
		times int
		call  func() error
	}{
		{&warm, warmUp, func() error { return thread.Append(ctx, said) }},
		{&f.Append, appends, func() error { return thread.Append(ctx, said) }},
		{&f.Ask, asked, func() error {
			_, err := asks.Messages(ctx, client.Coding())
			return err
		}},
		{&f.Read, reads, read(c)},
		{&f.Verified, reads, read(strict)},
	} {
		if *m.into, err = median(m.times, m.call); err != nil {
			return nil, err
		}
	}
	return f, f.stream(ctx, c)
}

// median is how long a call takes, in milliseconds.
func median(times int, call func() error) (float64, error) {
	var took []time.Duration
	for range times {
		began := time.Now()
		if err := call(); err != nil {
			return 0, err
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	return milliseconds(took[len(took)/2]), nil
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// stream measures a chain that is too long to hold.
func (f *figures) stream(ctx context.Context, c *client.Client) error {
	began := time.Now()
	for frame, err := range c.Frames(ctx, client.ByAlias(deepChain), client.Query{View: transcriptv1.View_VIEW_FULL}) {
		if err != nil {
			return err
		}
		messages, err := frame.Messages()
		if err != nil {
			return err
		}
		if f.Messages += len(messages); f.Messages < early {
			continue
		}
		now, err := resident()
		if err != nil {
			return err
		}
		if f.Most = max(f.Most, now); f.Early == 0 {
			f.Early = now
		}
	}
	f.Stream = milliseconds(time.Since(began))
	return nil
}

// resident is the memory that this process has now, in bytes.
func resident() (int64, error) {
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, err
	}
	var size, pages int64
	if _, err := fmt.Sscan(string(statm), &size, &pages); err != nil {
		return 0, err
	}
	return pages * int64(os.Getpagesize()), nil
}
