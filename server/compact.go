package server

import (
	"context"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/compact"
)

// Compact plans on headers, reads what it keeps, and appends that as one node. Nothing waits for it: where the head's
// alias moved on by plain appends, the node goes on the new head.
func (t *transcripts) Compact(ctx context.Context, req *transcriptv1.CompactRequest) (*transcriptv1.CompactResponse, error) {
	return compact.Run(ctx, t.store, req)
}
