package server

import (
	"context"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/loops"
)

// ListRunLoops gives a page of the run loops of a chain, newest first.
func (t *transcripts) ListRunLoops(ctx context.Context, req *transcriptv1.ListRunLoopsRequest) (*transcriptv1.ListRunLoopsResponse, error) {
	s := loops.Lister{Store: t.store, Tokens: t.tokens, MaxBytes: loops.DefaultMaxBytes}
	return s.List(ctx, req)
}
