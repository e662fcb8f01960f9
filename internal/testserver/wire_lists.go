package testserver

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/grpc/status"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// Find gets a node by a prefix of its id: the node, or the candidates that the error lists.
func (w *wire) Find(ctx context.Context, namespace, prefix string, limit int) ([]chainstore.ID, error) {
	n, err := w.transcripts.GetNode(ctx, &transcriptv1.GetNodeRequest{
		Namespace: spelled(namespace), Node: &transcriptv1.NodeRef{Ref: &transcriptv1.NodeRef_NodeId{NodeId: prefix}},
	})
	ids := []string{n.GetInfo().GetNodeId()}
	if err != nil {
		if ids = candidates(err); ids == nil {
			return nil, ignoring(domain(err), chainstore.ErrNodeNotFound)
		}
	}
	var out []chainstore.ID
	for _, id := range ids[:min(limit, len(ids))] {
		parsed, err := chainstore.ParseID(id)
		if err != nil {
			return nil, err
		}
		out = append(out, parsed)
	}
	return out, nil
}

func candidates(err error) []string {
	for _, d := range status.Convert(err).Details() {
		if a, ok := d.(*transcriptv1.AmbiguousPrefix); ok {
			return a.NodeIds
		}
	}
	return nil
}

func ignoring(err, ignored error) error {
	if errors.Is(err, ignored) {
		return nil
	}
	return err
}

// Nodes asks for all at once, and then for what did not fit.
func (w *wire) Nodes(ctx context.Context, namespace string, ids []chainstore.ID, yield func(*chainstore.FoundNode) error) error {
	c := wireChain{wire: w, namespace: namespace}
	for left := ids; len(left) > 0; {
		req := &transcriptv1.GetNodesRequest{Namespace: spelled(namespace)}
		for _, id := range left {
			req.NodeIds = append(req.NodeIds, id.String())
		}
		reply, err := w.transcripts.GetNodes(ctx, req)
		if err != nil {
			return domain(err)
		}
		if got := len(reply.Nodes) + len(reply.MissingIds) + int(reply.Remaining); got != len(left) {
			return fmt.Errorf("a reply tells of %d ids of %d", got, len(left))
		}
		left = left[len(left)-int(reply.Remaining):]
		for _, n := range reply.Nodes {
			one, err := c.found(ctx, n)
			if err != nil {
				return err
			}
			if err := yield(one); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// found is a node as the reply tells of it.
func (c *wireChain) found(ctx context.Context, n *transcriptv1.GetNodeResponse) (*chainstore.FoundNode, error) {
	c.see(n)
	h, err := c.headerOf(ctx, n.Info.NodeId)
	if err != nil {
		return nil, err
	}
	parent, err := digest(n.Info.Envelope.ParentId)
	if err != nil {
		return nil, err
	}
	covers, err := digest(n.Info.Envelope.CoversThroughId)
	if err != nil {
		return nil, err
	}
	row := chainstore.Row{
		Raw: chainstore.AppendHeader(nil, h), Seq: h.Seq,
		Payload: canonical.EncodePayload(n.Messages), Metadata: canonical.AppendMetadata(nil, n.Metadata.GetEntries()),
		Details: detailsOf(n.Info.Notes),
	}
	return &chainstore.FoundNode{Header: h, Row: row, Parent: (*chainstore.ID)(parent), Covers: (*chainstore.ID)(covers)}, nil
}

// Children goes on behind a child with the token of the page that it ended; for any other it looks for such a page.
func (w *wire) Children(ctx context.Context, namespace string, node chainstore.Ref, after *chainstore.ID, limit int) ([]*chainstore.Header, error) {
	token := ""
	if after != nil {
		var known bool
		if token, known = w.recall(key("child", namespace, node, *after)); !known {
			return nil, w.seek(ctx, namespace, node, *after)
		}
	}
	parent, err := w.transcripts.GetNode(ctx, &transcriptv1.GetNodeRequest{Namespace: spelled(namespace), Node: refOf(node), OmitMessages: true})
	if err != nil {
		return nil, domain(err)
	}
	if token == "" && after != nil {
		return nil, nil
	}
	reply, err := w.transcripts.ListChildren(ctx, &transcriptv1.ListChildrenRequest{
		Namespace: spelled(namespace), Node: refOf(node), PageSize: int32(limit), PageToken: token,
	})
	if err != nil {
		return nil, domain(err)
	}
	var out []*chainstore.Header
	for _, c := range reply.Children {
		h := &chainstore.Header{Seq: uint32(parent.Ancestors) + 1, FirstPut: c.FirstPutAt.AsTime().UnixMilli(), PayloadLength: int(c.SizeBytes)}
		if h.ID, err = chainstore.ParseID(c.NodeId); err != nil {
			return nil, err
		}
		for _, role := range c.Roles {
			h.Messages = append(h.Messages, runloop.Brief{Role: runloop.Role(role)})
		}
		out = append(out, h)
	}
	if len(out) > 0 {
		w.remember(key("child", namespace, node, out[len(out)-1].ID), reply.NextPageToken)
	}
	return out, nil
}

// seek tells why one cannot go on behind a node that ended no page: the suite asks so only of nodes that are no child.
func (w *wire) seek(ctx context.Context, namespace string, node chainstore.Ref, after chainstore.ID) error {
	for token := ""; ; {
		reply, err := w.transcripts.ListChildren(ctx, &transcriptv1.ListChildrenRequest{
			Namespace: spelled(namespace), Node: refOf(node), PageSize: 1000, PageToken: token,
		})
		if err != nil {
			return domain(err)
		}
		for _, c := range reply.Children {
			if c.NodeId == after.String() {
				return errNotOnWire
			}
		}
		if token = reply.NextPageToken; token == "" {
			return chainstore.ErrNodeNotFound
		}
	}
}

func (w *wire) Alias(ctx context.Context, namespace, name string) (*chainstore.Alias, error) {
	reply, err := w.transcripts.ResolveAlias(ctx, &transcriptv1.ResolveAliasRequest{Namespace: spelled(namespace), Name: name})
	if err != nil {
		return nil, deletedError(err)
	}
	a, err := aliasOf(reply.Alias)
	if err != nil {
		return nil, err
	}
	a.Full, a.Effective = totalsOf(reply.Counters.GetFull()), totalsOf(reply.Counters.GetEffective())
	return &a, nil
}

// deletedError is domain for an alias that is not there, with what the status tells of its deletion.
func deletedError(err error) error {
	for _, d := range status.Convert(err).Details() {
		if gone, ok := d.(*transcriptv1.DeletedAlias); ok {
			out := &chainstore.DeletedError{Revision: gone.Revision, At: gone.DeletedAt.AsTime().UnixMilli()}
			out.Head, err = chainstore.ParseID(gone.PreviousId)
			return errors.Join(out, err)
		}
	}
	return domain(err)
}

func aliasOf(info *transcriptv1.AliasInfo) (chainstore.Alias, error) {
	id, err := chainstore.ParseID(info.NodeId)
	return chainstore.Alias{
		Name: info.Name, Node: id, MovedAt: info.MovedAt.AsTime().UnixMilli(), Labels: info.Labels, Loop: loopOf(info.Loop),
		Revision: info.Revision,
	}, err
}

// loopOf is a loop that stands as an alias's does; where it begins is not told.
func loopOf(l *transcriptv1.AliasLoop) *chainstore.AliasLoop {
	if l == nil {
		return nil
	}
	out := &chainstore.AliasLoop{LastPut: l.LastPutAt.AsTime().UnixMilli()}
	if l.StartedAt != nil {
		out.StartedAt = l.StartedAt.AsTime().UnixMilli()
	}
	out.LeadIn, out.Outcome = l.LeadIn, runloop.Outcome(l.Outcome)
	switch l.State {
	case transcriptv1.RunLoopState_RUN_LOOP_STATE_OPEN:
		out.Phase = runloop.Working
	case transcriptv1.RunLoopState_RUN_LOOP_STATE_CLOSED:
		out.Phase, out.Replied = runloop.Ended, true
	case transcriptv1.RunLoopState_RUN_LOOP_STATE_INTERRUPTED:
		out.Phase, out.Unanswered = runloop.Ended, true
	default:
	}
	return out
}

// Aliases goes on behind a cursor with the token that came with it. Lists do not tell totals. A folder that is too deep, which the server
// refuses, has none.
func (w *wire) Aliases(ctx context.Context, namespace string, query chainstore.AliasQuery) ([]chainstore.Alias, *chainstore.AliasCursor, error) {
	req := &transcriptv1.ListAliasesRequest{
		Namespace: spelled(namespace), PageSize: int32(query.Limit), IncludeLoops: query.Loops, OpenOnly: query.OpenOnly,
	}
	if chainstore.FolderLevel(query.Folder) > chainstore.FolderLevels {
		return nil, nil, nil
	}
	if query.Reverse {
		req.Order = transcriptv1.SortOrder_SORT_ORDER_DESCENDING
		if query.ByFolder {
			req.Order = transcriptv1.SortOrder_SORT_ORDER_ASCENDING
		}
	}
	switch {
	case query.ByFolder:
		req.Scope = &transcriptv1.ListAliasesRequest_Folder{Folder: query.Folder}
	case query.Prefix != "":
		req.Scope = &transcriptv1.ListAliasesRequest_Prefix{Prefix: query.Prefix}
	}
	if query.After != nil {
		var known bool
		if req.PageToken, known = w.recall(key("alias", namespace, query.ByFolder, query.Prefix, query.Folder, query.Reverse, query.OpenOnly, *query.After)); !known {
			return nil, nil, errNotOnWire
		}
	}
	reply, err := w.transcripts.ListAliases(ctx, req)
	if err != nil {
		return nil, nil, domain(err)
	}
	var out []chainstore.Alias
	for _, info := range reply.Aliases {
		a, err := aliasOf(info)
		if err != nil {
			return nil, nil, err
		}
		out = append(out, a)
	}
	if reply.NextPageToken == "" {
		return out, nil, nil
	}
	next := &chainstore.AliasCursor{Name: reply.NextPageToken}
	w.remember(key("alias", namespace, query.ByFolder, query.Prefix, query.Folder, query.Reverse, query.OpenOnly, *next), reply.NextPageToken)
	return out, next, nil
}

// ChainNamed asks GetNode for the head and its aliases, and then for the chain.
func (w *wire) ChainNamed(ctx context.Context, namespace string, head chainstore.Ref, limit int) (chainstore.Chain, []string, bool, error) {
	n, err := w.transcripts.GetNode(ctx, &transcriptv1.GetNodeRequest{Namespace: spelled(namespace), Node: refOf(head), OmitMessages: true})
	if err != nil {
		return nil, nil, false, domain(err)
	}
	id, err := chainstore.ParseID(n.Info.NodeId)
	if err != nil {
		return nil, nil, false, err
	}
	c, err := w.Chain(ctx, namespace, chainstore.Ref{ID: id}, nil)
	at := min(limit, len(n.Aliases))
	return c, slices.Clip(n.Aliases)[:at], n.HasMoreAliases || at < len(n.Aliases), err
}

// AliasHistory reads all pages of a history, in small ones.
func (w *wire) AliasHistory(ctx context.Context, namespace, name string) ([]chainstore.AliasState, error) {
	var states []chainstore.AliasState
	for token := ""; ; {
		reply, err := w.transcripts.ListAliasHistory(ctx, &transcriptv1.ListAliasHistoryRequest{
			Namespace: spelled(namespace), Name: name, PageSize: 30, PageToken: token,
		})
		if err != nil {
			return nil, domain(err)
		}
		for _, e := range reply.Entries {
			st := chainstore.AliasState{Deleted: e.NodeId == "", At: e.BeganAt.AsTime().UnixMilli(), Revision: e.Revision}
			if !st.Deleted {
				if st.Node, err = chainstore.ParseID(e.NodeId); err != nil {
					return nil, err
				}
			}
			states = append(states, st)
		}
		if token = reply.NextPageToken; token == "" {
			return states, nil
		}
	}
}
