package client

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protowire"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

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
	for left := ids; len(left) > 0; {
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
