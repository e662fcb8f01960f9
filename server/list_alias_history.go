package server

import (
	"context"
	"encoding/binary"

	"github.com/transcriptd/transcriptd/chainstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

// ListAliasHistory reads the history, which is short, and gives a page of it. A token holds the revision of the last
// state given, so that a page is right though the alias moved since.
func (t *transcripts) ListAliasHistory(ctx context.Context, req *transcriptv1.ListAliasHistoryRequest) (*transcriptv1.ListAliasHistoryResponse, error) {
	if err := wire.CheckAlias("name", req.Name); err != nil {
		return nil, err
	}
	size, err := wire.PageSize(req.PageSize)
	if err != nil {
		return nil, err
	}
	p := wire.Page{RPC: "ListAliasHistory", Namespace: wire.Namespace(req.Namespace), Scope: req.Name}
	before, err := t.parseBefore(ctx, p, req.PageToken)
	if err != nil {
		return nil, err
	}
	states, err := t.store.AliasHistory(ctx, p.Namespace, req.Name)
	if err != nil {
		return nil, wire.MissingFrom("name", err)
	}
	reply := &transcriptv1.ListAliasHistoryResponse{}
	for i := range states {
		if before != 0 && states[i].Revision >= before {
			continue
		}
		reply.Entries = append(reply.Entries, historyEntry(&states[i]))
		if len(reply.Entries) == size && i+1 < len(states) {
			reply.NextPageToken, err = t.tokens.Token(ctx, p, binary.AppendUvarint(nil, uint64(states[i].Revision)))
			break
		}
	}
	return reply, err
}

// parseBefore is the revision of the last state that was given; 0 if none was.
func (t *transcripts) parseBefore(ctx context.Context, p wire.Page, token string) (int64, error) {
	cursor, err := t.tokens.Cursor(ctx, p, token)
	if err != nil || cursor == nil {
		return 0, err
	}
	before, n := binary.Uvarint(cursor)
	if n <= 0 {
		return 0, wire.BadToken()
	}
	return int64(before), nil
}

func historyEntry(s *chainstore.AliasState) *transcriptv1.AliasHistoryEntry {
	e := &transcriptv1.AliasHistoryEntry{BeganAt: wire.Timestamp(s.At), Revision: s.Revision}
	if !s.Deleted {
		e.NodeId = s.Node.String()
	}
	return e
}
