package main

import (
	"context"
	"errors"
	"strings"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/turns"
)

// The chains that are read, by alias: long is read whole, deep is streamed, session is asked for with a policy.
const (
	long, longTurns       = "long", 1000
	session, sessionTurns = "session", 50
	deepChain             = "deep"
)

// chains tells how large they are.
type chains struct{ long, deep, session *transcriptv1.Counters }

// put puts the chains.
func put(ctx context.Context, address string, deep int) (_ *chains, err error) {
	c, err := client.Dial(address)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	for alias, n := range map[string]int{long: longTurns, session: sessionTurns} {
		if _, err := turns.Fill(ctx, c, alias, 0, n, func(int) {}); err != nil {
			return nil, err
		}
	}
	if err := putDeep(ctx, c, deep); err != nil {
		return nil, err
	}
	sizes := map[string]*transcriptv1.Counters{}
	for _, alias := range []string{long, deepChain, session} {
		found, err := c.Resolve(ctx, alias)
		if err != nil {
			return nil, err
		}
		sizes[alias] = found.Counters.GetFull()
	}
	return &chains{sizes[long], sizes[deepChain], sizes[session]}, nil
}

// putDeep puts a chain of so many nodes of one message, questions and answers in turns.
func putDeep(ctx context.Context, c *client.Client, n int) error {
	text := strings.Repeat("0123456789", 32)
	said := [][]*transcriptv1.Message{{client.User(text)}, {client.Assistant(text)}}
	head := client.Ref{}
	for done := 0; done < n; {
		var nodes []client.Node
		for ; done < n && len(nodes) < 1000; done++ {
			nodes = append(nodes, client.Node{Previous: len(nodes) > 0, Messages: said[done%2]})
		}
		nodes[0].Parent = head
		last := len(nodes) - 1
		nodes[last].Aliases = []client.AliasUpdate{{Name: deepChain}}
		results, err := c.PutAll(ctx, nodes...)
		if err != nil {
			return err
		}
		head = client.ByID(results[last].NodeId)
	}
	return nil
}
