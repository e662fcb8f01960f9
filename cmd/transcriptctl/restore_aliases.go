package main

import (
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// aliasRestorer sets aliases of archives, many in a call. Their nodes are there.
type aliasRestorer struct {
	to            *client.Client
	waiting       []*transcriptv1.ArchiveAlias
	states, bytes int
	// set counts those that were not there as the archive has them.
	set int64
}

func (r *aliasRestorer) add(ctx context.Context, a *transcriptv1.ArchiveAlias) error {
	states, bytes := len(a.GetStates()), proto.Size(a)
	if len(r.waiting) == setAliases || r.states+states > setStates || r.bytes+bytes > setBytes {
		if err := r.flush(ctx); err != nil {
			return err
		}
	}
	r.waiting, r.states, r.bytes = append(r.waiting, a), r.states+states, r.bytes+bytes
	return nil
}

func (r *aliasRestorer) flush(ctx context.Context) error {
	if len(r.waiting) == 0 {
		return nil
	}
	set, err := r.to.Restore(ctx, nil, r.waiting...)
	r.set += int64(set)
	r.waiting, r.states, r.bytes = r.waiting[:0], 0, 0
	return err
}
