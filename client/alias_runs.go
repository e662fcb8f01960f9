package client

import (
	"context"
	"iter"
	"time"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// AliasRun is an alias and, as its Loop, where the last run loop of its chain stands.
type AliasRun struct {
	*transcriptv1.AliasInfo
	// Now is the server's clock at the time that the page with the alias was made.
	Now time.Time
}

// Idle is how long nothing but compactions was put behind the alias, and the alias was not moved, by the server's clock: a new alias of
// what was put long ago is not idle.
func (r *AliasRun) Idle() time.Duration {
	last := r.Loop.GetLastPutAt().AsTime()
	if moved := r.MovedAt.AsTime(); moved.After(last) {
		last = moved
	}
	return max(0, r.Now.Sub(last))
}

// AliasRuns lists aliases with where the last run loop of each one's chain stands, asking for page after page as it goes; openOnly: only
// those whose loop is open. An error ends it.
func (c *Client) AliasRuns(ctx context.Context, scope AliasScope, openOnly bool) iter.Seq2[*AliasRun, error] {
	return pages(func(token string) ([]*AliasRun, string, error) {
		req := c.aliasPage(scope, token)
		req.IncludeLoops, req.OpenOnly = true, openOnly
		res, err := read(ctx, c, c.rpc.ListAliases, req)
		if err != nil {
			return nil, "", err
		}
		var runs []*AliasRun
		for _, a := range res.Aliases {
			if a.Loop == nil || res.Now == nil {
				return nil, "", fault(ErrBadReply, "an alias without its loop")
			}
			runs = append(runs, &AliasRun{AliasInfo: a, Now: res.Now.AsTime()})
		}
		return runs, res.NextPageToken, nil
	})
}
