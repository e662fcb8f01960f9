package server

import (
	"context"

	"github.com/transcriptd/transcriptd/chainstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// ReplayWith is ReplayTools over a store with another bound on the bytes that it reads, for tests outside of the package.
func ReplayWith(store chainstore.Store, most int) func(context.Context, *transcriptv1.ReplayToolsRequest) (*transcriptv1.ReplayToolsResponse, error) {
	t := &transcripts{store: store}
	return func(ctx context.Context, req *transcriptv1.ReplayToolsRequest) (*transcriptv1.ReplayToolsResponse, error) {
		return t.replay(ctx, req, most)
	}
}
