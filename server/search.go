package server

import (
	"context"
	"time"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/search"
)

// Search gives a page of hits.
func (t *transcripts) Search(ctx context.Context, req *transcriptv1.SearchRequest) (*transcriptv1.SearchResponse, error) {
	s := search.Search{Store: t.store, Tokens: t.tokens, Limits: search.DefaultLimits(), Now: time.Now}
	return s.Page(ctx, req)
}
