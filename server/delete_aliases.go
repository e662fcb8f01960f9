package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/transcriptd/transcriptd/chainstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/retention"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

// DeleteAliases lists a page of aliases, and deletes those of them that were moved last before the bound, each on condition that it is
// as it was listed.
func (t *transcripts) DeleteAliases(ctx context.Context, req *transcriptv1.DeleteAliasesRequest) (*transcriptv1.DeleteAliasesResponse, error) {
	d, p, err := t.parseDeletion(req)
	if err != nil {
		return nil, err
	}
	size, err := wire.PageSize(req.PageSize)
	if err != nil {
		return nil, err
	}
	token, err := t.tokens.Cursor(ctx, p, req.PageToken)
	if err != nil {
		return nil, err
	}
	query := chainstore.AliasQuery{Prefix: req.GetPrefix(), Limit: size, Bytes: wire.PageBytes}
	if query.After, err = parseAliasCursor(token); err != nil {
		return nil, err
	}
	if query.After != nil {
		d.before = query.After.MovedAt
	}
	release, err := t.store.Hold(ctx) // until it is committed the namespace is not deleted: revisions begin again in one of its name
	if err != nil {
		return nil, err
	}
	defer release()
	listed, next, err := t.store.Aliases(ctx, p.Namespace, query)
	if err != nil {
		return nil, err
	}
	d.choose(listed)
	err = t.forgetting(ctx, p.Namespace, d.forget, d.judge, func() error {
		if req.DryRun {
			return nil
		}
		return d.delete(ctx, t.store)
	})
	if err != nil {
		return nil, err
	}
	reply := &transcriptv1.DeleteAliasesResponse{MovedBefore: wire.Timestamp(d.before)}
	for i := range d.page {
		reply.Aliases = append(reply.Aliases, aliasInfo(&d.page[i]))
	}
	if d.cutAt != "" {
		next = &chainstore.AliasCursor{Name: d.cutAt}
	}
	if next != nil {
		next.MovedAt = d.before
		reply.NextPageToken, err = t.tokens.Token(ctx, p, aliasCursor(next))
	}
	return reply, err
}

// deletion is a page of aliases to delete: those that were moved last before a time, in milliseconds since the epoch.
type deletion struct {
	namespace string
	before    int64
	forget    bool
	// field is the one of the request that says which aliases.
	field string
	page  []chainstore.Alias
	// cutAt is the last alias of a page that was cut, and ended early.
	cutAt string
}

// parseDeletion reads what is asked for, and what tokens are bound to.
func (t *transcripts) parseDeletion(req *transcriptv1.DeleteAliasesRequest) (*deletion, wire.Page, error) {
	p := wire.Page{RPC: "DeleteAliases", Namespace: wire.Namespace(req.Namespace)}
	field := "prefix"
	switch s := req.Scope.(type) {
	case *transcriptv1.DeleteAliasesRequest_Prefix:
		if s.Prefix == "" {
			return nil, p, wire.InvalidField("prefix", "must not be empty: to delete every alias, set all")
		}
		if len(s.Prefix) > wire.MaxAliasBytes {
			return nil, p, wire.OverLimit("prefix", "must be at most %d bytes", wire.MaxAliasBytes)
		}
	case *transcriptv1.DeleteAliasesRequest_All:
		if field = "all"; !s.All {
			return nil, p, wire.InvalidField("all", "must be true, or absent")
		}
	default:
		return nil, p, wire.ExactlyOne("prefix", "all")
	}
	before, err := movedBefore(req, t.now())
	p.Scope = fmt.Sprintf("%v %d %v %s", req.DryRun, req.MovedBefore.AsTime().UnixMilli(), req.ForgetHistory, req.GetPrefix())
	return &deletion{namespace: p.Namespace, before: before, forget: req.ForgetHistory, field: field}, p, err
}

// movedBefore is the first millisecond at which an alias that was moved then stays. Without one in the request it is the next.
func movedBefore(req *transcriptv1.DeleteAliasesRequest, now time.Time) (int64, error) {
	if req.MovedBefore == nil {
		return now.UnixMilli() + 1, nil
	}
	before, ok := wire.Milliseconds(req.MovedBefore)
	if !ok {
		return 0, wire.InvalidField("moved_before", "must be a time of the years 1970 to 9999")
	}
	if req.MovedBefore.GetNanos()%int32(time.Millisecond) != 0 {
		before++
	}
	return before, nil
}

// choose keeps those of a list that were moved last before the bound.
func (d *deletion) choose(listed []chainstore.Alias) {
	for i := range listed {
		if listed[i].MovedAt < d.before {
			d.page = append(d.page, listed[i])
		}
	}
}

// judge is a HeldError of the first alias of the page that is held.
func (d *deletion) judge(rules retention.Rules) error {
	for i := range d.page {
		if err := rules.Refuse(d.namespace, d.field, d.page[i].Name); err != nil {
			return err
		}
	}
	return nil
}

// patience is how often a page is tried that others change aliases of before its commit, until it is cut.
const patience = 4

// delete deletes the page in one commit. What others changed since it was listed is looked at again. A page that does not fit a commit, or of
// which others change an alias before each commit, is cut to half: so it comes to an end, however many labels change meanwhile.
func (d *deletion) delete(ctx context.Context, store chainstore.Store) error {
	for tries := 1; len(d.page) > 0; tries++ {
		done, err := store.Commit(ctx, d.namespace, d.change())
		var conflict *chainstore.ConflictError
		switch {
		case errors.As(err, &conflict):
			if err := d.again(ctx, store, conflict); err != nil {
				return err
			}
			if tries%patience == 0 && len(d.page) > 1 {
				d.cut()
			}
		case errors.Is(err, chainstore.ErrTooLarge) && len(d.page) > 1:
			d.cut()
		case err != nil:
			return err
		default:
			d.keep(done)
			return nil
		}
	}
	return nil
}

// cut ends the page in the middle.
func (d *deletion) cut() {
	d.page = d.page[:len(d.page)/2]
	d.cutAt = d.page[len(d.page)-1].Name
}

// keep leaves in the page what the commit deleted. What others deleted since it was listed is deleted, too, and not by this call.
func (d *deletion) keep(done *chainstore.Committed) {
	listed := d.page
	d.page = nil
	for i := range listed {
		if done.Aliases[i].Changed {
			d.page = append(d.page, listed[i])
		}
	}
}

func (d *deletion) change() *chainstore.Change {
	out := &chainstore.Change{}
	for i := range d.page {
		out.Aliases = append(out.Aliases, chainstore.AliasChange{
			Name: d.page[i].Name, Target: chainstore.Target{Kind: chainstore.TargetNone}, Condition: chainstore.Condition{Revision: d.page[i].Revision}, Forget: d.forget,
		})
	}
	return out
}

// again looks once more at the aliases that are not as they were listed. Those that were deleted or moved leave the page, also where that was
// in the millisecond before the bound; those whose labels changed stay in it.
func (d *deletion) again(ctx context.Context, store chainstore.Store, conflict *chainstore.ConflictError) error {
	changed := map[int]bool{}
	for i := range conflict.Conflicts {
		changed[conflict.Conflicts[i].Index] = true
	}
	listed := d.page
	d.page = nil
	for i := range listed {
		a := &listed[i]
		if changed[i] {
			var err error
			if a, err = store.Alias(ctx, d.namespace, a.Name); errors.Is(err, chainstore.ErrAliasNotFound) {
				continue
			} else if err != nil {
				return err
			}
			if a.Node != listed[i].Node || a.MovedAt != listed[i].MovedAt {
				continue
			}
		}
		d.page = append(d.page, *a)
	}
	return nil
}
