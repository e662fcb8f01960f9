package server

import (
	"context"
	"errors"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/chainstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

// GetNodes lays the nodes into a small reply, as which most turn out, or else takes room for a large one and reads them anew.
func (t *transcripts) GetNodes(ctx context.Context, req *transcriptv1.GetNodesRequest) (*transcriptv1.GetNodesResponse, error) {
	ids, err := parseIDs("node_ids", req.NodeIds)
	if err != nil {
		return nil, err
	}
	p, err := t.nodes(ctx, req, ids, smallFrame)
	if err == nil && p.full {
		if _, err := t.replies.Expect(ctx, wire.MaxReply); err != nil {
			return nil, err
		}
		p, err = t.nodes(ctx, req, ids, wire.MaxReply)
	}
	if err != nil {
		return nil, err
	}
	if p.full && len(p.reply.Nodes) == 0 {
		return nil, errUseStream
	}
	p.reply.Remaining = int32(len(p.left))
	return p.reply, nil
}

// nodes reads as many nodes as fit into a reply of so many bytes.
func (t *transcripts) nodes(ctx context.Context, req *transcriptv1.GetNodesRequest, ids []chainstore.ID, most int) (*nodesPage, error) {
	p := &nodesPage{most: most - remainingRoom, reply: &transcriptv1.GetNodesResponse{}, left: ids}
	full := errors.New("the reply is full")
	err := t.store.Nodes(ctx, wire.Namespace(req.Namespace), ids, func(n *chainstore.FoundNode) error {
		one, err := foundReply(n, req.OmitMessages)
		if err != nil {
			return err
		}
		if p.add(n.Header.ID, one); p.full {
			return full
		}
		return nil
	})
	switch {
	case err == nil:
		p.miss(len(p.left))
	case !errors.Is(err, full):
		return nil, err
	}
	for _, one := range p.reply.Nodes {
		if err := t.receipt(ctx, wire.Namespace(req.Namespace), one); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// parseIDs reads a list of whole ids, each of which is there once.
func parseIDs(field string, digits []string) ([]chainstore.ID, error) {
	switch {
	case len(digits) == 0:
		return nil, wire.InvalidField(field, "must not be empty")
	case len(digits) > wire.MaxNodes:
		return nil, wire.OverLimit(field, "must be at most %d", wire.MaxNodes)
	}
	ids, seen := make([]chainstore.ID, len(digits)), make(map[chainstore.ID]bool, len(digits))
	for i := range digits {
		id, err := wire.ParseID(wire.Indexed(field, i), digits[i])
		if err != nil {
			return nil, err
		}
		if seen[id] {
			return nil, wire.InvalidField(wire.Indexed(field, i), "must not repeat an id")
		}
		ids[i], seen[id] = id, true
	}
	return ids, nil
}

// nodesPage is a reply of GetNodes under way.
type nodesPage struct {
	reply *transcriptv1.GetNodesResponse
	// left are the ids that were not looked at yet; size is the encoded size of the reply, and most what it may be. full says that the
	// next does not fit.
	left       []chainstore.ID
	size, most int
	full       bool
}

const (
	// entryRoom is above what stands before a node in a reply, and missingBytes what an id takes that is not there.
	entryRoom, missingBytes = 8, 2 + 2*len(chainstore.ID{})
	// remainingRoom is above what the number of remaining ids takes.
	remainingRoom = 8
	// receiptRoom is above what a receipt takes.
	receiptRoom = canonical.MaxReceiptBytes + 8
)

// add adds the next node that was found, unless it does not fit.
func (p *nodesPage) add(id chainstore.ID, one *transcriptv1.GetNodeResponse) {
	missing := 0
	for p.left[missing] != id {
		missing++
	}
	size := protowire.SizeBytes(proto.Size(one)) + entryRoom + missing*missingBytes
	if one.Erasure != nil {
		size += receiptRoom
	}
	if p.full = p.size+size > p.most; p.full {
		return
	}
	p.miss(missing)
	p.size += size - missing*missingBytes
	p.left = p.left[1:]
	p.reply.Nodes = append(p.reply.Nodes, one)
}

// miss tells of the next n ids that they are not there, as far as there is room.
func (p *nodesPage) miss(n int) {
	for ; n > 0; n-- {
		if p.full = p.size+missingBytes > p.most; p.full {
			return
		}
		p.reply.MissingIds = append(p.reply.MissingIds, p.left[0].String())
		p.left, p.size = p.left[1:], p.size+missingBytes
	}
}
