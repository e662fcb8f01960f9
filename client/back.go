package client

import (
	"context"
	"iter"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protowire"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// backMessages is how many messages a page of Back has where the query does not say.
const backMessages = 100

// Back yields a view from its end back, a page of the query's LastMessages and LastBytes at a time, 100 messages where it has neither:
// first the end, or what comes before the query's Before, and each time what comes before that. It stays with the head that an alias
// has at first. Pages laid one before the other are the view; one that has no messages has one page without any. An error ends it.
func (c *Client) Back(ctx context.Context, head Ref, q Query) iter.Seq2[*Assembly, error] {
	if q.LastMessages == 0 && q.LastBytes == 0 {
		q.LastMessages = backMessages
	}
	q.IfNoneMatch = ""
	return func(yield func(*Assembly, error) bool) {
		for head, q := head, q; ; {
			page, err := c.Assemble(ctx, head, q)
			if err == nil && page.MoreBefore && samePlace(page.Begin, q.Before) {
				err = fault(ErrBadReply, "a page leads to itself")
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(page, nil) || !page.MoreBefore {
				return
			}
			head, q.Before = ByID(page.HeadID), page.Begin
		}
	}
}

func samePlace(a, b *transcriptv1.MessagePlace) bool {
	return a.GetNodeId() == b.GetNodeId() && a.GetMessageIndex() == b.GetMessageIndex()
}

// maxIDs is the ids of a call of GetNodes.
const maxIDs = 1000

// Found are the nodes that Nodes was asked for.
type Found struct {
	// Nodes are those that are there, in the order of their ids as given.
	Nodes []*transcriptv1.GetNodeResponse
	// Missing are the ids that no node has, in the same order.
	Missing []string
}

// Nodes gives the nodes with some ids, each 64 digits and each once, in as many calls as that takes, verified where the Client has
// WithVerification. Of aliases nothing is told. Errors: ErrUseStreamAssemble where messages and metadata of one node are together over
// 4 MiB - 64 KiB, ErrVerification and others.
func (c *Client) Nodes(ctx context.Context, ids ...string) (*Found, error) {
	return c.found(ctx, ids, false)
}

// NodeInfos is Nodes without the messages; then only envelopes are verified.
func (c *Client) NodeInfos(ctx context.Context, ids ...string) (*Found, error) {
	return c.found(ctx, ids, true)
}

func (c *Client) found(ctx context.Context, ids []string, omit bool) (*Found, error) {
	all := new(Found)
	for left := slices.Clone(ids); len(left) > 0; {
		asked := left[:min(len(left), maxIDs)]
		raw, err := read(ctx, c, c.getNodes, &transcriptv1.GetNodesRequest{Namespace: c.options.namespace, NodeIds: asked, OmitMessages: omit})
		if err != nil {
			return nil, err
		}
		some, err := c.readNodes(raw, asked, omit)
		if err != nil {
			return nil, err
		}
		all.Nodes, all.Missing = append(all.Nodes, some.Nodes...), append(all.Missing, some.Missing...)
		left = left[len(some.Nodes)+len(some.Missing):]
	}
	return all, nil
}

// readNodes reads a reply, which must tell of the first ids in their order, and of one at least.
func (c *Client) readNodes(raw *rawReply, asked []string, omit bool) (*Found, error) {
	entries, rest, err := raw.split() // nodes have the number that messages have elsewhere
	if err != nil {
		return nil, err
	}
	var told transcriptv1.GetNodesResponse
	if err := decode(rest, &told); err != nil {
		return nil, err
	}
	var nodes []*transcriptv1.GetNodeResponse
	absent := told.MissingIds
	for _, id := range asked {
		if len(absent) > 0 && absent[0] == id {
			absent = absent[1:]
			continue
		}
		if len(entries) == 0 {
			break
		}
		var one []byte
		if one, entries, err = cut(entries, 1); err != nil {
			return nil, err
		}
		n, err := c.readNode(&transcriptv1.GetNodeRequest{Node: ByID(id).ref, OmitMessages: omit}, &rawReply{bytes: entryBody(one)})
		if err != nil {
			return nil, err
		}
		if n.GetInfo().GetNodeId() != id {
			return nil, fault(ErrBadReply, "the nodes are not those asked for")
		}
		nodes = append(nodes, n)
	}
	if got := len(nodes) + len(told.MissingIds); len(absent)+len(entries) > 0 || got == 0 || got+int(told.Remaining) != len(asked) {
		return nil, fault(ErrBadReply, "the nodes are not those asked for")
	}
	return &Found{Nodes: nodes, Missing: told.MissingIds}, nil
}

// entryBody is what a length-delimited record has behind its tag and length; nil for another.
func entryBody(record []byte) []byte {
	_, kind, n := protowire.ConsumeTag(record)
	if n < 0 || kind != protowire.BytesType {
		return nil
	}
	body, _ := protowire.ConsumeBytes(record[n:])
	return body
}

// getNodes calls GetNodes and leaves the reply undecoded.
func (c *Client) getNodes(
	ctx context.Context, req *transcriptv1.GetNodesRequest, opts ...grpc.CallOption,
) (*rawReply, error) {
	raw := new(rawReply)
	err := c.conn.Invoke(ctx, transcriptv1.TranscriptService_GetNodes_FullMethodName, req, raw, append(opts, rawCall())...)
	return raw, err
}
