package server

import (
	"context"
	"strings"

	"github.com/transcriptd/transcriptd/chainstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/identity"
	"github.com/transcriptd/transcriptd/server/internal/access"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

// ListNamespaces reads a page of the names that the caller may read. A token holds the last name of the page: one that was listed, so that
// it tells of no other.
func (t *transcripts) ListNamespaces(ctx context.Context, req *transcriptv1.ListNamespacesRequest) (*transcriptv1.ListNamespacesResponse, error) {
	size, err := wire.PageSize(req.PageSize)
	if err != nil {
		return nil, err
	}
	page := wire.Page{RPC: "ListNamespaces"}
	after, err := t.tokens.Cursor(ctx, page, req.PageToken)
	if err != nil {
		return nil, err
	}
	names, err := t.readable(ctx, string(after), size+1)
	if err != nil {
		return nil, err
	}
	reply := &transcriptv1.ListNamespacesResponse{}
	for _, name := range names[:min(len(names), size)] {
		reply.Namespaces = append(reply.Namespaces, &transcriptv1.NamespaceInfo{Name: name})
	}
	if len(names) > size {
		reply.NextPageToken, err = t.tokens.Token(ctx, page, []byte(names[size-1]))
	}
	return reply, err
}

// readable are the names behind one that the caller may read, in order. The store is asked for these alone, however many others it has.
func (t *transcripts) readable(ctx context.Context, after string, limit int) (names []string, err error) {
	covered := []identity.Pattern{identity.Everything}
	if who := access.Who(ctx); who != nil {
		covered = who.Where(identity.Read)
	}
	for _, pattern := range covered {
		prefix, open := strings.CutSuffix(string(pattern), "*")
		// There is room for more, and it may cover names that lie behind.
		if len(names) == limit || prefix <= after && !pattern.Covers(after) || !open && prefix == after {
			continue
		}
		query := chainstore.NamespaceQuery{Prefix: prefix, After: after, Limit: limit - len(names)}
		if !open {
			query.Limit = 1 // the name itself is the first of those that begin with it
		}
		found, err := t.store.Namespaces(ctx, query)
		if err != nil {
			return nil, err
		}
		if !open && (len(found) == 0 || found[0] != prefix) {
			continue
		}
		names = append(names, found...)
	}
	return names, nil
}
