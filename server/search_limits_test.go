package server_test

import (
	"context"
	"time"

	"github.com/transcriptd/transcriptd/chainstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/search"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

// searchLimits are the limits of a page of Search; zero fields are the usual ones.
type searchLimits struct {
	Bytes                   int64
	Time                    time.Duration
	Reply, Span, Rows, Runs int
	Now                     func() time.Time
}

// searchWith is Search over a store with other limits.
func searchWith(store chainstore.Store, l searchLimits) func(context.Context, *transcriptv1.SearchRequest) (*transcriptv1.SearchResponse, error) {
	s := &search.Search{Store: store, Tokens: wire.NewTokens(store, time.Now), Limits: search.DefaultLimits(), Now: time.Now}
	if l.Now != nil {
		s.Now = l.Now
	}
	if l.Bytes != 0 {
		s.Limits.Bytes = l.Bytes
	}
	if l.Time != 0 {
		s.Limits.Time = l.Time
	}
	for to, n := range map[*int]int{
		&s.Limits.Reply: l.Reply, &s.Limits.Span: l.Span, &s.Limits.Rows: l.Rows, &s.Limits.Runs: l.Runs,
	} {
		if n != 0 {
			*to = n
		}
	}
	return s.Page
}
