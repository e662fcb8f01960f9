package server

import (
	"context"
	"errors"

	"github.com/transcriptd/transcriptd/chainstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/erasure"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

// GetReceipts reads the receipts of nodes that were erased.
func (a *admin) GetReceipts(ctx context.Context, req *transcriptv1.GetReceiptsRequest) (*transcriptv1.GetReceiptsResponse, error) {
	ids, err := parseIDs("node_ids", req.NodeIds)
	if err != nil {
		return nil, err
	}
	reply := &transcriptv1.GetReceiptsResponse{}
	for i, id := range ids {
		kept, err := a.store.Receipt(ctx, wire.Namespace(req.Namespace), id)
		if errors.Is(err, chainstore.ErrNotErased) {
			err = &wire.Missing{Field: wire.Indexed("node_ids", i), Err: err}
		}
		if err != nil {
			return nil, err
		}
		one := &transcriptv1.NodeReceipt{NodeId: id.String()}
		if one.Receipt, err = erasure.Parse(kept.Bytes); err != nil {
			return nil, err
		}
		if kept.PurgedAt > 0 {
			one.PurgedAt = wire.Timestamp(kept.PurgedAt)
		}
		reply.Receipts = append(reply.Receipts, one)
	}
	return reply, nil
}
