package server

import (
	"context"
	"encoding/binary"

	"github.com/transcriptd/transcriptd/chainstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/chainview"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

// ListAliases reads a page of the store's.
func (t *transcripts) ListAliases(ctx context.Context, req *transcriptv1.ListAliasesRequest) (*transcriptv1.ListAliasesResponse, error) {
	query, p, err := parseListAliases(req)
	if err != nil {
		return nil, err
	}
	size, err := wire.PageSize(req.PageSize)
	if err != nil {
		return nil, err
	}
	cursor, err := t.tokens.Cursor(ctx, p, req.PageToken)
	if err != nil {
		return nil, err
	}
	if query.After, err = parseAliasCursor(cursor); err != nil {
		return nil, err
	}
	if req.OpenOnly && !req.IncludeLoops {
		return nil, wire.InvalidField("open_only", "must be false without include_loops")
	}
	query.Limit, query.Bytes = size, wire.PageBytes
	aliases, next, err := t.store.Aliases(ctx, p.Namespace, query)
	if err != nil {
		return nil, err
	}
	reply := &transcriptv1.ListAliasesResponse{}
	for i := range aliases {
		reply.Aliases = append(reply.Aliases, aliasInfo(&aliases[i]))
	}
	if req.IncludeLoops {
		reply.Now = wire.Timestamp(t.now().UnixMilli())
	}
	if next != nil {
		if reply.NextPageToken, err = t.tokens.Token(ctx, p, aliasCursor(next)); err != nil {
			return nil, err
		}
	}
	return reply, nil
}

// parseListAliases reads what is asked for, and what tokens are bound to.
func parseListAliases(req *transcriptv1.ListAliasesRequest) (query chainstore.AliasQuery, p wire.Page, err error) {
	p = wire.Page{RPC: "ListAliases", Namespace: wire.Namespace(req.Namespace)}
	query.Loops, query.OpenOnly = req.IncludeLoops, req.OpenOnly
	field := "prefix"
	switch s := req.Scope.(type) {
	case *transcriptv1.ListAliasesRequest_Prefix:
		query.Prefix = s.Prefix
		p.Scope = "p" + s.Prefix
	case *transcriptv1.ListAliasesRequest_Folder:
		query.ByFolder, query.Folder = true, s.Folder
		p.Scope, field = "f"+s.Folder, "folder"
	default:
		p.Scope = "p"
	}
	if len(p.Scope) > 1+wire.MaxAliasBytes {
		return query, p, wire.OverLimit(field, "must be at most %d bytes", wire.MaxAliasBytes)
	}
	if chainstore.FolderLevel(query.Folder) > chainstore.FolderLevels {
		return query, p, wire.OverLimit("folder", "must be at most %d levels deep, of which \"\" is the first; list a higher folder, or by prefix",
			chainstore.FolderLevels)
	}
	if query.Reverse, err = parseOrder(req.Order, query.ByFolder); err != nil {
		return query, p, err
	}
	if query.OpenOnly {
		p.Scope = "open " + p.Scope
	}
	if query.Reverse {
		p.Scope = "reverse " + p.Scope
	}
	return query, p, nil
}

// parseOrder tells whether an order is the reverse of the list's own, which is descending or ascending.
func parseOrder(order transcriptv1.SortOrder, descending bool) (reverse bool, err error) {
	switch order {
	case transcriptv1.SortOrder_SORT_ORDER_UNSPECIFIED:
		return false, nil
	case transcriptv1.SortOrder_SORT_ORDER_ASCENDING:
		return descending, nil
	case transcriptv1.SortOrder_SORT_ORDER_DESCENDING:
		return !descending, nil
	default:
		return false, wire.InvalidField("order", "must be SORT_ORDER_ASCENDING, SORT_ORDER_DESCENDING or unspecified")
	}
}

// aliasCursor and parseAliasCursor are chainstore.AliasCursor as a cursor: the time, then the name.
func aliasCursor(c *chainstore.AliasCursor) []byte {
	return append(binary.AppendVarint(nil, c.MovedAt), c.Name...)
}

func parseAliasCursor(b []byte) (*chainstore.AliasCursor, error) {
	if b == nil {
		return nil, nil
	}
	at, n := binary.Varint(b)
	if n <= 0 {
		return nil, wire.BadToken()
	}
	return &chainstore.AliasCursor{MovedAt: at, Name: string(b[n:])}, nil
}

// aliasLoop is where an alias's loop stands; nil where nobody asked.
func aliasLoop(l *chainstore.AliasLoop) *transcriptv1.AliasLoop {
	if l == nil {
		return nil
	}
	out := &transcriptv1.AliasLoop{State: chainview.LoopState(&l.Loop, true), Outcome: chainview.Outcome(&l.Loop), LastPutAt: wire.Timestamp(l.LastPut)}
	if out.State != transcriptv1.RunLoopState_RUN_LOOP_STATE_UNSPECIFIED {
		out.LeadIn, out.StartedAt = l.LeadIn, wire.Timestamp(l.StartedAt)
	}
	return out
}
