package client

import (
	"context"
	"iter"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// Node gives one node with its messages as they were put, verified where the Client has WithVerification. Errors:
// ErrNodeNotFound, ErrAliasNotFound, ErrAmbiguousPrefix, ErrVerification; ErrUseStreamAssemble where messages and
// metadata are together over 4 MiB, for which NodeInfo and Assemble can be asked.
func (c *Client) Node(ctx context.Context, node Ref) (*transcriptv1.GetNodeResponse, error) {
	return c.node(ctx, &transcriptv1.GetNodeRequest{Namespace: c.options.namespace, Node: node.ref})
}

// NodeInfo is Node without the messages; then only the envelope is verified.
func (c *Client) NodeInfo(ctx context.Context, node Ref) (*transcriptv1.GetNodeResponse, error) {
	return c.node(ctx, &transcriptv1.GetNodeRequest{Namespace: c.options.namespace, Node: node.ref, OmitMessages: true})
}

func (c *Client) node(ctx context.Context, req *transcriptv1.GetNodeRequest) (*transcriptv1.GetNodeResponse, error) {
	raw, err := read(ctx, c, c.getNode, req)
	if err != nil {
		return nil, err
	}
	return c.readNode(req, raw)
}

// readNode reads a node as it was received.
func (c *Client) readNode(req *transcriptv1.GetNodeRequest, raw *rawReply) (*transcriptv1.GetNodeResponse, error) {
	payload, rest, err := raw.split()
	if err != nil {
		return nil, err
	}
	res := new(transcriptv1.GetNodeResponse)
	if err := decode(rest, res); err != nil {
		return nil, err
	}
	if c.options.verify {
		if err := verifyNode(req, res, payload); err != nil {
			return nil, err
		}
	}
	res.Messages, err = decodeMessages(payload)
	return res, err
}

// getNode calls GetNode and leaves the reply undecoded.
func (c *Client) getNode(
	ctx context.Context, req *transcriptv1.GetNodeRequest, opts ...grpc.CallOption,
) (*rawReply, error) {
	raw := new(rawReply)
	err := c.conn.Invoke(ctx, transcriptv1.TranscriptService_GetNode_FullMethodName, req, raw, append(opts, rawCall())...)
	return raw, err
}

// Children lists the nodes whose parent a node is, in the order in which they were first put, asking for page after page
// as it goes. An error ends it: ErrNodeNotFound, ErrAliasNotFound.
func (c *Client) Children(ctx context.Context, node Ref) iter.Seq2[*transcriptv1.ChildNode, error] {
	return pages(func(token string) ([]*transcriptv1.ChildNode, string, error) {
		req := &transcriptv1.ListChildrenRequest{
			Namespace: c.options.namespace, Node: node.ref, PageSize: pageSize, PageToken: token,
		}
		res, err := read(ctx, c, c.rpc.ListChildren, req)
		return res.GetChildren(), res.GetNextPageToken(), err
	})
}

// decode reads a part of a reply; the error is an ErrBadReply.
func decode(b []byte, m proto.Message) error {
	if err := proto.Unmarshal(b, m); err != nil {
		return badReply(err)
	}
	return nil
}
