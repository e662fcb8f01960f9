package server

import (
	"context"
	"time"

	"github.com/transcriptd/transcriptd/chainstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// SearchLimits are the limits of a page of Search, for tests outside of the package; zero fields are the usual ones.
type SearchLimits struct {
	Bytes                   int64
	Time                    time.Duration
	Reply, Span, Rows, Runs int
	Now                     func() time.Time
}

// SearchWith is Search over a store with other limits.
func SearchWith(store chainstore.Store, l SearchLimits) func(context.Context, *transcriptv1.SearchRequest) (*transcriptv1.SearchResponse, error) {
	s := &search{store: store, limits: defaultSearchLimits(), now: time.Now}
	if l.Now != nil {
		s.now = l.Now
	}
	if l.Bytes != 0 {
		s.limits.bytes = l.Bytes
	}
	if l.Time != 0 {
		s.limits.time = l.Time
	}
	for to, n := range map[*int]int{
		&s.limits.reply: l.Reply, &s.limits.span: l.Span, &s.limits.rows: l.Rows, &s.limits.runs: l.Runs,
	} {
		if n != 0 {
			*to = n
		}
	}
	return s.page
}
