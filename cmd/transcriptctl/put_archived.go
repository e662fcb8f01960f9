package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

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
	// apply says that a node of which the namespace has a receipt is put as erased with that; else it is refused. erased are the ids of these.
	apply  bool
	erased [][32]byte
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
	for errors.Is(err, client.ErrPayloadErased) {
		if err := p.receiptWins(nodes, err); err != nil {
			return err
		}
		results, err = p.to.PutArchived(ctx, nodes...)
	}
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

// receiptWins makes of the node that a call was refused for, since it was erased in the namespace, what is left of it, with the receipt that is there.
func (p *archivedPutter) receiptWins(nodes []*transcriptv1.ArchivedNode, refused error) error {
	var e *client.Error
	if !errors.As(refused, &e) || len(e.Violations) == 0 {
		return refused
	}
	number, _, _ := strings.Cut(strings.TrimPrefix(e.Violations[0].Field, "nodes["), "]")
	i, err := strconv.Atoi(number)
	if err != nil || i < 0 || i >= len(nodes) {
		return refused
	}
	stored, err := canonical.CheckArchived(nodes[i])
	switch {
	case err != nil:
		return err
	case !p.apply || len(e.Receipt) == 0:
		return &suggestion{err: fmt.Errorf("node %x: %w", stored.ID, refused), sure: true, text: "The node was erased here, and does not come back by an archive that has its content. " +
			"Put the archive into another namespace, or take one that was made since."}
	}
	if nodes[i], err = canonical.EraseArchived(nodes[i], e.Receipt); err == nil && stored.Erased == nil {
		p.erased = append(p.erased, stored.ID)
	}
	return err
}
