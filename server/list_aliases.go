package server

import (
	"context"

	"github.com/transcriptd/transcriptd/chainstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

const (
	// pageBytes is about the most that a page of aliases takes, whatever their labels.
	pageBytes = 1 << 20
	// listChunk is how many entries of a list are read at a time, so that what a page holds in memory stays small.
	listChunk = 64
)

// ListAliases reads a page of the store's.
func (t *transcripts) ListAliases(ctx context.Context, req *transcriptv1.ListAliasesRequest) (*transcriptv1.ListAliasesResponse, error) {
	query, p, err := parseListAliases(req)
	if err != nil {
		return nil, err
	}
	size, err := pageSize(req.PageSize)
	if err != nil {
		return nil, err
	}
	cursor, err := p.cursor(req.PageToken)
	if err != nil {
		return nil, err
	}
	if query.After, err = parseAliasCursor(cursor, &query); err != nil {
		return nil, err
	}
	query.Limit, query.Bytes = size, pageBytes
	aliases, next, err := t.store.Aliases(ctx, p.namespace, query)
	if err != nil {
		return nil, err
	}
	reply := &transcriptv1.ListAliasesResponse{}
	for i := range aliases {
		reply.Aliases = append(reply.Aliases, aliasInfo(&aliases[i]))
	}
	if next != nil {
		reply.NextPageToken = p.token(aliasCursor(next))
	}
	return reply, nil
}

// parseListAliases reads what is asked for, and what tokens are bound to.
func parseListAliases(req *transcriptv1.ListAliasesRequest) (query chainstore.AliasQuery, p page, err error) {
	p = page{rpc: "ListAliases", namespace: namespaceOf(req.Namespace)}
	field := "prefix"
	switch s := req.Scope.(type) {
	case *transcriptv1.ListAliasesRequest_Prefix:
		query.Prefix = s.Prefix
		p.scope = "p" + s.Prefix
	case *transcriptv1.ListAliasesRequest_Folder:
		query.ByFolder, query.Folder = true, s.Folder
		p.scope, field = "f"+s.Folder, "folder"
	default:
		p.scope = "p"
	}
	if len(p.scope) > 1+maxAliasBytes {
		return query, p, overLimit(field, "must be at most %d bytes", maxAliasBytes)
	}
	return query, p, nil
}
