// Package compact is what the rpc Compact does: it judges the request, plans, and appends what is kept.
package compact

import (
	"context"
	"errors"
	"strings"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/chainview"
	"github.com/transcriptd/transcriptd/server/internal/change"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

const (
	// MaxSummary is the most bytes of a caller's summary.
	MaxSummary = 1 << 20
	// compactTries is how often a compaction is made anew because its head's alias was compacted by others, or moved, or nodes were erased,
	// meanwhile.
	compactTries = 5
)

// Run compacts.
func Run(ctx context.Context, store chainstore.Store, req *transcriptv1.CompactRequest) (*transcriptv1.CompactResponse, error) {
	c, err := parse(store, req)
	if err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		reply, err := c.run(ctx)
		if try == compactTries || !c.overtaken(err) {
			return reply, err
		}
	}
}

// ErrTooLarge says that what a compaction would write is over a node's limits.
var ErrTooLarge = errors.New("the compaction is over a node's limits")

// request is a request to compact, judged.
type request struct {
	store     chainstore.Store
	namespace string
	head      chainstore.Ref
	// through is the last node to cover, as asked for; nil: the last that can be.
	through *chainstore.ID
	policy  compaction.Policy
	req     *transcriptv1.CompactRequest
}

// parse judges a request.
func parse(store chainstore.Store, req *transcriptv1.CompactRequest) (*request, error) {
	c := &request{store: store, namespace: wire.Namespace(req.Namespace), req: req}
	var err error
	if c.head, err = wire.ParseRef("head", req.Head); err != nil {
		return nil, err
	}
	if req.ThroughId != "" {
		id, err := wire.ParseID("through_id", req.ThroughId)
		if err != nil {
			return nil, err
		}
		c.through = &id
	}
	if c.policy, err = wire.ParsePolicy("policy", req.Policy); err != nil {
		return nil, err
	}
	switch {
	case len(req.Summary) > MaxSummary:
		return nil, wire.OverLimit("summary", "must be at most %d bytes", MaxSummary)
	case req.Summary != "" && strings.TrimSpace(req.Summary) == "":
		return nil, wire.InvalidField("summary", "must not be blank")
	}
	if err := unread(req); err != nil {
		return nil, err
	}
	if err := canonical.ValidateSalt(req.Salt); err != nil {
		return nil, err
	}
	_, err = change.Compaction(c.head, chainstore.NewNode{}, chainstore.ID{}, req.Aliases)
	return c, err
}

// unread tells what is missing where a summary, or the absence of all loops, is to stand for what was said: how far its maker has
// read, for of what was said since it knows nothing.
func unread(req *transcriptv1.CompactRequest) error {
	switch {
	case req.ThroughId != "" || req.DryRun:
		return nil
	case req.Summary != "":
		return wire.InvalidField("through_id", "must be set where there is a summary: name the last node that the summary tells of; a dry run tells the last that can be named")
	case req.SummaryOnly:
		return wire.InvalidField("through_id", "must be set with summary_only: name the last node that was read; a dry run tells the last that can be named")
	default:
		return nil
	}
}

// overtaken tells whether all that failed is that the head's alias was compacted, or moved, or nodes were erased, meanwhile.
func (c *request) overtaken(err error) bool {
	if errors.Is(err, chainstore.ErrErasedMeanwhile) {
		return true
	}
	var conflict *change.Conflicts
	return c.head.Alias != "" && errors.As(err, &conflict) && len(conflict.Conflicts) == 1 && conflict.Conflicts[0].Index == 0
}

// run makes the compaction at the head as it is now.
func (c *request) run(ctx context.Context) (*transcriptv1.CompactResponse, error) {
	var erasures uint64
	if !c.req.DryRun {
		var err error
		if erasures, err = c.store.Erasures(ctx, c.namespace); err != nil {
			return nil, err
		}
	}
	chain, err := c.store.Chain(ctx, c.namespace, c.head, c.through)
	if err != nil {
		return nil, wire.MissingFromChain("head", "through_id", c.moved(ctx, err, false))
	}
	e := chainview.OpenEffective(chain)
	through, err := e.CoverThrough(ctx, c.through != nil)
	if err != nil {
		return nil, c.moved(ctx, err, false)
	}
	made, err := e.Compact(ctx, &c.policy, c.req.SummaryOnly, c.req.Summary, through)
	if err != nil {
		return nil, err
	}
	reply := &transcriptv1.CompactResponse{
		HeadId: chain.Head().ID.String(), ThroughId: through.ID.String(), Counters: wire.HeadCounters(chain.Head()),
		Report: made.Report(),
	}
	if !made.Shrinks(c.req.SummaryOnly) {
		reply.NotWrittenReason = transcriptv1.NotWrittenReason_NOT_WRITTEN_REASON_NOTHING_SHRINKS
		return reply, nil
	}
	if made.TooLarge {
		return nil, ErrTooLarge
	}
	if c.req.DryRun {
		return reply, nil
	}
	return reply, c.write(ctx, chain.Head().ID, made.Node(c.parent(chain.Head().ID), through.ID, erasures, c.req.Salt), reply)
}

// parent is that of a node that is made at a head.
func (c *request) parent(basis chainstore.ID) chainstore.Parent {
	if c.head.Alias != "" {
		return chainstore.Parent{Kind: chainstore.ParentAlias, Alias: c.head.Alias}
	}
	return chainstore.Parent{Kind: chainstore.ParentID, ID: basis}
}

// write commits the node and tells of it.
func (c *request) write(ctx context.Context, basis chainstore.ID, n chainstore.NewNode, reply *transcriptv1.CompactResponse) error {
	d, err := change.Compaction(c.head, n, basis, c.req.Aliases)
	if err != nil {
		return err
	}
	done, err := d.Commit(ctx, c.store, c.req.Namespace)
	if err != nil {
		return c.moved(ctx, err, true)
	}
	put := done.Nodes[0]
	reply.Written, reply.NodeId = true, put.ID.String()
	reply.Aliases, reply.Counters = d.Results(done), wire.ChainCounters(put.Full, put.Effective)
	return nil
}

// moved is what an error means where the head is an alias: what was chosen at the head as it was, if it was chosen there,
// cannot be covered where the alias points to now.
func (c *request) moved(ctx context.Context, err error, chosen bool) error {
	if c.head.Alias == "" {
		return err
	}
	if errors.Is(err, chainstore.ErrParentNotFound) {
		return wire.MissingFrom("head", chainstore.ErrAliasNotFound)
	}
	unfit := errors.Is(err, chainstore.ErrNotAncestor) || errors.Is(err, chainstore.ErrAlreadyCovered) || errors.Is(err, chainstore.ErrOpenCalls)
	if !unfit || !chosen {
		return err
	}
	conflict := chainstore.Conflict{Kind: chainstore.Extends}
	if a, err := c.store.Alias(ctx, c.namespace, c.head.Alias); err == nil {
		conflict.Exists, conflict.Node, conflict.Revision = true, a.Node, a.Revision
	}
	return &change.Conflicts{ConflictError: &chainstore.ConflictError{Conflicts: []chainstore.Conflict{conflict}}, Fields: []string{"head.alias"}}
}
