package main

import (
	"context"
	"errors"

	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

const (
	// A call puts at most so many nodes, bytes, messages and calls with results. Where that is more than the store can commit at once, since a
	// node behind many open calls is stored with all of their ids, the call is put in halves.
	putNodes, putBytes, putMessages, putCalls = 500, 2 << 20, 5_000, 5_000
)

// archivedPutter puts nodes of archives, many in a call.
type archivedPutter struct {
	to                     *client.Client
	waiting                []*transcriptv1.ArchivedNode
	bytes, messages, calls int
	// created counts those that were put, there those that were there already.
	created, there int64
}

// put puts a node, now or with later ones.
func (p *archivedPutter) put(ctx context.Context, archived *transcriptv1.ArchivedNode, n *canonical.Stored) error {
	bytes, messages, calls := proto.Size(archived), len(n.Facts), 0
	for i := range n.Facts {
		calls += len(n.Facts[i].Calls) + 1
	}
	if len(p.waiting) == putNodes || p.bytes+bytes > putBytes || p.messages+messages > putMessages || p.calls+calls > putCalls {
		if err := p.flush(ctx); err != nil {
			return err
		}
	}
	p.waiting = append(p.waiting, archived)
	p.bytes, p.messages, p.calls = p.bytes+bytes, p.messages+messages, p.calls+calls
	return nil
}

// flush puts the nodes that wait.
func (p *archivedPutter) flush(ctx context.Context) error {
	if len(p.waiting) == 0 {
		return nil
	}
	if err := p.send(ctx, p.waiting); err != nil {
		return err
	}
	p.waiting, p.bytes, p.messages, p.calls = p.waiting[:0], 0, 0, 0
	return nil
}

// send puts nodes in one call, and where that is too large, in two: first those that come first.
func (p *archivedPutter) send(ctx context.Context, nodes []*transcriptv1.ArchivedNode) error {
	results, err := p.to.PutArchived(ctx, nodes...)
	if half := len(nodes) / 2; half > 0 && errors.Is(err, client.ErrLimitExceeded) {
		if err := p.send(ctx, nodes[:half]); err != nil {
			return err
		}
		return p.send(ctx, nodes[half:])
	}
	if err != nil {
		return err
	}
	for _, r := range results {
		if r.GetCreated() {
			p.created++
		} else {
			p.there++
		}
	}
	return nil
}
