package client

import (
	"context"
	"maps"
	"slices"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// Node is a node to put. Its id is a hash of parent, messages, metadata, salt and spawned-from: putting an equal one
// again writes nothing.
type Node struct {
	// Parent is the node to append to; zero: a root.
	Parent Ref
	// Previous, in PutAll, makes the node before this one the parent. Not together with Parent.
	Previous bool
	// Messages are 1 to 1,000, or none where there is metadata: each at most 3 MiB, together at most 4 MiB - 128 KiB.
	Messages []*transcriptv1.Message
	// Notes are none, or one for each message. They are not hashed; those of the first put stay.
	Notes []*transcriptv1.MessageNote
	// Metadata is at most 64 entries: keys of 1 to 256 bytes, values of at most 4 KiB.
	Metadata map[string]string
	// Salt is 0 or 16 to 32 bytes. It makes an otherwise equal sibling a node of its own. A Thread makes one where it is nil.
	Salt []byte
	// SpawnedFrom is the call that started the chain that this node begins.
	SpawnedFrom *transcriptv1.SpawnedFromRef
	// Aliases are set to the node, or deleted, in the same commit: at most 1,000 in a call, each named once.
	Aliases []AliasUpdate
}

// AliasUpdate sets an alias to the node that is put, or deletes it.
type AliasUpdate struct {
	Name string
	If   Condition
	// Labels replace the alias's labels; nil leaves them as they are.
	Labels map[string]string
	// Delete deletes the alias instead; then Labels are nil.
	Delete bool
}

// PutResult is what became of a node.
type PutResult struct {
	*transcriptv1.PutNodeResponse
	// Retried tells that an earlier attempt of the call, of which no reply came, may have taken place: where created, changed or revised
	// are false, it may have been what created and changed. Where a Thread found its node by the salt, aliases have no revision: 0.
	Retried bool
}

// Put appends messages as one node, or begins a chain, and sets aliases to it, all or nothing. Errors: ErrInvalidField,
// ErrLimitExceeded, ErrParentNotFound, ErrAliasNotFound, ErrAliasExists, ErrAliasMoved and others.
func (c *Client) Put(ctx context.Context, node Node) (*PutResult, error) {
	n := node.wire()
	return c.put(ctx, n, repeatablePut(n))
}

// put is Put, repeated where its reply was lost if it may be.
func (c *Client) put(ctx context.Context, n *transcriptv1.NewNode, repeatable bool) (*PutResult, error) {
	req := &transcriptv1.PutNodeRequest{
		Namespace: c.options.namespace, Parent: n.Parent, Messages: n.Messages, Notes: n.Notes, Metadata: n.Metadata,
		Salt: n.Salt, SpawnedFrom: n.SpawnedFrom, Aliases: n.Aliases,
	}
	res, unsure, err := call(ctx, c, when(repeatable), c.rpc.PutNode, req)
	if err != nil {
		return nil, err
	}
	if c.options.verify {
		if err := verifyPut([]*transcriptv1.NewNode{n}, []*transcriptv1.PutNodeResponse{res}); err != nil {
			return nil, err
		}
	}
	return &PutResult{PutNodeResponse: res, Retried: unsure}, nil
}

// PutAll puts 1 to 1,000 nodes in one commit, all or nothing, and gives one result for each in their order. Errors as
// for Put.
func (c *Client) PutAll(ctx context.Context, nodes ...Node) ([]*PutResult, error) {
	req := &transcriptv1.PutNodesRequest{Namespace: c.options.namespace}
	for i := range nodes {
		req.Nodes = append(req.Nodes, nodes[i].wire())
	}
	res, unsure, err := call(ctx, c, when(repeatablePut(req.Nodes...)), c.rpc.PutNodes, req)
	if err != nil {
		return nil, err
	}
	if len(res.Nodes) != len(nodes) {
		return nil, fault(ErrBadReply, "")
	}
	if c.options.verify {
		if err := verifyPut(req.Nodes, res.Nodes); err != nil {
			return nil, err
		}
	}
	results := make([]*PutResult, len(nodes))
	for i, r := range res.Nodes {
		results[i] = &PutResult{PutNodeResponse: r, Retried: unsure}
	}
	return results, nil
}

// PutArchived puts 1 to 1,000 nodes that were put elsewhere, as an archive has them (docs/archive.md), in one commit, all or nothing, and gives one
// result for each in their order. What is there already stays as it is. Errors: ErrParentNotFound, ErrNodeNotFound, ErrNotAnAncestor,
// ErrAlreadyCovered, ErrOpenToolCalls and others.
func (c *Client) PutArchived(ctx context.Context, nodes ...*transcriptv1.ArchivedNode) ([]*PutResult, error) {
	res, unsure, err := call(ctx, c, transient, c.rpc.PutArchivedNodes, &transcriptv1.PutArchivedNodesRequest{Namespace: c.options.namespace, Nodes: nodes})
	if err != nil {
		return nil, err
	}
	if len(res.Nodes) != len(nodes) {
		return nil, fault(ErrBadReply, "")
	}
	results := make([]*PutResult, len(nodes))
	for i, r := range res.Nodes {
		results[i] = &PutResult{PutNodeResponse: r, Retried: unsure}
	}
	return results, nil
}

// wire is the node as a request has it.
func (n *Node) wire() *transcriptv1.NewNode {
	w := &transcriptv1.NewNode{
		Parent: n.Parent.ref, Previous: n.Previous, Messages: n.Messages, Notes: n.Notes, Salt: n.Salt,
		SpawnedFrom: n.SpawnedFrom,
	}
	for _, key := range slices.Sorted(maps.Keys(n.Metadata)) {
		w.Metadata = append(w.Metadata, &transcriptv1.MetadataEntry{Key: key, Value: n.Metadata[key]})
	}
	for _, a := range n.Aliases {
		w.Aliases = append(w.Aliases, a.wire())
	}
	return w
}

// wire is the alias as a request has it.
func (a *AliasUpdate) wire() *transcriptv1.AliasUpdate {
	return &transcriptv1.AliasUpdate{Name: a.Name, Precondition: a.If.condition, Labels: labels(a.Labels), Delete: a.Delete}
}

// take begins an append of a node and gives it its salt, which the caller's goes before.
func (c *Client) take(l *ledger, n *Node) *pending {
	asked := n.wire()
	asked.Parent, asked.Previous, asked.Notes = nil, false, nil
	a := l.take(asked, func() []byte {
		if n.Salt != nil || c.options.deterministic || n.prompt() {
			return n.Salt
		}
		return newSalt()
	})
	n.Salt = a.salt
	return a
}

// prompt tells whether the node is a root of system and developer messages alone, which those who begin equally share.
func (n *Node) prompt() bool {
	for _, m := range n.Messages {
		if m.GetRole() != transcriptv1.Role_ROLE_SYSTEM && m.GetRole() != transcriptv1.Role_ROLE_DEVELOPER {
			return false
		}
	}
	return n.Parent.ref == nil && !n.Previous && n.SpawnedFrom == nil && len(n.Messages) > 0
}
