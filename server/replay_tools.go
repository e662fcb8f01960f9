package server

import (
	"context"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/replay"
)

// ReplayTools gives the latest calls of a chain.
func (t *transcripts) ReplayTools(ctx context.Context, req *transcriptv1.ReplayToolsRequest) (*transcriptv1.ReplayToolsResponse, error) {
	s := replay.Replayer{Store: t.store, Renderers: t.renderers, MaxBytes: replay.DefaultMaxBytes}
	return s.Tools(ctx, req)
}
