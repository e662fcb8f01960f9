package server

import (
	"context"
	"errors"

	"github.com/transcriptd/transcriptd/chainstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

// ListChildren reads children chunk by chunk. An alias is resolved first, and a token holds the node as well as the
// last child, so that an alias that moves on does not change what is listed.
func (t *transcripts) ListChildren(ctx context.Context, req *transcriptv1.ListChildrenRequest) (*transcriptv1.ListChildrenResponse, error) {
	ref, err := wire.ParseRef("node", req.Node)
	if err != nil {
		return nil, err
	}
	size, err := wire.PageSize(req.PageSize)
	if err != nil {
		return nil, err
	}
	p := wire.Page{RPC: "ListChildren", Namespace: wire.Namespace(req.Namespace), Scope: ref.Alias + "\x00" + ref.ID.String()}
	node, after, err := t.parseChildren(ctx, p, ref, req.PageToken)
	if err != nil {
		return nil, err
	}
	children, more, err := t.children(ctx, p.Namespace, node, after, size)
	if err != nil {
		if after != nil && errors.Is(err, chainstore.ErrNodeNotFound) {
			return nil, wire.BadToken()
		}
		return nil, wire.MissingFrom("node", err)
	}
	reply := &transcriptv1.ListChildrenResponse{Children: children}
	if more != nil {
		if reply.NextPageToken, err = t.tokens.Token(ctx, p, append(node[:], more[:]...)); err != nil {
			return nil, err
		}
	}
	return reply, nil
}

// parseChildren finds the node whose children are asked for, and the last child that was given; nil if none was.
func (t *transcripts) parseChildren(ctx context.Context, p wire.Page, ref chainstore.Ref, token string) (node chainstore.ID, after *chainstore.ID, err error) {
	cursor, err := t.tokens.Cursor(ctx, p, token)
	switch {
	case err != nil:
		return node, nil, err
	case cursor == nil && ref.Alias == "":
		return ref.ID, nil, nil
	case cursor == nil:
		a, err := t.store.Alias(ctx, p.Namespace, ref.Alias)
		if err != nil {
			return node, nil, wire.MissingFrom("node", err)
		}
		return a.Node, nil, nil
	case len(cursor) != 2*len(node):
		return node, nil, wire.BadToken()
	}
	after = new(chainstore.ID)
	copy(node[:], cursor)
	copy(after[:], cursor[len(node):])
	return node, after, nil
}

// children reads at most size children behind after; more names the last of them where there are more.
func (t *transcripts) children(ctx context.Context, namespace string, node chainstore.ID, after *chainstore.ID, size int) (children []*transcriptv1.ChildNode, more *chainstore.ID, err error) {
	for {
		limit := min(wire.ListChunk, size-len(children)+1)
		headers, err := t.store.Children(ctx, namespace, chainstore.Ref{ID: node}, after, limit)
		if err != nil {
			return nil, nil, err
		}
		for _, h := range headers {
			if len(children) == size {
				return children, after, nil
			}
			children = append(children, childNode(h))
			after = &h.ID
		}
		if len(headers) < limit {
			return children, nil, nil
		}
	}
}

func childNode(h *chainstore.Header) *transcriptv1.ChildNode {
	return &transcriptv1.ChildNode{
		NodeId: h.ID.String(), FirstPutAt: wire.Timestamp(h.FirstPut), SizeBytes: int64(h.PayloadLength), Roles: wire.Roles(h),
	}
}
