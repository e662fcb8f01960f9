package server

import (
	"context"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/chainstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/chainview"
	"github.com/transcriptd/transcriptd/server/internal/transport/receive"
	"github.com/transcriptd/transcriptd/server/internal/transport/reply"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

const (
	// minPrefix is the fewest digits of an id that GetNode takes.
	minPrefix = 6
	// maxCandidates is the ids that an ambiguous prefix is answered with.
	maxCandidates = 10
	// maxNodeAliases is the aliases that are told of a node.
	maxNodeAliases = 100
)

// metadataField is the number of the field of GetNodeResponse that the stored metadata goes into.
const metadataField protowire.Number = 3

// GetNode reads the last row of a chain, and who is before it.
func (t *transcripts) GetNode(ctx context.Context, req *transcriptv1.GetNodeRequest) (*transcriptv1.GetNodeResponse, error) {
	namespace := wire.Namespace(req.Namespace)
	ref, err := t.findNode(ctx, namespace, req.Node)
	if err != nil {
		return nil, err
	}
	chain, aliases, more, err := t.store.ChainNamed(ctx, namespace, ref, maxNodeAliases)
	if err != nil {
		return nil, wire.MissingFrom("node", err)
	}
	if !req.OmitMessages {
		if _, err := t.replies.Expect(ctx, int64(chain.Head().PayloadLength+chain.Head().DetailsLength)+reply.SmallReply-smallFrame); err != nil {
			return nil, err
		}
	}
	reply, err := nodeReply(ctx, chain, req.OmitMessages)
	if err != nil {
		return nil, err
	}
	if err := t.receipt(ctx, namespace, reply); err != nil {
		return nil, err
	}
	reply.Aliases, reply.HasMoreAliases = aliases, more
	if proto.Size(reply) > receive.MaxRequest {
		return nil, errUseStream
	}
	return reply, nil
}

// receipt adds the receipt of a node that was erased.
func (t *transcripts) receipt(ctx context.Context, namespace string, reply *transcriptv1.GetNodeResponse) error {
	if reply.Erasure == nil {
		return nil
	}
	id, err := chainstore.ParseID(reply.Info.NodeId)
	if err != nil {
		return err
	}
	receipt, err := t.store.Receipt(ctx, namespace, id)
	reply.Erasure.Receipt = receipt.Bytes
	return err
}

// findNode reads a NodeRef whose node_id may be a prefix.
func (t *transcripts) findNode(ctx context.Context, namespace string, node *transcriptv1.NodeRef) (chainstore.Ref, error) {
	r, ok := node.GetRef().(*transcriptv1.NodeRef_NodeId)
	if !ok || len(r.NodeId) == 2*len(chainstore.ID{}) {
		return wire.ParseRef("node", node)
	}
	bad := func(c rune) bool { return (c < '0' || c > '9') && (c < 'a' || c > 'f') }
	if n := len(r.NodeId); n < minPrefix || n > 2*len(chainstore.ID{}) || strings.ContainsFunc(r.NodeId, bad) {
		return chainstore.Ref{}, wire.InvalidField("node.node_id", "must be 6 to 64 lower-case hex digits")
	}
	ids, err := t.store.Find(ctx, namespace, r.NodeId, maxCandidates)
	switch {
	case err != nil:
		return chainstore.Ref{}, err
	case len(ids) == 0:
		return chainstore.Ref{}, wire.MissingFrom("node", chainstore.ErrNodeNotFound)
	case len(ids) > 1:
		return chainstore.Ref{}, &ambiguousError{ids: ids}
	}
	return chainstore.Ref{ID: ids[0]}, nil
}

// nodeReply tells of the head and of the nodes that it links to; its messages and metadata are laid in as they are stored.
func nodeReply(ctx context.Context, chain chainstore.Chain, omit bool) (*transcriptv1.GetNodeResponse, error) {
	n := chainstore.FoundNode{Header: chain.Head()}
	var reply *transcriptv1.GetNodeResponse
	own := chainstore.Span{From: n.Header.Seq, Through: n.Header.Seq}
	err := chainview.ReadAll(ctx, chain, append(n.Header.LinkSpans(), own), func(row *chainstore.Row) error {
		if row.Seq < n.Header.Seq {
			n.Link(row)
			return nil
		}
		n.Row = *row
		var err error
		reply, err = foundReply(&n, omit)
		return err
	})
	return reply, err
}

// foundReply tells of a node whose row is read, but for its receipt. It keeps nothing of the row.
func foundReply(n *chainstore.FoundNode, omit bool) (*transcriptv1.GetNodeResponse, error) {
	h := n.Header
	details, err := wire.Details(&n.Row)
	if err != nil {
		return nil, err
	}
	reply := &transcriptv1.GetNodeResponse{
		FirstPutAt: wire.Timestamp(h.FirstPut), Ancestors: wire.Count(h.Seq), Roles: wire.Roles(h),
		Counters: wire.ChainCounters(h.State.Full.Totals, h.State.Effective.Totals),
		Info: &transcriptv1.NodeInfo{
			NodeId: h.ID.String(), MessageCount: int32(len(h.Messages)), SizeBytes: int64(len(n.Payload)),
			Content: wire.Content(h, true), Notes: wire.Notes(h.Messages, details), Envelope: wire.EnvelopeInfo(h, n.Metadata, wire.Links{Parent: n.Parent, Covers: n.Covers}),
		},
	}
	reply.Info.Envelope.PayloadDigest = wire.PayloadDigest(h, n.Payload)
	reply.Copies, reply.Erasure = wire.Copies(h), wire.Erasure(h, nil)
	var stored []byte
	if !omit {
		stored = append(stored, n.Payload...)
	}
	if len(n.Metadata) > 0 {
		stored = protowire.AppendTag(stored, metadataField, protowire.BytesType)
		stored = protowire.AppendBytes(stored, n.Metadata)
	}
	reply.ProtoReflect().SetUnknown(stored)
	return reply, nil
}
