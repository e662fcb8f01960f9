package main

import (
	"context"
	"slices"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// readBelow reads a node and what follows it, breadth first, about limit nodes; 0 is no limit.
func (s *session) readBelow(ctx context.Context, ref client.Ref, limit uint) (*treeNode, error) {
	top := &treeNode{}
	first, err := s.readTreeNode(ctx, ref)
	if err != nil {
		return nil, err
	}
	top.children = []*treeNode{first}
	read := uint(1)
	for queue := top.children; len(queue) > 0; queue = queue[1:] {
		n := queue[0]
		ids, err := s.childIDs(ctx, n.id)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			if limit > 0 && read >= limit {
				n.more, top.more = true, true
				break
			}
			child, err := s.readTreeNode(ctx, client.ByID(id))
			if err != nil {
				return nil, err
			}
			n.children = append(n.children, child)
			queue = append(queue, child)
			read++
		}
	}
	return top, nil
}

func (s *session) readTreeNode(ctx context.Context, ref client.Ref) (*treeNode, error) {
	n, err := s.Node(ctx, ref)
	if err != nil {
		return nil, err
	}
	return &treeNode{
		id: n.GetInfo().GetNodeId(), parent: n.GetInfo().GetEnvelope().GetParentId(),
		through: n.GetInfo().GetEnvelope().GetCoversThroughId(),
		roles:   n.GetRoles(), preview: firstLine(n.GetMessages()), aliases: n.GetAliases(),
	}, nil
}

func (s *session) childIDs(ctx context.Context, id string) (ids []string, err error) {
	for child, err := range s.Children(ctx, client.ByID(id)) {
		if err != nil {
			return nil, err
		}
		ids = append(ids, child.GetNodeId())
	}
	return ids, nil
}

// forest is the tree that chains make, under a node that stands for none.
type forest struct {
	top   *treeNode
	nodes map[string]*treeNode
	limit uint
}

// readChains reads the chains of all aliases that begin with prefix, about limit nodes; 0 is no limit. Whole chains
// are read, so that the last may exceed the limit.
func (s *session) readChains(ctx context.Context, prefix string, limit uint) (*treeNode, error) {
	f := &forest{top: &treeNode{}, nodes: map[string]*treeNode{}, limit: limit}
	for a, err := range s.Aliases(ctx, client.AliasesWithPrefix(prefix)) {
		if err != nil {
			return nil, err
		}
		if limit > 0 && uint(len(f.nodes)) >= limit {
			f.top.more = true
			break
		}
		if f.nodes[a.GetNodeId()] == nil {
			if err := s.readChain(ctx, f, a.GetNodeId()); err != nil {
				return nil, err
			}
		}
		if head := f.nodes[a.GetNodeId()]; head != nil {
			head.aliases = append(head.aliases, a.GetName())
		}
	}
	return f.top, nil
}

// ownMessages is how many of the messages that are left of a frame are a node's. It does not go beyond them, whatever a server says.
func ownMessages(n *transcriptv1.NodeInfo, left int) int {
	return min(max(0, int(n.GetMessageCount())), left)
}

func (s *session) readChain(ctx context.Context, f *forest, head string) error {
	at := f.top
	query := client.Query{View: transcriptv1.View_VIEW_FULL, Detail: transcriptv1.NodeDetail_NODE_DETAIL_ENVELOPES}
	for frame, err := range s.Frames(ctx, client.ByID(head), query) {
		if err != nil {
			return err
		}
		messages, err := frame.Messages()
		if err != nil {
			return err
		}
		for _, info := range frame.Nodes {
			n := ownMessages(info, len(messages))
			at = f.child(at, info, messages[:n])
			messages = messages[n:]
		}
	}
	return nil
}

// child is the child of parent that info tells of; it is added where it is new.
func (f *forest) child(parent *treeNode, info *transcriptv1.NodeInfo, messages []*transcriptv1.Message) *treeNode {
	id := info.GetNodeId()
	if n := f.nodes[id]; n != nil {
		return n
	}
	n := &treeNode{
		id: id, parent: parent.id, through: info.GetEnvelope().GetCoversThroughId(), preview: firstLine(messages),
	}
	for _, m := range messages {
		n.roles = append(n.roles, m.GetRole())
	}
	f.nodes[id] = n
	parent.children = append(slices.Clip(parent.children), n)
	return n
}
