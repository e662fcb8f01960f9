package testserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// wireChain is a chain over the wire. What the wire tells of a node is put together to a header as far as it goes: id,
// place, first put, salt, link, messages with their notes, totals; no marks, loops, groups or links.
type wireChain struct {
	*wire
	namespace string
	header    *chainstore.Header
	after     uint32
	// path is the whole path, once it was read.
	path []wireNode
}

// wireNode is a node as an assembly gives it.
type wireNode struct {
	info    *transcriptv1.NodeInfo
	payload []byte
}

// Chain assembles the chain, or what comes after a node.
func (w *wire) Chain(ctx context.Context, namespace string, head chainstore.Ref, after *chainstore.ID) (chainstore.Chain, error) {
	c := &wireChain{wire: w, namespace: namespace}
	afterID := ""
	if after != nil {
		afterID = after.String()
	}
	first, path, err := w.assemble(ctx, namespace, head, afterID)
	if err != nil {
		return nil, err
	}
	if after == nil {
		c.path = path
	}
	if c.header, err = c.headerOf(ctx, first.HeadId); err != nil {
		return nil, err
	}
	c.after = c.header.Seq - uint32(len(path))
	if after != nil && first.BaseId != afterID {
		return nil, errors.New("after_id was not honoured")
	}
	return c, nil
}

// Runs tells nothing: runs are a matter of the store, and not on the wire.
func (c *wireChain) Runs(int) []chainstore.Run { return nil }

// Spawned describes the head; a description lists at most 64.
func (c *wireChain) Spawned(ctx context.Context, limit int) (headers []*chainstore.Header, more bool, err error) {
	d, err := c.transcripts.Describe(ctx, &transcriptv1.DescribeRequest{
		Namespace: spelled(c.namespace), Head: refOf(chainstore.Ref{ID: c.header.ID}), MaxItems: int32(limit),
	})
	if err != nil {
		return nil, false, domain(err)
	}
	for _, s := range d.Lineage.Spawned {
		h, err := c.headerOf(ctx, s.NodeId)
		if err != nil {
			return nil, false, err
		}
		headers = append(headers, h)
	}
	return headers, d.Lineage.HasMoreSpawned, nil
}

// SpawnDepth describes the head; a description counts at most 64.
func (c *wireChain) SpawnDepth(ctx context.Context, limit int) (depth int, more bool, err error) {
	d, err := c.transcripts.Describe(ctx, &transcriptv1.DescribeRequest{
		Namespace: spelled(c.namespace), Head: refOf(chainstore.Ref{ID: c.header.ID}),
	})
	if err != nil {
		return 0, false, domain(err)
	}
	depth = int(d.Lineage.SpawnDepth)
	return min(depth, limit), d.Lineage.SpawnDepthAtLeast || depth > limit, nil
}

// assemble reads the full view in frames and cuts it into nodes, each of which is verified against its id.
func (w *wire) assemble(ctx context.Context, namespace string, head chainstore.Ref, after string) (*transcriptv1.StreamAssembleResponse, []wireNode, error) {
	stream, err := w.transcripts.StreamAssemble(ctx, &transcriptv1.StreamAssembleRequest{
		Namespace: spelled(namespace), Head: refOf(head), View: transcriptv1.View_VIEW_FULL, AfterId: after,
		NodeDetail: transcriptv1.NodeDetail_NODE_DETAIL_ENVELOPES,
	})
	if err != nil {
		return nil, nil, domain(err)
	}
	var first *transcriptv1.StreamAssembleResponse
	var path []wireNode
	for {
		frame, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return first, path, nil
		}
		if err != nil {
			return nil, nil, domain(err)
		}
		if first == nil {
			first = frame
		}
		messages := frame.Messages
		for _, info := range frame.Nodes {
			n := wireNode{info: info, payload: canonical.EncodePayload(messages[:info.MessageCount])}
			messages = messages[info.MessageCount:]
			if err := n.verify(); err != nil {
				return nil, nil, err
			}
			path = append(path, n)
		}
		if len(messages) != 0 {
			return nil, nil, errors.New("a frame has messages of no node")
		}
	}
}

// verify computes the id from what was told.
func (n *wireNode) verify() error {
	e := n.info.Envelope
	envelope := canonical.Envelope{PayloadDigest: canonical.PayloadDigest(e.Salt, n.payload)}
	var err error
	if envelope.Parent, err = digest(e.ParentId); err != nil {
		return err
	}
	if envelope.MetadataDigest, err = digest(e.MetadataDigest); err != nil {
		return err
	}
	if envelope.SpawnedFrom, err = canonical.ParseSpawnedFrom(e.SpawnedFrom); err != nil {
		return err
	}
	if id := chainstore.ID(canonical.NodeID(envelope)); id.String() != n.info.NodeId || n.info.Content != transcriptv1.NodeContent_NODE_CONTENT_VERBATIM {
		return fmt.Errorf("node %s does not verify: it is %s", n.info.NodeId, id)
	}
	return nil
}

func digest(hex string) (*[32]byte, error) {
	if hex == "" {
		return nil, nil
	}
	id, err := chainstore.ParseID(hex)
	return (*[32]byte)(&id), err
}

func (c *wireChain) Head() *chainstore.Header { return c.header }
func (c *wireChain) After() uint32            { return c.after }

// Compaction is nil: what Chain assembles has no compaction nodes, and links are not on the wire.
func (c *wireChain) Compaction() *chainstore.Header { return nil }

// Compactions is not asked: the wire writes no compaction nodes for a suite that gives it those it wants.
func (c *wireChain) Compactions(context.Context, int) ([]*chainstore.Header, bool, error) {
	return nil, false, errNotOnWire
}

// Calls, WithCalls and Tables are not on the wire as such.
func (c *wireChain) Calls(context.Context, runloop.Optional, uint32, int) ([]chainstore.CallPlace, error) {
	return nil, errNotOnWire
}

func (c *wireChain) WithCalls(context.Context, uint32, int) ([]chainstore.CallNode, error) {
	return nil, errNotOnWire
}

func (c *wireChain) Tables(context.Context) (chainstore.Tables, error) {
	return chainstore.Tables{}, errNotOnWire
}

// Headers are those of the rows.
func (c *wireChain) Headers(ctx context.Context, seqs ...uint32) (headers []*chainstore.Header, err error) {
	spans := make([]chainstore.Span, len(seqs))
	for i, seq := range seqs {
		spans[i] = chainstore.Span{From: seq, Through: seq, HeadersOnly: true}
	}
	err = c.Rows(ctx, spans, func(r *chainstore.Row) error {
		h, err := r.Header()
		headers = append(headers, h)
		return err
	})
	if err == nil && len(headers) < len(seqs) {
		err = chainstore.NoRow(slices.Max(seqs))
	}
	return headers, err
}

// FirstWhere tells nothing: loops and users' times are not on the wire.
func (c *wireChain) FirstWhere(context.Context, uint32, chainstore.Bounds) (before, first *chainstore.Header, err error) {
	return nil, nil, errNotOnWire
}

// Rows yields the rows of the path as assembled.
func (c *wireChain) Rows(ctx context.Context, spans []chainstore.Span, yield func(*chainstore.Row) error) error {
	if c.path == nil {
		_, path, err := c.assemble(ctx, c.namespace, chainstore.Ref{ID: c.header.ID}, "")
		if err != nil {
			return err
		}
		c.path = path
	}
	for i := range spans {
		if err := c.rows(ctx, &spans[i], yield); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (c *wireChain) rows(ctx context.Context, span *chainstore.Span, yield func(*chainstore.Row) error) error {
	for seq := span.From; seq <= span.Through && int(seq) < len(c.path); seq++ {
		n := &c.path[seq]
		whole, err := c.node(ctx, n.info.NodeId)
		if err != nil {
			return err
		}
		h, err := headerOf(whole, n.payload)
		if err != nil {
			return err
		}
		row := chainstore.Row{Raw: chainstore.AppendHeader(nil, h), Seq: seq}
		if !span.HeadersOnly {
			row.Payload = append([]byte{}, n.payload...)
			row.Metadata = canonical.AppendMetadata(nil, whole.Metadata.GetEntries())
			row.Details = detailsOf(n.info.Notes)
		}
		if err := yield(&row); err != nil {
			return err
		}
		if seq == math.MaxUint32 {
			break
		}
	}
	return nil
}

func (c *wireChain) seen(id string) *transcriptv1.GetNodeResponse {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.nodes[c.namespace+"\x00"+id]
}

// node gets a node, unless it was seen before.
func (c *wireChain) node(ctx context.Context, id string) (*transcriptv1.GetNodeResponse, error) {
	if n := c.seen(id); n != nil {
		return n, ctx.Err()
	}
	n, err := c.transcripts.GetNode(ctx, &transcriptv1.GetNodeRequest{
		Namespace: spelled(c.namespace), Node: &transcriptv1.NodeRef{Ref: &transcriptv1.NodeRef_NodeId{NodeId: id}},
	})
	if err != nil {
		return nil, domain(err)
	}
	c.see(n)
	return n, nil
}

func (c *wireChain) see(n *transcriptv1.GetNodeResponse) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nodes[c.namespace+"\x00"+n.Info.NodeId] = n
}

func (c *wireChain) headerOf(ctx context.Context, id string) (*chainstore.Header, error) {
	n, err := c.node(ctx, id)
	if err != nil {
		return nil, err
	}
	return headerOf(n, nil)
}

// headerOf is the header of a node as far as the wire tells it; a payload that is given must be the node's.
func headerOf(n *transcriptv1.GetNodeResponse, payload []byte) (*chainstore.Header, error) {
	stored := canonical.EncodePayload(n.Messages)
	if payload != nil && string(payload) != string(stored) {
		return nil, fmt.Errorf("node %s is not what was assembled", n.Info.NodeId)
	}
	h := &chainstore.Header{
		Seq: uint32(n.Ancestors), FirstPut: n.FirstPutAt.AsTime().UnixMilli(), Salt: n.Info.Envelope.Salt,
		PayloadLength: len(stored), MetadataLength: len(canonical.AppendMetadata(nil, n.Metadata.GetEntries())),
		DetailsLength: len(detailsOf(n.Info.Notes)),
	}
	var err error
	if h.ID, err = chainstore.ParseID(n.Info.NodeId); err != nil {
		return nil, err
	}
	if from := n.Info.Envelope.SpawnedFrom; from != nil {
		h.SpawnedFrom = &chainstore.SpawnedFrom{CallID: optional(from.ToolCallId)}
		if h.SpawnedFrom.Node, err = chainstore.ParseID(from.NodeId); err != nil {
			return nil, err
		}
	}
	h.State.Full.Totals, h.State.Effective.Totals = totalsOf(n.Counters.GetFull()), totalsOf(n.Counters.GetEffective())
	h.Messages = headerMessages(n)
	return h, nil
}

func headerMessages(n *transcriptv1.GetNodeResponse) []runloop.Brief {
	var messages []runloop.Brief
	for i, f := range canonical.Facts(n.Messages) {
		if notes := n.Info.Notes; len(notes) > 0 {
			f.Note.HasSentAt = notes[i].SentAt != nil
			if f.Note.HasSentAt {
				f.Note.SentAt = notes[i].SentAt.AsTime().UnixMilli()
			}
			f.Note.HasTokens, f.Note.Tokens = notes[i].TokenCount != nil, uint32(notes[i].GetTokenCount())
			f.Note.Estimated = notes[i].TokenCountEstimated
		}
		messages = append(messages, runloop.BriefOf(&f, runloop.Mark{}))
	}
	return messages
}
