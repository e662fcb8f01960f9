package testserver

import (
	"context"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// Commit is PutNode for one node, PutNodes for several, DeleteAlias for one alias that is deleted, else Alias. A change that puts nodes
// and sets aliases to others is not on the wire, nor is one that forgets an alias and does something else.
func (w *wire) Commit(ctx context.Context, namespace string, change *chainstore.Change) (*chainstore.Committed, error) {
	switch {
	case offWire(change), len(change.Nodes)+len(change.Aliases) > 1 && forgets(change):
		return nil, errNotOnWire
	case len(change.Nodes) == 1:
		return w.putNode(ctx, namespace, change)
	case len(change.Nodes) > 1:
		return w.putNodes(ctx, namespace, change)
	case len(change.Aliases) == 1 && change.Aliases[0].Target.Kind == chainstore.TargetNone:
		return w.deleteAlias(ctx, namespace, change)
	default:
		return w.moveAliases(ctx, namespace, change)
	}
}

// offWire tells whether a change has compaction nodes, which the server alone writes, or the condition of those who do.
func offWire(change *chainstore.Change) bool {
	return slices.ContainsFunc(change.Nodes, func(n chainstore.NewNode) bool { return n.Compaction != nil }) ||
		slices.ContainsFunc(change.Aliases, func(a chainstore.AliasChange) bool { return a.Condition.Kind == chainstore.Extends })
}

func forgets(change *chainstore.Change) bool {
	return slices.ContainsFunc(change.Aliases, func(a chainstore.AliasChange) bool { return a.Forget })
}

func (w *wire) putNode(ctx context.Context, namespace string, change *chainstore.Change) (*chainstore.Committed, error) {
	node, err := newNode(&change.Nodes[0])
	if err != nil {
		return nil, err
	}
	aliases, fields, err := updates(change, 0, "aliases")
	if err != nil {
		return nil, err
	}
	reply, err := w.transcripts.PutNode(ctx, &transcriptv1.PutNodeRequest{
		Namespace: spelled(namespace), Parent: node.Parent, Messages: node.Messages, Notes: node.Notes, Metadata: node.Metadata,
		Salt: node.Salt, SpawnedFrom: node.SpawnedFrom, Aliases: aliases,
	})
	if err != nil {
		return nil, conflictError(err, change, fields)
	}
	return committed(change, []*transcriptv1.PutNodeResponse{reply})
}

func (w *wire) putNodes(ctx context.Context, namespace string, change *chainstore.Change) (*chainstore.Committed, error) {
	req := &transcriptv1.PutNodesRequest{Namespace: spelled(namespace)}
	places := make([]string, len(change.Aliases))
	for i := range change.Nodes {
		node, err := newNode(&change.Nodes[i])
		if err != nil {
			return nil, err
		}
		aliases, fields, err := updates(change, i, fmt.Sprintf("nodes[%d].aliases", i))
		if err != nil {
			return nil, err
		}
		for k, field := range fields {
			places[k] += field
		}
		node.Aliases = aliases
		req.Nodes = append(req.Nodes, node)
	}
	reply, err := w.transcripts.PutNodes(ctx, req)
	if err != nil {
		return nil, conflictError(err, change, places)
	}
	return committed(change, reply.Nodes)
}

func (w *wire) moveAliases(ctx context.Context, namespace string, change *chainstore.Change) (*chainstore.Committed, error) {
	req := &transcriptv1.AliasRequest{Namespace: spelled(namespace)}
	var fields []string
	for i, a := range change.Aliases {
		move := &transcriptv1.AliasMove{Name: a.Name, Precondition: precondition(a.Condition), Labels: labels(&a)}
		switch a.Target.Kind {
		case chainstore.TargetRef:
			move.Target = refOf(a.Target.Ref)
		case chainstore.TargetNone:
			move.Delete = true
		default:
			return nil, errNotOnWire
		}
		req.Aliases = append(req.Aliases, move)
		fields = append(fields, fmt.Sprintf("aliases[%d]", i))
	}
	reply, err := w.transcripts.Alias(ctx, req)
	if err != nil {
		return nil, conflictError(err, change, fields)
	}
	done := &chainstore.Committed{}
	for _, r := range reply.Aliases {
		result, err := putAlias(r)
		if err != nil {
			return nil, err
		}
		done.Aliases = append(done.Aliases, result)
	}
	return done, nil
}

func (w *wire) deleteAlias(ctx context.Context, namespace string, change *chainstore.Change) (*chainstore.Committed, error) {
	a := change.Aliases[0]
	reply, err := w.transcripts.DeleteAlias(ctx, &transcriptv1.DeleteAliasRequest{
		Namespace: spelled(namespace), Name: a.Name, Precondition: precondition(a.Condition), ForgetHistory: a.Forget,
	})
	if err != nil {
		return nil, conflictError(err, change, []string{"name"})
	}
	done := chainstore.PutAlias{Changed: reply.Deleted, Revised: reply.Deleted, Existed: reply.PreviousId != "", Revision: reply.Revision}
	if a.Forget && reply.Revision > 0 {
		done.Revised = true // of an alias that was deleted before, too
	}
	if done.Existed {
		if done.Previous, err = chainstore.ParseID(reply.PreviousId); err != nil {
			return nil, err
		}
	}
	return &chainstore.Committed{Aliases: []chainstore.PutAlias{done}}, nil
}

// newNode is a node as a request has it: its bytes are decoded again, so what comes back went through the encoder of the
// server.
func newNode(n *chainstore.NewNode) (*transcriptv1.NewNode, error) {
	messages, err := canonical.DecodePayload(n.Payload)
	if err != nil {
		return nil, err
	}
	metadata, err := canonical.DecodeMetadata(n.Metadata)
	if err != nil {
		return nil, err
	}
	details, err := chainstore.DecodeDetails(n.Details, len(n.Messages))
	if err != nil {
		return nil, err
	}
	out := &transcriptv1.NewNode{Messages: messages, Metadata: metadata, Salt: n.Salt, Notes: notesOf(n.Messages, details)}
	if from := n.SpawnedFrom; from != nil {
		out.SpawnedFrom = &transcriptv1.SpawnedFromRef{NodeId: from.Node.String(), ToolCallId: pointer(from.CallID)}
	}
	switch n.Parent.Kind {
	case chainstore.ParentID:
		out.Parent = refOf(chainstore.Ref{ID: n.Parent.ID})
	case chainstore.ParentAlias:
		out.Parent = refOf(chainstore.Ref{Alias: n.Parent.Alias})
	case chainstore.ParentPrevious:
		out.Previous = true
	}
	return out, nil
}

func notesOf(messages []runloop.Facts, details []chainstore.Detail) []*transcriptv1.MessageNote {
	var notes []*transcriptv1.MessageNote
	put := details != nil
	for i, m := range messages {
		note := &transcriptv1.MessageNote{TokenCountEstimated: m.Note.Estimated}
		if m.Note.HasSentAt {
			note.SentAt = timestamppb.New(time.UnixMilli(m.Note.SentAt))
		}
		if m.Note.HasTokens {
			note.TokenCount = proto.Int32(int32(m.Note.Tokens))
		}
		if details != nil {
			addDetail(note, &details[i])
		}
		notes, put = append(notes, note), put || m.Note != runloop.Note{}
	}
	if !put {
		return nil
	}
	return notes
}

// updates are the aliases of a change that are set to its node i, and for the first node those that are deleted; fields has their
// places in the request, and is empty where the change's alias is not among them.
func updates(change *chainstore.Change, i int, at string) (updates []*transcriptv1.AliasUpdate, fields []string, err error) {
	fields = make([]string, len(change.Aliases))
	for k, a := range change.Aliases {
		if a.Target.Kind == chainstore.TargetRef {
			return nil, nil, errNotOnWire
		}
		if a.Target.Node != i {
			continue
		}
		fields[k] = fmt.Sprintf("%s[%d]", at, len(updates))
		updates = append(updates, &transcriptv1.AliasUpdate{
			Name: a.Name, Precondition: precondition(a.Condition), Labels: labels(&a), Delete: a.Target.Kind == chainstore.TargetNone,
		})
	}
	return updates, fields, nil
}

func labels(a *chainstore.AliasChange) *transcriptv1.Labels {
	if !a.SetLabels {
		return nil
	}
	return &transcriptv1.Labels{Entries: a.Labels}
}

func precondition(c chainstore.Condition) *transcriptv1.AliasPrecondition {
	if c == (chainstore.Condition{}) {
		return nil
	}
	p := &transcriptv1.AliasPrecondition{}
	switch c.Kind {
	case chainstore.MustNotExist:
		p.Condition = &transcriptv1.AliasPrecondition_MustNotExist{MustNotExist: true}
	case chainstore.MustExist:
		p.Condition = &transcriptv1.AliasPrecondition_MustExist{MustExist: true}
	case chainstore.HeadIs:
		p.Condition = &transcriptv1.AliasPrecondition_HeadId{HeadId: c.Head.String()}
	}
	if c.Revision != 0 {
		p.Revision = &c.Revision
	}
	return p
}

// committed puts the replies for nodes together again in the order of the change.
func committed(change *chainstore.Change, replies []*transcriptv1.PutNodeResponse) (*chainstore.Committed, error) {
	done := &chainstore.Committed{}
	for _, r := range replies {
		id, err := chainstore.ParseID(r.NodeId)
		if err != nil {
			return nil, err
		}
		done.Nodes = append(done.Nodes, chainstore.PutNode{
			ID: id, Created: r.Created, Full: totalsOf(r.Counters.GetFull()), Effective: totalsOf(r.Counters.GetEffective()),
		})
	}
	for _, a := range change.Aliases {
		reply := replies[a.Target.Node]
		if len(reply.Aliases) == 0 || reply.Aliases[0].Name != a.Name {
			return nil, fmt.Errorf("the reply for node %d tells of other aliases than were set", a.Target.Node)
		}
		result, err := putAlias(reply.Aliases[0])
		if err != nil {
			return nil, err
		}
		reply.Aliases = reply.Aliases[1:]
		done.Aliases = append(done.Aliases, result)
	}
	return done, nil
}

func putAlias(r *transcriptv1.AliasResult) (chainstore.PutAlias, error) {
	out := chainstore.PutAlias{Changed: r.Changed, Existed: r.PreviousId != "", Revised: r.Revised, Revision: r.Revision}
	if !out.Existed {
		return out, nil
	}
	id, err := chainstore.ParseID(r.PreviousId)
	out.Previous = id
	return out, err
}
