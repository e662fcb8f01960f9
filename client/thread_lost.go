package client

import (
	"bytes"
	"context"
	"errors"

	"google.golang.org/grpc/codes"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// refusedForAnAlias tells whether nothing was put since an alias is not where it should be.
func refusedForAnAlias(err error) bool {
	return errors.Is(err, ErrAliasMoved) || errors.Is(err, ErrAliasExists)
}

// onlyCompacted is where a thread's alias points to, if all that kept a node from being put is that the chain was
// compacted meanwhile; else empty.
func onlyCompacted(err error) string {
	var e *Error
	if !errors.As(err, &e) || e.Reason != ErrAliasMoved || len(e.Conflicts) != 1 {
		return ""
	}
	if c := e.Conflicts[0]; c.OnlyCompacted && c.Field == "aliases[0]" {
		return c.NodeID
	}
	return ""
}

// told adds to an error what is known of attempts before.
func (a *pending) told(err error) error {
	if a.unsure && err != nil {
		return happened(err, true)
	}
	return err
}

// lost is the result of a put that was refused for an alias although an earlier attempt took place. If none did, refused stays the
// error.
func (c *Client) lost(ctx context.Context, node *Node, refused error) (*PutResult, error) {
	res, err := c.find(ctx, node)
	if res != nil || err != nil {
		return res, err
	}
	return nil, happened(refused, false)
}

// find finds a node of which it is not known whether it was put, below a node that is named by its id; nil: it was not. A node and its
// aliases are put together, so that where the node is the aliases were set, whoever moved them since.
func (c *Client) find(ctx context.Context, node *Node) (*PutResult, error) {
	id, ok := identify(node.wire(), node.Parent.ref.GetNodeId())
	if !ok {
		return nil, nil
	}
	found, err := c.NodeInfo(ctx, ByID(id))
	if errors.Is(err, ErrNodeNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, happened(err, true)
	}
	res := &transcriptv1.PutNodeResponse{NodeId: id, Counters: found.Counters}
	for _, a := range node.Aliases {
		res.Aliases = append(res.Aliases, &transcriptv1.AliasResult{Name: a.Name})
	}
	return &PutResult{PutNodeResponse: res, Retried: true}, nil
}

// taken begins the thread whose first node was refused because its alias exists: with its own node, which its salt tells, or with the
// same as another put it. Where the alias names something else, refused stays the error.
func (t *Thread) taken(ctx context.Context, node *Node, refused *Error) error {
	unsure := refused.Retried
	if refused.Head() == "" {
		return refused
	}
	found, err := t.c.NodeInfo(ctx, ByID(refused.Head()))
	if err != nil {
		return happened(err, unsure)
	}
	own := node.put(found)
	if !own && unsure {
		first, err := t.c.firstOf(ctx, t.alias)
		if err != nil {
			return happened(err, true)
		}
		if node.put(first) {
			own, found = true, first
		}
	}
	if !own && !node.equals(found) {
		return happened(refused, false)
	}
	t.moved(found.Info.GetNodeId(), found.Counters)
	t.isNew = own || unsure && len(node.Salt) == 0
	return nil
}

// put tells whether a node is that of the append, which its salt tells.
func (n *Node) put(found *transcriptv1.GetNodeResponse) bool {
	return len(n.Salt) > 0 && bytes.Equal(n.Salt, found.GetInfo().GetEnvelope().GetSalt())
}

// equals tells whether a node says the same, in any place and with any salt.
func (n *Node) equals(found *transcriptv1.GetNodeResponse) bool {
	there := found.GetInfo().GetEnvelope()
	own := n.wire()
	own.Salt = there.GetSalt()
	id, ok := identify(own, there.GetParentId())
	return ok && id == found.GetInfo().GetNodeId()
}

// firstOf is the node with which an alias was created, as far as its history tells.
func (c *Client) firstOf(ctx context.Context, alias string) (*transcriptv1.GetNodeResponse, error) {
	first := ""
	for state, err := range c.History(ctx, alias) {
		if err != nil {
			return nil, err
		}
		if state.NodeId == "" { // it was deleted before
			break
		}
		first = state.NodeId
	}
	return c.NodeInfo(ctx, ByID(first))
}

// overtaken is the error of a writer whose very node another writer put first.
func overtaken(id string) error {
	return &Error{
		Code: codes.Aborted, Reason: ErrAliasMoved, Message: "another writer put the same first",
		Conflicts: []Conflict{{Field: "aliases[0]", NodeID: id}},
	}
}
