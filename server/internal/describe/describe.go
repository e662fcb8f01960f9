// Package describe tells the state of a chain: its run loop, where it comes from, what it started, the tools and variables on its path,
// and all of that as a text.
package describe

import (
	"context"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/transcriptd/transcriptd/chainstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/redact"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

// Limits of Describe.
const (
	defaultItems, maxItems     = 16, 64
	defaultPreview, maxPreview = 200, 2000
	defaultText, maxText       = 4000, 20_000

	// maxDepth is how many spawns above the head are counted.
	maxDepth = 64

	defaultStaleAfter = 60 * 60 * 1000           // milliseconds
	maxStaleSeconds   = 100 * 365 * 24 * 60 * 60 // seconds
)

// description is a Describe under way. What it reads is bounded by its limits, wherever in the chain the head is.
type description struct {
	store     chainstore.Store
	namespace string
	chain     chainstore.Chain
	// aliases point to the head; moreAliases says that there are more, or may be.
	aliases     []string
	moreAliases bool
	rows        rowReads
	// items is the entries of a list, text the code points of the text block.
	items, text int
	// off asks for the head alone, content for previews.
	off, content bool
	preview      wire.Preview
	// now and staleAfter are in milliseconds.
	now, staleAfter int64
	// names are the variables that are asked for; nil: any.
	names *variableNames
	// said is the last node that is no compaction node, or the last of more of these than are listed.
	said *chainstore.Header
}

// Chain tells the state of a chain from its head's header and the rows that this names; now, in milliseconds, is the
// server's clock.
func Chain(ctx context.Context, store chainstore.Store, req *transcriptv1.DescribeRequest, now int64) (*transcriptv1.DescribeResponse, error) {
	head, err := wire.ParseRef("head", req.Head)
	if err != nil {
		return nil, err
	}
	d := &description{store: store, namespace: wire.Namespace(req.Namespace), now: now, rows: rowReads{}}
	if err := d.parse(req); err != nil {
		return nil, err
	}
	if d.off {
		d.chain, err = store.Chain(ctx, d.namespace, head, nil)
	} else {
		d.chain, d.aliases, d.moreAliases, err = store.ChainNamed(ctx, d.namespace, head, d.items)
	}
	if err != nil {
		return nil, wire.MissingFrom("head", err)
	}
	if d.off {
		return &transcriptv1.DescribeResponse{HeadId: d.head().ID.String()}, nil
	}
	return d.tell(ctx)
}

func (d *description) parse(req *transcriptv1.DescribeRequest) (err error) {
	if _, ok := transcriptv1.DescribeMode_name[int32(req.Mode)]; !ok {
		return wire.InvalidField("mode", "must be a declared value")
	}
	d.off = req.Mode == transcriptv1.DescribeMode_DESCRIBE_MODE_OFF
	d.content = req.Mode == transcriptv1.DescribeMode_DESCRIBE_MODE_PREVIEW
	if d.items, err = wire.Bounded("max_items", req.MaxItems, defaultItems, maxItems); err != nil {
		return err
	}
	if d.names, err = parseNames(req.VariableNames, d.items); err != nil {
		return err
	}
	d.preview.Redact = req.Redact
	if d.preview.Chars, err = wire.Bounded("preview_chars", req.PreviewChars, defaultPreview, maxPreview); err != nil {
		return err
	}
	if d.text, err = wire.Bounded("max_text_chars", req.MaxTextChars, defaultText, maxText); err != nil {
		return err
	}
	if d.staleAfter, err = parseStaleAfter(req.StaleAfter); err != nil {
		return err
	}
	if req.Now != nil {
		ms, ok := wire.Milliseconds(req.Now)
		if !ok {
			return wire.InvalidField("now", "must be a time from 1970 to 9999")
		}
		d.now = ms
	}
	return nil
}

// parseStaleAfter gives whole milliseconds: times are kept as such, so what is finer makes no difference.
func parseStaleAfter(after *durationpb.Duration) (int64, error) {
	switch {
	case after == nil:
		return defaultStaleAfter, nil
	case after.CheckValid() != nil, after.Seconds < 0, after.Nanos < 0:
		return 0, wire.InvalidField("stale_after", "must be a valid duration that is not negative")
	case after.Seconds > maxStaleSeconds, after.Seconds == maxStaleSeconds && after.Nanos > 0:
		return 0, wire.OverLimit("stale_after", "must be at most 36500 days")
	}
	return after.Seconds*1000 + int64(after.Nanos)/1e6, nil
}

// tell gathers what rows have to tell, and reads them together.
func (d *description) tell(ctx context.Context) (reply *transcriptv1.DescribeResponse, err error) {
	h := d.head()
	reply = &transcriptv1.DescribeResponse{
		HeadId: h.ID.String(), HeadFirstPutAt: wire.Timestamp(h.FirstPut), Age: d.since(h.FirstPut),
		Counters: wire.ChainCounters(h.State.Full.Totals, h.State.Effective.Totals),
		Aliases:  d.aliases, HasMoreAliases: d.moreAliases,
	}
	d.loop(reply)
	if err := d.lineage(ctx, reply); err != nil {
		return nil, err
	}
	if err := d.tables(ctx, reply); err != nil {
		return nil, err
	}
	if err := d.rows.read(ctx, d.chain); err != nil {
		return nil, err
	}
	if err := d.stale(ctx, reply.Loop); err != nil {
		return nil, err
	}
	if d.preview.Redact {
		redactNames(reply)
	}
	reply.Text = d.textOf(reply)
	return reply, nil
}

func (d *description) head() *chainstore.Header { return d.chain.Head() }

// since is how long ago a time was; 0 if it is to come.
func (d *description) since(ms int64) *durationpb.Duration {
	ago := max(0, d.now-ms)
	return &durationpb.Duration{Seconds: ago / 1000, Nanos: int32(ago%1000) * 1e6}
}

func pathNode(id chainstore.ID, seq uint32) *transcriptv1.PathNode {
	return &transcriptv1.PathNode{NodeId: id.String(), Ancestors: wire.Count(seq)}
}

// redactNames takes secrets out of all names and ids of a description that callers chose.
func redactNames(r *transcriptv1.DescribeResponse) {
	for _, c := range r.Loop.Pending {
		c.Id, c.Name = wire.RedactedName(c.Id), wire.RedactedName(c.Name)
	}
	for _, tool := range r.Tools {
		tool.Name = wire.RedactedName(tool.Name)
	}
	if from := r.Lineage.SpawnedFrom; from != nil {
		from.ToolCallId = wire.RedactedName(from.ToolCallId)
	}
	for _, spawned := range r.Lineage.Spawned {
		if from := spawned.SpawnedFrom; from != nil {
			from.ToolCallId = wire.RedactedName(from.ToolCallId)
		}
	}
	for i, alias := range r.Aliases {
		r.Aliases[i] = redact.Text(alias)
	}
	for _, v := range r.Variables {
		v.Name, v.Type = redact.Text(v.Name), redact.Text(v.Type)
	}
}
