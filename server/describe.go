package server

import (
	"context"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/describe"
)

// Describe tells the state of a chain.
func (t *transcripts) Describe(ctx context.Context, req *transcriptv1.DescribeRequest) (*transcriptv1.DescribeResponse, error) {
	return describe.Chain(ctx, t.store, req, t.now().UnixMilli())
}
