package main

import (
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

const (
	// A call puts at most so many nodes, bytes, messages and calls with results: less than a server takes, since what a node has beside is not counted.
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
	results, err := p.to.PutArchived(ctx, p.waiting...)
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
	p.waiting, p.bytes, p.messages, p.calls = p.waiting[:0], 0, 0, 0
	return nil
}
