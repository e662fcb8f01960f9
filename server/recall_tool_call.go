package server

import (
	"context"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/recall"
)

// RecallToolCall gives a call and a page of its result.
func (t *transcripts) RecallToolCall(ctx context.Context, req *transcriptv1.RecallToolCallRequest) (*transcriptv1.RecallToolCallResponse, error) {
	return recall.ToolCall(ctx, t.store, t.tokens, req)
}
